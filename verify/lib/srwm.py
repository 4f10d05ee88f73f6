"""eq:ASRWM in exact rationals, written from the equation alone, for the checks that share it.

`q` and `k` stand for `zeta(q_t)` and `zeta(k_t)`, `rate` for `sigma(beta_t)`. The sigmoid takes
every value in (0, 1) and zeta every point of the open simplex (eq:sigmasa), so all rationals there
occur. Rational rotations come from Pythagorean triples, such as the angle with cosine 3/5.
"""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.object_]

TRIPLES = ((3, 4, 5), (-5, 12, 13), (8, -15, 17), (-7, 24, 25))
QUARTER = (0, 1, 1)
HALF = (-1, 0, 1)


class Input(NamedTuple):
    """What the slow weights make of one state."""

    q: Array
    k: Array
    v: Array
    rate: Fraction


def exact(values: Any) -> Array:
    """An array of fractions, from numbers or strings such as "3/5"."""
    found = np.array(values, dtype=object)
    return np.array([Fraction(x) for x in found.ravel()], dtype=object).reshape(found.shape)


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
    found: Array = np.linalg.matrix_power(R if t >= 0 else R.T, abs(t))
    return found


def simplex_point(rng: random.Random, d: int) -> Array:
    """A point of the open simplex."""
    weights = [rng.randint(1, 9) for _ in range(d)]
    return exact([Fraction(w, sum(weights)) for w in weights])


def vector(rng: random.Random, d: int) -> Array:
    """Small integers."""
    return exact([rng.randint(-5, 5) for _ in range(d)])


def random_input(rng: random.Random, d: int) -> Input:
    """Keys in the open simplex, a rate in (0, 1)."""
    rate = Fraction(rng.randint(1, 9), 10)
    return Input(simplex_point(rng, d), simplex_point(rng, d), vector(rng, d), rate)


def advance(
    W: Array,
    R: Array,
    x: Input,
    write: Literal["q", "k"] = "q",
    read: Literal["before", "after"] = "before",
) -> Array:
    """`W_t` from `W_{t-1}`.

    As printed, what is written goes to `q`, and what is erased is read before the rotation.
    """
    old = W @ x.k if read == "before" else W @ R @ x.k
    new: Array = W @ R + x.rate * np.outer(x.v - old, x.q if write == "q" else x.k)
    return new


def follow(W: Array, R: Array, inputs: Sequence[Input]) -> list[Array]:
    """`W_0, W_1, ..., W_T` as printed."""
    found = [W]
    for x in inputs:
        found.append(advance(found[-1], R, x))
    return found


def square(W: Array) -> Fraction:
    """The squared norm of a vector, or of the entries of a matrix."""
    total: Fraction = (W * W).sum()
    return total
