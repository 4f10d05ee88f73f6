"""An upper bound of TV to a law that is listed, from how often samples coincide.

Claim collision-tv-bound. A first part of independent samples of `p` chooses sets of values, and n
more are taken one after the other. `pi` is the target. With H the values that stand out in the
first part, L those too rare to be judged, and B the others,

    2 TV(p, pi) <= sum over H of |p - pi| + p(L) + pi(L) + sum over B of |p - pi|.

With weights `a` on B, two samples x and y have the product

    k(x, y) = sum over B of a (1[x] - pi) (1[y] - pi) / pi,

whose mean is the sum over B of `a (p - pi)^2 / pi`. Sample t has the sum of its products with all
earlier ones. Given these, its mean is the sum over them of `g - d`, with `g = a (p - pi) / pi` on B
and d the sum over B of `a (p - pi)`. Bets bound the average of these means (betting-bound). It is a
weighted mean of g over the samples, whose lower tail is thin, as `g >= -a`. For `r > 0`,

    sum over B of a pi q(p / pi - 1) <= average + log(1 / level) / r * sum of squared weights,
    q(u) = u^2 (1 - k - k u), or (1 + u) / (4 k) - u where `u > 1 / (2 k)`,

with probability at least `1 - level`; k is about `a r / 2` (`_bends`). A large `sum of |p - pi|`
makes the left side large. Weights `pi^(1/3)` are best: then samples of `pi` itself are bounded by
about the root of `(sum of pi^(2/3))^(3/2) / n` (Valiant and Valiant, An automatic inequality prover
and instance optimal identity testing, 2017). Fewer samples than values may do, which a comparison
with the empirical law cannot.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certificates.betting import Interval, LowerMean
from reference.rows.exact import Floats, Ints

Counts = Ints

# The share of the samples that choose the sets.
CHOOSING = 5
# The statements whose levels add up to that of the bound: H, L, the bets, and the lower tail.
STATEMENTS = 4
# Values below these multiples of the least probability are tried as L.
DOUBLINGS = 40
# The largest weight, as a multiple of `1 / r`: with it `k < 1 / 5`.
HEAVIEST = 0.3
# The share of the bound that values in H by chance may cost a perfect sampler, and how many there
# may be in any case.
SPARED, LEAST = 0.02, 0.1
# The share of the noise that the largest product that is expected may cost.
ROOM = 0.1


def probability(count: int, trials: int, log: float) -> Interval:
    """Bounds of a probability, each of which fails with probability at most `exp(-log)`.

    They are the smallest and the largest q with `trials KL(count / trials | q) <= log` (Chernoff,
    1952).

    Args:
        count: the trials that had the event.
        trials: the number of independent trials.
        log: the logarithm of one over the level, in nats.
    """
    low = max(0.0, 1 - _above(trials - count, trials, log))
    return Interval(low, _above(count, trials, log))


def _above(count: int, trials: int, log: float) -> float:
    share = count / trials
    low, high = share, 1.0
    while high - low > 2.0**-45 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if trials * divergence(share, middle) < log else (low, middle)
    return min(1.0, high * (1 + 2.0**-40))


def least_gap(bounds: Interval, target: float) -> float:
    """A lower bound of the distance of a probability from that under the target."""
    return max(0.0, bounds.low - target - 2.0**-40, target - bounds.high - 2.0**-40)


def divergence(share: float, probability: float) -> float:
    """`KL(share | probability)` of one event, in nats."""
    sides = ((share, probability), (1 - share, 1 - probability))
    if any(p > 0 >= q for p, q in sides):
        return math.inf
    return sum(p * math.log(p / q) for p, q in sides if p > 0)


def scores(counts: Counts, target: Floats) -> Floats:
    """Distances of counts from their expectations, in standard deviations.

    The score is `sqrt(2 n KL(p^ | pi))` with the sign of `p^ - pi`; infinite where `pi` is zero.
    """
    share = counts / counts.sum()
    sizes: Floats = np.sqrt(2 * counts.sum() * np.maximum(divergences(share, target), 0.0))
    signed: Floats = np.sign(share - target) * sizes
    return signed


def divergences(share: Floats, target: Floats) -> Floats:
    """`divergence` of each of many events; NaN where the target is."""
    sizes = np.zeros(share.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for p, q in ((share, target), (1 - share, 1 - target)):
            sizes += np.where(p > 0, p * np.log(p / q), 0.0)
    return sizes


class _Plan(NamedTuple):
    """Choices made before any sample is seen, for samples of the target itself.

    A value is in L below the `threshold` of its probability, and in H from half of a squared score
    `standing_out` on; `rate` is r of the lower tail, `bound` about the bound that such samples get.
    """

    threshold: float
    rate: float
    bound: float
    standing_out: float = math.inf


class Parts(NamedTuple):
    """The samples that choose the sets, as counts of each value, and the others, as they came."""

    choosing: Counts
    places: npt.NDArray[np.intp]


def split(places: npt.NDArray[np.intp], values: int) -> Parts:
    """The parts of samples that are given as places of values, in the order of the draws."""
    first, rest = np.split(places, [len(places) // CHOOSING])
    return Parts(np.bincount(first, minlength=values), rest)


def collision_bound(parts: Parts, target: Floats, level: float) -> float:
    """An upper bound of `TV(p, pi)`, which fails with probability at most `level`.

    Args:
        parts: samples of p.
        target: `pi` of each value.
        level: the level of the bound.
    """
    steps, log = len(parts.places), math.log(STATEMENTS / level)
    plan = _plan(steps, target, log)
    if plan.bound >= 1:
        return 1.0
    counted = np.bincount(parts.places, minlength=len(target))
    rare = target < plan.threshold
    heavy = ~rare & (scores(parts.choosing, target) ** 2 / 2 >= plan.standing_out)
    common = ~rare & ~heavy
    shared, apart = log + math.log(2 * max(1, int(heavy.sum()))), 0.0
    for count, p in zip(counted[heavy].tolist(), target[heavy].tolist(), strict=True):
        bounds = probability(count, steps, shared)
        apart += max(bounds.high - p, p - bounds.low)
    light = _above(int(counted[rare].sum()), steps, log) + float(target[rare].sum())
    rest = 0.0
    if common.any():
        weights = np.where(common, _weights(target, plan.rate), 0.0)
        mean = _mean_product(parts.places, target, weights, log)
        inside = target[common], weights[common], np.ones(int(common.sum()))
        rest = _distance(*inside, mean, plan.rate, steps, log)
    return min(1.0, (apart + light + rest) / 2 * (1 + 2.0**-30))


def expected_bound(trials: int, target: Floats, level: float) -> float:
    """The approximate bound of samples of the target itself: the noise of the method.

    Args:
        trials: the number of samples.
        target: `pi` of each value.
        level: the level of the bound.
    """
    return _plan(trials - trials // CHOOSING, target, math.log(STATEMENTS / level)).bound


def _mean_product(
    places: npt.NDArray[np.intp], target: Floats, weights: Floats, log: float
) -> float:
    """An upper bound of the average product of a sample with earlier ones, given these.

    The product of x and y is `[x = y] a(x) / pi(x) - a(x) - a(y)` and a constant. The first and the
    third are bet on, as only they depend on the later sample. `weights` has `a` of each value, 0
    outside of B; `log` is that of one over the level.
    """
    steps = len(places)
    ratio = np.divide(weights, target, where=weights > 0, out=np.zeros(len(target)))
    drawn, gain, before = weights[places], ratio[places], np.arange(steps)
    seen = earlier(places)
    values = gain * seen - before * drawn
    common = weights > 0
    ones = np.ones(int(common.sum()))
    # As large as costs little, since bets lose where it grows: values may stand out late.
    usual = max(
        _usual_largest(target[common], weights[common], ones, steps),
        ROOM * _noise(weights[common], ones, steps, log) * steps**2 / log,
    )
    # No value is larger, and it depends on earlier samples alone.
    largest = np.maximum.accumulate(np.append(usual, (gain * (seen + 1))[:-1]))
    # Rounded down, so that the mean of the values is bounded from above.
    margins = (largest + before * drawn) * 2.0**-45
    below = LowerMean()
    below.add(np.maximum(0.0, (largest - values - margins) / usual))
    gaps = steps * usual * below.bound(math.exp(-log))
    others = (before[::-1] * (float((weights * target).sum()) - drawn)).sum()
    return float((others + largest.sum() - gaps) / (steps * (steps - 1) / 2))


def earlier(places: npt.NDArray[np.intp]) -> Counts:
    """The number of earlier samples that equal each sample."""
    order, counts = np.argsort(places, kind="stable"), np.bincount(places)
    starts = (np.cumsum(counts) - counts)[places[order]]
    seen = np.empty(len(places), np.int64)
    seen[order] = np.arange(len(places)) - starts
    return seen


def _noise(weights: Floats, sizes: Floats, steps: int, log: float) -> float:
    """The approximate deviation of the average product, for samples of the target itself."""
    return 2 * math.sqrt((log + 2) * float((sizes * weights**2).sum())) / steps


def _usual_largest(target: Floats, weights: Floats, sizes: Floats, steps: int) -> float:
    """The approximate largest `a / pi` times a count, for samples of the target itself."""
    log = math.log(sizes.sum() + 1)
    mean = steps * target
    return float((weights / target * (mean + np.sqrt(2 * mean * log) + log / 3 + 1)).max())


def _squares(steps: int) -> float:
    """The sum of the squares of the weights `2 (n - s) / (n (n - 1))` of samples s = 1 ... n."""
    return 2 * (2 * steps - 1) / (3 * steps * (steps - 1))


def _weights(target: Floats, rate: float) -> Floats:
    """`pi^(1/3)`, as far as the lower tail stays thin."""
    weights: Floats = np.minimum(np.cbrt(target), HEAVIEST / rate)
    return weights


def _bends(weights: Floats, rate: float, steps: int) -> Floats:
    """The k of each value: `a r (exp(z) - 1 - z) / z^2`, z about `3 a r / 2`."""
    size = weights * rate * 2 / steps / _squares(steps)
    # Where size is small the difference is lost to rounding, and its series is below this.
    exact = (np.expm1(size) - size) / np.maximum(size, 1e-3) ** 2
    bends: Floats = weights * rate * np.where(size > 1e-3, exact, (1 + size) / 2)
    return bends


def _distance(
    target: Floats, weights: Floats, sizes: Floats, mean: float, rate: float, steps: int, log: float
) -> float:
    """The largest sum of `|p - pi|` that the average product, at most `mean`, allows.

    For any `theta` it is at most `sum of pi peak + theta / 2 * sum of a pi q`, where `peak` is the
    largest `|u| - a theta q(u) / 2`: it is at a root of a quadratic equation where `1 / (a theta)`
    is at most `1 / (8 k) - 1 / 2`. `target` has `pi` of values of B, `weights` their `a`, `sizes`
    how many there are of each; `rate` is r of the lower tail, `log` that of one over the level.
    """
    bends = _bends(weights, rate, steps)
    square = max(mean + log * _squares(steps) / rate, 2.0**-60)
    middle = math.sqrt(float((sizes * target / weights).sum()) / square)
    least = 1 / float((weights * (1 / (8 * bends) - 0.5)).min())
    tried = []
    for scale in (0.7, 0.8, 0.9, 1.0, 1.1):
        theta = max(least, scale * middle) * (1 + 2.0**-40)
        t = 1 / (weights * theta)
        u = 2 * t / (1 - bends + np.sqrt((1 - bends) ** 2 - 6 * bends * t))
        peak = u - u**2 * (1 - bends - bends * u) / (2 * t)
        tried.append(float((sizes * target * peak).sum()) + theta * square / 2)
    return min(tried)


def _plan(steps: int, target: Floats, log: float) -> _Plan:
    """The choices that are the best for samples of the target itself."""
    best = _Plan(math.inf, 1.0, 1.0)
    if steps < 2:
        return best
    # Probabilities within a twelfth of an octave are alike here.
    rounded = np.exp2(np.round(np.log2(target[target > 0]) * 12) / 12)
    values, counts = np.unique(rounded, return_counts=True)
    sizes = counts.astype(float)
    for k in range(DOUBLINGS):
        threshold = float(target[target > 0].min()) * 2.0**k
        if threshold > target.max():
            break
        common = values >= threshold * 2.0 ** (-1 / 24)
        light = float(target[target < threshold].sum())
        rate, rest = _rate(values[common], sizes[common], steps, log)
        rare = light + _above(min(steps, round(light * steps)), steps, log)
        if (rare + rest) / 2 < best.bound:
            best = _Plan(threshold, rate, (rare + rest) / 2)
    # In H, a value of the target itself costs about the half of its deviation.
    costs = (np.sqrt(2 * target * log / steps) + 2 * log / steps) / 2
    by_chance = max(LEAST, SPARED * best.bound / float(costs.mean()))
    return best._replace(standing_out=math.log(max(1.0, len(target) / by_chance)))


def _rate(target: Floats, sizes: Floats, steps: int, log: float) -> tuple[float, float]:
    """The rate r that is the best for samples of the target itself, and the distance with it."""
    weights, rate, mean = np.cbrt(target), 1.0, 0.0
    mass = float((sizes * target).sum())
    for _ in range(3):
        noise = _noise(weights, sizes, steps, log)
        mean = noise + log * _usual_largest(target, weights, sizes, steps) / steps**2
        spread = float((sizes * target / weights).sum())
        slope = math.sqrt(2 * mass * log * _squares(steps) / spread)
        root = (slope + math.sqrt(slope**2 + 4 * mean)) / 2
        rate = math.sqrt(2 * log * _squares(steps) * spread / mass) / root
        weights = _weights(target, rate)
    return rate, _distance(target, weights, sizes, mean, rate, steps, log)
