"""Log scores as dyadic weights: rounded once, so that everything after is exact."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BITS = 24
LOG_2 = math.log(2)


class DyadicWeights(NamedTuple):
    """Weights `numerators / 2^shift`.

    Attributes:
        numerators: one per log weight, 0 where there is none.
        shift: the power of two below them.
    """

    numerators: tuple[int, ...]
    shift: int


def dyadic_weights(log_weights: npt.NDArray[np.float64]) -> DyadicWeights:
    """`exp(log_weight)` rounded to 24 bits, with whatever exponent it needs: none is ever 0.

    Args:
        log_weights: nats; -inf where there is none, but at one place at least.
    """
    parts = [None if x == -math.inf else _rounded(x) for x in log_weights.tolist()]
    shift = max(0, *(-part[1] for part in parts if part is not None))
    return DyadicWeights(
        tuple(0 if part is None else part[0] << part[1] + shift for part in parts), shift
    )


def _rounded(log_weight: float) -> tuple[int, int]:
    """The pair `(m, e)` with `m 2^e` within a share of `2^-24` of `exp(log_weight)`."""
    exponent = round(log_weight / LOG_2)
    mantissa, more = math.frexp(math.exp(log_weight - exponent * LOG_2))
    return round(mantissa * 2**BITS), exponent + more - BITS
