"""Bounds of TV from bare samples: terminal states without probabilities.

An event `A` that does not depend on the samples bounds TV from below: `TV >= |p_T(A) - pi(A)|`.
Beside a listed law, events are chosen anew by all samples before, and bet on
(`bound_by_events`); beside samples of the target, on one half, and measured on the other. Where all
terminal states are enumerated, two bounds hold from above. One counts how often samples coincide
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
    collision_bound,
    expected_bound,
    probability,
    scores,
    split,
)
from reference.certificates.statement import Line
from reference.contract.errors import InputError, shown
from reference.contract.text import small
from reference.rows.exact import Floats

# Events hold the values whose scores are above one of these, in standard deviations.
ABOVE = (-6.0, -4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.5, 6.0)
# Events are chosen anew for each of so many pieces of the samples.
PIECES = 16
# Bets begin after one of these shares of the pieces: late events are better, but fewer samples are
# left.
STARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
# The most by which a bet changes the logarithm of the odds of its event.
STEEPEST = 3.0
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
        samples: at least two independent terminal states, in the order of the draws.
        target: `pi(x)` of every sample, zero where the target excludes it.
        level: the most with which a bound fails; each side has half of it.
    """
    _check_two(samples)
    place = {x: i for i, x in enumerate(target)}
    law = np.array([float(p) for p in target.values()])
    places = np.array([place[x] for x in samples])
    pieces = [np.bincount(x, minlength=len(law)) for x in np.split(places, cuts(len(places)))]
    high, lines = bound_from_above(places, law, level / 2)
    chosen, measured = np.sum(pieces[: PIECES // 2], axis=0), np.sum(pieces[PIECES // 2 :], axis=0)
    lines += _farthest(_scores(chosen, law), measured, [*target], law, level)
    return Interval(bound_by_events(pieces, law, level / 2), high), lines


def cuts(count: int) -> list[int]:
    """The places at which samples are cut into pieces."""
    return [count * piece // PIECES for piece in range(1, PIECES)]


def _scores(counts: Counts, law: Floats) -> Floats:
    """The scores of values; zero without samples."""
    return scores(counts, law) if counts.sum() else np.zeros(len(law))


class _Events(NamedTuple):
    """Events that are chosen by the pieces before, and the side on which each is bet on.

    An array has a row for each piece and a column for each event and side, or one of the two: the
    size of a piece, how many of its samples are `inside` an event, the event's `pi`, and the side,
    1 for a bet that the event is too likely, -1 for one that it is too unlikely.
    """

    size: Floats
    inside: Floats
    mass: Floats
    side: Floats

    @classmethod
    def of(cls, pieces: Sequence[Counts], law: Floats) -> "_Events":
        """The events of all pieces; those of the first are chosen by no sample."""
        before, rows = np.zeros(len(law), np.int64), []
        for piece in pieces:
            beyond = np.searchsorted(ABOVE, _scores(before, law))
            sums = [np.bincount(beyond, weights, len(ABOVE) + 1) for weights in (piece, law)]
            rows.append([values[::-1].cumsum()[-2::-1] for values in sums])
            before = before + piece
        inside, mass = np.repeat(np.array(rows), 2, axis=2).swapaxes(0, 1)
        size = np.array([[piece.sum()] for piece in pieces], float)
        return cls(size, inside, mass, np.tile([1.0, -1.0], len(ABOVE)))

    def kappas(self, start: int, log: float) -> Floats:
        """The bets on the pieces from a start on, about the best by what was seen before each."""
        gap = self.inside - self.size * self.mass
        past = np.cumsum(self.size) - self.size[:, 0] - self.size[0]
        mean = (np.cumsum(gap, 0) - gap) / np.maximum(past, 1.0)[:, None]
        least = 0.5 / max(1.0, float(self.size.sum()))
        likely = np.clip(self.mass + mean, least, 1 - least)[start:]
        left = max(1.0, float(self.size[start:].sum()))
        tilt = np.sqrt(2 * log / left / (likely * (1 - likely)))
        kappas: Floats = np.expm1(self.side * np.minimum(tilt, STEEPEST))
        return kappas

    def log_capital(self, start: int, kappas: Floats, tv: float) -> Floats:
        """The logarithm of what each bet wins if TV is a number, rounded down."""
        most = np.clip(self.mass[start:] + self.side * tv, 0.0, 1.0)
        gains = self.inside[start:] * np.log1p(kappas)
        losses = self.size[start:] * np.log1p(kappas * most)
        capital: Floats = (gains - losses - 2.0**-48 * (abs(gains) + abs(losses))).sum(0)
        return capital


def bound_by_events(pieces: Sequence[Counts], law: Floats, level: float) -> float:
    """A lower bound of TV by bets on values that stand out in all samples before.

    If TV is at most v, an event has a probability of at most `pi + v` and at least `pi - v`, given
    the samples before. So the bets lose against v, and so does their mean (claim
    event-bets-tv-bound).

    Args:
        pieces: how often each value came in consecutive pieces of the samples.
        law: `pi` of each value.
        level: the most with which the bound fails.
    """
    log, events = math.log(1 / level), _Events.of(pieces, law)
    starts = sorted({max(1, round(len(pieces) * share)) for share in STARTS})
    bets = [(start, events.kappas(start, log)) for start in starts]

    def is_refuted(tv: float) -> bool:
        capitals = np.concatenate([events.log_capital(*bet, tv) for bet in bets])
        largest = float(capitals.max())
        return largest + math.log(np.exp(capitals - largest).mean()) >= log

    low, high = 0.0, 1.0
    while high - low > 2.0**-40:
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return max(0.0, low - 2.0**-38)


def bound_from_above(
    places: npt.NDArray[np.intp], law: Floats, level: float
) -> tuple[float, list[Line]]:
    """The upper bound of TV, and about what a perfect sampler would get.

    Args:
        places: of each sample, the place of its value.
        law: `pi` of each value.
        level: the most with which the bound fails.
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
        level: the most with which the bound fails.
    """
    return min(1.0, *_noises(count, law, level))


def _noises(count: int, law: Floats, level: float) -> tuple[float, float]:
    """The approximate bounds of a perfect sampler: by coincidences, and by the empirical law."""
    distance = 0.4 * math.sqrt(max(len(law) - 1, 1) / count)
    return expected_bound(count, law, level), distance + _deviation(count, len(law), level)


def _deviation(count: int, values: int, level: float) -> float:
    """The most by which the empirical law is away from the sampler's (McDiarmid)."""
    return math.sqrt(max(values - 1, 1) / count) / 2 + math.sqrt(-math.log(level) / (2 * count))


def _farthest(
    score: Floats, measured: Counts, labels: Sequence[Hashable], law: Floats, level: float
) -> list[Line]:
    """The values that stand out most in the first half, with intervals that hold together."""
    sizes = abs(score)
    least = math.sqrt(2 * math.log(len(law) / LISTING))
    listed = [i for i in np.argsort(-sizes, kind="stable")[:LISTED].tolist() if sizes[i] >= least]
    if not listed:
        return []
    count, log = int(measured.sum()), math.log(2 * len(listed) / level)
    name = f"{STANDING_OUT}, of {len(law):,}"
    lines = [Line(name, Fraction(int((sizes >= least).sum())), "estimate")]
    for i in listed:
        name = f"probability of {shown(labels[i])}, {small(float(law[i]))} in the target"
        lines.append(Line(name, probability(int(measured[i]), count, log), "bound"))
    return lines


def against_samples(
    samples: Sequence[Hashable], target: Sequence[Hashable], level: float
) -> tuple[Interval, list[Line]]:
    """A lower bound of TV from samples of each law, by an event of the first halves.

    Only the direction in which the event was chosen is bounded. Samples that are in both make the
    other one show in the second halves.

    Args:
        samples: at least two independent draws of the sampler.
        target: at least two of the target.
        level: the most with which the bound fails.
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
    return Interval(max(0.0, (expected.low - seen.high) * (1 - 2.0**-40)), 1.0), lines


def _check_two(samples: Sequence[Hashable]) -> None:
    if len(samples) < 2:
        raise InputError(f"{len(samples)} samples can be taken, but two are needed: add more")


def _frequency(samples: Sequence[Hashable], event: set[Hashable], level: float) -> Interval:
    mean = MeanInterval()
    mean.add(np.array([float(x in event) for x in samples]))
    return mean.interval(level)
