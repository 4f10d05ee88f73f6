"""An upper bound of TV to a law that is listed, from how often samples coincide.

Claim collision-tv-bound. A first part of independent samples of `p` chooses sets of values, and two
parts X and Y of m samples each are counted. `pi` is the target. With H the values that stand out in
the first part, L those too rare to be judged, and B the others,

    2 TV(p, pi) <= sum over H of |p - pi| + p(L) + pi(L) + sqrt(pi(B) S),
    S = sum over B of (p - pi)^2 / pi,

by Cauchy and Schwarz. The product `T = sum over B of (p_X - pi)(p_Y - pi) / pi` of the empirical
laws has the mean S. Given X, T is a mean over Y, which bets bound (betting-bound). What is bounded
is `M = sum over B of (p_X - pi)(p - pi) / pi`, a mean over X that by Bernstein's inequality obeys

    S <= M + sqrt(2 r S log(1/a) / m) + (S + 2) log(1/a) / (3 m),   r = max over B of p / pi,

with probability at least `1 - a`. The deviation of T is about `sqrt(2 |B| log(1/a)) / m`: fewer
samples than values may do, which a comparison with the empirical law cannot.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certificates.betting import LowerMean

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

# The share of the samples that choose the sets.
CHOOSING = 10
# The statements whose levels add up to that of the bound: H, L, the bets, Bernstein's, and r.
STATEMENTS = 5
# Values below these multiples of the least probability are tried as L.
DOUBLINGS = 40


def upper_probability(count: int, trials: int, log: float) -> float:
    """An upper bound of a probability, which fails with probability at most `exp(-log)`.

    It is the largest q with `trials KL(count / trials | q) <= log` (Chernoff, 1952).

    Args:
        count: the number of trials that had the event.
        trials: the number of independent trials.
        log: the logarithm of one over the level, in nats.
    """
    share = count / trials
    low, high = share, 1.0
    while high - low > 2.0**-45 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if trials * divergence(share, middle) < log else (low, middle)
    return min(1.0, high * (1 + 2.0**-40))


def lower_probability(count: int, trials: int, log: float) -> float:
    """A lower bound of a probability, as `upper_probability` bounds it from above."""
    return max(0.0, 1 - upper_probability(trials - count, trials, log))


def divergence(share: float, probability: float) -> float:
    """`KL(share | probability)` of one event, in nats."""
    sides = ((share, probability), (1 - share, 1 - probability))
    if any(p > 0 >= q for p, q in sides):
        return math.inf
    return sum(p * math.log(p / q) for p, q in sides if p > 0)


def scores(counts: Counts, target: Floats) -> Floats:
    """Distances of counts from their expectations, in standard deviations.

    The score is `sqrt(2 n KL(p^ | pi))` with the sign of `p^ - pi`; infinite where `pi` is zero.

    Args:
        counts: the number of samples of each value.
        target: `pi` of each value.
    """
    share, logs = counts / counts.sum(), np.zeros(len(counts))
    for p, q in ((share, target), (1 - share, 1 - target)):
        with np.errstate(divide="ignore", invalid="ignore"):
            logs += np.where(p > 0, p * np.log(p / q), 0.0)
    sizes: Floats = np.sqrt(2 * counts.sum() * np.maximum(logs, 0.0))
    signed: Floats = np.sign(share - target) * sizes
    return signed


class Parts(NamedTuple):
    """The three parts of the samples, as counts of each value."""

    choosing: Counts
    x: Counts
    y: Counts


def split(places: npt.NDArray[np.intp], values: int) -> Parts:
    """The parts of samples that are given as places of values, in the order of the draws."""
    first = len(places) // CHOOSING
    middle = first + (len(places) - first) // 2
    parts = np.split(places, [first, middle])
    return Parts(*(np.bincount(part, minlength=values) for part in parts))


def collision_bound(parts: Parts, target: Floats, level: float) -> float:
    """An upper bound of `TV(p, pi)`, which fails with probability at most `level`.

    Args:
        parts: the samples; each part has at least one.
        target: `pi` of each value; 0 where the target excludes it.
        level: the level.
    """
    counted, log = parts.x + parts.y, math.log(STATEMENTS / level)
    trials = int(counted.sum())
    rare = target < _rare_below(trials // 2, target, log)
    heavy = ~rare & (scores(parts.choosing, target) ** 2 / 2 >= math.log(10 * len(target)))
    common = ~rare & ~heavy
    apart = _mass_apart(counted[heavy], target[heavy], trials, log)
    light = upper_probability(int(counted[rare].sum()), trials, log) + float(target[rare].sum())
    rest = 0.0
    if common.any():
        mean = _mean_product(parts, target, common, log)
        ratio = _largest_ratio(counted[common], target[common], trials, log)
        square = _from_mean(mean, ratio, int(parts.x.sum()), log)
        rest = math.sqrt(float(target[common].sum()) * square)
    return min(1.0, (apart + light + rest) / 2 * (1 + 2.0**-30))


def expected_bound(trials: int, target: Floats, level: float) -> float:
    """About the bound that samples of the target itself would get: the noise of the method.

    Args:
        trials: the number of samples.
        target: `pi` of each value.
        level: the level.
    """
    log, size = math.log(STATEMENTS / level), (trials - trials // CHOOSING) // 2
    threshold = _rare_below(size, target, log)
    return min(1.0, _expected(size, target, threshold, log))


def _mass_apart(counts: Counts, target: Floats, trials: int, log: float) -> float:
    """An upper bound of the sum of `|p - pi|` over values that stand out."""
    shared = log + math.log(2 * max(1, len(counts)))
    apart = 0.0
    for count, p in zip(counts.tolist(), target.tolist(), strict=True):
        above = upper_probability(count, trials, shared) - p
        apart += max(above, p - lower_probability(count, trials, shared))
    return apart


def _mean_product(parts: Parts, target: Floats, common: npt.NDArray[np.bool_], log: float) -> float:
    """An upper bound of M, by bets on the samples of Y given those of X."""
    share = parts.x / parts.x.sum()
    ratio = np.divide(share, target, where=common, out=np.ones(len(target))) - 1
    largest = float(ratio.max())
    # Rounded down, so that the mean of the ratios is bounded from above.
    gaps = np.maximum(0.0, largest - ratio - (largest + 1) * 2.0**-45)
    below = LowerMean()
    below.add(np.repeat(gaps, parts.y))
    shift = float((share - target)[common].sum())
    return float(largest - below.bound(math.exp(-log)) - shift)


def _largest_ratio(counts: Counts, target: Floats, trials: int, log: float) -> float:
    """An upper bound of the largest `p / pi`, over all values together."""
    shared, least = log + math.log(len(counts)), dict[int, float]()
    # Among equal counts the least probability has the largest ratio.
    for count, p in zip(counts.tolist(), target.tolist(), strict=True):
        least[count] = min(p, least.get(count, 1.0))
    return max(upper_probability(count, trials, shared) / p for count, p in least.items())


def _from_mean(mean: float, ratio: float, size: int, log: float) -> float:
    """The largest S that obeys Bernstein's inequality with M, a quadratic in its root."""
    step, slope = log / (3 * size), math.sqrt(2 * ratio * log / size)
    if step >= 1:
        return math.inf
    root = slope + math.sqrt(slope**2 + 4 * (1 - step) * max(0.0, mean + 2 * step))
    return (root / (2 * (1 - step))) ** 2


def _rare_below(size: int, target: Floats, log: float) -> float:
    """The probability below which values are rare: the best for samples of the target itself."""
    least = float(target[target > 0].min())
    tried = [least * 2.0**k for k in range(DOUBLINGS) if least * 2.0**k <= target.max()]
    return min([*tried, math.inf], key=lambda t: _expected(size, target, t, log))


def _expected(size: int, target: Floats, threshold: float, log: float) -> float:
    """About the bound for samples of the target itself, if rarer values are not judged."""
    common = target >= threshold
    values, light = int(common.sum()), float(target[~common].sum())
    if not values or log >= 3 * size:
        return 1.0
    expected = 2 * size * float(target[common].min())
    largest = expected + math.sqrt(2 * expected * math.log(values + 1)) + 1
    shared = log + math.log(values)
    ratio = upper_probability(min(2 * size, round(largest)), 2 * size, shared) * 2 * size / expected
    square = _from_mean(math.sqrt(2 * log * values) / size, ratio, size, log)
    rare = light + upper_probability(round(light * 2 * size), 2 * size, log)
    return (rare + math.sqrt((1 - light) * square)) / 2
