"""Rational rotations and random inputs, for the checks of `reference.srwm` that share them.

The sigmoid takes every value in (0, 1) and zeta every point of the open simplex (eq:sigmasa), so
all rationals there occur. Rational rotations come from Pythagorean triples, such as the angle with
cosine 3/5.
"""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np

from reference.srwm import Array, Input, exact

TRIPLES = ((3, 4, 5), (-5, 12, 13), (8, -15, 17), (-7, 24, 25))
QUARTER = (0, 1, 1)
HALF = (-1, 0, 1)


def eye(d: int) -> Array:
    """The identity."""
    return exact(np.eye(d, dtype=int))


def plane(triple: tuple[int, int, int], d: int = 2, i: int = 0, j: int = 1) -> Array:
    """The rotation of the coordinate plane (i, j) whose angle has cosine `a/c` and sine `b/c`."""
    cos, sin = Fraction(triple[0], triple[2]), Fraction(triple[1], triple[2])
    R = eye(d)
    R[i, i], R[i, j], R[j, i], R[j, j] = cos, -sin, sin, cos
    return R


def blocks(*triples: tuple[int, int, int]) -> Array:
    """Rotations of the planes (0, 1), (2, 3), ..., together."""
    R = eye(2 * len(triples))
    for i, triple in enumerate(triples):
        R = R @ plane(triple, 2 * len(triples), 2 * i, 2 * i + 1)
    return R


def rotation(rng: random.Random, d: int) -> Array:
    """A rotation that mixes all coordinates: one plane after the other."""
    R = eye(d)
    for i, j in pairwise(rng.sample(range(d), d)):
        R = R @ plane(rng.choice(TRIPLES), d, i, j)
    return R


def power(R: Array, t: int) -> Array:
    """`R^t` of a rotation, for any integer t."""
    result: Array = np.linalg.matrix_power(R if t >= 0 else R.T, abs(t))
    return result


def simplex_point(rng: random.Random, d: int) -> Array:
    """A point of the open simplex."""
    weights = [rng.randint(1, 9) for _ in range(d)]
    return exact([Fraction(w, sum(weights)) for w in weights])


def vector(rng: random.Random, d: int) -> Array:
    """Small integers."""
    return exact([rng.randint(-5, 5) for _ in range(d)])


def matrix(rng: random.Random, d: int) -> Array:
    """Small integers, d times d."""
    return exact([vector(rng, d) for _ in range(d)])


def random_input(rng: random.Random, d: int) -> Input:
    """Keys in the open simplex, a rate in (0, 1)."""
    rate = Fraction(rng.randint(1, 9), 10)
    return Input(simplex_point(rng, d), simplex_point(rng, d), vector(rng, d), rate)


def square(W: Array) -> Fraction:
    """The squared norm of a vector, or of the entries of a matrix."""
    total: Fraction = (W * W).sum()
    return total
