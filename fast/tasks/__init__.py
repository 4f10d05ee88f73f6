"""The tasks: one class of options per problem. Imports no JAX before an environment is made."""

from fast.tasks import builtin
from fast.tasks.custom import CustomTask
from fast.tasks.posteriors import StructureTask, VariablesTask
from fast.tasks.task import Task

_ALL: tuple[type[Task], ...] = (*builtin.TASKS, StructureTask, VariablesTask, CustomTask)
TASKS: dict[str, type[Task]] = {task.name: task for task in _ALL}

__all__ = ["TASKS", "CustomTask", "StructureTask", "Task", "VariablesTask"]
