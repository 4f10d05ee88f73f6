"""The modified self-referential weight matrix (eq:ASRWM) in exact rationals.

    W_t = W_{t-1} R + sigma(beta_t) (v_t - W_{t-1} zeta(k_t)) (x) zeta(q_t),

where `R` is a fixed rotation and `q_t`, `k_t`, `v_t`, `beta_t` are affine in the features of `s_t`.
Written from the equation alone. The caller gives the activations: the sigmoid takes every
value in (0, 1) and zeta every point of the open simplex (eq:sigmasa), so all rationals there occur.

>>> x = Input(exact(["1/4", "3/4"]), exact(["1/2", "1/2"]), exact([1, 0]), Fraction(1, 2))
>>> advance(exact([[1, 0], [0, 2]]), exact([[0, -1], [1, 0]]), x).tolist()[0]
[Fraction(1, 16), Fraction(-13, 16)]
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.object_]


class Input(NamedTuple):
    """The outputs of the slow weights at one state.

    `zeta(q_t)`, `(d,)`, is the place where the change is written, `zeta(k_t)`, `(d,)`, the place
    where the old value is read; `v_t` has `(d,)`, and the rate is `sigma(beta_t)`.
    """

    q: Array
    k: Array
    v: Array
    rate: Fraction


def exact(values: Any) -> Array:
    """An array of fractions, from numbers or strings such as "3/5"."""
    array = np.array(values, dtype=object)
    return np.array([Fraction(x) for x in array.ravel()], dtype=object).reshape(array.shape)


def advance(
    W: Array,
    R: Array,
    x: Input,
    write_key: Literal["q", "k"] = "q",
    erase: Literal["before", "after"] = "before",
) -> Array:
    """`W_t` from `W_{t-1}`: one step of eq:ASRWM.

    Args:
        W: `W_{t-1}`, `(d, d)`.
        R: the rotation, `(d, d)`.
        x: the outputs of the slow weights at `s_t`.
        write_key: where the change is written: `zeta(q)`, as printed, or `zeta(k)`, a delta rule.
        erase: whether the erased value is read before the rotation, as printed, or after.
    """
    old = W @ x.k if erase == "before" else W @ R @ x.k
    new: Array = W @ R + x.rate * np.outer(x.v - old, x.q if write_key == "q" else x.k)
    return new


def follow(W: Array, R: Array, inputs: Sequence[Input]) -> list[Array]:
    """`W_0, W_1, ..., W_T` as printed.

    Args:
        W: `W_0`, `(d, d)`.
        R: the rotation, `(d, d)`.
        inputs: the outputs of the slow weights at `s_1, ..., s_T`.
    """
    matrices = [W]
    for x in inputs:
        matrices.append(advance(matrices[-1], R, x))
    return matrices
