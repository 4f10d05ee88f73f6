"""The replay buffer: terminal states met in training, to draw trajectories backwards from."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fast.environments import AbstractEnvironment
from reference.contract.errors import check_fields, require, require_counts


class Buffer(NamedTuple):
    """The last terminal states, oldest overwritten first, and the number ever added.

    For replay by density, `log_densities` are those of the target `R^beta / Z` when each was added,
    in nats, up to a constant.
    """

    states: Any
    log_rewards: Float[Array, " capacity"]
    added: Int[Array, ""]
    log_densities: Float[Array, " capacity"] | None = None


def empty_buffer(
    environment: AbstractEnvironment, capacity: int, *, with_densities: bool = False
) -> Buffer:
    """A buffer without states, with room for densities or not.

    Args:
        environment: the state graph as array code.
        capacity: the largest number of states.
        with_densities: make room for the density of each draw.
    """
    states = jax.tree.map(
        lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype),
        jax.eval_shape(environment.initial),
    )
    densities = jnp.zeros(capacity) if with_densities else None
    return Buffer(states, jnp.zeros(capacity), jnp.int32(0), densities)


def _log_importance(buffer: Buffer, beta: Float[Array, ""] | float) -> Float[Array, " capacity"]:
    """`log( R^beta / density )` of each remembered state, in nats; -inf where `R` is 0 or nothing.

    By these weights, states drawn while the target was another one stand for the target `R^beta`
    (annealed importance sampling: Neal, 2001; Del Moral, Doucet and Jasra, 2006).
    """
    assert buffer.log_densities is not None
    filled = jnp.arange(buffer.log_rewards.shape[0]) < buffer.added
    possible = filled & (buffer.log_rewards > -jnp.inf)
    return jnp.where(possible, beta * buffer.log_rewards - buffer.log_densities, -jnp.inf)


def add(
    buffer: Buffer,
    states: Any,
    log_rewards: Float[Array, " batch"],
    beta: Float[Array, ""] | float = 1.0,
) -> Buffer:
    """The buffer with a batch added, drawn while the target was `R^beta`.

    Args:
        buffer: the buffer.
        states: a batch of terminal states.
        log_rewards: their log R, in nats.
        beta: the exponent of the reward while they were drawn.
    """
    capacity = buffer.log_rewards.shape[0]
    place = (buffer.added + jnp.arange(log_rewards.shape[0])) % capacity
    densities = buffer.log_densities
    if densities is not None:
        # `log( R^beta / Z )` of new states, where `Z` is the mean weight of the remembered ones.
        number = jnp.clip(buffer.added, 1, capacity)
        log_z = jax.nn.logsumexp(_log_importance(buffer, beta)) - jnp.log(number)
        # Before any state with a reward, Z is the unit of all that follow.
        new = beta * log_rewards - jnp.where(log_z > -jnp.inf, log_z, 0.0)
        densities = densities.at[place].set(new)
    added = buffer.added + log_rewards.shape[0]
    return Buffer(
        jax.tree.map(lambda old, new: old.at[place].set(new), buffer.states, states),
        buffer.log_rewards.at[place].set(log_rewards),
        # A full buffer counts no further, as 32 bits do not hold every number.
        jnp.where(added >= 2 * capacity, added % capacity + capacity, added),
        densities,
    )


def choose(
    buffer: Buffer,
    draws: Float[Array, " batch"],
    beta: Float[Array, ""] | float = 1.0,
    *,
    by_reward: bool,
) -> Any:
    """Terminal states from the buffer, which must not be empty.

    They are drawn uniformly, in proportion to `R`, or, from a buffer with densities, in proportion
    to `R^beta / density`, with the exponent `beta` of the target now; draws are uniform on [0, 1).

    Args:
        buffer: a buffer that is not empty.
        draws: uniform on [0, 1).
        beta: the exponent of the reward now.
        by_reward: draw in proportion to R, not uniformly.
    """
    filled = jnp.arange(buffer.log_rewards.shape[0]) < buffer.added
    weights = filled.astype(buffer.log_rewards.dtype)
    if by_reward:
        weights = jax.nn.softmax(jnp.where(filled, buffer.log_rewards, -jnp.inf))
    elif buffer.log_densities is not None:
        weights = jax.nn.softmax(_log_importance(buffer, beta))
    below = jnp.cumsum(weights)
    # The first place whose partial sum exceeds the draw; it is filled, as empty ones add nothing.
    place = jnp.searchsorted(below, draws * below[-1], side="right")
    return jax.tree.map(lambda leaf: leaf[jnp.minimum(place, buffer.added - 1)], buffer.states)


@dataclass(frozen=True)
class NoReplay:
    """No replay: every trajectory is drawn forwards."""

    name: ClassVar[str] = "none"
    by_reward: ClassVar[bool] = False
    by_density: ClassVar[bool] = False

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


@dataclass(frozen=True)
class AnnealedReplay(UniformReplay):
    """Part of each batch is drawn backwards from remembered states, weighted for R^beta now."""

    name: ClassVar[str] = "annealed"
    by_density: ClassVar[bool] = True

    replay_capacity: int = 65_536
    """The number of terminal states that are remembered."""
