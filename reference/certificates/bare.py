"""Bounds of TV from bare samples: terminal states without probabilities.

An event `A` that does not depend on the samples bounds TV from below: `TV >= |p_T(A) - pi(A)|`.
Where all terminal states are enumerated, the empirical distribution bounds it from above:
`TV(p_T, pi) <= TV(p^, pi) + TV(p^, p_T)`. The expectation of the last term is at most
`sqrt(|X| - 1) / (2 sqrt(n))`. It changes by at most `1 / n` with a sample, so it exceeds its
expectation by `sqrt(log(1 / level) / (2 n))` with probability at most `level` (McDiarmid, 1989).
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from reference.certificates.betting import Interval, MeanInterval
from reference.certificates.statement import Line
from reference.errors import InputError


def against_law(
    samples: Sequence[Hashable], target: Mapping[Hashable, Fraction], level: float
) -> tuple[Interval, list[Line]]:
    """Bounds of `TV(p_T, pi)` from samples of `p_T` and the exact target.

    Args:
        samples: independent samples.
        target: `pi(x)` of every sample; zero where the target excludes it.
        level: the level of the interval, half of it for each side.

    Raises:
        InputError: if there are fewer than two.
    """
    _check_two(samples)
    half, count = len(samples) // 2, len(samples)
    first, second = Counter(samples[:half]), samples[half:]
    events = [{x for x, p in target.items() if Fraction(first[x], half) < p}]
    if excluded := {x for x in first if not target[x]}:
        events.append(excluded)
    low = 0.0
    for event in events:
        mass = float(sum((target[x] for x in event), start=Fraction(0)))
        seen = _frequency(second, event, level / 2 / len(events))
        low = max(low, _excess(seen, Interval(mass, mass)))
    empirical = Counter(samples)
    distance = sum(abs(Fraction(empirical[x], count) - p) for x, p in target.items()) / 2
    spread = math.sqrt(max(len(target) - 1, 1) / count) / 2
    deviation = math.sqrt(math.log(2 / level) / (2 * count))
    high = min(1.0, (float(distance) + spread + deviation) * (1 + 2.0**-40))
    lines = [
        Line("TV(empirical law, target)", float(distance), "float64"),
        Line("allowance for the noise of the samples", spread + deviation, "float64"),
    ]
    return Interval(low, high), lines


def against_samples(
    samples: Sequence[Hashable], target: Sequence[Hashable], level: float
) -> tuple[Interval, list[Line]]:
    """A lower bound of TV from samples of both laws, by an event chosen on the first halves.

    Args:
        samples: independent samples of the sampler.
        target: independent samples of the target.
        level: the level of the bound.

    Raises:
        InputError: if there are fewer than two of either.
    """
    _check_two(samples)
    _check_two(target)
    half, other = len(samples) // 2, len(target) // 2
    first, of_target = Counter(samples[:half]), Counter(target[:other])
    event = {x for x in {*first, *of_target} if first[x] / half < of_target[x] / other}
    seen = _frequency(samples[half:], event, level / 2)
    expected = _frequency(target[other:], event, level / 2)
    lines = [
        Line("probability of an event, sampler", seen, "bound"),
        Line("probability of the same event, target", expected, "bound"),
    ]
    return Interval(_excess(seen, expected), 1.0), lines


def _check_two(samples: Sequence[Hashable]) -> None:
    if len(samples) < 2:
        raise InputError(f"{len(samples)} samples are given, but at least two are needed")


def _frequency(samples: Sequence[Hashable], event: set[Hashable], level: float) -> Interval:
    mean = MeanInterval()
    mean.add(np.array([float(x in event) for x in samples]))
    return mean.interval(level)


def _excess(seen: Interval, expected: Interval) -> float:
    """The least difference of the two means."""
    gap = max(expected.low - seen.high, seen.low - expected.high)
    return max(0.0, gap * (1 - 2.0**-40))
