"""The codes in which networks see the numbers of a state, by name. Imports no JAX."""

from typing import Literal

Encoding = Literal["one-hot", "natural", "affine", "fourier"]
# The code of the time of a walk: that of its position, or sines and cosines.
TimeCode = Literal["same", "fourier"]
