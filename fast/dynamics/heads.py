"""Vectors split among the heads of a latent, and joined again."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from reference.contract.errors import InputError


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


def check_heads(name: str, size: int, heads: int) -> None:
    """Refuses a size that does not divide into heads.

    Args:
        name: the name in the message.
        size: the size to divide.
        heads: the number of heads.
    """
    if heads < 1 or size < heads or size % heads:
        raise InputError(
            f"{name} has d = {size} and {heads} heads, but d must be a multiple of the number of "
            "heads"
        )
