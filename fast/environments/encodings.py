"""Features of the numbers that make up a state, and coarse observations.

The latter give several states the features of one of them, and leave steps, masks and rewards
those of the true state. `reference.expressivity.coarse` defines the same on labels, independently.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fast.encoding import Encoding

# Wavelengths from 2 pi to 20,000 pi, in equal ratios.
FREQUENCIES = 10_000.0 ** (-np.arange(16) / 16)


def encode_numbers(numbers: Float[Array, " n"], encoding: Encoding) -> Float[Array, " features"]:
    """The numbers ("natural"), the numbers and a 1 ("affine"), or sines and cosines ("fourier").

    The sinusoidal code of Vaswani et al. (Attention is all you need, 2017).
    """
    numbers = numbers.astype(jnp.float32)
    if encoding == "natural":
        return numbers
    if encoding == "affine":
        return jnp.append(numbers, 1.0)
    angles = numbers[:, None] * jnp.asarray(FREQUENCIES, numbers.dtype)
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1).reshape(-1)


def first_of_block(places: Int[Array, " n"], width: int) -> Int[Array, " n"]:
    """The first place of the block of each place; a block has `width` places, at least 1."""
    return places // width * width


def last_letters(
    tokens: Int[Array, " length"], size: Int[Array, ""], last: int | None
) -> Int[Array, " length"]:
    """The string with all but its `last` letters replaced by the first letter of the alphabet.

    The string keeps its length. Tokens are letters 1 to A, then zeros; None keeps all.

    Args:
        tokens: letters 1 to A, then zeros.
        size: the number of letters.
        last: how many letters are kept; None for all.
    """
    if last is None:
        return tokens
    return jnp.where(jnp.arange(tokens.shape[0]) < size - last, jnp.minimum(tokens, 1), tokens)
