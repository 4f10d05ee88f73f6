"""Causal attention, whose latent is the keys and values of all states so far."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.heads import join_heads, split_heads
from fast.dynamics.residual import BlockOptions
from fast.environments import AbstractEnvironment
from reference.errors import InputError


class Memory(NamedTuple):
    """`W_t`: a key and a value of `W_o` and of each state since; later rows are zero.

    Attributes:
        keys: `k_0, ..., k_t`.
        values: `v_0, ..., v_t`.
        t: the number of steps.
    """

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
        norm: Float[ArrayLike, ""] = 1.0,
        heads: int = 1,
        key: PRNGKeyArray,
    ):
        """Draws the weights; the entries of `v` are of order one for features of that norm."""
        if heads < 1 or size < heads or size % heads:
            raise InputError(
                f"Attention has d = {size} and {heads} heads, but d must be a multiple of the "
                "number of heads"
            )
        input_key, start_key = jax.random.split(key)
        self.inputs = jax.random.normal(input_key, (3 * size, features)) / norm
        self.start = jax.random.normal(start_key, (2, size))
        self.bias = jnp.zeros((heads, horizon + 1))
        self.output, self.heads = size, heads

    def initial(self, batch: tuple[int, ...] = ()) -> Memory:
        rows = jnp.zeros((*batch, self.bias.shape[1], self.output))
        keys, values = (rows.at[..., 0, :].set(first) for first in self.start)
        return Memory(keys, values, jnp.zeros(batch, jnp.int32))

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
        keys, values = (
            rows.at[..., 0, :].set(first)
            for rows, first in zip((keys, values), self.start, strict=True)
        )
        return self._attend(query, keys, values, jnp.arange(observations.shape[-2]))

    def _vectors(self, observations: FeaturesAlong) -> list[Float[Array, "*batch time d"]]:
        return jnp.split(observations @ self.inputs.T, 3, axis=-1)

    def _attend(
        self, query: Array, keys: Array, values: Array, t: Int[Array, "*batch time"]
    ) -> ReadOutsAlong:
        """The read-outs of queries at the times `t`, of the rows `0, ..., t`."""
        q, k, v = (split_heads(x, self.heads) for x in (query, keys, values))
        ago = t[..., None] - jnp.arange(keys.shape[-2])
        bias = self.bias[:, jnp.maximum(ago, 0)]
        bias = bias[0] if self.heads == 1 else jnp.moveaxis(bias, 0, -3)
        seen = ago >= 0 if self.heads == 1 else (ago >= 0)[..., None, :, :]
        scores = q @ k.mT / q.shape[-1] ** 0.5 + bias
        return join_heads(jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ v, self.heads)


@dataclass(frozen=True)
class AttentionOptions(BlockOptions):
    """Causal attention to all states so far; in a block, a transformer of one layer."""

    name: ClassVar[str] = "attention"

    def alone(
        self,
        features: int,
        norm: Float[ArrayLike, ""],
        environment: AbstractEnvironment[Any],
        *,
        key: PRNGKeyArray,
    ) -> Attention:
        """The attention itself."""
        horizon = 1 if self.reset else environment.horizon
        return Attention(features, self.latent_size, horizon, norm=norm, heads=self.heads, key=key)
