"""What bare samples can say: terminal states whose probabilities nobody told.

An event that was chosen without looking at a sample bounds TV from below:
`TV >= |p_T(A) - pi(A)|`. Where all terminal states are enumerated, the empirical law bounds it from
above too: `TV(p_T, pi) <= TV(p^, pi) + TV(p^, p_T)`, whose last term has an expectation of at most
`sqrt(|X| - 1) / (2 sqrt(n))` and, changing by at most `1 / n` with a sample, exceeds it by
`sqrt(log(1 / level) / (2 n))` with probability `level` (McDiarmid, 1989).
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
    """Bounds of `TV(p_T, pi)` from samples of `p_T`, beside a target that is known exactly.

    Args:
        samples: independent samples.
        target: `pi(x)` of whatever is among the samples, zero of what it excludes.
        level: of the interval, half of it for each side.

    Raises:
        InputError: if there are fewer than two.
    """
    _check(samples)
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
        Line("what the noise of the samples allows on top", spread + deviation, "float64"),
    ]
    return Interval(low, high), lines


def against_samples(
    samples: Sequence[Hashable], target: Sequence[Hashable], level: float
) -> tuple[Interval, list[Line]]:
    """Bounds of TV from samples of both: from below alone, by an event that halves of them choose.

    Args:
        samples: independent samples of the sampler.
        target: independent samples of the target.
        level: of the bound.

    Raises:
        InputError: if there are fewer than two of either.
    """
    _check(samples)
    _check(target)
    half, other = len(samples) // 2, len(target) // 2
    first, of_target = Counter(samples[:half]), Counter(target[:other])
    event = {
        x for x in {*first, *of_target} if first[x] / max(half, 1) < of_target[x] / max(other, 1)
    }
    found = _frequency(samples[half:], event, level / 2)
    expected = _frequency(target[other:], event, level / 2)
    lines = [
        Line("an event, in the samples", found, "bound"),
        Line("the same, in the target", expected, "bound"),
    ]
    return Interval(_excess(found, expected), 1.0), lines


def _check(samples: Sequence[Hashable]) -> None:
    if len(samples) < 2:
        raise InputError(f"{len(samples)} samples are given, but at least two are needed")


def _frequency(samples: Sequence[Hashable], event: set[Hashable], level: float) -> Interval:
    mean = MeanInterval()
    mean.add(np.array([float(x in event) for x in samples]))
    return mean.interval(level)


def _excess(found: Interval, expected: Interval) -> float:
    """By how much the two differ for certain."""
    gap = max(expected.low - found.high, found.low - expected.high)
    return max(0.0, gap * (1 - 2.0**-40))
