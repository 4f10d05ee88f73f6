"""The replay buffer: terminal states met in training, to draw trajectories backwards from."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fast.environments import AbstractEnvironment


class Buffer(NamedTuple):
    """The last terminal states, oldest overwritten first.

    Attributes:
        states: of shape (capacity, ...).
        log_rewards: in nats.
        added: how many were ever added.
    """

    states: Any
    log_rewards: Float[Array, " capacity"]
    added: Int[Array, ""]


def empty_buffer(environment: AbstractEnvironment[Any], capacity: int) -> Buffer:
    """A buffer without states."""
    states = jax.tree.map(
        lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype),
        jax.eval_shape(environment.initial),
    )
    return Buffer(states, jnp.zeros(capacity), jnp.int32(0))


def add(buffer: Buffer, states: Any, log_rewards: Float[Array, " batch"]) -> Buffer:
    """The buffer with a batch more."""
    capacity = buffer.log_rewards.shape[0]
    place = (buffer.added + jnp.arange(log_rewards.shape[0])) % capacity
    return Buffer(
        jax.tree.map(lambda old, new: old.at[place].set(new), buffer.states, states),
        buffer.log_rewards.at[place].set(log_rewards),
        buffer.added + log_rewards.shape[0],
    )


def choose(buffer: Buffer, draws: Float[Array, " batch"], *, by_reward: bool) -> Any:
    """Terminal states from the buffer, which must not be empty: uniformly, or in proportion to `R`.

    Args:
        buffer: the buffer.
        draws: one number per state, uniform on [0, 1).
        by_reward: whether in proportion to the reward.
    """
    filled = jnp.arange(buffer.log_rewards.shape[0]) < buffer.added
    weights = filled.astype(buffer.log_rewards.dtype)
    if by_reward:
        weights = jax.nn.softmax(jnp.where(filled, buffer.log_rewards, -jnp.inf))
    below = jnp.cumsum(weights)
    # The first place whose partial sum exceeds the draw; it is filled, as empty ones add nothing.
    place = jnp.searchsorted(below, draws * below[-1], side="right")
    return jax.tree.map(lambda leaf: leaf[jnp.minimum(place, buffer.added - 1)], buffer.states)
