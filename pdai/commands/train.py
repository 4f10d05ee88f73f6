"""`pdai train`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from fast import tasks
from pdai.commands.tables import show
from reference.errors import InputError

Problem = (
    Annotated[tasks.Six6Config, tyro.conf.subcommand("six6")]
    | Annotated[tasks.Pho4Config, tyro.conf.subcommand("pho4")]
    | Annotated[tasks.SynConfig, tyro.conf.subcommand("syn")]
    | Annotated[tasks.BitsConfig, tyro.conf.subcommand("bits")]
    | Annotated[tasks.LinesConfig, tyro.conf.subcommand("lines")]
    | Annotated[tasks.GridConfig, tyro.conf.subcommand("grid")]
    | Annotated[tasks.SetsConfig, tyro.conf.subcommand("sets")]
    | Annotated[tasks.PreferenceConfig, tyro.conf.subcommand("preference")]
    | Annotated[tasks.RandomWalkConfig, tyro.conf.subcommand("random-walk")]
    | Annotated[tasks.IsingConfig, tyro.conf.subcommand("ising")]
    | Annotated[tasks.GraphsConfig, tyro.conf.subcommand("graphs")]
    | Annotated[tasks.CustomConfig, tyro.conf.subcommand("custom")]
)


@dataclass(frozen=True)
class Train:
    """Train a sampler on a problem, and report how far it is from the target.

    Options of a problem follow its name: `pdai train six6 --dynamics markov`.
    """

    problem: Problem = tasks.Six6Config()  # noqa: RUF009  (frozen)
    """The problem; `pdai train PROBLEM --help` lists its options."""
    resume: tyro.conf.DisallowNone[Path | None] = None
    """Continue the run in this folder from its last checkpoint, as if it had never stopped."""

    def run(self) -> None:
        """Trains, and prints the final figures to stdout."""
        from fast.runs.job import resume, train
        from pdai.progress import DISPLAY
        from pdai.tables import report_table

        if self.resume is None:
            folder, report = train(self.problem, display=DISPLAY)
        elif self.problem == tasks.Six6Config():
            folder, report = resume(self.resume, display=DISPLAY)
        else:
            raise InputError(
                "--resume continues a run with the options it began with: leave the problem and "
                "its options away, or train anew without --resume"
            )
        show(report_table(report))
        print(f"run folder: {folder}\nplot: {folder / 'plot.png'}")
