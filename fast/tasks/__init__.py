"""The tasks: one class of options per problem. Imports no JAX before an environment is made."""

from fast.tasks.builtin import CONSTRUCTED
from fast.tasks.custom import CustomTask
from fast.tasks.posteriors import StructureTask, VariablesTask
from fast.tasks.task import Task

TASKS: dict[str, type[Task]] = {task.name: task for task in CONSTRUCTED}
TASKS |= {task.name: task for task in (StructureTask, VariablesTask, CustomTask)}

__all__ = ["TASKS", "CustomTask", "StructureTask", "Task", "VariablesTask"]
