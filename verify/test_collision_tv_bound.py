"""Coincidences of samples bound TV to a listed law, computed exactly."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from reference.certificates.betting import LowerMean
from reference.certificates.collisions import (
    Parts,
    collision_bound,
    lower_probability,
    upper_probability,
)

Law = Sequence[Fraction]
THIRDS, SKEWED = [Fraction(1, 3)] * 3, [Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)]
# The last one has a value that the target hardly has.
PAIRS: list[tuple[Law, Law]] = [
    (THIRDS, THIRDS),
    (SKEWED, THIRDS),
    (THIRDS, SKEWED),
    ([Fraction(1, 5), Fraction(4, 5)], [Fraction(1, 50), Fraction(49, 50)]),
]


def square(law: Law, target: Law) -> Fraction:
    """S, with all values in B."""
    return sum(((p - q) ** 2 / q for p, q in zip(law, target, strict=True)), Fraction(0))


def product_of(x: Law, y: Law, target: Law) -> Fraction:
    return sum(((a - q) * (b - q) / q for a, b, q in zip(x, y, target, strict=True)), Fraction(0))


def empirical(law: Law, size: int) -> Iterator[tuple[Fraction, Law]]:
    """Every sequence of samples, with its probability and its empirical law."""
    for values in product(range(len(law)), repeat=size):
        chance = math.prod((law[v] for v in values), start=Fraction(1))
        yield chance, [Fraction(values.count(v), size) for v in range(len(law))]


def counted(law: Law, size: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Every count of two values, with its probability."""
    for k in range(size + 1):
        yield comb(size, k) * law[0] ** k * law[1] ** (size - k), (k, size - k)


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), PAIRS)
def test_products_of_two_parts_have_the_mean_s(law: Law, target: Law, scope: Any) -> None:
    for size in (1, 2, 3):
        samples = list(empirical(law, size))
        mean = sum(p * r * product_of(x, y, target) for p, x in samples for r, y in samples)
        assert mean == square(law, target)
        given = sum((p * product_of(x, law, target) for p, x in samples), Fraction(0))
        assert given == square(law, target)
    scope("all samples of up to three, of 4 pairs of laws")


@pytest.mark.control("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), PAIRS)
def test_one_part_taken_twice_has_a_larger_mean(law: Law, target: Law) -> None:
    mean = sum(p * product_of(x, x, target) for p, x in empirical(law, 2))
    assert mean > square(law, target)


def failing(law: Law, target: Law, size: int, level: Fraction, term: float) -> Fraction:
    """The probability that S exceeds what Bernstein's inequality allows, its main term scaled."""
    log, s = math.log(1 / level), square(law, target)
    ratio = max(p / q for p, q in zip(law, target, strict=True))
    slack = term * math.sqrt(2 * ratio * s * log / size) + (s + 2) * log / (3 * size)
    return sum(
        (
            chance
            for chance, counts in counted(law, size)
            if s > product_of([Fraction(k, size) for k in counts], law, target) + Fraction(slack)
        ),
        Fraction(0),
    )


TWO: list[tuple[Law, Law]] = [
    ([Fraction(k, 20), Fraction(20 - k, 20)], [Fraction(q, 20), Fraction(20 - q, 20)])
    for k in (1, 5, 10, 16)
    for q in (1, 4, 10)
    if k != q
]


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), TWO)
def test_bernstein_bounds_s_by_its_mean_given_one_part(law: Law, target: Law, scope: Any) -> None:
    for size in (5, 20, 60):
        for level in (Fraction(1, 3), Fraction(1, 20), Fraction(1, 1000)):
            assert failing(law, target, size, level, 1.0) <= level
    scope(f"all counts of two values, of {len(TWO)} pairs of laws")


@pytest.mark.control("collision-tv-bound")
def test_without_the_term_of_the_ratio_it_fails_too_often() -> None:
    law, target = [Fraction(1, 2)] * 2, [Fraction(1, 5), Fraction(4, 5)]
    assert failing(law, target, 60, Fraction(1, 20), 0.0) > Fraction(1, 5)


def too_low(law: Law, target: Law, sizes: tuple[int, int], level: float) -> Fraction:
    """The probability that the bound lies below TV: every count of every part."""
    tv = max(abs(p - q) for p, q in zip(law, target, strict=True))
    first, part = ([*counted(law, size)] for size in sizes)
    goal, missed = np.array([*map(float, target)]), Fraction(0)
    for (p, choosing), (q, x), (r, y) in product(first, part, part):
        parts = Parts(*map(np.array, (choosing, x, y)))
        if collision_bound(parts, goal, level) < float(tv) * (1 - 1e-12):
            missed += p * q * r
    return missed


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), [TWO[3], TWO[7], PAIRS[3]])
def test_the_bound_fails_with_at_most_its_level(law: Law, target: Law) -> None:
    level = 0.9
    assert too_low(law, target, (2, 12), level) <= level


@pytest.mark.claim("collision-tv-bound")
def test_a_probability_is_bounded_from_both_sides_at_its_level() -> None:
    for size, p in product((1, 7, 40), (Fraction(1, 50), Fraction(1, 3), Fraction(9, 10))):
        for level in (0.3, 0.01):
            above, below = Fraction(0), Fraction(0)
            for chance, (k, _) in counted([p, 1 - p], size):
                log = -math.log(level)
                above += chance * (upper_probability(k, size, log) < p)
                below += chance * (lower_probability(k, size, log) > p)
            assert max(above, below) <= level


def crossing(function: Any) -> float:
    """The last p in [0, 1] at which a function is still below zero, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def by_hand(parts: Parts, law: Any, level: float, heavy: set[int], rare: set[int]) -> float:
    """The bound of the note, term by term; `heavy` is H, `rare` is L."""
    log, m = math.log(5 / level), int(sum(parts.x))
    both, n = parts.x + parts.y, int(sum(parts.x) + sum(parts.y))
    common = [v for v in range(len(law)) if v not in heavy | rare]

    def most(k: int, logarithm: float) -> float:
        binomial = (k / n, 1 - k / n)

        def excess(p: float) -> float:
            terms = zip(binomial, (p, 1 - p), strict=True)
            divergence = sum(a * math.log(a / b) for a, b in terms if a > 0)
            return -1.0 if p <= k / n else n * divergence - logarithm

        return 1.0 if k == n else crossing(excess)

    union = log + math.log(2 * max(1, len(heavy)))
    apart = sum(
        max(most(both[v], union) - law[v], law[v] - 1 + most(n - both[v], union)) for v in heavy
    )
    light = most(sum(both[v] for v in rare), log) + sum(law[v] for v in rare)
    ratios = [(parts.x[v] / m / law[v] - 1 if v in common else 0.0) for v in range(len(law))]
    gaps = [max(ratios) - ratio for v, ratio in enumerate(ratios) for _ in range(parts.y[v])]
    bets = LowerMean()
    bets.add(np.array(gaps))
    shift = sum(parts.x[v] / m - law[v] for v in common)
    mean = max(ratios) - bets.bound(level / 5) - shift
    ratio = max(most(both[v], log + math.log(len(common))) / law[v] for v in common)

    def short(root: float) -> float:
        s = (10 * root) ** 2
        return float(s - mean - math.sqrt(2 * ratio * s * log / m) - (s + 2) * log / (3 * m))

    square = (10 * crossing(short)) ** 2
    return float(apart + light + math.sqrt(sum(law[v] for v in common) * square)) / 2


@pytest.mark.catches(
    "Coincidences are counted of a part of the samples with itself.",
    "reference/certificates/collisions.py",
    "np.repeat(gaps, parts.y)",
    "np.repeat(gaps, parts.x)",
)
@pytest.mark.catches(
    "The values that stand out share no level.",
    "reference/certificates/collisions.py",
    "log + math.log(2 * max(1, len(counts)))",
    "log",
)
@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize("heavy", [set[int](), {0}, {0, 1}])
@pytest.mark.parametrize("outside", [False, True])
def test_the_bound_is_that_of_the_note(heavy: set[int], outside: bool) -> None:
    random = np.random.default_rng(7 + len(heavy))
    target = np.array([*[0.002] * 20, *[0.03] * 32, 0.0])
    law = target.copy()
    law[list(heavy)], law[-1] = 0.1, 0.02 * outside
    parts = Parts(*(random.multinomial(size, law / law.sum()) for size in (2_000, 9_000, 9_000)))
    assert collision_bound(parts, target, 0.01) == pytest.approx(
        by_hand(parts, target, 0.01, heavy, {52}), rel=1e-6
    )


@pytest.mark.claim("collision-tv-bound")
def test_values_too_rare_to_be_judged_are_counted_together() -> None:
    target = np.array([*[1e-7] * 1_000, *[(1 - 1e-4) / 10] * 10])
    parts = Parts(*(np.random.default_rng(0).multinomial(k, target) for k in (500, 2_000, 2_000)))
    expected = by_hand(parts, target, 0.01, set(), set(range(1_000)))
    assert collision_bound(parts, target, 0.01) == pytest.approx(expected, rel=1e-6)
