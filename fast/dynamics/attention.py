"""Causal attention, whose latent is the keys and values of all states so far."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.residual import BlockOptions, Norm, check_heads, join_heads, split_heads


class Memory(NamedTuple):
    """`W_t`: a key and a value of `W_o` and of each state until step t; later rows are zero."""

    keys: Float[Array, "*batch steps d"]
    values: Float[Array, "*batch steps d"]
    t: Int[Array, "*batch"]


class Attention(AbstractDynamics[Memory]):
    """A state attends to itself and to all states before it, and knows how long ago each was.

        q_t, k_t, v_t = A psi(s_t),   W_t = W_{t-1} with the row (k_t, v_t)
        y_t = sum_{u <= t} softmax_u(q_t . k_u / sqrt(d/h) + b_{t-u}) v_u   (per head)

    `s_o` itself is not fed in: `(k_0, v_0) = W_o` is learned. In a residual block it is a
    transformer of one layer. (Vaswani et al., Attention is all you need, 2017; the learned bias
    of each distance is that of Raffel et al., 2020; not in the paper.)

    Attributes:
        inputs: `A psi` of q, k and v, shape (3d, features); the embedding is absorbed.
        start: `(k_0, v_0)`, shape (2, d).
        bias: `b`, shape (heads, horizon + 1).
        output: d.
        heads: h; each has its part of q, k, v and y.

    Raises:
        InputError: if the size does not divide into heads.
    """

    inputs: Float[Array, "rows features"]
    start: Float[Array, "2 d"]
    bias: Float[Array, "heads steps"]
    output: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        size: int,
        horizon: int,
        *,
        norm: Norm = 1.0,
        heads: int = 1,
        key: PRNGKeyArray,
    ):
        """Draws the weights; the entries of `v` are of order one for features of that norm."""
        check_heads("Attention", size, heads)
        input_key, start_key = jax.random.split(key)
        self.inputs = jax.random.normal(input_key, (3 * size, features)) / norm
        self.start = jax.random.normal(start_key, (2, size))
        self.bias = jnp.zeros((heads, horizon + 1))
        self.output, self.heads = size, heads

    def initial(self, batch: tuple[int, ...] = ()) -> Memory:
        rows = jnp.zeros((*batch, self.bias.shape[1], self.output))
        return Memory(*self._from_start(rows, rows), jnp.zeros(batch, jnp.int32))

    def advance(self, latent: Memory, observation: Features) -> Memory:
        _, key, value = self._vectors(observation[..., None, :])
        t = latent.t + 1
        new = (jnp.arange(self.bias.shape[1]) == t[..., None])[..., None]
        return Memory(jnp.where(new, key, latent.keys), jnp.where(new, value, latent.values), t)

    def read(self, latent: Memory, observation: Features) -> ReadOut:
        query, _, _ = self._vectors(observation[..., None, :])
        return self._attend(query, latent.keys, latent.values, latent.t[..., None])[..., 0, :]

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        query, keys, values = self._vectors(observations)
        times = jnp.arange(observations.shape[-2])
        return self._attend(query, *self._from_start(keys, values), times)

    def _from_start(self, keys: Array, values: Array) -> tuple[Array, Array]:
        """The keys and values with those of `W_o` first."""
        key, value = self.start
        return keys.at[..., 0, :].set(key), values.at[..., 0, :].set(value)

    def _vectors(self, observations: FeaturesAlong) -> list[Float[Array, "*batch time d"]]:
        return jnp.split(observations @ self.inputs.T, 3, axis=-1)

    def _attend(
        self, query: Array, keys: Array, values: Array, t: Int[Array, "*batch time"]
    ) -> ReadOutsAlong:
        """The read-outs of queries at the times `t`, of the rows `0, ..., t`."""
        q, k, v = (split_heads(x, self.heads) for x in (query, keys, values))
        ago = t[..., None] - jnp.arange(keys.shape[-2])
        bias = jnp.where(ago >= 0, self.bias[:, jnp.maximum(ago, 0)], -jnp.inf)
        bias = bias[0] if self.heads == 1 else jnp.moveaxis(bias, 0, -3)
        scores = q @ k.mT / q.shape[-1] ** 0.5 + bias
        return join_heads(jax.nn.softmax(scores) @ v, self.heads)


@dataclass(frozen=True)
class AttentionOptions(BlockOptions):
    """Causal attention to all states so far; in a block, a transformer of one layer."""

    name: ClassVar[str] = "attention"

    def alone(self, features: int, norm: Norm, horizon: int, *, key: PRNGKeyArray) -> Attention:
        return Attention(features, self.latent_size, horizon, norm=norm, heads=self.heads, key=key)
