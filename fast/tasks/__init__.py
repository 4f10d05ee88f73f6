"""The tasks: one class of options per problem. Imports no JAX before an environment is made."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from fast import ENTERED_TASKS
from fast.tasks.builtin import CONSTRUCTED
from fast.tasks.custom import CustomTask
from fast.tasks.task import Task
from reference.contract.errors import InputError, no_such
from reference.contract.loading import name_of


class _Tasks(Mapping[str, type[Task]]):
    """The tasks by name: those of this package, and those that were entered in `fast`."""

    def __init__(self) -> None:
        self._own: dict[str, type[Task]] = {task.name: task for task in CONSTRUCTED}
        self._own[CustomTask.name] = CustomTask

    def __getitem__(self, name: str) -> type[Task]:
        if name in ENTERED_TASKS:
            module, _, kind = ENTERED_TASKS[name].partition(":")
            entered: type[Task] = getattr(import_module(module), kind)
            return entered
        return self._own[name]

    def __iter__(self) -> Iterator[str]:
        *built_in, custom = self._own
        yield from (*built_in, *ENTERED_TASKS, custom)

    def __len__(self) -> int:
        return len(self._own) + len(ENTERED_TASKS)


TASKS = _Tasks()

__all__ = ["TASKS", "CustomTask", "Task", "problem_meant", "task_meant"]


def task_meant(problem: Any) -> tuple[type[Task], dict[str, Any]]:
    """The kind of task that a user means by a problem, and the options that this sets.

    The problem is the name of a task, a task, or a problem, its class or `module:Name`; or None.
    Raises InputError if it is a name, but of no task.
    """
    if isinstance(problem, Task):
        return type(problem), {part.name: getattr(problem, part.name) for part in fields(problem)}
    if isinstance(problem, str) and problem in TASKS:
        return TASKS[problem], {}
    if isinstance(problem, str) and ":" not in problem:
        raise InputError(no_such("problem", problem, TASKS) + ", or write module:Name")
    return CustomTask, {} if problem is None else {"problem": name_of(problem)}


def problem_meant(problem: Any) -> Any:
    """The problem of a task's name, with its default options; anything else as it is."""
    is_name = isinstance(problem, str) and ":" not in problem
    return task_meant(problem)[0]().make_problem() if is_name else problem
