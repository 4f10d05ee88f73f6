"""The regimes on samplers of two trajectories, where every mean is known exactly."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from reference import InputError
from reference.certificates.betting import Interval, LowerMean, MeanInterval
from reference.certificates.importance import effective_size, log_mean, pareto_k, shortfall
from reference.certificates.regimes import (
    PILOT,
    Budget,
    Draws,
    Result,
    weight_lines,
    with_log_z,
    with_neither,
    with_target,
)
from tests.certificates.problems import Fork, fair_ends

# The fork is `p_F = (3/4, 1/4)` beside `mu = (1/2, 1/2)`: TV is 1/4, and Z is 2.
LEVEL, LOG_2 = 0.1, math.log(2)
FEW, MANY = (Budget(0.0, samples, 60.0) for samples in (2_000, 50_000))


def at_log_z(log_z: float, fork: Fork | None = None, budget: Budget = FEW) -> Result:
    return with_log_z(fork or Fork(), Interval(log_z, log_z), 1e-6, budget, Draws())


@pytest.mark.catches(
    "Of model and target samples the smaller mean bounds TV from above.",
    "reference/certificates/regimes.py",
    "interval = Interval(least, max(side.high for side in sides))",
    "interval = Interval(least, min(side.high for side in sides))",
)
@pytest.mark.parametrize("pilot", [-LOG_2, LOG_2, 0.0])
def test_the_larger_mean_bounds_the_distance_from_above(pilot: float) -> None:
    """At twice or half of Z the means are 0 and 1/2; at Z itself both are TV."""
    low, high = with_target(fair_ends(50_000), Fork(pilot=pilot), 1e-6, MANY, Draws()).interval
    if pilot:
        assert low == 0
        assert 0.49 < high < 0.52
    else:
        assert 0.22 < low <= 0.25 <= high < 0.28


def test_zeros_of_the_sampler_count_as_distance_though_they_are_never_drawn() -> None:
    low, high = at_log_z(math.log(4), Fork(1.0 - 2.0**-60, (1.0, 3.0)), MANY).interval
    assert 0.74 < low <= 0.75 <= high < 0.76


@pytest.mark.catches(
    "With neither log Z nor target samples, the mean weight stands for a lower bound of Z.",
    "reference/certificates/regimes.py",
    "bound, floor, low = weight.bound(level / 2), -math.inf, 0.0",
    "bound, floor, low = math.exp(log_mean(draws.all) - log_scale), -math.inf, 0.0",
)
def test_without_z_the_same_samples_bound_z_and_then_the_distance() -> None:
    """About half of all mean weights lie above Z, the floor never does."""
    above = 0
    for seed in range(20):
        fork, draws = Fork(), Draws()
        fork.rng = np.random.default_rng(seed)
        result = with_neither(fork, 1e-6, MANY._replace(samples=20_000), draws)
        floor = result.lines[0].value
        assert isinstance(floor, float)
        assert math.log(1.9) < floor < LOG_2
        assert 0.2 < result.interval.low < 0.25
        assert result.interval.high == 1
        assert result.samples == draws.count == 20_000
        above += bool(np.exp(draws.all).mean() > 2)
    assert 3 < above < 17


# Levels and splits.


def interval(values: Any, level: float) -> Interval:
    mean = MeanInterval()
    mean.add(*values) if isinstance(values, tuple) else mean.add(np.array(values, float))
    return mean.interval(level)


def bound(values: Any, level: float) -> float:
    mean = LowerMean()
    mean.add(values)
    return mean.bound(level)


def short(log_ratio: Any) -> Any:
    return shortfall(log_ratio, np.float64(0.0))


@pytest.mark.catches(
    "The upper end of a mean takes the level that both ends have together.",
    "reference/certificates/betting.py",
    "1 - self.above.bound(level / 2)",
    "1 - self.above.bound(level)",
)
def test_an_interval_gives_half_of_its_level_to_each_end() -> None:
    values = np.random.default_rng(0).random(500)
    low, high = interval(values, LEVEL)
    assert low == bound(values, LEVEL / 2) < bound(values, LEVEL)
    assert high == math.nextafter(1 - bound(np.nextafter(1 - values, 0.0), LEVEL / 2), 2.0)


def in_z(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_log_z(Fork(), Interval(LOG_2, LOG_2), LEVEL, FEW, draws)
    floor = LOG_2 + math.log(bound(np.exp(draws.all - LOG_2), LEVEL))
    return result, [*interval(short(draws.all - LOG_2), LEVEL), floor]


def in_s(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_target(fair_ends(2_000), Fork(), LEVEL, FEW, draws)
    back = Fork().draw_backward(fair_ends(2_000)).log_weight
    z = log_mean(Fork().draw(PILOT).log_weight)
    sides = [interval(short(x), LEVEL / 4) for x in (draws.all - z, z - back)]
    events = [interval(x > z, LEVEL / 4) for x in (draws.all, back)]
    low = max(min(side.low for side in sides), events[1].low - events[0].high)
    return result, [low, max(side.high for side in sides), *np.ravel([*sides, *events])]


def in_n(draws: Draws) -> tuple[Result, Sequence[float]]:
    result = with_neither(Fork(), LEVEL, FEW, draws)
    scale = log_mean(Fork().draw(PILOT).log_weight)
    floor = scale + math.log(bound(np.exp(draws.all - scale), LEVEL / 2))
    return result, [bound(short(draws.all - floor).low, LEVEL / 2), 1.0, floor]


@pytest.mark.catches(
    "The difference of an event's probabilities is bounded by the wrong ends of both.",
    "reference/certificates/regimes.py",
    "(events[1].low - events[0].high)",
    "(events[1].high - events[0].low)",
    only="in_s",
)
@pytest.mark.catches(
    "In regime S each of four means is bounded at the level that all have together.",
    "reference/certificates/regimes.py",
    "sides = model.interval(level / 4), target.interval(level / 4)",
    "sides = model.interval(level), target.interval(level)",
    only="in_s",
)
@pytest.mark.parametrize("regime", [in_z, in_s, in_n])
def test_a_regime_splits_its_level_over_the_means_it_needs(regime: Callable[..., Any]) -> None:
    result, expected = regime(Draws())
    values = [result.interval, *(line.value for line in result.lines if line.kind == "bound")]
    assert np.hstack(values).tolist() == pytest.approx(expected, rel=1e-9)


# NaN and infinities are no answers.


@pytest.mark.parametrize("off", [-10.0, -600.0, -686.0, -688.0, -700.0, -1e4, -1e5, -1e300])
def test_a_log_z_that_is_too_low_is_refuted_however_low_it_is(off: float) -> None:
    with pytest.raises(InputError, match="certify that it is above"):
        at_log_z(LOG_2 + off)


def test_a_log_z_that_is_bounded_from_above_alone_bounds_tv_from_above_alone() -> None:
    rare = Fork(0.75, (1.0, 1e-300))
    result = with_log_z(rare, Interval(-math.inf, LOG_2), 1e-6, FEW, Draws())
    assert result.interval.low == 0
    assert 0.5 < result.interval.high < 1


@pytest.mark.parametrize("weights", [[0.0] * 10, [-math.inf] * 10, [-math.inf, 0.0]])
def test_estimates_that_cannot_be_had_are_left_out(weights: list[float]) -> None:
    lines = weight_lines(np.array(weights), 0.0)
    assert len(lines) == 3 + math.isfinite(max(weights))
    assert not any(isinstance(line.value, float) and math.isnan(line.value) for line in lines)


@pytest.mark.catches(
    "What rounding may have done narrows the variable instead of widening it.",
    "reference/certificates/importance.py",
    "for sign in (1, -1))",
    "for sign in (-1, 1))",
)
def test_rounding_is_outward() -> None:
    ratio = np.array([-1e-9, 0.0, -np.inf, 3.0])
    low, high = shortfall(ratio, np.full(4, 1e-12))
    exact = -np.expm1(ratio)
    assert (low <= exact.clip(0)).all()
    assert (high >= exact.clip(0)).all()
    assert high[1] > 0 == low[1]
    assert (high[2], low[3], high[3]) == (1, 0, 0)


def test_the_diagnostics_of_weights() -> None:
    rng = np.random.default_rng(0)
    assert effective_size(np.zeros(100)) == pytest.approx(100)
    assert effective_size(np.array([0.0, -800.0])) == pytest.approx(1)
    for shape in (0.2, 0.6, 0.9):
        logs = -shape * np.log(rng.random(50_000))
        assert pareto_k(logs) == pytest.approx(shape, abs=0.15)
