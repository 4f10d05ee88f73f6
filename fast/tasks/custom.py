"""The task of the user's own problem or environment.

Imports no JAX before an environment is made, so that the command line answers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from fast.tasks.task import Task
from reference.contract.errors import InputError
from reference.problems.members import as_problem

if TYPE_CHECKING:
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class CustomTask(Task):
    """Your own problem: any class with initial, children(state) and reward(terminal).

    The problem is enumerated. Networks see its features(state), equally many numbers for each
    state; without that method they see the number of the state, one-hot. An environment of your
    own needs no problem; it is checked against one that can be enumerated.
    """

    name: ClassVar[str] = "custom"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"parameters": 0})

    problem: str = ""
    """MODULE:NAME of the problem; a class or function is called without arguments."""
    environment: str = ""
    """MODULE:NAME of an environment of your own: an instance, or a class with from_problem."""

    def check(self) -> None:
        """Imports nothing, as looking at a run must not execute its author's code."""

    def make_problem(self) -> Any:
        """The problem, imported; None if there is an environment alone.

        Raises InputError if neither is named.
        """
        if not (self.problem or self.environment):
            raise InputError(
                "custom has no problem: name yours, as --problem my_module:MyProblem, or "
                "--environment my_module:MyEnvironment"
            )
        return as_problem(self.problem) if self.problem else None

    def states(self) -> int:
        """0: unknown before the enumeration."""
        return 0

    def make_environment(self, problem: Any, max_states: int) -> "AbstractEnvironment":
        """The user's environment, or tables of the enumerated problem."""
        from fast.environments import TabularEnvironment, load_environment

        if self.environment:
            return load_environment(self.environment, problem)
        features = getattr(problem, "features", None)
        if features is not None and not callable(features):
            raise InputError(
                f"{type(problem).__name__}: features is {features!r}, but must be a method "
                "features(state) that gives equally many numbers for each state: rename it, or "
                "make it one"
            )
        return TabularEnvironment.from_problem(problem, features, max_states)

    @property
    def short_name(self) -> str:
        """The name of the problem, or of the environment."""
        return (self.problem or self.environment).rpartition(":")[2].lower().replace(".", "-")
