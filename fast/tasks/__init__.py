"""The tasks: one class of options per problem. Imports no JAX before an environment is made."""

from fast.tasks.choices import GraphsTask, IsingTask, PreferenceTask, SetsTask
from fast.tasks.custom import CustomTask
from fast.tasks.posteriors import StructureTask, VariablesTask
from fast.tasks.sequences import BitsTask, Pho4Task, Six6Task, SynTask
from fast.tasks.task import Task
from fast.tasks.walks import GridTask, LinesTask, RandomWalkTask

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        Six6Task, Pho4Task, SynTask, BitsTask, LinesTask, GridTask, SetsTask, PreferenceTask,
        RandomWalkTask, IsingTask, GraphsTask, StructureTask, VariablesTask, CustomTask,
    )
}  # fmt: skip

__all__ = [
    "TASKS",
    "BitsTask",
    "CustomTask",
    "GraphsTask",
    "GridTask",
    "IsingTask",
    "LinesTask",
    "Pho4Task",
    "PreferenceTask",
    "RandomWalkTask",
    "SetsTask",
    "Six6Task",
    "StructureTask",
    "SynTask",
    "Task",
    "VariablesTask",
]
