"""Hints at the exact sampler, and at what seems forgotten in a problem."""

import shlex
import sys
from contextlib import suppress
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
    if parts > 1:
        return None
    why = ""
    # What is too large, or wrong, a training will say.
    with suppress(InputError):
        if not isinstance(task, CustomTask):
            why = f"it has at most {task.states():,} states" if task.states() <= SECONDS else ""
        elif (problem := task.make_problem()) is not None:
            seen = inspect_problem(problem, COUNTED)
            why = f"it has {len(seen.dag.labels):,} states" + (seen.hint and f". But {seen.hint}")
    return f"{_command(task)} is exact within seconds, without training: {why}" if why else None


def show_hint(hint: str | None) -> None:
    """Prints a hint, if there is one, to stderr."""
    if hint:
        print(f"hint: {hint}", file=sys.stderr, flush=True)


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
