"""Backward policies `p_B(s_t | s_{t+1})`: uniform, learned, or read from the latent."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.perceptron import Perceptron
from fast.dynamics.state_table import StateTable, with_table
from fast.tracing import built

# An additive mask. The paper multiplies by {1, -inf} (eq:policya), which turns a negative logit
# into +inf.
MASKED = -1e9

Outputs = Float[Array, "*batch outputs"]
# One entry per backward action.
ByParent = Float[Array, "*batch parents"]
ParentMask = Bool[Array, "*batch parents"]


class AbstractBackwardPolicy(eqx.Module):
    """A distribution over the parents of every state but `s_o`.

    A uniform one needs no evaluation. One that reads the latent sees `W_{t+1}` as well: soft-maxed
    over the unlifted parents, its mass `sum over tau of p_B(tau | x)` then differs from 1.
    """

    is_uniform: ClassVar[bool] = False
    reads_latent: ClassVar[bool] = False

    @property
    def outputs(self) -> int:
        """The number of the network's outputs that it reads; they follow the actions' logits."""
        return 0

    @abstractmethod
    def log_p_b(self, outputs: Outputs | None, observation: Features, mask: ParentMask) -> ByParent:
        """`log p_B` of every backward action, in nats; about -1e9 where masked.

        Args:
            outputs: the outputs that it reads, at the state whose parents are meant; None if it
                reads none.
            observation: the features of that state.
            mask: its legal backward actions.
        """


class UniformBackward(AbstractBackwardPolicy):
    """Uniform over the parents."""

    is_uniform: ClassVar[bool] = True

    def log_p_b(self, outputs: Outputs | None, observation: Features, mask: ParentMask) -> ByParent:
        """`-log` of the number of parents."""
        return jnp.where(mask, -jnp.log(jnp.maximum(mask.sum(-1, keepdims=True), 1)), MASKED)


class AbstractStateBackward(AbstractBackwardPolicy):
    """A soft-max over the parents of logits that depend on the state alone: its mass is 1.

    A backward policy of your own is a subclass with `logits`, made with
    `(features, parents, key=key)`.
    """

    @abstractmethod
    def logits(self, observation: Features) -> ByParent:
        """The logit of every backward action."""

    def log_p_b(self, outputs: Outputs | None, observation: Features, mask: ParentMask) -> ByParent:
        """The logarithm of the soft-max of the logits over the legal parents."""
        return masked_log_softmax(self.logits(observation), mask)


class LearnedBackward(AbstractStateBackward):
    """A perceptron on the features of the state, and a table by state beside it, if any."""

    head: Perceptron
    table: StateTable | None = None

    def logits(self, observation: Features) -> ByParent:
        """The outputs of the perceptron, and those of the table."""
        return with_table(self.table, self.head(observation), observation)


class LiftedBackward(AbstractBackwardPolicy):
    """A soft-max of outputs of the network, which see the latent.

    Its mass differs from 1; the balanced sampler then draws `x` in proportion to `R(x)` times that
    mass.
    """

    reads_latent: ClassVar[bool] = True
    parents: int = eqx.field(static=True)

    @property
    def outputs(self) -> int:
        """One per parent."""
        return self.parents

    def log_p_b(self, outputs: Outputs | None, observation: Features, mask: ParentMask) -> ByParent:
        """The logarithm of the soft-max of its outputs over the legal parents."""
        assert outputs is not None
        return masked_log_softmax(outputs, mask)


def masked_log_softmax(
    logits: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]
) -> Float[Array, "*batch n"]:
    """The log of the soft-max over the entries that the mask allows."""
    return jax.nn.log_softmax(jnp.where(mask, logits, MASKED))


@dataclass(frozen=True)
class BackwardOptions(ABC):
    """The choice of a backward policy, before its parameters are drawn.

    Attributes:
        has_parameters: whether it has parameters beside those of the network.
        reads_latent: whether it reads the latent; its mass then differs from 1.
    """

    has_parameters: ClassVar[bool] = False
    reads_latent: ClassVar[bool] = False

    @abstractmethod
    def build(
        self, features: int, parents: int, hidden: list[int], *, key: PRNGKeyArray
    ) -> AbstractBackwardPolicy:
        """The policy, given the numbers of features and of backward actions, and hidden widths.

        Args:
            features: the number of features of a state.
            parents: the number of backward actions.
            hidden: the widths of hidden layers.
            key: a random key of JAX.
        """


@dataclass(frozen=True)
class UniformOptions(BackwardOptions):
    """Uniform over the parents."""

    name: ClassVar[str] = "uniform"

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: PRNGKeyArray
    ) -> UniformBackward:
        """A policy without parameters."""
        return UniformBackward()


@dataclass(frozen=True)
class LearnedOptions(BackwardOptions):
    """Learned from the state, by a network with the hidden layers of the head."""

    name: ClassVar[str] = "learned"
    has_parameters: ClassVar[bool] = True

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: PRNGKeyArray
    ) -> LearnedBackward:
        """A perceptron on the features."""
        return LearnedBackward(Perceptron([features, *hidden, parents], key=key))


@dataclass(frozen=True)
class LiftedOptions(BackwardOptions):
    """Learned from state and latent, with a mass that differs from 1: the target is bent."""

    name: ClassVar[str] = "lifted"
    reads_latent: ClassVar[bool] = True

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: PRNGKeyArray
    ) -> LiftedBackward:
        """A policy without parameters of its own."""
        return LiftedBackward(parents)


@dataclass(frozen=True)
class OwnBackward(BackwardOptions):
    """A backward policy of the user's own, called with `(features, parents, key=key)`."""

    has_parameters: ClassVar[bool] = True

    make: Callable[..., Any] = field(default=UniformBackward, repr=False)

    def build(
        self, features: int, parents: int, hidden: list[int], *, key: PRNGKeyArray
    ) -> AbstractBackwardPolicy:
        """The policy that the user's class gives.

        Raises InputError if it is no `AbstractBackwardPolicy`.
        """
        call = partial(self.make, features, parents, key=key)
        advice = "fast.policies.backward.AbstractStateBackward, and define logits"
        policy: AbstractBackwardPolicy = built("p_b", AbstractBackwardPolicy, advice, call)
        return policy
