"""Coarse observations: several states have the features of one of them.

Steps, masks and rewards stay those of the true state. `reference.expressivity.coarse` defines the
same on labels, independently.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int


def first_of_block(places: Int[Array, " n"], width: int) -> Int[Array, " n"]:
    """The first place of the block of each place; a block has `width` places.

    Args:
        places: numbers of at least 0.
        width: c, at least 1; with 1 all places differ.
    """
    return places // width * width


def last_letters(
    tokens: Int[Array, " length"], size: Int[Array, ""], last: int | None
) -> Int[Array, " length"]:
    """The string with all but its last letters replaced by the first letter of the alphabet.

    The string keeps its length.

    Args:
        tokens: letters 1 to A, then zeros.
        size: the number of letters of the string.
        last: k, the number of letters that are kept; None for all.
    """
    if last is None:
        return tokens
    place = jnp.arange(tokens.shape[0])
    return jnp.where(place < size - last, jnp.minimum(tokens, 1), tokens)
