"""One test that samples are independent; and histograms, of which nothing shows whether they are.

If samples are independent draws of one law, all orders of them are equally likely, given how often
each value came. So, one after the other, the probability that the next equals the one before is
known: it is the share of that value among those that are left. With q of step i, and 1 or 0 as m
for whether it came so, `theta^m / (1 + q (theta - 1))` has the mean 1 given all before. Its product
over all steps is a capital of a fair game for any fixed theta > 0, won by too many equal neighbours
if theta > 1, by too few if theta < 1. The average of such capitals over several theta and several
looks is at least `1 / level` with probability at most `level` (Markov). Looks are at neighbours, at
samples up to `LAGS` apart, at whether one came among the last 2, 4, 8 ... before it, and at samples
that are a half, a third ... of all apart, as in files that are joined. What shows in no equal
samples, such as a drift where hardly any value comes twice, is not seen.
"""

import math
import operator
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certificates.betting import MeanInterval
from reference.certificates.collisions import earlier, probability
from reference.contract.errors import InputError, shown
from reference.rows.exact import Floats

# The most samples of a histogram that are written out, in about 4 GB of memory.
MOST = 50_000_000
# Independent draws repeat as seldom as what is refused with at most the probability exp(-SELDOM).
SELDOM = math.log(1e9)
# Samples so far apart are compared, among so many from the first on, as that takes a second; and
# those that are apart by all samples, divided by a number up to this.
LAGS, LOOKED_AT, PARTS = 64, 2**18, 8
# The logarithms of theta.
RATES = np.concatenate([sign * 2.0 ** np.arange(-10, 4) for sign in (1, -1)])
# Steps whose q differ by less than one over this are taken together: log(1 + q (theta - 1)) is
# concave, so that its mean is at most its value at the mean of q.
GROUPS = 64
# The share of the level at which samples are tested.
SHARE = 0.1
# The root of x exp(x) = 1, rounded down.
RATE = 0.567
# Correlations below the first are noise, and at most so many are added up.
NOISE, LONGEST = 0.02, 1_000

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
NEAR = "samples {:,} apart are equal"


class DependentError(InputError):
    """Samples that are not independent draws, of which nothing is certified."""

    status = 3


class _Look(NamedTuple):
    """A comparison of samples so far apart, 0 for a range: how many are equal, and would be."""

    apart: int
    pairs: str
    equal: int
    expected: float
    log_capital: float


def check_independent(owner: str, samples: Sequence[Hashable], level: float) -> None:
    """Checks that samples may be independent draws of one law.

    Args:
        owner: whose they are, for messages.
        samples: in the order of the draws.
        level: that of the bounds, of which this test takes `SHARE`.

    Raises:
        DependentError: if not; for independent draws with at most that probability.
    """
    numbers = {x: number for number, x in enumerate(dict.fromkeys(samples))}
    places = np.fromiter((numbers[x] for x in samples), np.intp, len(samples))
    if len(places) < 2:
        return
    looks = [*_looks(places)]
    # Of look j, 1 / (j (j + 1)) of the capital.
    parts = [x.log_capital - math.log(j * (j + 1)) for j, x in enumerate(looks, 1)]
    if np.logaddexp.reduce(parts) < -math.log(SHARE * level):
        return
    # One distance says more than a range, and equal neighbours most, if they are enough alone.
    enough = [x for x in looks if x.apart and x.log_capital >= -math.log(SHARE * level)] or looks
    seen = max(enough, key=lambda x: (x.apart == 1 and x.equal > x.expected, x.log_capital))
    raise DependentError(
        f"no verdict: {owner}: {seen.pairs} {seen.equal:,} times, where the draws before each "
        f"foretell about {seen.expected:,.0f}: {_advice(seen, places)}; "
        "if_independent (--if-independent) takes them for independent"
    )


def _advice(seen: _Look, places: Places) -> str:
    first = places[:LOOKED_AT]
    lags = range(1, min(LAGS, len(first) // 2) + 1)
    same = [float((first[lag:] == first[:-lag]).mean()) for lag in lags]
    # Samples of a chain are most alike side by side, those of a counter where it begins anew.
    if seen.equal < seen.expected or (max(same) > 0.99 and max(same) > same[0]):
        return "draw each anew, not in balanced blocks, by a counter, or without replacement"
    if seen.apart > LAGS:
        return "give each draw once, and draw each time with another seed"
    if (places[1:] != places[:-1]).sum() == places.max():
        return "they are sorted: give the counts, or independent draws in their order"
    # One plus twice the sum of the correlations, of samples as far apart as those that were seen.
    usual, time = float(((np.bincount(places) / len(places)) ** 2).sum()), 1.0
    step = max(1, seen.apart)
    for lag in range(step, min(LONGEST * step, len(places)), step):
        correlation = float((places[lag:] == places[:-lag]).mean() - usual) / (1 - usual)
        if correlation < NOISE:
            break
        time += 2 * correlation
    if time == 1 or 10 * step * time > len(places):
        return "give independent draws in their order"
    return (
        f"the correlation time is about {math.ceil(step * time):,} samples; keep one draw in "
        f"{5 * step * time:,.0f}, or restart the sampler independently"
    )


def _looks(places: Places) -> Iterator[_Look]:
    """All looks at samples, given as the numbers of their values."""
    first = places[:LOOKED_AT]
    for lag, same, chances in _neighbours(first, LAGS):
        yield _look(lag, NEAR.format(lag) if lag > 1 else "neighbours are equal", same, chances)
    yield from _recent(first)
    for parts in range(1, min(PARTS, len(places) // 2) + 1):
        size = len(places) // parts
        # Samples that are `size` apart come to stand side by side.
        ((_, same, chances),) = _neighbours(
            places[: parts * size].reshape(parts, size).T.ravel(), 1
        )
        apart = size if parts > 1 else 1
        yield _look(apart, NEAR.format(apart), same, chances)


def _neighbours(places: Places, lags: int) -> Iterator[tuple[int, Flags, Floats]]:
    """For lags up to some, whether samples so far apart are equal, and each probability of it."""
    left, shares = _left(places), 1 / np.arange(len(places), 0, -1)
    for lag in range(1, min(lags, len(places) - 1) + 1):
        same = places[lag:] == places[:-lag]
        yield lag, same, left[:-lag] * shares[lag:]
        left[:-lag] -= same


def _recent(places: Places) -> Iterator[_Look]:
    """Looks at whether a sample came among the last 2, 4, 8 ... before it."""
    count = len(places)
    left, order, at = _left(places), np.argsort(places, kind="stable"), np.arange(count)
    after = np.full(count, count)
    after[order[:-1]] = np.where(np.diff(places[order]) == 0, order[1:], count)
    span = 2
    while span < count:
        met = np.bincount(after[after - at <= span], minlength=count + 1)[1:count] > 0
        # A sample is the last of its value up to the next one, and counts for `span` steps at most.
        ended = np.bincount(np.minimum(after, at + span) + 1, left, count + span + 2)
        recent = np.cumsum(np.append(0.0, left)[:count] - ended[:count])[1:]
        yield _look(0, f"a sample is among the {span:,} before it", met, recent / (count - at[1:]))
        span *= 2


def _left(places: Places) -> Floats:
    """For each sample, how many later ones are equal."""
    return (np.bincount(places)[places] - 1 - earlier(places)).astype(np.float64)


def _look(apart: int, pairs: str, same: Flags, chances: Floats) -> _Look:
    groups = (chances * GROUPS).astype(np.intp)
    counts, sums = np.bincount(groups), np.bincount(groups, chances)
    counts, sums = counts[counts > 0], sums[counts > 0]
    equal = int(same.sum())
    growth = np.log1p(np.expm1(RATES)[:, None] * np.minimum(sums / counts, 1.0))
    logs = RATES * equal - growth @ counts
    capital = float(np.logaddexp.reduce(logs)) - math.log(len(RATES))
    return _Look(apart, pairs, equal, float(sums.sum()), capital)


def check_apart(
    owner: str, samples: Sequence[Hashable], target: Sequence[Hashable], level: float
) -> None:
    """Checks that samples and those of the target may be independent of each other.

    If samples of p and q coincide at rates c and c', those of both do at `sqrt(c c')` at most, so
    at no more than `(c + c') / 2`. With u the difference of the counts in the first halves and
    `d = p - q`, the mean of `u(x) - u(y)` in the others is S, the sum over the first halves of
    `d(x) - d(y)`. Where no probability is above P, a term has the mean `|d|^2` and second moments
    of at most `P |d|^2` each. So with `t = RATE / P`, as `exp(-y) <= 1 - y + y^2 exp(|y|) / 2`,
    `exp(-t S)` has a mean of at most `exp(-n t |d|^2 (1 - RATE exp(RATE))) <= 1`, and S is below
    `-log(1 / level) / t` with probability at most the level.

    Args:
        owner: whose they are, for messages.
        samples: of the sampler.
        target: of the target.
        level: that of the bounds. S, P twice, the mean and equal counts each have a fifth of
            `SHARE` of it.

    Raises:
        DependentError: if the mean of the others is certainly lower than S can be, as where draws
            are in both; or the counts of both are equal, as any law has them with a probability of
            at most the level, the largest at their shares.
    """
    log, count = math.log(5 / (SHARE * level)), len(samples)
    drawn = Counter(samples)
    if drawn == Counter(target):
        sizes = np.array([*drawn.values()], float)
        orders = math.lgamma(count + 1) - float(sum(map(math.lgamma, sizes + 1)))
        if orders + float(sizes @ np.log(sizes / count)) <= -log:
            raise DependentError(
                f"no verdict: {owner}: samples and those of the target are the same {count:,} "
                "ones, as independent draws never are: give those of each; if_independent "
                "(--if-independent) takes them for independent"
            )
    half = min(count, len(target)) // 2
    samples, target = (
        [x[i] for i in np.random.default_rng(seed).permutation(len(x))[: 2 * half].tolist()]
        for seed, x in enumerate((samples, target))
    )
    counts = Counter(samples[:half])
    counts.subtract(target[:half])
    pairs = zip(samples[half:], target[half:], strict=True)
    gaps = np.array([counts[x] - counts[y] for x, y in pairs], float)
    largest = 2.0 * max(map(abs, counts.values()), default=0)
    if not largest:
        return
    mean = MeanInterval()
    mean.add((gaps / largest + 1) / 2)
    highest = (2 * mean.interval(2 * math.exp(-log)).high - 1) * largest
    most = max(
        probability(max(Counter(draws).values()), len(draws), log).high
        for draws in (samples, target)
    )
    if highest < -log * most / RATE:
        raise DependentError(
            f"no verdict: {owner}: samples coincide more often with those of the target than "
            "draws do that are independent of these: give two files that share no draw; "
            "if_independent (--if-independent) takes them for independent"
        )


def written_out(
    owner: str, values: Sequence[Hashable], counts: Sequence[Any], seed: int = 0
) -> Places:
    """The samples of a histogram in a random order, each as the place of its value.

    Given the counts, all orders of independent draws are equally likely, so that these have the law
    of the draws. The generator of a fixed seed is trusted, as that of all draws is.

    Args:
        owner: whose they are, for messages.
        values: each value once.
        counts: how often each was drawn: integers, or their digits.
        seed: of the order; samples of two laws need two.

    Raises:
        InputError: if a count is no whole number, all are zero, or their sum is above `MOST`.
    """
    numbers = [_count(owner, x, count) for x, count in zip(values, counts, strict=True)]
    if not 0 < (total := sum(numbers)) <= MOST:
        raise InputError(
            f"{owner}: the counts sum to {total:,}, but must have a sum from 1 to {MOST:,}, which "
            "memory sets: of more, give as many as that, drawn without replacement "
            "(multivariate_hypergeometric of NumPy)"
        )
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(numbers)), numbers))


def _count(owner: str, x: Hashable, count: Any) -> int:
    """A count, of an integer or its digits."""
    try:
        if isinstance(count, str) and count.isascii() and count.isdigit():
            return int(count)
        if not isinstance(count, bool) and operator.index(count) >= 0:
            return operator.index(count)
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"{owner}: the count of {shown(x)} is {shown(count)}, but must be a whole number, at least "
        "0: say how often it was drawn"
    )


def check_repeats(
    owner: str, samples: Sequence[Hashable], values: Collection[Hashable] | None
) -> None:
    """Checks that samples repeat as often as independent draws of any law on some values must.

    Args:
        owner: whose they are, for messages.
        samples: those outside of the values do not count.
        values: all values of the target; None if they are not listed.

    Raises:
        InputError: if independent draws repeat so seldom with at most the probability
            `exp(-SELDOM)`.
    """
    if values is None:
        return
    inside = [x for x in samples if x in values]
    count, repeats = len(inside), len(inside) - len({*inside})
    if _log_chance_of_repeats(count, repeats, len(values)) <= -SELDOM:
        raise InputError(
            f"{owner}: {count:,} samples of {len(values):,} values have {repeats:,} repeats, but "
            "independent draws of any sampler have more, but for a chance of 1e-9: give every "
            "draw as often as it came, and none that was drawn without replacement"
        )


def _log_chance_of_repeats(count: int, repeats: int, values: int) -> float:
    """The logarithm of a bound of the probability that independent draws have so few repeats.

    A repeat is a draw of a value that came before. Of all laws, the uniform one has the fewest: if
    m > 1 draws are of two values, of one with probability p, both come with probability
    `1 - p^m - (1 - p)^m`, which is largest at 1/2, and averaging pairs leads to the uniform law.
    While that has at most r repeats, draw number i + 1 is one with probability at least
    `(i - r) / values`. So they are at least a sum of independent trials whose mean is `mean`, and
    this is at most `r < mean` with probability at most `exp(r - mean + r log(mean / r))`
    (Chernoff).
    """
    mean = (count - repeats) * (count - repeats - 1) / (2 * values)
    if repeats >= mean:
        return 0.0
    return repeats - mean + (repeats * math.log(mean / repeats) if repeats else 0.0)
