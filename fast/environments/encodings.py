"""Features of the numbers that make up a state."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

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
