"""Tasks whose objects are choices: of items, weights, spins or edges.

Imports no JAX, so that the command line answers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.tasks.sequences import words
from fast.tasks.task import BuiltIn
from reference.errors import InputError
from reference.problems import EdgeAddition, Ising, Preference, RewardForm, Sets, dyadic

Order = Literal["fixed", "any"]


@dataclass(frozen=True)
class SetsTask(BuiltIn):
    """Sets of K out of S items: log R = sum of utilities."""

    name: ClassVar[str] = "sets"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})

    items: int = 64
    """S, the number of items."""
    size: int = 16
    """K, the size of a set; the paper has 16, 24 and 32."""
    form: RewardForm = "product"
    """Whether R is the product of exp(u) or, as printed, their sum."""
    utility_seed: int = 0
    """Seed of the utilities u."""

    def make_problem(self) -> Sets:
        """The set problem."""
        return Sets.random(self.items, self.size, self.form, self.utility_seed)

    def states(self) -> int:
        """Sets of at most K items."""
        return sum(comb(self.items, n) for n in range(self.size + 1))


@dataclass(frozen=True)
class PreferenceTask(BuiltIn):
    """Bayesian preference learning: integer weights w given comparisons of pairs."""

    name: ClassVar[str] = "preference"
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"loss": "log_variance", "learning_rate": 3e-3}
    )

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

    def make_problem(self) -> Preference:
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
class IsingTask(BuiltIn):
    """The Ising model with couplings of rank one, spin by spin."""

    name: ClassVar[str] = "ising"

    spins: int = 36
    """d; the paper has 36 and 64."""
    order: Order = "any"
    """Set the spins in any order, or one after the other (a tree)."""
    model_seed: int = 0
    """Seed of couplings and fields."""

    def make_problem(self) -> Ising:
        """The model."""
        return Ising.random(self.spins, self.order, self.model_seed)

    def states(self) -> int:
        """Spins that are up, down, or not set."""
        return words(2, self.spins) if self.order == "fixed" else int(3**self.spins)


@dataclass(frozen=True)
class GraphsTask(BuiltIn):
    """Edge addition to small graphs that no Markovian graph network tells apart."""

    name: ClassVar[str] = "graphs"
    has_graphs: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"dynamics": "temporal-gcn", "parameters": 2_000, "steps": 2_000}
    )

    instance: Literal["matching", "paths", "marked", "mirrored", "paper"] = "paper"
    """Which instance."""
    alpha: float = 0.7
    """The target probability of the first terminal graph."""

    def make_problem(self) -> EdgeAddition:
        """The instance."""
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but must lie strictly between 0 and 1")
        problem: EdgeAddition = getattr(EdgeAddition, self.instance)(dyadic(self.alpha))
        return problem

    def states(self) -> int:
        """Listed graphs."""
        problem = self.make_problem()
        return len(problem.inner) + len(problem.terminals)
