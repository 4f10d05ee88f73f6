"""The tasks: one class of options per problem. Imports no JAX before an environment is made."""

from dataclasses import fields
from typing import Any

from fast.tasks.builtin import CONSTRUCTED
from fast.tasks.custom import CustomTask
from fast.tasks.posteriors import StructureTask, VariablesTask
from fast.tasks.task import Task
from reference.contract.errors import InputError, no_such
from reference.contract.loading import name_of

TASKS: dict[str, type[Task]] = {task.name: task for task in CONSTRUCTED}
TASKS |= {task.name: task for task in (StructureTask, VariablesTask, CustomTask)}

__all__ = [
    "TASKS",
    "CustomTask",
    "StructureTask",
    "Task",
    "VariablesTask",
    "problem_meant",
    "task_meant",
]


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
    named = isinstance(problem, str) and problem in TASKS
    return TASKS[problem]().make_problem() if named else problem
