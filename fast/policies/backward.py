"""Backward policies `p_B(s_t | s_{t+1})`: uniform, learned, or read from the latent."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fast.dynamics.perceptron import Perceptron

# An additive mask. The paper multiplies by {1, -inf}, which turns a negative logit into +inf.
MASKED = -1e9


class AbstractBackwardPolicy(eqx.Module):
    """A law over the parents of every state that is left backwards.

    Attributes:
        is_uniform: whether it is known without evaluating anything.
        reads_latent: whether it sees `W_{t+1}` as well: soft-maxed over the unlifted parents, its
            mass `sum over tau of p_B(tau | x)` then differs from 1.
    """

    is_uniform: ClassVar[bool] = False
    reads_latent: ClassVar[bool] = False

    @property
    def outputs(self) -> int:
        """How many of the network's outputs it reads; they follow the logits of the actions."""
        return 0

    @abstractmethod
    def log_p_b(
        self,
        outputs: Float[Array, "*batch outputs"] | None,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch parents"],
    ) -> Float[Array, "*batch parents"]:
        """`log p_B` of every backward action, in nats; about -1e9 where masked.

        Args:
            outputs: those it reads, at the state that is left; None if it reads none.
            observation: the features of that state.
            mask: its legal backward actions.
        """


class UniformBackward(AbstractBackwardPolicy):
    """Uniform over the parents."""

    is_uniform: ClassVar[bool] = True

    def log_p_b(
        self,
        outputs: Float[Array, "*batch outputs"] | None,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch parents"],
    ) -> Float[Array, "*batch parents"]:
        """`-log` of the number of parents."""
        return jnp.where(mask, -jnp.log(jnp.maximum(mask.sum(-1, keepdims=True), 1)), MASKED)


class AbstractStateBackward(AbstractBackwardPolicy):
    """A soft-max over the parents of what is a function of the state alone: its mass is 1.

    A backward policy of your own is a subclass with `logits`, made with
    `(features, parents, key=key)`.
    """

    @abstractmethod
    def logits(
        self, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch parents"]:
        """The logit of every backward action."""

    def log_p_b(
        self,
        outputs: Float[Array, "*batch outputs"] | None,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch parents"],
    ) -> Float[Array, "*batch parents"]:
        """The logarithm of the soft-max of the logits over the legal parents."""
        return masked_log_softmax(self.logits(observation), mask)


class LearnedBackward(AbstractStateBackward):
    """A perceptron on the features of the state."""

    head: Perceptron

    def logits(
        self, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch parents"]:
        """The outputs of the perceptron."""
        return self.head(observation)


class LiftedBackward(AbstractBackwardPolicy):
    """A soft-max of outputs of the network, which see the latent.

    Its mass, which `pdai audit` reports, differs from 1, and the balanced sampler then draws `x` in
    proportion to `R(x)` times that mass.
    """

    reads_latent: ClassVar[bool] = True
    parents: int = eqx.field(static=True)

    @property
    def outputs(self) -> int:
        """One per parent."""
        return self.parents

    def log_p_b(
        self,
        outputs: Float[Array, "*batch outputs"] | None,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch parents"],
    ) -> Float[Array, "*batch parents"]:
        """The logarithm of the soft-max of its outputs over the legal parents."""
        assert outputs is not None
        return masked_log_softmax(outputs, mask)


def masked_log_softmax(
    logits: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]
) -> Float[Array, "*batch n"]:
    """The log of the soft-max over what the mask allows."""
    return jax.nn.log_softmax(jnp.where(mask, logits, MASKED))
