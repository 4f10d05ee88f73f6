"""Importance weights of trajectories, and what they say of a sampler.

`w(tau) = R(x) p_B(tau|x) / (Z p_F(tau))` is the ratio of the law `mu` that trajectories should have
to the one that they have, `E_{p_F}[w] <= 1`, and `TV(p_F, mu) = E_{p_F}[(1 - w)_+]`: a variable in
[0, 1], so that its mean can be bounded from samples of the model alone (N5.any_z).
"""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import numpy as np

from reference.certificates.betting import LARGEST, Floats

# NumPy's expm1 and exp are good to four units in the last place; twice that.
SLACK = 2.0**-49


class Walks(NamedTuple):
    """Complete trajectories, as numbers, one per trajectory.

    Attributes:
        terminals: their ends; () if they were not asked for.
        log_p_f: `log p_F(tau)`, in nats.
        log_p_b: `log p_B(tau | x)`, in nats.
        log_reward: `log R(x)`, in nats.
        error: what rounding may have done to `log_reward + log_p_b - log_p_f`, in nats.
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
        """Some of them."""
        numbers = (column[chosen] for column in self[1:])
        return type(self)(self.terminals[chosen], *numbers)


class Between(NamedTuple):
    """Numbers, each known to lie between two."""

    low: Floats
    high: Floats


def shortfall(log_ratio: Floats, error: Floats) -> Between:
    """`(1 - exp(log_ratio))_+`, a number in [0, 1], with what rounding may have done to it.

    Args:
        log_ratio: in nats; minus infinity is a ratio of zero.
        error: by how much each may be off, in nats.
    """
    # A ratio above one falls short by nothing, however large it is.
    low, high = (-np.expm1(np.minimum(log_ratio + sign * error, 0.0)) for sign in (1, -1))
    return Between(low * (1 - SLACK), np.minimum(high * (1 + SLACK), 1.0))


def from_below(log_values: Floats, error: Floats) -> Floats:
    """Numbers at most `exp(log_values)`; what is too large to be bet on is cut off."""
    with np.errstate(over="ignore"):
        cut: Floats = np.minimum(np.exp(log_values - error) * (1 - SLACK), LARGEST)
    return cut


def log_mean(log_values: Floats) -> float:
    """The logarithm of the mean, in nats; no bound."""
    largest = float(log_values.max())
    if not math.isfinite(largest):
        return largest
    return largest + math.log(float(np.exp(log_values - largest).mean()))


def effective_size(log_values: Floats) -> float:
    """`(sum of w)^2 / sum of w^2`; no bound: it sees no mode that no sample is in."""
    weights = np.exp(log_values - log_values.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def pareto_k(log_values: Floats) -> float:
    """The shape of the tail of the weights: above 0.7 their mean is not to be relied on.

    Of the generalised Pareto law fitted to the largest `min(n / 5, 3 sqrt(n))` weights.
    (Zhang and Stephens, 2009; Vehtari et al., Pareto smoothed importance sampling, 2024.)
    """
    count = len(log_values)
    tail = int(min(count / 5, 3 * math.sqrt(count)))
    if tail < 5:
        return math.nan
    weights = np.sort(np.exp(log_values - log_values.max()))
    excess = weights[-tail:] - weights[-tail - 1]
    # Of a weight that many trajectories share, nothing is left over: no tail.
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
    # As of ten observations at one half: small tails are noisy.
    return (shape * tail + 0.5 * 10) / (tail + 10)
