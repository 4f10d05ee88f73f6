"""Backward policies by name, as options. Imports no JAX before one is made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

    from fast.policies.backward import AbstractBackwardPolicy


@dataclass(frozen=True)
class BackwardOptions:
    """A backward policy, before its parameters are drawn.

    Attributes:
        has_parameters: whether it has some beside the network's.
        reads_latent: whether it reads the latent, so that its mass differs from 1.
    """

    has_parameters: ClassVar[bool] = False
    reads_latent: ClassVar[bool] = False

    def outputs(self, parents: int) -> int:
        """How many outputs of the network it reads."""
        return 0

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: "PRNGKeyArray"
    ) -> "AbstractBackwardPolicy":
        """The backward policy.

        Args:
            features: of a state.
            parents: the number of backward actions.
            hidden: the widths of its hidden layers, if it has some.
            key: for its parameters.
        """
        from fast.policies.backward import UniformBackward

        return UniformBackward()


@dataclass(frozen=True)
class UniformOptions(BackwardOptions):
    """Uniform over the parents."""


@dataclass(frozen=True)
class LearnedOptions(BackwardOptions):
    """Learned from the state, by a network with the hidden layers of the head."""

    has_parameters: ClassVar[bool] = True

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: "PRNGKeyArray"
    ) -> "AbstractBackwardPolicy":
        """A perceptron on the features."""
        from fast.dynamics.perceptron import Perceptron
        from fast.policies.backward import LearnedBackward

        return LearnedBackward(Perceptron([features, *hidden, parents], key=key))


@dataclass(frozen=True)
class LiftedOptions(BackwardOptions):
    """Learned from state and latent, with a mass that differs from 1: the target is bent."""

    reads_latent: ClassVar[bool] = True

    def outputs(self, parents: int) -> int:
        """One per parent."""
        return parents

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: "PRNGKeyArray"
    ) -> "AbstractBackwardPolicy":
        """It has no parameters of its own."""
        from fast.policies.backward import LiftedBackward

        return LiftedBackward(parents)


@dataclass(frozen=True)
class OwnBackward(BackwardOptions):
    """A backward policy of the user's own, called with `(features, parents, key=key)`."""

    has_parameters: ClassVar[bool] = True

    make: Callable[..., Any] = field(default=UniformOptions, repr=False)

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: "PRNGKeyArray"
    ) -> "AbstractBackwardPolicy":
        """What the user's class gives.

        Raises:
            InputError: if it is no `AbstractBackwardPolicy`.
        """
        from fast.dynamics.own import held, traced
        from fast.policies.backward import AbstractBackwardPolicy
        from reference.errors import InputError
        from reference.loading import name_of

        made = traced(
            name_of(self.make), "__init__", partial(self.make, features, parents, key=key)
        )
        if not isinstance(made, AbstractBackwardPolicy):
            raise InputError(
                f"p_b {self.make!r} gives {made!r}, but must give an AbstractBackwardPolicy: "
                "derive from fast.policies.backward.AbstractStateBackward, and define logits"
            )
        kept: AbstractBackwardPolicy = held(f"p_b {self.make!r}", made)
        return kept


BACKWARD: dict[str, type[BackwardOptions]] = {
    "uniform": UniformOptions,
    "learned": LearnedOptions,
    "lifted": LiftedOptions,
}
