"""The codes in which networks see the numbers of a state, by name. Imports no JAX."""

from typing import Literal

Encoding = Literal["one-hot", "natural", "affine", "fourier"]
# The code of the time of a walk: that of its position, or sines and cosines.
TimeCode = Literal["same", "fourier"]
# What is seen of a directed graph: its edges, or also what bears on the edges to come.
GraphCode = Literal["edges", "ahead"]
