"""Coincidences of samples bound TV to a listed law, computed exactly."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from reference import RATIONAL
from reference.certificates.betting import LowerMean
from reference.certificates.collisions import (
    Parts,
    _distance,
    _mean_product,
    _plan,
    collision_bound,
    probability,
    split,
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


def gain(law: Law, target: Law, weights: Law, value: int) -> Fraction:
    """`g - d` of a value, with all values in B."""
    ratios = [a * (p - q) / q for a, p, q in zip(weights, law, target, strict=True)]
    return ratios[value] - RATIONAL.sum(r * q for r, q in zip(ratios, target, strict=True))


def product_of(x: int, y: int, target: Law, weights: Law) -> Fraction:
    """The product k of two samples."""
    return RATIONAL.sum(
        a * ((x == v) - q) * ((y == v) - q) / q
        for v, (a, q) in enumerate(zip(weights, target, strict=True))
    )


def counted(law: Law, size: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Every count of two values, with its probability."""
    for k in range(size + 1):
        yield comb(size, k) * law[0] ** k * law[1] ** (size - k), (k, size - k)


WEIGHTS = [Fraction(1), Fraction(1, 2), Fraction(3)]


def sums_by_time(law: Law, target: Law, size: int, own: int) -> tuple[Fraction, Fraction]:
    """The mean of all products of a sample with those before it, and of `(n - s) (g(x_s) - d)`.

    With `own` the sample itself counts as one before.
    """
    weights, products, gains = WEIGHTS[: len(law)], Fraction(0), Fraction(0)
    for values in product(range(len(law)), repeat=size):
        chance = math.prod((law[v] for v in values), start=Fraction(1))
        for t, y in enumerate(values):
            for x in values[: t + own]:
                products += chance * product_of(x, y, target, weights)
            gains += chance * (size - 1 - t) * gain(law, target, weights, y)
    return products, gains


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.control("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), PAIRS)
def test_products_with_earlier_samples_have_the_mean_of_the_gains(
    law: Law, target: Law, scope: Any
) -> None:
    weights = WEIGHTS[: len(law)]
    for x in range(len(law)):
        given = sum(p * product_of(x, y, target, weights) for y, p in enumerate(law))
        assert given == gain(law, target, weights, x)
    for size in (1, 2, 3):
        products, gains = sums_by_time(law, target, size, 0)
        assert products == gains
    # Control: a sample taken for an earlier one has a larger mean.
    products, gains = sums_by_time(law, target, 2, 1)
    assert products > gains
    scope("all samples of up to three, of 4 pairs of laws")


@pytest.mark.claim("collision-tv-bound")
def test_bets_bound_the_average_of_means_that_depend_on_the_past() -> None:
    """Zeros and ones, where a one makes the next one four times as likely."""
    level, missed = 0.4, Fraction(0)
    for values in product((0, 1), repeat=8):
        chance, average, mean = Fraction(1), Fraction(0), Fraction(1, 5)
        for value in values:
            average += mean / 8
            chance *= mean if value else 1 - mean
            mean = Fraction(4, 5) if value else Fraction(1, 5)
        bets = LowerMean()
        bets.add(np.array(values, float))
        missed += chance * (bets.bound(level) > average)
    assert 0 < missed <= Fraction(level)


def curve(u: float, bend: float) -> float:
    """The function q."""
    cut = math.inf if bend == 0 else 1 / (2 * bend)
    return u**2 * (1 - bend * (1 + u)) if u <= cut else cut * (1 + u) / 2 - u


def bends_of(weights: Sequence[float], rate: float, size: int) -> list[float]:
    """The kappa of the note, with its sums written out."""
    shares = [2 * (size - s) / (size * (size - 1)) for s in range(1, size + 1)]
    z = [a * rate * shares[0] / sum(w**2 for w in shares) for a in weights]
    pairs = zip(weights, z, strict=True)
    return [a * rate * (math.exp(x) - 1 - x) / x**2 for a, x in pairs]


def failing(law: Law, target: Law, rate: float, level: float, bent: bool = True) -> float:
    """The probability that the sum of `a pi q` exceeds what its lower tail allows."""
    size, weights = 11, [float(q) ** (1 / 3) for q in target]
    u = [float(p / q - 1) for p, q in zip(law, target, strict=True)]
    bends = bends_of(weights, rate, size) if bent else [0.0, 0.0]
    total = sum(
        a * float(q) * curve(x, k) for a, q, x, k in zip(weights, target, u, bends, strict=True)
    )
    shares = np.array([2 * (size - s) / (size * (size - 1)) for s in range(1, size + 1)])
    constant = sum(a * float(q) * x for a, q, x in zip(weights, target, u, strict=True))
    values = np.array([*product((0, 1), repeat=size)])
    average = np.array([a * x for a, x in zip(weights, u, strict=True)])[values] @ shares - constant
    chances = np.array([*map(float, law)])[values].prod(1)
    slack = math.log(1 / level) * float((shares**2).sum()) / rate
    return float(chances[total > average + slack].sum())


TWO: list[tuple[Law, Law]] = [
    ([Fraction(k, 20), Fraction(20 - k, 20)], [Fraction(q, 20), Fraction(20 - q, 20)])
    for k in (1, 5, 10, 16)
    for q in (1, 4, 10)
    if k != q
]


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), TWO)
def test_the_lower_tail_is_as_thin_as_stated(law: Law, target: Law, scope: Any) -> None:
    for rate, level in product((0.1, 0.3), (1 / 3, 1 / 20, 1 / 1000)):
        assert failing(law, target, rate, level) <= level
    scope(f"all sequences of eleven of two values, of {len(TWO)} pairs of laws")


@pytest.mark.control("collision-tv-bound")
def test_without_kappa_it_fails_too_often() -> None:
    law, target = [Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 20), Fraction(19, 20)]
    assert failing(law, target, 30.0, 1 / 20, bent=False) > 1 / 2


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0, 3.0])
def test_no_law_is_farther_than_the_average_product_allows(spread: float) -> None:
    """Random laws about a target, at the sum of `a pi q` that they have."""
    random, size, rate = np.random.default_rng(3), 1_000, 1.5
    for _ in range(20):
        target = random.dirichlet(np.ones(30))
        law = target * np.exp(spread * random.normal(size=30))
        law /= law.sum()
        weights = np.minimum(np.cbrt(target), 0.3 / rate)
        bends = bends_of(weights.tolist(), rate, size)
        u = (law / target - 1).tolist()
        q = np.array([curve(x, k) for x, k in zip(u, bends, strict=True)])
        total = float((weights * target * q).sum())
        most = _distance(target, weights, np.ones(30), total, rate, size, 0.0)
        assert most >= float(abs(law - target).sum())


def share_too_low(drawn: Law, law: Law, target: Law, level: float) -> float:
    """The share of 100 draws, of 8,192 samples each, whose bound is below the TV of `law`."""
    source, aim = (np.array([*map(float, weights)]) for weights in (drawn, target))
    tv = float(max(abs(p - q) for p, q in zip(law, target, strict=True)))
    rng = np.random.default_rng(0)
    samples = rng.choice(2, (100, 8192), p=source)
    bounds = [collision_bound(split(places, 2), aim, level) for places in samples]
    assert max(bounds) < 1
    return sum(bound < tv for bound in bounds) / 100


@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize(("law", "target"), [TWO[3], TWO[7], PAIRS[3]])
def test_the_bound_fails_with_at_most_its_level(law: Law, target: Law) -> None:
    # If it failed with probability 0.3, it would in 60 or more with one of 1e-9.
    assert share_too_low(law, law, target, 0.3) < 0.6
    assert share_too_low(target, law, target, 0.3) > 0.9


@pytest.mark.claim("collision-tv-bound")
def test_a_probability_is_bounded_from_both_sides_at_its_level() -> None:
    for size, p in product((1, 7, 40), (Fraction(1, 50), Fraction(1, 3), Fraction(9, 10))):
        for level in (0.3, 0.01):
            above, below = Fraction(0), Fraction(0)
            for chance, (k, _) in counted([p, 1 - p], size):
                log = -math.log(level)
                bounds = probability(k, size, log)
                above += chance * (bounds.high < p)
                below += chance * (bounds.low > p)
            assert max(above, below) <= level


def crossing(function: Any) -> float:
    """The last p in [0, 1] at which a function is still below zero, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def average_product(places: Sequence[int], law: Any, weights: Any, level: float) -> float:
    """The bound of the average product, from every pair of samples."""
    size, bets, log = len(places), LowerMean(), math.log(1 + np.count_nonzero(weights))
    expected = [(a / q, size * q) for a, q in zip(weights, law, strict=True) if a]
    usual = max(r * (m + math.sqrt(2 * m * log) + log / 3 + 1) for r, m in expected)
    squares, logarithm = sum(a**2 for a in weights), math.log(1 / level)
    usual = max(usual, 0.2 * math.sqrt((logarithm + 2) * squares) * size / logarithm)
    constant = sum(a * q for a, q in zip(weights, law, strict=True))
    others, gaps, largest, caps = 0.0, [], usual, 0.0
    for t, y in enumerate(places):
        before = places[:t]
        ratio = weights[y] / law[y] if weights[y] else 0.0
        gaps.append((largest - before.count(y) * ratio + t * weights[y]) / usual)
        others += sum(constant - weights[x] for x in before)
        # No later product is larger, and this one had no say in its own cap.
        caps, largest = caps + largest, max(largest, (before.count(y) + 1) * ratio)
    bets.add(np.array(gaps))
    total = others + caps - size * usual * bets.bound(level)
    return float(total / (size * (size - 1) / 2))


def peak(t: float, bend: float) -> float:
    """The largest `|u| - q(u) / (2 t)`, on a grid and about its best point."""
    grid = np.linspace(-1, 4 / bend, 4_001)
    for _ in range(3):
        values = [abs(u) - curve(u, bend) / (2 * t) for u in grid.tolist()]
        best, step = float(grid[int(np.argmax(values))]), float(grid[1] - grid[0])
        grid = np.linspace(best - step, best + step, 201)
    return float(max(values))


def by_hand(parts: Parts, law: Any, level: float, heavy: set[int], rare: set[int]) -> float:
    """The bound of the note, term by term; `heavy` is H, `rare` is L."""
    log, places = math.log(4 / level), parts.places.tolist()
    n, rate = len(places), _plan(len(places), law, math.log(4 / level)).rate
    common = [v for v in range(len(law)) if v not in heavy | rare]

    def most(k: int, logarithm: float) -> float:
        binomial = (k / n, 1 - k / n)

        def excess(p: float) -> float:
            terms = zip(binomial, (p, 1 - p), strict=True)
            divergence = sum(a * math.log(a / b) for a, b in terms if a > 0)
            return -1.0 if p <= k / n else n * divergence - logarithm

        return 1.0 if k == n else crossing(excess)

    union = log + math.log(2 * max(1, len(heavy)))
    both = [places.count(v) for v in range(len(law))]
    apart = sum(
        max(most(both[v], union) - law[v], law[v] - 1 + most(n - both[v], union)) for v in heavy
    )
    light = most(sum(both[v] for v in rare), log) + sum(law[v] for v in rare)
    weights = [min(q ** (1 / 3), 0.3 / rate) if v in common else 0.0 for v, q in enumerate(law)]
    squares = sum((2 * (n - s) / (n * (n - 1))) ** 2 for s in range(1, n + 1))
    total = average_product(places, law, weights, level / 4) + log * squares / rate
    distinct = {law[v]: weights[v] for v in common}
    bends = dict(zip(distinct, bends_of([*distinct.values()], rate, n), strict=True))
    allowed = (1 / (a * (1 / (8 * bends[q]) - 0.5)) for q, a in distinct.items())
    theta = max(math.sqrt(sum(law[v] / weights[v] for v in common) / total), *allowed)
    peaks = {q: peak(1 / (a * theta), bends[q]) for q, a in distinct.items()}
    rest = sum(law[v] * peaks[law[v]] for v in common) + theta / 2 * total
    return float(apart + light + rest) / 2


@pytest.mark.catches(
    "A sample coincides with itself.",
    "reference/certificates/collisions.py",
    "np.arange(len(places)) - starts",
    "np.arange(len(places)) - starts + 1",
)
@pytest.mark.catches(
    "The values that stand out share no level.",
    "reference/certificates/collisions.py",
    "log + math.log(2 * max(1, int(heavy.sum())))",
    "log",
)
@pytest.mark.catches(
    "The values that stand out are chosen by the samples that are measured.",
    "reference/certificates/collisions.py",
    "(scores(parts.choosing, target) ** 2 / 2",
    "(scores(counted, target) ** 2 / 2",
)
@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize("heavy", [set[int](), {0}, {0, 1}])
@pytest.mark.parametrize("outside", [False, True])
def test_the_bound_is_that_of_the_note(heavy: set[int], outside: bool) -> None:
    """Theta is one of five in the code, and one in the note: the best is the same within 1e-2."""
    random = np.random.default_rng(7 + len(heavy))
    target = np.array([*[0.002] * 20, *[0.03] * 32, 0.0])
    law = target.copy()
    law[list(heavy)], law[-1] = 0.1, 0.02 * outside
    drawn = random.choice(53, size=1_500, p=law / law.sum())
    parts = split(drawn, 53)
    expected = by_hand(parts, target, 0.01, heavy, {52})
    assert collision_bound(parts, target, 0.01) == pytest.approx(expected, rel=1e-2)
    # Which values stand out does not depend on the second part: here it is of the target.
    rest = random.choice(53, size=1_200, p=target / target.sum())
    parts = parts._replace(places=rest)
    expected = by_hand(parts, target, 0.01, heavy, {52})
    assert collision_bound(parts, target, 0.01) == pytest.approx(expected, rel=1e-2)


@pytest.mark.catches(
    "The cap of a product may depend on that product.",
    "reference/certificates/collisions.py",
    "np.append(usual, (gain * (seen + 1))[:-1])",
    "np.append(usual, gain * (seen + 1))[1:]",
)
@pytest.mark.claim("collision-tv-bound")
@pytest.mark.parametrize("last", [0, 1])
def test_caps_grow_after_the_products_that_made_them_grow(last: int) -> None:
    target = np.array([0.01, *[0.99 / 33] * 33])
    weights, log = np.cbrt(target), math.log(400)
    random = np.random.default_rng(3)
    places = np.array([*random.integers(34, size=300), *[0] * 40, last])
    expected = average_product(places.tolist(), target, weights, 1 / 400)
    assert _mean_product(places, target, weights, log) == pytest.approx(expected, rel=1e-9)


@pytest.mark.claim("collision-tv-bound")
def test_values_too_rare_to_be_judged_are_counted_together() -> None:
    target = np.array([*[1e-7] * 1_000, *[(1 - 1e-4) / 10] * 10])
    parts = split(np.random.default_rng(0).choice(1_010, size=1_500, p=target), 1_010)
    expected = by_hand(parts, target, 0.01, set(), set(range(1_000)))
    assert collision_bound(parts, target, 0.01) == pytest.approx(expected, rel=1e-2)
