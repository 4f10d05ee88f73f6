"""Confidence bounds of means, valid at all times at once, by betting.

A bet at fair odds that a mean is larger than `m` multiplies the capital by
`(1 + kappa x) / (1 + kappa m)` with each value `x >= 0`. If the mean is at most `m`, the capital is
a non-negative supermartingale, and so is a mixture over `kappa`. By Ville's inequality it ever
reaches `1 / level` with probability at most `level`. So each `m` at which it does is below the
mean, whenever one stops. With `lambda = kappa / (1 + kappa m)` the factor is `1 + lambda (x - m)`,
the bet of Waudby-Smith and Ramdas (Estimating means of bounded random variables by betting, 2024).
As `kappa` does not depend on `m`, one sum per `kappa` is kept.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reference.contract.errors import InputError
from reference.fields.field import gamma
from reference.rows.exact import Floats

# Factors of 1.6 for few to very many values of ordinary size, then of 16 for means far below 1.
BETS: Floats = np.concatenate([1.6 ** np.arange(-18.0, 13), 1.6**12 * 16.0 ** np.arange(1, 7)])
# No bet overflows with values up to this, and with means up to twice this.
LARGEST = float(np.finfo(float).max / (4 * BETS[-1]))

# NumPy's log1p and exp are good to four units in the last place, and each is followed by at most
# four more roundings.
ROUNDINGS = 12
# Values that are summed before they are added to the others.
BLOCK = 1024


class Interval(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The difference of the bounds."""
        return self.high - self.low


def log_capital(gains: Floats, count: int | Floats, mean: float | Floats) -> Floats:
    """The logarithm of the capital won against a mean, averaged over `BETS`.

    Args:
        gains: `sum of log(1 + kappa x)` per bet, shape (..., bets).
        count: the number of values x.
        mean: what is bet against, at least 0.
    """
    logs = gains - np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))
    largest: Floats = logs.max(-1)
    total: Floats = np.log(np.exp(logs - largest[..., None]).mean(-1))
    return largest + total


@dataclass
class LowerMean:
    """Lower confidence bounds of the mean of independent variables `>= 0`, of any size.

    Takes one pass, in constant memory: `gains` is `sum of log(1 + kappa x)` per bet, and
    `roundings` the number of sums in each.
    """

    count: int = 0
    gains: Floats = field(default_factory=lambda: np.zeros(len(BETS)))
    roundings: int = ROUNDINGS + BLOCK

    def add(self, values: Floats) -> None:
        """Adds values up to the variables; raises InputError for NaN, or outside 0 to `LARGEST`."""
        if not (inside := (values >= 0) & (values <= LARGEST)).all():
            raise InputError(
                f"a value is {values[~inside][0]}, but a mean is bounded of numbers from 0 to "
                f"{LARGEST:.3g} only: cut off what is larger"
            )
        for start in range(0, len(values), BLOCK):
            self.gains = self.gains + np.log1p(BETS * values[start : start + BLOCK, None]).sum(0)
            self.roundings += 1
        self.count += len(values)

    def bound(self, level: float) -> float:
        """A lower bound of the mean; the probability that it is ever wrong is at most `level`."""
        if not self._refutes(0.0, level):
            return 0.0
        low, high = 0.0, 1.0
        while self._refutes(high, level):
            low, high = high, 2 * high
        while high - low > 2.0**-50 * high and high > 1e-300:
            middle = (low + high) / 2
            low, high = (middle, high) if self._refutes(middle, level) else (low, middle)
        return low

    def _refutes(self, mean: float, level: float) -> bool:
        """True if the capital against a mean reaches `1 / level`, however sums are rounded."""
        lost = gamma(self.roundings) * self.gains
        lost = lost + gamma(ROUNDINGS) * (self.gains + self.count * np.log1p(BETS * mean))
        logs = self.gains - lost - self.count * np.log1p(BETS * mean)
        capital = float(log_capital(logs, 0, 0.0))
        if math.isnan(capital):
            raise InputError(f"the capital against the mean {mean} is NaN: check what is bet on")
        return capital - 1e-12 >= math.log(1 / level)


@dataclass
class MeanInterval:
    """Confidence intervals of the mean of independent variables in [0, 1], from both sides."""

    below: LowerMean = field(default_factory=LowerMean)
    above: LowerMean = field(default_factory=LowerMean)

    @property
    def count(self) -> int:
        """The number of values."""
        return self.below.count

    def add(self, low: Floats, high: Floats | None = None) -> None:
        """Adds values, each between two numbers; `high` is `low` by default.

        Raises InputError if a lower one is NaN or negative, or an upper one NaN or above 1.
        """
        high = low if high is None else high
        self.below.add(low)
        self.above.add(np.nextafter(1 - high, 0.0))

    def interval(self, level: float) -> Interval:
        """An interval that contains the mean: each end fails with probability `level / 2`."""
        high = math.nextafter(1 - self.above.bound(level / 2), 2.0)
        return Interval(self.below.bound(level / 2), min(1.0, high))
