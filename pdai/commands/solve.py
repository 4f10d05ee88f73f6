"""`pdai solve`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fast.runs.display import announce
from fast.tasks import TASKS
from pdai.arguments import task_options, tasks_union
from pdai.commands.tables import say, show_rows
from pdai.solving.solve import Choice, solve
from pdai.solving.solved import TOLD
from reference.contract.text import at_most
from reference.problems.base import MAX_NODES
from reference.rows.flows import Backward

USUAL = "six6"


@dataclass(frozen=True)
class How:
    """The way to solve, and the place of the answer."""

    p_b: Backward = "uniform"
    """The backward policy: uniform, or of most entropy, by which all trajectories to a terminal
    state are equally probable."""
    way: Choice = "auto"
    """Allow only this way: list all states, or use the closed form."""
    max_states: int = MAX_NODES
    """List at most this many states."""
    out: Path | None = None
    """The run folder, which must not exist yet."""


def solve_command(arguments: Sequence[str]) -> type[Any]:
    """The command `pdai solve`, with the options of the problem that its arguments name."""
    task = next((word for word in arguments if word in TASKS), USUAL)
    options: Any = task_options(task, How)
    default, tasks = tasks_union(task, options)

    @dataclass(frozen=True)
    class Solve:
        """Make the exact sampler of a problem by dynamic programming, without training.

        Where all states can be listed, one backward pass gives the flows; else samples come from
        the closed form of the problem, if it has one. The folder can be sampled, certified, plotted
        and reported like that of a training. JAX is not needed.

        Try:
            pdai solve six6
            pdai solve grid --side 16 --p-b entropy
            pdai solve my_module:MyProblem
        """

        problem: tasks = default  # type: ignore[valid-type]  # it is made while this runs
        """The problem, or MODULE:NAME of your own; `pdai solve PROBLEM --help` lists its
        options."""

        def run(self) -> None:
            """Solves, and prints a table to stdout."""
            start, given = time.monotonic(), self.problem
            task, how = given.task, given.how  # type: ignore[attr-defined]
            announce(task)
            run = solve(task, p_b=how.p_b, way=how.way, out=how.out, max_states=how.max_states)
            rows = {"way": f"{run.recipe.way}: {run.recipe.why}"}
            if run.recipe.way == "listed":
                graph = run.flows.graph
                rows |= {
                    "states": f"{len(graph.counts):,}",
                    "terminal states": f"{len(graph.terminals):,}",
                    "backward policy": how.p_b,
                    "TV to the target": f"at most {at_most(run.tv_bound)} (proved)",
                }
            kind = "exact sampler"
            if run.recipe.is_told:
                kind, rows["TV to the target"] = "sampler", TOLD
            rows["log Z, nats"] = f"{run.log_z.value!r}, within {at_most(run.log_z.error, 1)}"
            rows["seconds"] = f"{time.monotonic() - start:.2f}"
            show_rows(f"{kind} of {task.short_name}", rows)
            usual = f"{task.short_name}-solved"
            is_again = how.out is None and run.folder.name != usual
            say(f"run folder: {run.folder}" + f" (runs/{usual} exists, and is kept)" * is_again)

    return Solve
