"""Confidence bounds of means: they hold whenever one stops, and they are tight."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference import InputError
from reference.certificates.betting import BETS, LowerMean, MeanInterval, log_capital

LEVEL = 0.05
REPETITIONS, STEPS = 10_000, 400


# Of a uniform number, and its mean.
LAWS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "a rare event": (lambda u: (u < 0.03).astype(float), 0.03),
    "uniform": (lambda u: u, 0.5),
    "skewed": (lambda u: u**9, 0.1),
}


def largest_capital(values: Any, mean: float) -> Any:
    """The most that each row ever wins against a mean: what the worst moment to stop shows."""
    gains, most = np.zeros((len(values), len(BETS))), np.full(len(values), -np.inf)
    for step, column in enumerate(values.T, 1):
        gains += np.log1p(BETS * column[:, None])
        # Every tenth step: the capital is looked at after the fact.
        if step % 10 == 0:
            most = np.maximum(most, log_capital(gains, step, mean))
    return most


@pytest.mark.catches(
    "A bet is paid for its wins, and its odds against the mean are left out.",
    "reference/certificates/betting.py",
    "logs = gains - np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
    "logs = gains - 0 * np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
    only="uniform",
)
@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_the_mean_is_hardly_ever_excluded_at_the_worst_moment_to_stop(name: str) -> None:
    law, mean = LAWS[name]
    values = law(np.random.default_rng(0).random((REPETITIONS, STEPS)))
    allowed = REPETITIONS * LEVEL + 4 * (REPETITIONS * LEVEL) ** 0.5
    misses = (largest_capital(values, mean) >= np.log(1 / LEVEL)).sum()
    assert misses <= allowed
    assert (largest_capital(1 - values, 1 - mean) >= np.log(1 / LEVEL)).sum() <= allowed
    # The bound is not empty: it notices a mean four times as large.
    assert (largest_capital(values, mean / 4) >= np.log(1 / LEVEL)).mean() > 0.5


def test_control_the_normal_interval_fails_at_the_worst_moment_to_stop() -> None:
    values = np.random.default_rng(0).random((2_000, STEPS))
    count = np.arange(1, STEPS + 1)
    means = values.cumsum(1) / count
    low = means - 1.645 * 12**-0.5 / count**0.5
    assert (low[:, 20:] > 0.5).any(1).mean() > 3 * LEVEL


@pytest.mark.parametrize("mean", [0.5, 0.05])
def test_an_event_is_ever_excluded_with_less_than_the_level_exactly(mean: float) -> None:
    """By the law of the number of successes, no sampling: the probability of ever crossing."""
    alive, crossed = np.array([1.0]), 0.0
    for step in range(1, 1_001):
        moved = np.append(alive * (1 - mean), 0.0) + np.insert(alive * mean, 0, 0.0)
        gains = np.multiply.outer(np.arange(step + 1), np.log1p(BETS))
        wins = log_capital(gains, step, mean) >= np.log(1 / LEVEL)
        crossed += moved[wins].sum()
        alive = np.where(wins, 0.0, moved)
    assert LEVEL / 20 < crossed <= LEVEL


def test_a_bet_is_fair_in_exact_rationals() -> None:
    law = {Fraction(0): Fraction(1, 2), Fraction(1, 3): Fraction(1, 4), Fraction(5): Fraction(1, 4)}
    mean = sum(x * p for x, p in law.items())
    for bet in map(Fraction, BETS.tolist()):
        assert sum(p * (1 + bet * x) / (1 + bet * mean) for x, p in law.items()) == 1
        assert sum(p * (1 + bet * x) / (1 + bet * mean * 2) for x, p in law.items()) < 1


def test_the_interval_is_as_narrow_as_expected_of_a_good_sampler() -> None:
    noise = np.random.default_rng(0).normal(size=100_000) * 0.12
    values = np.clip(-np.expm1(noise - 0.0072), 0, 1)
    interval = MeanInterval()
    for stop, width in ((10_000, 0.0104), (100_000, 0.0036)):
        interval.add(values[interval.count : stop])
        result = interval.interval(1e-6)
        assert result.low < 0.0478 < result.high
        assert result.width < width


def test_bounds_lie_on_their_side_of_constants_and_hold_them() -> None:
    for value in (0.0, 1e-9, 0.3, 1.0):
        interval = MeanInterval()
        interval.add(np.full(3_000, value))
        low, high = interval.interval(1e-6)
        assert low <= value <= high
        assert high - low < 0.02
    wide = LowerMean()
    wide.add(np.full(1_000, 5e6))
    assert 4.5e6 < wide.bound(1e-6) <= 5e6


def test_smaller_values_never_bound_a_mean_by_more() -> None:
    """So that values at a floor of Z, whatever it depends on, may stand for those at Z."""
    rng = np.random.default_rng(5)
    for count in (1, 30, 3_000):
        values = rng.random(count) ** 0.2
        bounds = []
        for factor in (1.0, 1 - 2.0**-52, 0.99, 0.5):
            mean = LowerMean()
            mean.add(values * factor)
            bounds.append(mean.bound(1e-3))
        assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2] > bounds[3] > 0


@pytest.mark.catches(
    "What rounding may have added to the sums is not taken off.",
    "reference/certificates/betting.py",
    "logs = self.gains - lost - self.count",
    "logs = self.gains - 0 * lost - self.count",
)
def test_what_rounding_may_have_added_is_taken_off() -> None:
    exact, rounded = LowerMean(), LowerMean(roundings=10**11)
    for bound in (exact, rounded):
        bound.add(np.full(1_000, 0.3))
    assert 0 < rounded.bound(1e-6) < exact.bound(1e-6)


@pytest.mark.parametrize("mean", [0.05, 0.25, 0.6])
def test_the_capital_is_that_of_confseq(mean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its martingales for our bets: independent code by the authors of the method."""
    # Its last release is of before NumPy 2, which has no such name.
    monkeypatch.setattr(np, "float_", np.float64, raising=False)
    betting = pytest.importorskip("confseq.betting", reason="confseq is not there: it needs Boost")
    values = np.random.default_rng(0).random(200) ** 3
    bets = [lambda x, m, bet=bet: np.full(len(x), bet / (1 + bet * m)) for bet in BETS]
    theirs = betting.diversified_betting_mart(values, mean, bets, theta=1, trunc_scale=1)
    gains = np.log1p(BETS * values[:, None]).cumsum(0)
    ours = log_capital(gains, np.arange(1.0, 201.0), mean)
    assert ours == pytest.approx(np.log(theirs), abs=1e-9)


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1, np.inf, 1e300])
def test_values_that_are_out_of_range_are_refused(value: float) -> None:
    for mean in (MeanInterval(), LowerMean())[: 1 if value == 1.1 else 2]:
        with pytest.raises(InputError, match="bounded of numbers from 0 to 9"):
            mean.add(np.array([0.5, value]))
