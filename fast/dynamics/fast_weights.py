"""Fast weights: their links, a matrix that grows by outer products, and all its reads at once."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

Link = Literal["elu", "softmax", "identity"]
# Maps onto the simplex, which bound the written vectors.
SimplexLink = Literal["elu", "softmax"]

Vectors = Float[Array, "*batch time d"]
Matrices = Float[Array, "*batch time time"]

# Below this size squaring beats splitting: few products of small matrices, on every trajectory.
SMALL = 8


def linked(x: Float[Array, "*batch d"], link: Link) -> Float[Array, "*batch d"]:
    """`zeta(x)`, on the last axis.

    "elu" is `(ELU(x) + 1) / sum(ELU(x) + 1)` (eq:sigmasa), "softmax" the example given with
    eq:ASRWM, "identity" the paper's ablation.
    """
    if link == "identity":
        return x
    if link == "softmax":
        return jax.nn.softmax(x)
    # ELU(x) + 1, up to a factor; taken literally, it cancels for negative x, in the end to 0/0.
    largest = jax.lax.stop_gradient(jnp.minimum(x.max(-1, keepdims=True), 0))
    positive = jnp.where(x >= 0, x + 1, jnp.exp(jnp.minimum(x, 0) - largest))
    return positive / positive.sum(-1, keepdims=True)


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
    """`U_0 = u (x) w`, with room for the terms of `horizon` steps.

    Args:
        u: the first factor, for each head.
        w: the second factor, for each head.
        horizon: the largest number of steps.
    """
    first = (jnp.arange(horizon + 1) == 0)[:, None]
    return Writes(jnp.where(first, u, 0), jnp.where(first, w, 0), jnp.int32(0))


def with_term(
    latent: LatentMatrix, u: Float[Array, "*batch 1 d_head"], w: Float[Array, "*batch 1 d_head"]
) -> LatentMatrix:
    """`U_{t+1} = U_t + u (x) w`.

    Args:
        latent: the sum so far.
        u: the first factor, for each head.
        w: the second factor, for each head.
    """
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


@jax.custom_vjp
def delta_rule(keys: Vectors, writes: Vectors, reads: Vectors, values: Vectors) -> Vectors:
    """The read-outs `y_t = U_t c_t` of the matrices `U_t = U_{t-1} + u_t b_t'`, `U_{-1} = 0`.

        u_t = v_t - U_{t-1} a_t = v_t - sum_{s<t} (a_t . b_s) u_s

    With one row per step the columns `u_t` solve a unit lower-triangular system, and

        u = (I + L)^{-1} v,  L = strictly lower part of A B',
        y = S (I + L)^{-1} v,  S = lower part of C B'.

    The gradient solves the transposed system instead of differentiating through the inverse.
    (The WY or chunk form of DeltaNet; Yang et al., Parallelizing linear transformers with the
    delta rule over sequence length, 2024.)

    Args:
        keys: `a_t`, the key of the erased value, times its rate.
        writes: `b_t`.
        reads: `c_t`.
        values: `v_t`.
    """
    return _forward(keys, writes, reads, values)[0]


def _forward(
    keys: Vectors, writes: Vectors, reads: Vectors, values: Vectors
) -> tuple[Vectors, tuple[Array, ...]]:
    before, until = _masks(keys)
    inverse = _inverse((keys @ writes.mT) * -before)
    lower = (reads @ writes.mT) * until
    solution = lower @ inverse
    return solution @ values, (keys, writes, reads, values, inverse, solution)


def _backward(saved: tuple[Array, ...], cotangent: Vectors) -> tuple[Vectors, ...]:
    keys, writes, reads, values, inverse, solution = saved
    before, until = _masks(keys)
    transposed = solution.mT
    of_lower = ((cotangent @ values.mT) @ inverse.mT) * until
    of_system = (transposed @ of_lower) * -before
    return (
        of_system @ writes,
        of_system.mT @ keys + of_lower.mT @ reads,
        of_lower @ writes,
        transposed @ cotangent,
    )


delta_rule.defvjp(_forward, _backward)


def _masks(rows: Vectors) -> tuple[Array, Array]:
    """Masks of the steps before each step, without and with the step itself."""
    ones = np.ones((rows.shape[-2],) * 2)
    return jnp.asarray(np.tril(ones, -1), rows.dtype), jnp.asarray(np.tril(ones), rows.dtype)


def _inverse(power: Matrices) -> Matrices:
    """`(I - P)^{-1}` of a strictly lower triangular P, by halves and then by squaring."""
    size = power.shape[-1]
    if size > SMALL:
        half = size // 2
        first = _inverse(power[..., :half, :half])
        last = _inverse(power[..., half:, half:])
        below = last @ power[..., half:, :half] @ first
        above = jnp.zeros((*power.shape[:-2], half, size - half), power.dtype)
        return jnp.concatenate(
            [jnp.concatenate([first, above], -1), jnp.concatenate([below, last], -1)], -2
        )
    # P is nilpotent: (I - P)^{-1} = (I + P)(I + P^2)(I + P^4) ...
    inverse = jnp.eye(size, dtype=power.dtype) + power
    covered = 2
    while covered < size:
        power = power @ power
        inverse = inverse + power @ inverse
        covered *= 2
    return inverse
