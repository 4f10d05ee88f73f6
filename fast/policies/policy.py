"""Policies: distributions (eq:policya) and flows from the outputs of a network."""

from typing import Any, ClassVar, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fast.dynamics.base import Features
from fast.dynamics.head import Network
from fast.dynamics.markov import Uniform
from fast.policies.backward import (
    AbstractBackwardPolicy,
    ByParent,
    Outputs,
    ParentMask,
    UniformBackward,
    masked_log_softmax,
)


class AnyPolicy(Protocol):
    """A distribution of trajectories from the initial state, and a backward policy.

    It is summable if the probability of a trajectory of states is a product over its steps; with a
    random latent it is an integral.
    """

    is_summable: ClassVar[bool]

    @property
    def actions(self) -> int:
        """The number of actions."""

    @property
    def is_markovian(self) -> bool:
        """True if the forward policy is a function of the state alone."""


class Policy(eqx.Module):
    """A forward policy `p_F(. | s_t, W_t)`, a backward policy, and optionally a state flow.

    The outputs of the network are the logits of the actions, then the inputs of the backward
    policy, then, if there is a flow, `log F(s_t, W_t)`.
    """

    is_summable: ClassVar[bool] = True
    network: Network
    backward: AbstractBackwardPolicy
    actions: int = eqx.field(static=True)
    has_flow: bool = eqx.field(static=True, default=False)

    @property
    def is_markovian(self) -> bool:
        """True if the forward policy is a function of the state alone."""
        return self.network.is_markovian

    def log_p_f(
        self, outputs: Outputs, mask: Bool[Array, "*batch actions"]
    ) -> Float[Array, "*batch actions"]:
        """`log p_F` of every action, in nats; about -1e9 where masked."""
        return masked_log_softmax(outputs[..., : self.actions], mask)

    def log_p_b(self, outputs: Outputs | None, observation: Features, mask: ParentMask) -> ByParent:
        """`log p_B` of every backward action, in nats; about -1e9 where masked.

        It is that at the state with these features and legal backward actions; only a backward
        policy that reads the latent needs the network's outputs there.

        Args:
            outputs: the network's outputs at the state; None unless p_B reads latents.
            observation: the features of the state.
            mask: the legal backward actions.
        """
        if outputs is not None:
            outputs = outputs[..., self.actions : self.actions + self.backward.outputs]
        return self.backward.log_p_b(outputs, observation, mask)

    def log_flow(self, outputs: Outputs) -> Float[Array, "*batch"]:
        """`log F(s_t, W_t)`, in nats."""
        return outputs[..., -1]


class Sampler(eqx.Module):
    """A policy, with or without a latent, and `log Z` in nats where a loss learns it, else 0."""

    policy: Any
    log_z: Float[Array, ""]


def uniform_policy(policy: AnyPolicy) -> Policy:
    """The policy before any learning: uniform among the legal actions, and the legal parents."""
    return Policy(Uniform(policy.actions), UniformBackward(), policy.actions)


def count_parameters(policy: AnyPolicy) -> int:
    """The number of trained parameters of a policy, or of a tree of their shapes."""
    leaves = jax.tree.leaves(policy)
    return sum(leaf.size for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact))
