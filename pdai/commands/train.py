"""`pdai train`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fast.tasks import TASKS
from fast.training.compose import configure
from pdai.arguments import config_of, options_class, scan, tasks_union
from pdai.commands.tables import say, show
from reference.errors import InputError

USUAL = "six6"


@dataclass(frozen=True)
class Where:
    """Where a training computes."""

    device: Literal["any", "cpu", "gpu"] = "any"
    """Where to compute: on a CPU, on a GPU, or on what JAX finds first."""
    coordinator: str = ""
    """Of a run over several processes: host and port of the first, such as node1:8476; each has
    the same options but --process, and --devices counts the devices of all."""
    processes: int = 1
    """How many there are."""
    process: int = 0
    """Which this is, from 0."""


def train_command(arguments: Sequence[str]) -> type[Any]:
    """The command `pdai train`, with the options that its arguments choose.

    Args:
        arguments: what follows `train`.
    """
    chosen = scan(arguments, USUAL)
    options: Any = options_class(TASKS[chosen.task], chosen.choices, {})
    default, tasks = tasks_union(chosen, options)

    @dataclass(frozen=True)
    class Train(Where):
        """Train a sampler on a problem, and report how far it is from the target.

        Options of a problem follow its name. Which options there are depends on the parts chosen.

        Try:
            pdai train lines
            pdai train six6 --dynamics markov --seeds 3
            pdai train six6 --dynamics srwm --help
            pdai train custom --problem my_module:MyProblem
            pdai train --resume runs/six6-gru-0
        """

        problem: tasks = default  # type: ignore[valid-type]  # it is made while this runs
        """The problem; `pdai train PROBLEM --help` lists its options."""
        resume: Path | None = None
        """Continue the run in this folder from its last checkpoint, as if it had never stopped."""

        def run(self) -> None:
            """Trains, and prints the final figures to stdout."""
            from pdai.devices import begin

            begin(self.device, self.coordinator, self.processes, self.process)
            from fast.runs.folder import load_config
            from fast.runs.job import follow, resume, train
            from pdai.progress import DISPLAY, announce
            from pdai.tables import expectations_table, report_table

            config = config_of(self.problem, chosen.task)
            if self.process:
                follow(config if self.resume is None else load_config(self.resume))
                return
            if self.resume is None:
                announce(config.task)
                folder, report = train(config, display=DISPLAY)
            elif config == configure(USUAL):
                folder, report = resume(self.resume, display=DISPLAY)
            else:
                raise InputError(
                    "--resume continues a run with the options it began with: leave the problem "
                    "and its options away, or train anew without --resume"
                )
            show(report_table(report))
            if (features := expectations_table(report)) is not None:
                show(features)
            say(f"run folder: {folder}\nplot: {folder / 'plot.png'}")

    return Train
