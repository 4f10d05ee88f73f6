"""Coarse observations: several states have the features of one of them.

Steps, masks and rewards stay those of the true state. `reference.expressivity.coarse` defines the
same on labels, independently.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int


def first_of_block(places: Int[Array, " n"], width: int) -> Int[Array, " n"]:
    """The first place of the block of each place; a block has `width` places, at least 1."""
    return places // width * width


def last_letters(
    tokens: Int[Array, " length"], size: Int[Array, ""], last: int | None
) -> Int[Array, " length"]:
    """The string with all but its `last` letters replaced by the first letter of the alphabet.

    The string keeps its length. Tokens are letters 1 to A, then zeros; None keeps all.
    """
    if last is None:
        return tokens
    place = jnp.arange(tokens.shape[0])
    return jnp.where(place < size - last, jnp.minimum(tokens, 1), tokens)
