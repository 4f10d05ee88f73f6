"""The hint before a training at the exact sampler."""

import shlex
import sys
from dataclasses import fields
from typing import Any

from fast.tasks import CustomTask, Task
from reference.contract.errors import InputError
from reference.contract.loading import OBJECT
from reference.looking.inspection import inspect_problem

# Up to this many states are listed within seconds, and so many of a user's problem are counted,
# which takes less than one.
SECONDS, COUNTED = 200_000, 10_000


def exact_beside(task: Task, parts: int = 1) -> str | None:
    """The command or call that gives the exact sampler of a task, and why.

    None if its states are too many to list within seconds, or its reward is split into parts.
    States of a task are bounded by its options; those of a user's problem are listed, up to ten
    thousand.
    """
    try:
        why = None if parts > 1 else _why(task)
    except InputError:
        # Too large, or wrong, which a training will say.
        return None
    return why and f"{_command(task)} is exact within seconds, without training: {why}"


def _why(task: Task) -> str | None:
    if isinstance(task, CustomTask):
        problem = task.make_problem()
        if problem is None:
            return None
        seen = inspect_problem(problem, COUNTED)
        return f"it has {len(seen.dag.labels):,} states" + (seen.hint and f". But {seen.hint}")
    return f"it has at most {task.states():,} states" if task.states() <= SECONDS else None


def hint_at_exact(task: Task, parts: int) -> None:
    """Prints `exact_beside` to stderr."""
    if (beside := exact_beside(task, parts)) is not None:
        print(f"hint: {beside}", file=sys.stderr, flush=True)


def _command(task: Task) -> str:
    """The command or call that solves a task, with the options that differ from their defaults."""
    if isinstance(task, CustomTask):
        # Another process cannot import an object of this one.
        is_only_here = task.problem.partition(":")[0] in (OBJECT, "__main__")
        return "`pdai.solve` on this problem" if is_only_here else f"`pdai solve {task.problem}`"
    words = ["pdai", "solve", task.name]
    for part in fields(task):
        value = getattr(task, part.name)
        if value != part.default:
            entries: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
            words += [f"--{part.name.replace('_', '-')}", *map(str, entries)]
    return f"`{shlex.join(words)}`"
