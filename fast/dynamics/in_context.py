"""Dynamics whose first latent depends on the context of a conditional problem."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.head import WithHead

# The latent of the inner dynamics, and 1 after the first step, 0 before.
Started = tuple[Any, Float[Array, "*batch"]]


class StartsInContext(AbstractDynamics[Started]):
    """Dynamics that see the context before their first step: `W_0 = advance(W_o, (0, c))`.

    Others never see `s_o`, which is one state on ordinary problems; here its flow and its actions
    depend on the context, with whose `size` features all others end. At `s_o` the features of the
    state are 0.
    """

    inner: AbstractDynamics[Any]
    size: int = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(self, inner: AbstractDynamics[Any], size: int):
        self.inner, self.size, self.output = inner, size, inner.output

    @property
    def has_small_latent(self) -> bool:
        return self.inner.has_small_latent

    def initial(self, batch: tuple[int, ...] = ()) -> Started:
        return self.inner.initial(batch), jnp.zeros(batch)

    def advance(self, latent: Started, observation: Features) -> Started:
        before, _ = self._arrived(latent, observation)
        return self.inner.advance(before, observation), jnp.ones(observation.shape[:-1])

    def read(self, latent: Started, observation: Features) -> ReadOut:
        return self.inner.read(*self._arrived(latent, observation))

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        first = self._context(observations[..., :1, :])
        along = jnp.concatenate([first, first, observations[..., 1:, :]], -2)
        return self.inner.unroll(along)[..., 1:, :]

    def _context(self, observation: Features) -> Features:
        return observation.at[..., : -self.size].set(0)

    def _arrived(self, latent: Started, observation: Features) -> tuple[Any, Features]:
        """The inner latent and the features of a state; at `s_o` those of the context."""
        inner, started = latent
        context = self._context(observation)
        first = self.inner.advance(self.inner.initial(observation.shape[:-1]), context)

        def choose(later: Array, now: Array) -> Array:
            # A leaf without the batch's axes, such as a counter, is the same for the whole batch.
            has = started if later.ndim >= started.ndim else started.reshape(-1)[0]
            return jnp.where(has.reshape(has.shape + (1,) * (later.ndim - has.ndim)), later, now)

        arrived: tuple[Any, Features] = jax.tree.map(choose, (inner, observation), (first, context))
        return arrived


def starting_in_context(network: AbstractDynamics[Any], size: int) -> AbstractDynamics[Any]:
    """The network, told the context before its first step unless it sees every state.

    A head stays outermost; `size` is the number of features of a context.
    """
    if network.is_markovian:
        return network
    if not isinstance(network, WithHead):
        return StartsInContext(network, size)
    starting: WithHead[Any] = eqx.tree_at(
        lambda tree: tree.dynamics, network, StartsInContext(network.dynamics, size)
    )
    return starting
