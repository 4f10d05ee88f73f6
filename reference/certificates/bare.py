"""Bounds of TV from bare samples: terminal states without probabilities.

An event `A` that does not depend on the samples bounds TV from below: `TV >= |p_T(A) - pi(A)|`.
Events are chosen on one half of the samples and measured on the other. Where all terminal states
are enumerated, two bounds hold from above. One counts how often samples coincide
(`collision_bound`). The other is by the empirical distribution:
`TV(p_T, pi) <= TV(p^, pi) + TV(p^, p_T)`. The expectation of the last term is at most
`sqrt(|X| - 1) / (2 sqrt(n))`. It changes by at most `1 / n` with a sample, so it exceeds its
expectation by `sqrt(log(1 / level) / (2 n))` with probability at most `level` (McDiarmid, 1989).
The number of samples is fixed beforehand.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certificates.betting import Interval, MeanInterval
from reference.certificates.collisions import (
    Counts,
    Floats,
    collision_bound,
    expected_bound,
    least_gap,
    probability,
    scores,
    split,
)
from reference.certificates.statement import Line, small
from reference.errors import InputError, shown

# Events hold the values whose scores are beyond one of these, in standard deviations.
BEYOND = (0.0, 1.0, 2.0, 3.0, 4.5, 6.0)
# Values are chosen by a tenth of the samples, which shows gross errors, and by one half.
CUTS = (10, 2)
# The most values that a report lists, and the level at which one is listed if the sampler is right.
LISTED, LISTING = 5, 0.1
STANDING_OUT = "values that stand out in one half"
# A bound that is expected to be this many times larger than the other gets no share of the level.
HOPELESS = 2.0


def against_law(
    samples: Sequence[Hashable], target: Mapping[Hashable, Fraction], level: float
) -> tuple[Interval, list[Line]]:
    """Bounds of `TV(p_T, pi)` from samples of `p_T` and the exact target.

    Args:
        samples: independent samples, in the order of the draws.
        target: `pi(x)` of every sample; zero where the target excludes it.
        level: the level of the interval, half of it for each side.

    Raises:
        InputError: if there are fewer than two.
    """
    check_two(samples)
    place = {x: i for i, x in enumerate(target)}
    law = np.array([float(p) for p in target.values()])
    places = np.array([place[x] for x in samples])
    pieces = [
        np.bincount(piece, minlength=len(law))
        for piece in np.split(places, [len(places) // part for part in CUTS])
    ]
    high, lines = bound_from_above(places, law, level / 2)
    lines += _farthest(_Halves.of(pieces, len(CUTS), law), [*target], law, level)
    return Interval(bound_by_events(pieces, law, level / 2), high), lines


class _Halves(NamedTuple):
    """Two parts of the samples: values are chosen by their scores in one, and counted in the other.

    Attributes:
        score: the score of each value in the first part.
        measured: the count of each value in the other.
        events: sets of values that stand out in the first part.
    """

    score: Floats
    measured: Counts
    events: list[npt.NDArray[np.bool_]]

    @classmethod
    def of(cls, pieces: Sequence[Counts], first: int, law: Floats) -> "_Halves":
        """The parts of which the first has so many of the pieces."""
        chosen, measured = np.sum(pieces[:first], axis=0), np.sum(pieces[first:], axis=0)
        score = scores(chosen, law) if chosen.sum() else np.zeros(len(law))
        sides = [score > t for t in BEYOND] + [score < -t for t in BEYOND]
        events = {values.tobytes(): values for values in sides if values.any()}
        return cls(score, measured, [*events.values()])


def bound_by_events(pieces: Sequence[Counts], law: Floats, level: float) -> float:
    """The largest lower bound of TV by sets of values that stand out in a first part.

    Args:
        pieces: counts of each value in consecutive pieces of the samples, cut at `CUTS`.
        law: `pi` of each value.
        level: the level of the bound.
    """
    parts, low = range(1, len(pieces)), 0.0
    for first in parts:
        _, measured, events = _Halves.of(pieces, first, law)
        # Each part has its share, as a later one is chosen by what an earlier one measures. Both
        # ends, as samples in a wrong order have too little where they had too much.
        log = math.log(2 * max(1, len(events)) * len(parts) / level)
        for values in events:
            seen, mass = int(measured[values].sum()), float(law[values].sum())
            low = max(low, least_gap(probability(seen, int(measured.sum()), log), mass))
    return low


def bound_from_above(
    places: npt.NDArray[np.intp], law: Floats, level: float
) -> tuple[float, list[Line]]:
    """The upper bound of TV, with the bound that a perfect sampler would get.

    Args:
        places: the samples, as places of values.
        law: `pi` of each value.
        level: the level of the bound.
    """
    count, values = len(places), len(law)
    distance = float(abs(np.bincount(places, minlength=values) / count - law).sum()) / 2
    by_collisions, by_law = _noises(count, law, level)
    is_used = by_collisions <= HOPELESS * by_law, by_law <= HOPELESS * by_collisions
    part = level / sum(is_used)
    bounds, lines = [1.0], [Line("TV(empirical law, target)", distance, "float64")]
    if is_used[0]:
        bounds.append(collision_bound(split(places, values), law, part))
        lines.append(Line("bound by coincidences of samples", bounds[-1], "bound"))
    if is_used[1]:
        bounds.append((distance + _deviation(count, values, part)) * (1 + 2.0**-40))
        lines.append(Line("bound by the empirical law", bounds[-1], "bound"))
    floor = min(1.0, by_collisions, by_law)
    lines.append(Line("bound that a perfect sampler would get, about", floor, "estimate"))
    return min(bounds), lines


def noise_floor(count: int, law: Floats, level: float) -> float:
    """The approximate upper bound that a perfect sampler would get.

    Args:
        count: the number of samples.
        law: `pi` of each value.
        level: the level of the bound.
    """
    return min(1.0, *_noises(count, law, level))


def _noises(count: int, law: Floats, level: float) -> tuple[float, float]:
    """The approximate bounds of a perfect sampler: by coincidences, and by the empirical law."""
    distance = 0.4 * math.sqrt(max(len(law) - 1, 1) / count)
    return expected_bound(count, law, level), distance + _deviation(count, len(law), level)


def _deviation(count: int, values: int, level: float) -> float:
    """The most by which the empirical law is away from the sampler's (McDiarmid)."""
    return math.sqrt(max(values - 1, 1) / count) / 2 + math.sqrt(-math.log(level) / (2 * count))


def _farthest(half: _Halves, labels: Sequence[Hashable], law: Floats, level: float) -> list[Line]:
    """The values that stand out most in the first half, with intervals that hold together."""
    measured, sizes = half.measured, abs(half.score)
    least = math.sqrt(2 * math.log(len(law) / LISTING))
    listed = [i for i in np.argsort(-sizes, kind="stable")[:LISTED].tolist() if sizes[i] >= least]
    if not listed:
        return []
    count, log = int(measured.sum()), math.log(2 * len(listed) / level)
    name = f"{STANDING_OUT}, of {len(law):,}"
    lines = [Line(name, Fraction(int((sizes >= least).sum())), "estimate")]
    for i in listed:
        bound = probability(int(measured[i]), count, log)
        name = f"probability of {shown(labels[i])}, {small(float(law[i]))} in the target"
        lines.append(Line(name, bound, "bound"))
    return lines


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
    check_two(samples)
    check_two(target)
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


def check_two(samples: Sequence[Hashable]) -> None:
    """Checks that samples can be halved; raises InputError if not."""
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
