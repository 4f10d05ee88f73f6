"""Policies: the laws and flows that a network's outputs stand for."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fast.dynamics.networks import AbstractNetwork, Perceptron, UniformNetwork

BackwardKind = Literal["uniform", "learned", "lifted"]

# An additive mask. The paper multiplies by {1, -inf}, which turns a negative logit into +inf.
MASKED = -1e9


class Policy(eqx.Module):
    """A forward policy `p_F(. | s_t, W_t)`, a backward policy, and optionally a state flow.

    The outputs of the network are the logits of the actions, then, for `p_b = "lifted"`, those of
    the backward actions, then, if it has one, the log flow.

    Attributes:
        network: the function of `(s_t, W_t)`.
        backward_head: the logits of `p_B(. | s)` from the features of `s`, for `p_b = "learned"`.
        actions: the number of actions.
        parents: the number of backward actions.
        p_b: "uniform" over the parents; "learned", a function of the state alone, so that
            `sum over tau of p_B(tau | x) = 1`; or "lifted", which reads `W_t` as well: soft-maxed
            over the unlifted parents, its mass differs from 1 (reported by `pdai audit`), and the
            balanced sampler then draws `x` in proportion to `R(x)` times that mass.
        has_flow: whether the last output is `log F(s_t, W_t)`.
    """

    network: AbstractNetwork[Any]
    backward_head: Perceptron | None
    actions: int = eqx.field(static=True)
    parents: int = eqx.field(static=True)
    p_b: BackwardKind = eqx.field(static=True)
    has_flow: bool = eqx.field(static=True)

    @property
    def is_markovian(self) -> bool:
        """Whether the forward policy is a function of the state alone."""
        return self.network.is_markovian

    def log_p_f(
        self, outputs: Float[Array, "*batch outputs"], mask: Bool[Array, "*batch actions"]
    ) -> Float[Array, "*batch actions"]:
        """`log p_F` of every action, in nats; about -1e9 where masked."""
        return masked_log_softmax(outputs[..., : self.actions], mask)

    def log_p_b(
        self,
        outputs: Float[Array, "*batch outputs"] | None,
        observation: Float[Array, "*batch features"],
        mask: Bool[Array, "*batch parents"],
    ) -> Float[Array, "*batch parents"]:
        """`log p_B` of every backward action, in nats; about -1e9 where masked.

        Args:
            outputs: at the state that is left backwards; read for `p_b = "lifted"` only.
            observation: its features; read for `p_b = "learned"` only.
            mask: its legal backward actions.
        """
        if self.p_b == "uniform":
            return jnp.where(mask, -jnp.log(jnp.maximum(mask.sum(-1, keepdims=True), 1)), MASKED)
        if self.p_b == "learned":
            assert self.backward_head is not None
            return masked_log_softmax(self.backward_head(observation), mask)
        assert outputs is not None
        return masked_log_softmax(outputs[..., self.actions : self.actions + self.parents], mask)

    def log_flow(self, outputs: Float[Array, "*batch outputs"]) -> Float[Array, "*batch"]:
        """`log F(s_t, W_t)`, in nats."""
        return outputs[..., -1]


def masked_log_softmax(
    logits: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]
) -> Float[Array, "*batch n"]:
    """The log of the soft-max over what the mask allows."""
    return jax.nn.log_softmax(jnp.where(mask, logits, MASKED))


def uniform_policy(policy: Policy) -> Policy:
    """The policy before any learning: uniform among the legal actions, and the legal parents."""
    network = UniformNetwork(policy.actions)
    return Policy(network, None, policy.actions, policy.parents, "uniform", has_flow=False)


def count_parameters(policy: Policy) -> int:
    """The number of trained numbers of a policy."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(policy, eqx.is_array)))
