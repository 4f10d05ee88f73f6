"""A matrix that grows by outer products, kept as it is or as the terms of its sum."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int


class Writes(NamedTuple):
    """`U_t = sum_j u_j (x) w_j`, kept as its terms; several heads are the last of the batch axes.

    Rows 0 to t have the columns `u_j` and the write vectors `w_j`, the others are zero. The step t
    is the same for the whole batch.
    """

    u: Float[Array, "*batch steps d_head"]
    w: Float[Array, "*batch steps d_head"]
    t: Int[Array, ""]


class Matrix(NamedTuple):
    """`U_t`, kept as a matrix; several heads are the last of the batch axes.

    It is transposed, so that applying `U_t` is a sum over the axis before the last. The step t is
    the same for the whole batch.
    """

    transposed: Float[Array, "*batch d_head d_head"]
    t: Int[Array, ""]


LatentMatrix = Writes | Matrix


def one_term(
    u: Float[Array, "*batch 1 d_head"], w: Float[Array, "*batch 1 d_head"], horizon: int
) -> Writes:
    """`U_0 = u (x) w`, with room for the terms of `horizon` steps."""
    first = (jnp.arange(horizon + 1) == 0)[:, None]
    return Writes(jnp.where(first, u, 0), jnp.where(first, w, 0), jnp.int32(0))


def with_term(
    latent: LatentMatrix, u: Float[Array, "*batch 1 d_head"], w: Float[Array, "*batch 1 d_head"]
) -> LatentMatrix:
    """`U_{t+1} = U_t + u (x) w`."""
    t = latent.t + 1
    if isinstance(latent, Matrix):
        return Matrix(latent.transposed + w.mT * u, t)
    return Writes(
        lax.dynamic_update_slice_in_dim(latent.u, u, t, axis=-2),
        lax.dynamic_update_slice_in_dim(latent.w, w, t, axis=-2),
        t,
    )


def applied(
    latent: LatentMatrix, x: Float[Array, "*batch 1 d_head"]
) -> Float[Array, "*batch 1 d_head"]:
    """`U_t x`."""
    if isinstance(latent, Matrix):
        return (latent.transposed * x.mT).sum(-2, keepdims=True)
    return (x @ latent.w.mT) @ latent.u
