"""Tasks whose objects are choices: of items, weights, spins or edges.

Imports no JAX, so that the command line answers at once.
"""

from dataclasses import dataclass
from math import comb
from typing import ClassVar, Literal

from fast.tasks.sequences import words
from fast.training.config import TrainConfig
from fast.training.names import DynamicsName, LossName
from reference.errors import InputError
from reference.problems import EdgeAddition, Ising, Preference, RewardForm, Sets, dyadic

Order = Literal["fixed", "any"]


@dataclass(frozen=True)
class SetsConfig(TrainConfig):
    """Sets of K out of S items: log R = sum of utilities."""

    problem_name: ClassVar[str] = "sets"

    items: int = 64
    """S, the number of items."""
    size: int = 16
    """K, the size of a set; the paper has 16, 24 and 32."""
    form: RewardForm = "product"
    """Whether R is the product of exp(u) or, as printed, their sum."""
    utility_seed: int = 0
    """Seed of the utilities u."""
    loss: LossName = "log_variance"

    def problem(self) -> Sets:
        """The set problem."""
        return Sets.random(self.items, self.size, self.form, self.utility_seed)

    def states(self) -> int:
        """Sets of at most K items."""
        return sum(comb(self.items, n) for n in range(self.size + 1))


@dataclass(frozen=True)
class PreferenceConfig(TrainConfig):
    """Bayesian preference learning: integer weights w given comparisons of pairs."""

    problem_name: ClassVar[str] = "preference"

    comparisons: int = 50
    """Number of comparisons; the paper has 50, 100 and 150."""
    dimension: int = 8
    """d, the number of weights."""
    bound: int = 4
    """m: each weight lies in -m, ..., m."""
    order: Order = "fixed"
    """Choose the weights one after the other (a tree), or in any order."""
    data_seed: int = 0
    """Seed of the comparisons."""
    loss: LossName = "log_variance"
    learning_rate: float = 3e-3

    def problem(self) -> Preference:
        """The posterior."""
        return Preference.random(
            self.comparisons, self.dimension, self.bound, self.order, self.data_seed
        )

    def states(self) -> int:
        """Vectors with some weights chosen."""
        values = 2 * self.bound + 1
        if self.order == "fixed":
            return words(values, self.dimension)
        return int((values + 1) ** self.dimension)


@dataclass(frozen=True)
class IsingConfig(TrainConfig):
    """The Ising model with couplings of rank one, spin by spin."""

    problem_name: ClassVar[str] = "ising"

    spins: int = 36
    """d; the paper has 36 and 64."""
    order: Order = "any"
    """Set the spins in any order, or one after the other (a tree)."""
    model_seed: int = 0
    """Seed of couplings and fields."""

    def problem(self) -> Ising:
        """The model."""
        return Ising.random(self.spins, self.order, self.model_seed)

    def states(self) -> int:
        """Spins that are up, down, or not set."""
        return words(2, self.spins) if self.order == "fixed" else int(3**self.spins)


@dataclass(frozen=True)
class GraphsConfig(TrainConfig):
    """Edge addition to small graphs that no Markovian graph network tells apart."""

    problem_name: ClassVar[str] = "graphs"

    instance: Literal["matching", "paths", "marked", "mirrored", "paper"] = "paper"
    """Which instance."""
    alpha: float = 0.7
    """The target probability of the first terminal graph."""
    dynamics: DynamicsName = "temporal-gcn"
    parameters: int = 2_000
    steps: int = 2_000

    def problem(self) -> EdgeAddition:
        """The instance."""
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but must lie strictly between 0 and 1")
        problem: EdgeAddition = getattr(EdgeAddition, self.instance)(dyadic(self.alpha))
        return problem

    def states(self) -> int:
        """Listed graphs."""
        problem = self.problem()
        return len(problem.inner) + len(problem.terminals)
