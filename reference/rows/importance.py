"""Importance weights of trajectories.

`w(tau) = R(x) p_B(tau|x) / (Z p_F(tau))` is the ratio of the target `mu` on trajectories to the
sampler. `E_{p_F}[w] <= 1` and `TV(p_F, mu) = E_{p_F}[(1 - w)_+]`: the mean of a variable in [0, 1],
which samples of the model alone can bound (claim one-sided-tv-bound).
"""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import numpy as np

from reference.rows.exact import Floats

# Twice the error of NumPy's expm1 and exp, four units in the last place.
SLACK = 2.0**-49


class Walks(NamedTuple):
    """The numbers of complete trajectories, one per trajectory; logarithms in nats.

    `error` bounds the rounding in `log_reward + log_p_b - log_p_f`. The ends, `terminals`, are ()
    if they were not requested.
    """

    terminals: Sequence[Hashable]
    log_p_f: Floats
    log_p_b: Floats
    log_reward: Floats
    error: Floats

    @property
    def log_weight(self) -> Floats:
        """`log(R(x) p_B(tau|x) / p_F(tau))`, in nats: `log(Z w)`."""
        return self.log_reward + self.log_p_b - self.log_p_f

    def part(self, chosen: slice) -> Self:
        """A slice of the trajectories."""
        return type(self)(self.terminals[chosen], *(column[chosen] for column in self[1:]))


class Between(NamedTuple):
    """Numbers, each between a known lower and upper bound."""

    low: Floats
    high: Floats


def shortfall(log_ratio: Floats, error: Floats) -> Between:
    """Bounds of `(1 - exp(log_ratio))_+`, in [0, 1], from log ratios and errors in nats."""
    low, high = (-np.expm1(np.minimum(log_ratio + sign * error, 0.0)) for sign in (1, -1))
    return Between(low * (1 - SLACK), np.minimum(high * (1 + SLACK), 1.0))


def log_mean(log_values: Floats) -> float:
    """The logarithm of the mean, in nats; no bound."""
    largest = float(log_values.max())
    if not math.isfinite(largest):
        return largest
    return largest + math.log(float(np.exp(log_values - largest).mean()))


def effective_size(log_values: Floats) -> float:
    """`(sum of w)^2 / sum of w^2`; no bound: it misses modes without samples."""
    weights = np.exp(log_values - log_values.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def pareto_k(log_values: Floats) -> float:
    """The shape of the tail of the weights: above 0.7 their mean is unreliable.

    A generalised Pareto distribution is fitted to the largest `min(n / 5, 3 sqrt(n))` weights.
    (Zhang and Stephens, 2009; Vehtari et al., Pareto smoothed importance sampling, 2024.)
    """
    count = len(log_values)
    tail = int(min(count / 5, 3 * math.sqrt(count)))
    if tail < 5:
        return math.nan
    weights = np.sort(np.exp(log_values - log_values.max()))
    excess = weights[-tail:] - weights[-tail - 1]
    # A weight that many trajectories share is no tail.
    excess = excess[excess > 2.0**-40]
    tail = len(excess)
    if tail < 5:
        return -math.inf
    grid = np.arange(1, 30 + int(math.sqrt(tail)) + 1)
    quartile = excess[int(tail / 4 + 0.5) - 1]
    points = 1 / excess[-1] + (1 - np.sqrt(len(grid) / (grid - 0.5))) / (3 * quartile)
    shapes = np.log1p(-points[:, None] * excess).mean(1)
    points, shapes = points[points * shapes < 0], shapes[points * shapes < 0]
    if not len(points):
        return math.nan
    scores = tail * (np.log(-points / shapes) - shapes - 1)
    shares = np.exp(scores - scores.max())
    point = float((points * shares).sum() / shares.sum())
    shape = float(np.log1p(-point * excess).mean())
    # A prior of ten observations at one half, as small tails are noisy.
    return (shape * tail + 0.5 * 10) / (tail + 10)
