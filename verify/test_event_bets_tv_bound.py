"""event-bets-tv-bound: bets on events that the past chooses lose against TV."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference.certificates.bare import ABOVE, STARTS, STEEPEST, bound_by_events
from reference.certificates.collisions import scores

Law = Sequence[Fraction]
PAIRS: list[tuple[Law, Law]] = [
    ([Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 2), Fraction(1, 2)]),
    ([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 3)] * 3),
    (
        [Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)],
        [Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)],
    ),
    ([Fraction(1, 3)] * 3, [Fraction(1, 3)] * 3),
]
# Bets on the most frequent values so far: against them, and for them, with more each time.
BETS = (Fraction(-1, 2), Fraction(1, 3), Fraction(2))
LEVEL = Fraction(1, 2)


def factor(past: Sequence[int], x: int, kappa: Fraction, target: Law, v: Fraction) -> Fraction:
    """The factor of a sample, for the event of the values that are most frequent in the past."""
    counts = [past.count(value) for value in range(len(target))]
    event = {value for value, count in enumerate(counts) if count == max(counts)}
    kappa *= 1 + max(counts) if kappa > 0 else 1
    mass = sum((target[value] for value in event), Fraction(0))
    most = min(Fraction(1), mass + v) if kappa > 0 else max(Fraction(0), mass - v)
    return (1 + kappa * (x in event)) / (1 + kappa * most)


def played(law: Law, target: Law, size: int, own: int = 0) -> tuple[Fraction, Fraction]:
    """The mean of the last capital at TV, and the probability that `1 / LEVEL` is ever reached.

    With `own` the sample itself counts as one of the past.
    """
    tv = sum((abs(p - q) for p, q in zip(law, target, strict=True)), Fraction(0)) / 2
    mean, reached = Fraction(0), Fraction(0)
    for values in product(range(len(law)), repeat=size):
        chance = math.prod((law[x] for x in values), start=Fraction(1))
        capitals, most = [Fraction(1)] * len(BETS), Fraction(1)
        for t, x in enumerate(values):
            factors = [factor(values[: t + own], x, kappa, target, tv) for kappa in BETS]
            capitals = [c * f for c, f in zip(capitals, factors, strict=True)]
            most = max(most, sum(capitals, Fraction(0)) / len(BETS))
        mean += chance * sum(capitals, Fraction(0)) / len(BETS)
        reached += chance * (most * LEVEL >= 1)
    return mean, reached


@pytest.mark.claim("event-bets-tv-bound")
@pytest.mark.control("event-bets-tv-bound")
@pytest.mark.parametrize(("law", "target"), PAIRS)
def test_the_capital_at_tv_is_hardly_ever_large(law: Law, target: Law, scope: Any) -> None:
    for size in (1, 3, 5):
        mean, reached = played(law, target, size)
        assert mean <= 1
        assert reached <= LEVEL
    # Control: an event that the sample itself chooses wins.
    assert played(law, target, 5, own=1)[0] > 1
    scope(f"all sequences of up to five of two and three values, of {len(PAIRS)} pairs of laws")


def average_capital(pieces: Sequence[Any], law: Any, level: float, v: float) -> float:
    """The mean of all capitals against v, event by event and piece by piece."""
    sizes, total = [int(piece.sum()) for piece in pieces], 0.0
    starts = [max(1, round(share * len(pieces))) for share in STARTS]
    for start, above, side in product(sorted(set(starts)), ABOVE, (1, -1)):
        capital, excess = 0.0, 0.0
        left = sum(sizes[start:])
        for k, piece in enumerate(pieces[1:], 1):
            event = scores(sum(pieces[:k]), law) > above
            mass, count = float(law[event].sum()), int(piece[event].sum())
            seen = mass + excess / max(1, sum(sizes[1:k]))
            likely = min(max(seen, 0.5 / sum(sizes)), 1 - 0.5 / sum(sizes))
            tilt = math.sqrt(2 * math.log(1 / level) / left / (likely * (1 - likely)))
            kappa = math.expm1(side * min(tilt, STEEPEST))
            if k >= start:
                most = min(1.0, mass + v) if side > 0 else max(0.0, mass - v)
                capital += count * math.log1p(kappa) - sizes[k] * math.log1p(kappa * most)
            excess += count - sizes[k] * mass
        total += math.exp(capital)
    return total / (len(set(starts)) * len(ABOVE) * 2)


@pytest.mark.catches(
    "An event is measured on the samples that chose it.",
    "reference/certificates/bare.py",
    "np.searchsorted(ABOVE, _scores(before, law))",
    "np.searchsorted(ABOVE, _scores(before + piece, law))",
)
@pytest.mark.catches(
    "The bets win of the best event, chosen after the fact.",
    "reference/certificates/bare.py",
    "np.exp(capitals - largest).mean()",
    "np.exp(capitals - largest).max()",
)
@pytest.mark.claim("event-bets-tv-bound")
@pytest.mark.parametrize("count", [3, 16])
def test_the_bound_is_where_the_capital_of_the_note_reaches_one_over_the_level(count: int) -> None:
    random, target = np.random.default_rng(count), np.array([*[0.02] * 10, *[0.2] * 4, 0.0])
    law = target * np.array([*[3.0, 0.5] * 5, *[1.1, 0.7] * 2, 0.0])
    pieces = [random.multinomial(400 - k, law / law.sum()) for k in range(count)]
    low = bound_by_events(pieces, target, 0.01)
    assert low > 0
    for v in (low - 1e-9, low + 1e-9):
        assert (average_capital(pieces, target, 0.01, v) >= 100) == (v < low)
