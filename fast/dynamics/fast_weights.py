"""Fast weights along a known trajectory: every write and every read at once, without a scan."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Vectors = Float[Array, "*batch time d"]
Matrices = Float[Array, "*batch time time"]

# Below this size squaring beats splitting: few products of small matrices, on every trajectory.
SMALL = 8


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
