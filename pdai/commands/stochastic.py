"""`pdai stochastic`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from fast.stochastic import config as stochastic
from pdai.commands.tables import show
from reference.errors import InputError

StochasticProblem = (
    Annotated[stochastic.StochasticLines, tyro.conf.subcommand("lines")]
    | Annotated[stochastic.StochasticGrid, tyro.conf.subcommand("grid")]
    | Annotated[stochastic.StochasticRings, tyro.conf.subcommand("rings")]
)


@dataclass(frozen=True)
class Stochastic:
    """Train a sampler whose latent is random: Gaussian steps, by trajectory balance.

    Options of a problem follow its name: `pdai stochastic grid --landscape sparse`.
    """

    problem: StochasticProblem = stochastic.StochasticLines()  # noqa: RUF009  (frozen)
    """The problem; `pdai stochastic PROBLEM --help` lists its options."""
    resume: Path | None = None
    """Continue the run in this folder from its last checkpoint, as if it had never stopped."""

    def run(self) -> None:
        """Trains, and prints the final figures to stdout."""
        from fast.stochastic.job import resume_stochastic, train_stochastic
        from pdai.progress import DISPLAY
        from pdai.tables import stochastic_table

        if self.resume is None:
            folder, report = train_stochastic(self.problem, DISPLAY)
        elif self.problem == stochastic.StochasticLines():
            folder, report = resume_stochastic(self.resume, DISPLAY)
        else:
            raise InputError(
                "--resume continues a run with the options it began with: leave the problem and "
                "its options away, or train anew without --resume"
            )
        show(stochastic_table(report))
        print(f"run folder: {folder}")
