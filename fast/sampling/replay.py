"""The replay buffer: terminal states met in training, to draw trajectories backwards from."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fast.environments import AbstractEnvironment
from reference.arguments import check_fields, require, require_counts


class Buffer(NamedTuple):
    """The last terminal states, oldest overwritten first.

    Attributes:
        states: the states, shape (capacity, ...).
        log_rewards: their log rewards, in nats.
        added: the number of states ever added.
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
    """The buffer with a batch added."""
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
        by_reward: draw in proportion to the reward.
    """
    filled = jnp.arange(buffer.log_rewards.shape[0]) < buffer.added
    weights = filled.astype(buffer.log_rewards.dtype)
    if by_reward:
        weights = jax.nn.softmax(jnp.where(filled, buffer.log_rewards, -jnp.inf))
    below = jnp.cumsum(weights)
    # The first place whose partial sum exceeds the draw; it is filled, as empty ones add nothing.
    place = jnp.searchsorted(below, draws * below[-1], side="right")
    return jax.tree.map(lambda leaf: leaf[jnp.minimum(place, buffer.added - 1)], buffer.states)


@dataclass(frozen=True)
class NoReplay:
    """No replay: every trajectory is drawn forwards."""

    name: ClassVar[str] = "none"
    by_reward: ClassVar[bool] = False

    @property
    def capacity(self) -> int:
        """The number of terminal states that are remembered."""
        return 0

    def replayed(self, batch: int) -> int:
        """The number of trajectories of a batch that are drawn backwards."""
        return 0


@dataclass(frozen=True)
class UniformReplay(NoReplay):
    """Part of each batch is drawn backwards from remembered states, chosen uniformly."""

    name: ClassVar[str] = "uniform"

    replay_share: float = 0.5
    """The share of the batch."""
    replay_capacity: int = 8_192
    """The number of terminal states that are remembered."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        require_counts(self, "replay_capacity")
        require(self, "replay_share", 0 < self.replay_share < 1, "lie strictly between 0 and 1")

    @property
    def capacity(self) -> int:
        """The number of terminal states that are remembered."""
        return self.replay_capacity

    def replayed(self, batch: int) -> int:
        """The number of trajectories of a batch that are drawn backwards."""
        return round(self.replay_share * batch)


@dataclass(frozen=True)
class RewardReplay(UniformReplay):
    """Part of each batch is drawn backwards from remembered states, in proportion to R."""

    name: ClassVar[str] = "reward"
    by_reward: ClassVar[bool] = True
