"""The regimes on samplers of two trajectories, where every mean is known exactly."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pytest

from reference.certificates.betting import Interval
from reference.certificates.importance import Walks
from reference.certificates.regimes import (
    PILOT,
    Budget,
    Draws,
    Result,
    with_log_z,
    with_neither,
    with_target,
)

BUDGET = Budget(0.0, 50_000, 60.0)


class Fork:
    """Ends in 0 with one probability and in 1 with another; `R p_B` is given.

    Args:
        p: of the end 0.
        weights: `R p_B` of both.
        pilot: what it pretends `log Z` to be while a pilot is drawn, in nats too much.
    """

    def __init__(self, p: float, weights: tuple[float, float], pilot: float = 0.0):
        self.p, self.weights, self.pilot = p, weights, pilot
        self.rng = np.random.default_rng(0)

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        shift, self.pilot = self.pilot * (count == PILOT), 0.0
        return self._of((self.rng.random(count) >= self.p).astype(int), shift)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        return self._of(np.array(terminals, int), 0.0)

    def findings(self) -> list[str]:
        return []

    def _of(self, ends: Any, shift: float) -> Walks:
        log_p_f = np.log(np.where(ends, 1 - self.p, self.p))
        log_reward = np.log(np.array(self.weights))[ends] + shift
        zeros = np.zeros(len(ends))
        return Walks(ends.tolist(), log_p_f, zeros, log_reward, zeros + 1e-12)


def target_samples(count: int) -> list[Hashable]:
    """Of the law (1/2, 1/2)."""
    return (np.random.default_rng(1).random(count) < 0.5).astype(int).tolist()


def found_at(pilot: float) -> Result:
    """`p_F = (3/4, 1/4)` and `mu = (1/2, 1/2)`, so that TV is 1/4, at a z that is off."""
    fork = Fork(0.75, (1.0, 1.0), pilot)
    return with_target(target_samples(50_000), fork, 1e-6, BUDGET, Draws())


@pytest.mark.catches(
    "Of model and target samples the smaller mean bounds TV from above.",
    "reference/certificates/regimes.py",
    "interval = Interval(least, max(side.high for side in sides))",
    "interval = Interval(least, min(side.high for side in sides))",
)
@pytest.mark.parametrize("pilot", [-math.log(2), math.log(2)])
def test_the_larger_mean_bounds_the_distance_from_above(pilot: float) -> None:
    """At twice or half of Z the means are 0 and 1/2."""
    found = found_at(pilot)
    assert found.interval.low == 0
    assert 0.49 < found.interval.high < 0.52


def test_at_the_right_z_both_bound_the_distance() -> None:
    found = found_at(0.0)
    assert 0.22 < found.interval.low <= 0.25 <= found.interval.high < 0.28


def test_zeros_of_the_sampler_count_as_distance_though_they_are_never_drawn() -> None:
    fork = Fork(1.0 - 2.0**-60, (1.0, 3.0))
    found = with_log_z(fork, Interval(math.log(4), math.log(4)), 1e-6, BUDGET, Draws())
    assert 0.74 < found.interval.low <= 0.75 <= found.interval.high < 0.76


@pytest.mark.catches(
    "With neither log Z nor target samples, the mean weight stands for a lower bound of Z.",
    "reference/certificates/regimes.py",
    "bound, floor, low = weight.bound(level / 2), -math.inf, 0.0",
    "bound, floor, low = math.exp(log_mean(draws.all) - log_scale), -math.inf, 0.0",
)
def test_without_z_the_same_samples_bound_z_and_then_the_distance() -> None:
    """TV is 1/4 at `Z = 2`: about half of all mean weights lie above Z, the floor never does."""
    above = 0
    for seed in range(20):
        fork = Fork(0.75, (1.0, 1.0))
        fork.rng = np.random.default_rng(seed)
        draws = Draws()
        found = with_neither(fork, 1e-6, BUDGET._replace(samples=20_000), draws)
        floor = found.lines[0].value
        assert isinstance(floor, float)
        assert math.log(1.9) < floor < math.log(2)
        assert 0.2 < found.interval.low < 0.25
        assert found.interval.high == 1
        assert found.samples == draws.count == 20_000
        above += bool(np.exp(draws.all).mean() > 2)
    assert 3 < above < 17
