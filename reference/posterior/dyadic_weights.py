"""Log scores as dyadic weights: rounded once, so that everything after is exact."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BITS = 24
LOG_2 = math.log(2)


class Dyadics(NamedTuple):
    """Positive numbers `mantissas 2^exponents`, mantissas from `2^23` on, below `2^24`."""

    mantissas: npt.NDArray[np.int64]
    exponents: npt.NDArray[np.int64]


def dyadic_exponentials(logs: npt.NDArray[np.float64]) -> Dyadics:
    """`exp(log)` of finite nats to 24 bits, with an exponent of any size, so that none is 0."""
    whole = np.rint(logs / LOG_2)
    fractions, more = np.frexp(np.exp(logs - whole * LOG_2))
    mantissas = np.rint(np.ldexp(fractions, BITS)).astype(np.int64)
    # 1 where a mantissa is rounded up to the next power of two.
    up = mantissas >> BITS
    return Dyadics(mantissas >> up, whole.astype(np.int64) + more - BITS + up)


def dyadic_weights(log_weights: npt.NDArray[np.float64]) -> tuple[tuple[int, ...], int]:
    """The rounded exponentials of nats as integers over one power `2^shift`; 0 for -inf."""
    present = log_weights > -math.inf
    rounded = dyadic_exponentials(log_weights[present])
    shift = max(0, -int(rounded.exponents.min()))
    numerators = [0] * len(log_weights)
    for place, m, e in zip(np.flatnonzero(present), *map(np.ndarray.tolist, rounded), strict=True):
        numerators[place] = m << e + shift
    return tuple(numerators), shift
