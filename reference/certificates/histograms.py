"""Samples without the order of their draws: histograms, and lines that are sorted.

Bounds of bare samples choose on some of them what they measure on others. Given how often each
value was drawn, all orders of independent draws are equally likely. So a histogram, written out in
an order that is drawn whatever the counts are, has the law of the draws. The seed of that order is
fixed, and its generator is trusted, as that of all draws is.
"""

import math
import operator
from collections import Counter
from collections.abc import Hashable, Sequence
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
# Independent draws have the first samples again, as far as they are compared, with at most the
# probability 2 to minus this many bits.
AGAIN = 40
# Neighbours are equal too often by so many deviations of draws.
DEVIATIONS = 6.0


def random_order(
    owner: str, samples: Sequence[Hashable], counts: Sequence[Any] | None = None, seed: int = 0
) -> tuple[npt.NDArray[np.intp] | None, list[str]]:
    """The places of samples in a random order, None where they keep their own; and notes.

    Args:
        owner: the name of the samples in messages.
        samples: the samples, or the values of a histogram.
        counts: how often each value was drawn, as integers or their digits; None for samples.
        seed: the seed of the order; samples of two laws need two.

    Raises:
        InputError: if a count is no whole number, all are zero, their sum is above `MOST`, or the
            first samples come again.
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
    equal = sum(map(operator.eq, samples, samples[1:]))
    if len(samples) - equal == len(totals) and _chance_together(totals) <= SORTED:
        note = f"{owner}: equal samples stand together, so that they were put in a random order"
        return random.permutation(len(samples)), [note]
    if place := _again(samples, totals):
        raise InputError(
            f"{owner}: the first samples come again from sample {place + 1:,} on, as independent "
            "draws never do: give each once, and draw each time with another seed"
        )
    usual = sum(count * (count - 1) for count in totals.values()) / max(1, len(samples))
    if equal <= usual + DEVIATIONS * (math.sqrt(usual) + DEVIATIONS):
        return None, []
    return None, [
        f"{owner}: neighbours are equal {equal:,} times, and would be about {usual:,.0f} times if "
        "they were independent draws: correlated samples have no such bounds, and sorted ones need "
        "a column of counts (or a Counter in Python)"
    ]


def _again(samples: Sequence[Hashable], totals: Counter[Hashable]) -> int:
    """The place from which on the first samples come again; 0 if none, or in a short cycle."""
    count, size, bits = len(samples), 0, 0.0
    # There are as many places, and totals are not quite chances.
    while size < count and bits < AGAIN + 2 * math.log2(count):
        bits += math.log2(count / totals[samples[size]])
        size += 1
    first, places = samples[:size], range(1, count - size + 1)
    # The rarest is compared before all, as a copy at each place of a frequent one takes minutes.
    rare = min(range(size), key=lambda i: totals[first[i]], default=0)
    near = (i for i in places if samples[i + rare] == first[rare])
    again = (i for i in near if samples[i : i + size] == first)
    return place if (place := next(again, 0)) >= size else 0


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
