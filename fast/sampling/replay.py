"""The replay buffer: terminal states met in training, to draw trajectories backwards from."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fast.environments import AbstractEnvironment
from reference.errors import InputError

Replay = Literal["none", "uniform", "reward"]


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


def choose(buffer: Buffer, kind: Replay, draws: Float[Array, " batch"]) -> Any:
    """Terminal states from the buffer, which must not be empty: uniformly, or in proportion to `R`.

    Args:
        buffer: the buffer.
        kind: "uniform" or "reward".
        draws: one number per state, uniform on [0, 1).

    Raises:
        InputError: if it is of no such kind.
    """
    filled = jnp.arange(buffer.log_rewards.shape[0]) < buffer.added
    if kind == "uniform":
        weights = filled.astype(buffer.log_rewards.dtype)
    elif kind == "reward":
        weights = jax.nn.softmax(jnp.where(filled, buffer.log_rewards, -jnp.inf))
    else:
        raise InputError(f"replay is {kind!r}, but to choose it must be 'uniform' or 'reward'")
    below = jnp.cumsum(weights)
    # The first place whose partial sum exceeds the draw; it is filled, as empty ones add nothing.
    place = jnp.searchsorted(below, draws * below[-1], side="right")
    return jax.tree.map(lambda leaf: leaf[jnp.minimum(place, buffer.added - 1)], buffer.states)
