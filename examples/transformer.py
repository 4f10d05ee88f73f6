"""A whole network of one's own: causal attention, whose latent is the history itself."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics

Latent = tuple[Array, Array]


class Attention(AbstractDynamics[Latent]):
    """`s_t` attends to `s_1, ..., s_t`; the read-outs are the logits, so there is no head."""

    needs_head: ClassVar[bool] = False
    maps: Float[Array, "4 features width"]
    last: Float[Array, "width output"]
    horizon: int = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, horizon: int, width: int, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.maps = jax.random.normal(first, (4, features, width)) / features**0.5
        self.last = 0.01 * jax.random.normal(second, (width, size))
        self.horizon, self.output = horizon, size

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        features = self.maps.shape[1]
        return jnp.zeros((*batch, self.horizon, features)), jnp.zeros(batch, jnp.int32)

    def advance(self, latent: Latent, observation: Array) -> Latent:
        history, t = latent
        here = jnp.arange(self.horizon) == t[..., None]
        return jnp.where(here[..., None], observation[..., None, :], history), t + 1

    def read(self, latent: Latent, observation: Array) -> Array:
        history, t = latent
        seen = jnp.arange(self.horizon) < t[..., None]
        return self._attend(observation[..., None, :], history, seen[..., None, :])[..., 0, :]

    def unroll(self, observations: Array) -> Array:
        time = jnp.arange(observations.shape[-2])
        seen = (time[None, :] >= 1) & (time[None, :] <= time[:, None])
        return self._attend(observations, observations, seen)

    def _attend(self, now: Array, history: Array, seen: Array) -> Array:
        query, own = now @ self.maps[0], now @ self.maps[1]
        keys, values = history @ self.maps[2], history @ self.maps[3]
        scores = query @ keys.mT / query.shape[-1] ** 0.5
        # At s_o there is nothing to attend to: the 1 keeps the sum of weights positive.
        weights = jnp.where(seen, jnp.exp(jnp.minimum(scores, 30)), 0)
        mixed = weights @ values / (1 + weights.sum(-1, keepdims=True))
        return jax.nn.relu(own + mixed) @ self.last
