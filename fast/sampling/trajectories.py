"""A batch of trajectories, and values cached while sampling."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.dynamics.base import Activations
from fast.environments import AbstractEnvironment


class Trajectories(NamedTuple):
    """A batch of complete trajectories, padded to the horizon.

    Attributes:
        states: `s_0, ..., s_T`; padding after a terminal state.
        actions: the actions taken at `s_0, ..., s_{T-1}`.
        active: whether `s_t` was not yet terminal; the rest is padding.
        final: the terminal states `x`.
        log_reward: `log R(x)`, in nats.
    """

    states: Any
    actions: Int[Array, "batch time"]
    active: Bool[Array, "batch time"]
    final: Any
    log_reward: Float[Array, " batch"]


class Cached(NamedTuple):
    """Values of the policy cached while sampling.

    Attributes:
        log_p_f: `log p_F` of the actions (not that of an exploratory policy), in nats, 0 where
            padded.
        activations: the result of `AbstractDynamics.record` before each step but the first, time
            first, if requested; where trajectories end one by one, only the read-outs of a policy
            that is not Markovian.
    """

    log_p_f: Float[Array, "batch time"]
    activations: Activations = ()


def uniforms(
    key: PRNGKeyArray, environment: AbstractEnvironment, batch: int
) -> Float[Array, "time batch"]:
    """The random numbers of a batch of trajectories: one per step, uniform on [0, 1).

    Args:
        key: a random key of JAX.
        environment: the state graph as array code.
        batch: the number of trajectories.
    """
    return jax.random.uniform(key, (environment.horizon, batch))


def between(trajectories: Trajectories, start: int, stop: int) -> Trajectories:
    """The steps of trajectories from one time to another.

    Args:
        trajectories: the batch, padded to the horizon.
        start: the first step.
        stop: the step after the last.
    """
    return trajectories._replace(
        states=jax.tree.map(lambda leaf: leaf[:, start : stop + 1], trajectories.states),
        actions=trajectories.actions[:, start:stop],
        active=trajectories.active[:, start:stop],
    )


def batch_first(trajectories: Trajectories) -> Trajectories:
    """Swaps the axes of trajectories whose leaves have the time first."""

    def swap(leaf: Array) -> Array:
        return jnp.swapaxes(leaf, 0, 1)

    return trajectories._replace(
        states=jax.tree.map(swap, trajectories.states),
        actions=swap(trajectories.actions),
        active=swap(trajectories.active),
    )


def repeat(state: Any, batch: int) -> Any:
    """A batch of copies of one state."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), state)
