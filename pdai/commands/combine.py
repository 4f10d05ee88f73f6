"""`pdai distribute` and `pdai stream`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fast.training.compose import configure
from pdai.arguments import options_class, scan, tasks_union
from pdai.commands.tables import say, show
from pdai.distributed.plan import Distributed, Plan, Streamed
from reference.contract.errors import InputError

SMALL: dict[str, Any] = {
    "parameters": 10_000,
    "steps": 1_000,
    "learning_rate": 3e-3,
    "loss": "log_variance",
}

# Small enough that every trajectory can be gone through, for the claim combined-tv-bound.
USUAL: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "sets": {"items": 14, "size": 5, **SMALL},
        "preference": {"dimension": 4, "order": "any", **SMALL},
        "syn": {"length": 6, "letters": 4, "build": "prepend-append", **SMALL},
        "custom": {},
    }
)


@dataclass(frozen=True)
class Experiment:
    """The options that say where and how the runs of an experiment are computed."""

    workers: int = 2
    """Runs at a time, each in a process of its own on this machine."""
    scheduler: str | None = None
    """Instead: the address or scheduler file of a dask cluster (see pdai/distributed/README.md)."""
    resume: Path | None = None
    """Continue the experiment in this folder: what is finished stays."""

    def execute(self, plan: Plan, usual: Plan) -> None:
        """Runs the whole plan, and prints the comparison; `usual` is the plan by default."""
        from pdai.distributed.engine import LocalProcesses, dask_executor
        from pdai.distributed.experiment import begin, proceed
        from pdai.show.tables import comparison_table, parts_table

        if self.workers < 1:
            raise InputError(f"workers is {self.workers}, but must be at least 1")
        if self.resume is not None and plan != usual:
            raise InputError(
                "--resume continues an experiment with the options it began with: leave the "
                "problem and its options out, or begin anew without --resume"
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
        say(f"folder: {folder}\nplot: {folder / 'plot.png'}")


def distribute_command(arguments: Sequence[str]) -> type[Any]:
    """Train clients on factors of a reward, and aggregate their samplers.

    The aggregate evaluates no reward; it is compared with a sampler trained on the whole reward
    with the same number of trajectories. Options of a problem, and --clients, follow its name.

    Try:
        pdai distribute sets --clients 4
        pdai distribute sets --clients 3 --client-dynamics srwm gru markov
        pdai distribute --resume runs/sets-distribute-0
    """
    return _command(arguments, Distributed, "sets", distribute_command.__doc__)


def stream_command(arguments: Sequence[str]) -> type[Any]:
    """Update a sampler chunk by chunk, without the chunks that it has seen.

    The last sampler is compared with one trained on all chunks with the same number of
    trajectories. Options of a problem, and --chunks, follow its name.

    Try:
        pdai stream preference --chunks 4
        pdai stream --resume runs/preference-stream-0
    """
    return _command(arguments, Streamed, "preference", stream_command.__doc__)


def _command(
    arguments: Sequence[str], kind: type[Plan], usual: str, description: str | None
) -> type[Any]:
    """The command of a plan, with the options that its arguments choose, and its help."""
    chosen = scan(arguments, usual, USUAL)
    if chosen.task not in USUAL:
        raise InputError(
            f"the rewards of {chosen.task} do not split into factors: choose {', '.join(USUAL)}"
        )
    of_plan: Any = kind.options
    options = options_class(chosen, {"plan": of_plan()})
    default, tasks = tasks_union(chosen.task, options, tuple(USUAL))

    @dataclass(frozen=True)
    class Command(Experiment):
        problem: tasks = default  # type: ignore[valid-type]  # it is made while this runs
        """The problem; its name and --help list its options."""

        def run(self) -> None:
            """Trains all, and prints the comparison to stdout."""
            parsed: Any = self.problem
            usual_plan = kind(configure(usual, **USUAL[usual]))
            self.execute(kind(parsed.config(), **vars(parsed.plan)), usual_plan)

    Command.__doc__ = description
    return Command
