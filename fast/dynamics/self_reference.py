"""The self-referential weight matrix of Irie et al., which makes its own gates."""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.fast_weights import SimplexLink, linked
from fast.dynamics.residual import BlockOptions, Norm, check_heads
from reference.contract.errors import check_value

RATES = 4


class SelfReferential(AbstractDynamics[Float[Array, "*batch heads rows d_head"]]):
    """The matrix that reads its keys, queries, values and rates from itself.

        q_t, k_t, beta_t = W_{t-1} psi(s_t)   (each from its block of rows)
        W_t = W_{t-1} + sigmoid(beta_t) o (W_{t-1} zeta(q_t) - W_{t-1} zeta(k_t)) (x) zeta(k_t)
        y_t = W_t psi(s_t)   (the first block of rows)

    The value of the matrix at the query is written at the key, for all rows: those of y, of q, of k
    and of beta, each block at its own of the four rates. (Irie, Schlag, Csordas and
    Schmidhuber, A modern self-referential weight matrix, 2022. There y_t is read before the update,
    and here after it, as in eq:ASRWM, which has a rotation and slow weights in addition.)

    Nothing of it is known before the trajectory is followed, so `unroll` is a scan over matrices.

    Attributes:
        embedding: `psi`, shape (d, features).
        start: `W_o`, shape (heads, 3 d/h + 4, d/h), drawn with standard deviation `1/sqrt(d/h)`:
            the rows of y, q, k and beta.
        output: d.
        heads: h; each has its part of psi and of y.
        link: `zeta`, per head.

    Raises:
        InputError: if the size does not divide into heads, or the link is not one of its choices.
    """

    embedding: Float[Array, "d features"]
    start: Float[Array, "heads rows d_head"]
    output: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)
    link: SimplexLink = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        size: int,
        *,
        norm: Norm = 1.0,
        heads: int = 1,
        link: SimplexLink = "elu",
        key: PRNGKeyArray,
    ):
        """Draws the weights; the entries of `psi` are of order one for features of that norm."""
        check_value("SelfReferential", "link", link, SimplexLink)
        check_heads("SelfReferential", size, heads)
        d_head = size // heads
        embedding_key, start_key = jax.random.split(key)
        self.embedding = jax.random.normal(embedding_key, (size, features)) / norm
        self.start = jax.random.normal(start_key, (heads, 3 * d_head + RATES, d_head)) / d_head**0.5
        self.output = size
        self.heads = heads
        self.link = link

    def initial(self, batch: tuple[int, ...] = ()) -> Float[Array, "*batch heads rows d_head"]:
        return jnp.broadcast_to(self.start, (*batch, *self.start.shape))

    def advance(
        self, latent: Float[Array, "*batch heads rows d_head"], observation: Features
    ) -> Float[Array, "*batch heads rows d_head"]:
        return self._updated(latent, self._psi(observation))

    def read(
        self, latent: Float[Array, "*batch heads rows d_head"], observation: Features
    ) -> ReadOut:
        return self._read(latent, self._psi(observation))

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        def one_step(latent: Array, psi: Array) -> tuple[Array, Array]:
            latent = self._updated(latent, psi)
            return latent, self._read(latent, psi)

        psi = jnp.moveaxis(self._psi(observations), -3, 0)
        start = self.initial(observations.shape[:-2])
        later: Array = lax.scan(one_step, start, psi[1:])[1]
        return jnp.moveaxis(jnp.concatenate([self._read(start, psi[0])[None], later]), 0, -2)

    def _psi(self, observation: Features) -> Float[Array, "*batch heads d_head"]:
        psi = observation @ self.embedding.T
        return psi.reshape(*psi.shape[:-1], self.heads, -1)

    def _updated(
        self,
        latent: Float[Array, "*batch heads rows d_head"],
        psi: Float[Array, "*batch heads d_head"],
    ) -> Float[Array, "*batch heads rows d_head"]:
        d = psi.shape[-1]
        _, q, k, beta = jnp.split(_product(latent, psi), (d, 2 * d, 3 * d), axis=-1)
        query, key = linked(q, self.link), linked(k, self.link)
        rates = jnp.repeat(jax.nn.sigmoid(beta), np.array([d, d, d, RATES]), axis=-1)
        change = rates * _product(latent, query - key)
        return latent + change[..., None] * key[..., None, :]

    def _read(
        self,
        latent: Float[Array, "*batch heads rows d_head"],
        psi: Float[Array, "*batch heads d_head"],
    ) -> ReadOut:
        y = _product(latent[..., : psi.shape[-1], :], psi)
        return y.reshape(*y.shape[:-2], self.output)


def _product(matrix: Float[Array, "*batch rows d"], x: Float[Array, "*batch d"]) -> Array:
    return (matrix * x[..., None, :]).sum(-1)


@dataclass(frozen=True)
class SelfReferentialOptions(BlockOptions):
    """The matrix of Irie et al. (2022), which makes its own gates."""

    name: ClassVar[str] = "self-referential"

    link: SimplexLink = "elu"
    """zeta: the normalised ELU, or the soft-max."""

    def alone(
        self, features: int, norm: Norm, horizon: int, *, key: PRNGKeyArray
    ) -> SelfReferential:
        return SelfReferential(
            features, self.latent_size, norm=norm, heads=self.heads, link=self.link, key=key
        )
