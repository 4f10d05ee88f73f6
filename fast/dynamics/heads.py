"""Vectors split among the heads of a latent, and joined again."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def split_heads(x: Float[Array, "*batch time n"], heads: int) -> Array:
    """Splits the last axis into heads, and puts them before the time.

    A single head has no axis, which is an eighth of the time of `SRWM.unroll`.
    """
    if heads == 1:
        return x
    return jnp.swapaxes(x.reshape(*x.shape[:-1], heads, -1), -2, -3)


def join_heads(x: Array, heads: int) -> Float[Array, "*batch time n"]:
    """The inverse of `split_heads`."""
    if heads == 1:
        return x
    x = jnp.swapaxes(x, -2, -3)
    return x.reshape(*x.shape[:-2], -1)
