"""Samples without the order of their draws: histograms, and lines that are sorted.

Bounds of bare samples choose on some of them what they measure on others. Given how often each
value was drawn, all orders of independent draws are equally likely. So a histogram, written out in
an order that is drawn whatever the counts are, has the law of the draws. The seed of that order is
fixed, and its generator is trusted, as that of all draws is.
"""

import math
import operator
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.errors import InputError, shown

# The most samples that are written out, in about 4 GB of memory.
MOST = 50_000_000
# Lines are sorted if independent draws have all equal ones together with at most this probability.
# Their random order does not depend on that, so that bounds fail with at most this share of the
# level more.
SORTED = 2.0**-10
# Independent draws have a stretch of samples again, of the length that is compared, with at most
# the probability 2 to minus this many bits. Digests are sums with the powers of an odd number.
AGAIN, ODD = 40, 0x9E3779B97F4A7C15
# Independent draws repeat as seldom as what is refused with at most the probability exp(-SELDOM).
SELDOM = math.log(1e9)
# Samples up to so many places apart, as of workers that take turns, are equal too often by so many
# deviations of draws.
LAGS, DEVIATIONS = 64, 6.0


def random_order(
    owner: str, samples: Sequence[Hashable], counts: Sequence[Any] | None = None, seed: int = 0
) -> tuple[npt.NDArray[np.intp] | None, list[str]]:
    """The places of samples in a random order, None where they keep their own; and notes.

    With `counts`, as integers or their digits, samples are the values of a histogram. Samples of
    two laws need two seeds. Raises InputError if a count is no whole number, all are zero, their
    sum is above `MOST`, or samples come again.
    """
    random = np.random.default_rng(seed)
    if counts is not None:
        many = [_count(owner, x, count) for x, count in zip(samples, counts, strict=True)]
        if not 0 < (total := sum(many)) <= MOST:
            raise InputError(
                f"{owner}: the counts sum to {total:,}, but must have a sum from 1 to {MOST:,}, "
                "which memory sets: of more, give as many as that, drawn without replacement "
                "(multivariate_hypergeometric of NumPy)"
            )
        order = random.permutation(np.repeat(np.arange(len(many)), many))
        return order, [f"{owner}: a histogram, whose samples were put in a random order"]
    totals = Counter(samples)
    numbers = {x: number for number, x in enumerate(totals)}
    places = np.array([numbers[x] for x in samples], np.intp)
    equal = [int((places[lag:] == places[:-lag]).sum()) for lag in range(1, LAGS + 1)]
    if len(samples) - equal[0] == len(totals) and _chance_together(totals) <= SORTED:
        note = f"{owner}: equal samples stand together, so that they were put in a random order"
        return random.permutation(len(samples)), [note]
    if again := _again(places, np.array([*totals.values()])):
        raise InputError(
            f"{owner}: samples from sample {again[0] + 1:,} on come again from sample "
            f"{again[1] + 1:,} on, as independent draws never do: give each once, and draw each "
            "time with another seed"
        )
    usual = sum(count * (count - 1) for count in totals.values()) / max(1, len(samples))
    most = max(equal)
    if most <= usual + DEVIATIONS * (math.sqrt(usual) + DEVIATIONS):
        return None, []
    who = "neighbours" if most == equal[0] else f"samples {equal.index(most) + 1} apart"
    return None, [
        f"{owner}: {who} are equal {most:,} times, and would be about {usual:,.0f} times if they "
        "were independent draws: correlated samples have no such bounds, and sorted ones need a "
        "column of counts (or a Counter in Python)"
    ]


def unsorted(
    owner: str, samples: Sequence[Hashable], law: Mapping[Hashable, Fraction]
) -> tuple[Sequence[Hashable], list[str]]:
    """The samples, in a random order where they are sorted by their probabilities; and a note.

    Values of one probability may be mixed, so that equal samples need not stand together.
    """
    floats = {x: float(p) for x, p in law.items()}
    values = np.array([floats.get(x, 0.0) for x in samples])
    order, notes = order_of_sorted(owner, "the probabilities of the law", [values])
    return samples if order is None else [samples[i] for i in order.tolist()], notes


def order_of_sorted(
    owner: str, by: str, columns: Collection[npt.NDArray[Any]]
) -> tuple[npt.NDArray[np.intp] | None, list[str]]:
    """The places of samples in a random order if a column of numbers is sorted, else None; a note.

    The note says what they are sorted `by`.
    """
    for values in columns:
        if (values[1:] > values[:-1]).any() and (values[1:] < values[:-1]).any():
            continue
        ties = np.unique(values, return_counts=True)[1].tolist()
        log_orders = math.lgamma(len(values) + 1) - sum(math.lgamma(count + 1) for count in ties)
        if math.log(2 * len(columns)) - log_orders <= math.log(SORTED):
            order = np.random.default_rng(0).permutation(len(values))
            return order, [f"{owner}: sorted by {by}, and so put in a random order"]
    return None, []


def check_repeats(
    owner: str, samples: Sequence[Hashable], values: Collection[Hashable] | None
) -> None:
    """Checks that samples repeat as often as independent draws of any law on some values must.

    Samples outside of all values of the target, None if they are not listed, do not count. Raises
    InputError if independent draws repeat so seldom with at most the probability `exp(-SELDOM)`.
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


def _again(places: npt.NDArray[np.intp], totals: npt.NDArray[np.int64]) -> tuple[int, int] | None:
    """Where a stretch of samples begins, and begins again later; None if none is there twice.

    A short cycle, in which a stretch overlaps with itself, does not count, nor does a stretch of
    runs, as of samples that are sorted in part.
    """
    count = len(places)
    same = float(((totals / count) ** 2).sum()) if count else 1.0
    if same == 1:
        return None
    # There are fewer pairs of places than the square of their number.
    size = math.ceil((AGAIN + 2 * math.log2(count)) / -math.log2(same))
    if 2 * size > count:
        return None
    # Digests of all stretches, as differences of sums modulo 2^64.
    random = np.random.default_rng(0).integers(2**64, size=len(totals), dtype=np.uint64)
    powers, back = (np.cumprod(np.full(count, f, np.uint64)) for f in (ODD, pow(ODD, -1, 2**64)))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(random[places] * powers)])
    digests = (sums[size:] - sums[:-size]) * back[: count - size + 1]
    runs = np.concatenate([[0], np.cumsum(places[1:] == places[:-1])])
    few = size * same + DEVIATIONS * math.sqrt(size * same)
    starts = np.flatnonzero(runs[size - 1 :] - runs[: count - size + 1] <= few)
    starts = starts[np.argsort(digests[starts], kind="stable")]
    pairs = np.column_stack([starts[:-1], starts[1:]])
    pairs = pairs[(np.diff(digests[starts]) == 0) & (np.diff(starts) >= size)]
    for first, again in pairs[pairs[:, 0].argsort()]:
        if np.array_equal(places[first : first + size], places[again : again + size]):
            return int(first), int(again)
    return None


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


def _chance_together(totals: Counter[Hashable]) -> float:
    """The probability that all equal samples stand together, if all orders are as likely."""
    together = math.fsum(math.lgamma(count + 1) for count in totals.values())
    orders = math.lgamma(totals.total() + 1)
    return math.exp(min(0.0, math.lgamma(len(totals) + 1) + together - orders))
