"""`pdai distribute` and `pdai stream`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from fast import tasks
from pdai.commands.tables import show
from pdai.distributed.plan import Distributed, Plan, Streamed
from reference.errors import InputError

SMALL: dict[str, Any] = {
    "parameters": 10_000,
    "steps": 1_000,
    "learning_rate": 3e-3,
    "loss": "log_variance",
}

# SMALL enough that every trajectory can be gone through, and the bound of N6 be computed.
SETS = tasks.SetsConfig(items=14, size=5, **SMALL)
PREFERENCE = tasks.PreferenceConfig(dimension=4, order="any", **SMALL)
SYN = tasks.SynConfig(length=6, letters=4, build="prepend-append", **SMALL)
DISTRIBUTED, STREAMED = Distributed(SETS), Streamed(PREFERENCE)

DistributedProblem = (
    Annotated[Distributed[tasks.SetsConfig], tyro.conf.subcommand("sets", default=DISTRIBUTED)]
    | Annotated[
        Distributed[tasks.PreferenceConfig],
        tyro.conf.subcommand("preference", default=Distributed(PREFERENCE)),
    ]
    | Annotated[Distributed[tasks.SynConfig], tyro.conf.subcommand("syn", default=Distributed(SYN))]
    | Annotated[Distributed[tasks.CustomConfig], tyro.conf.subcommand("custom")]
)
StreamedProblem = (
    Annotated[Streamed[tasks.SetsConfig], tyro.conf.subcommand("sets", default=Streamed(SETS))]
    | Annotated[
        Streamed[tasks.PreferenceConfig],
        tyro.conf.subcommand("preference", default=STREAMED),
    ]
    | Annotated[Streamed[tasks.SynConfig], tyro.conf.subcommand("syn", default=Streamed(SYN))]
    | Annotated[Streamed[tasks.CustomConfig], tyro.conf.subcommand("custom")]
)


@dataclass(frozen=True)
class Experiment:
    """Where the runs of an experiment are done."""

    workers: int = 2
    """How many runs at a time, each in a process of its own on this machine."""
    scheduler: tyro.conf.DisallowNone[str | None] = None
    """Instead: the address or scheduler file of a dask cluster (see pdai/distributed/README.md)."""
    resume: tyro.conf.DisallowNone[Path | None] = None
    """Continue the experiment in this folder: what is finished stays."""

    def execute(self, plan: Plan[Any], usual: Plan[Any]) -> None:
        """Does all runs, and prints the comparison to stdout.

        Args:
            plan: what is asked for.
            usual: what is asked for by saying nothing.
        """
        from pdai.distributed.engine import LocalProcesses, dask_executor
        from pdai.distributed.experiment import begin, proceed
        from pdai.tables import comparison_table, parts_table

        if self.workers < 1:
            raise InputError(f"workers is {self.workers}, but must be at least 1")
        if self.resume is not None and plan != usual:
            raise InputError(
                "--resume continues an experiment with the options it began with: leave the "
                "problem and its options away, or begin anew without --resume"
            )
        executor = (
            LocalProcesses(self.workers)
            if self.scheduler is None
            else dask_executor(self.scheduler)
        )
        with executor as workers:
            folder, comparison = (
                begin(plan, workers) if self.resume is None else proceed(self.resume, workers)
            )
        show(comparison_table(comparison))
        show(parts_table(comparison))
        print(f"folder: {folder}\nplot: {folder / 'plot.png'}")


@dataclass(frozen=True)
class Distribute(Experiment):
    """Train clients that know one factor of the reward each, and aggregate their samplers.

    The aggregate evaluates no reward; it is reported beside a sampler trained on the whole reward
    with as many trajectories. Options of a problem, and --clients, follow its name:
    `pdai distribute sets --clients 4 --client-dynamics srwm gru markov`.
    """

    problem: DistributedProblem = DISTRIBUTED
    """The problem; `pdai distribute PROBLEM --help` lists its options."""

    def run(self) -> None:
        """Trains all, and prints the comparison to stdout."""
        self.execute(self.problem, DISTRIBUTED)


@dataclass(frozen=True)
class Stream(Experiment):
    """Update a sampler chunk by chunk, without the chunks that it has seen.

    The last one is reported beside a sampler trained on all chunks with as many trajectories.
    Options of a problem, and --chunks, follow its name: `pdai stream preference --chunks 4`.
    """

    problem: StreamedProblem = STREAMED
    """The problem; `pdai stream PROBLEM --help` lists its options."""

    def run(self) -> None:
        """Trains all, and prints the comparison to stdout."""
        self.execute(self.problem, STREAMED)
