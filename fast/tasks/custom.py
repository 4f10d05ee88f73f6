"""The task that is a problem of the user's own.

Imports no JAX, so that the command line answers at once.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from fast.training.config import TrainConfig
from reference.loading import load_problem


@dataclass(frozen=True)
class CustomConfig(TrainConfig):
    """Your own problem: any class with initial, children(state) and reward(terminal).

    It is enumerated. Networks see the number of a state, one-hot, or what the problem's method
    features(state) gives, if it has one: equally many numbers for each state.
    """

    problem_name: ClassVar[str] = "custom"

    name: str = "reference.problems:Grid.minimal"
    """MODULE:NAME of it; a class or function is called without arguments."""

    def _check_problem(self) -> None:
        # Not imported before it is needed: to look at somebody's run must not run their code.
        pass

    def problem(self) -> Any:
        """The problem, imported."""
        return load_problem(self.name)

    def states(self) -> int:
        """Not known before enumeration, which a problem of this kind needs anyway."""
        return 0

    @property
    def short_name(self) -> str:
        """The name of the problem."""
        return self.name.rpartition(":")[2].lower().replace(".", "-")
