"""A wrong sampler whose largest weight is certified gives exact samples of its target."""

import math
from collections import Counter
from typing import Any

import pytest

from reference import RATIONAL, BackwardPolicy
from reference.problems import enumerate_rewards
from reference.rows.functions import BackwardRows, ForwardRows
from reference.rows.rejection import exact_samples, rejection
from reference.rows.walks import Walker
from tests.certificates.problems import DAG, ENDS, GRID, Policy, stopping
from tests.refusals import refused


def made(policy: Policy) -> tuple[Walker, Any]:
    rows = ForwardRows(policy, GRID)
    exact = rows.exact(DAG, 1_000)
    backward = BackwardPolicy.uniform(DAG, RATIONAL).on(exact.lifted)
    result = rejection(exact.forward, backward, enumerate_rewards(GRID, DAG))
    return Walker(GRID, rows, BackwardRows(GRID, dag=DAG), 0), result


def distance(samples: Any) -> float:
    counts = Counter(samples)
    gaps = (counts[x] / counts.total() - float(GRID.reward(x) / GRID.z()) for x in ENDS)
    return sum(map(abs, gaps)) / 2


@pytest.mark.catches(
    "The first log rewards stand beside the last terminals.",
    "reference/rows/rejection.py",
    "Kept(kept.terminals[:count]",
    "Kept(kept.terminals[-count:]",
)
def test_what_is_kept_has_the_law_of_the_target() -> None:
    walker, result = made(stopping(0.5))
    kept = exact_samples(walker, result.log_most, 4_000, 0)
    # Nine states and 4,000 samples: 0.02 on average.
    assert distance(kept.terminals) < 0.04
    assert distance(walker.draw(4_000).terminals) > 0.2
    assert len(kept.terminals) / kept.drawn == pytest.approx(result.rate, rel=0.1)
    assert kept.log_rewards == [walker.reward(x).value for x in kept.terminals]


def test_the_largest_weight_is_that_of_a_trajectory() -> None:
    walker, result = made(stopping(0.5))
    weights = walker.draw(20_000).log_weight
    assert weights.max() <= result.log_most
    assert weights.max() == pytest.approx(result.log_most, abs=1e-9)


@pytest.mark.parametrize("off", [-0.5, math.nan])
def test_control_a_weight_beyond_the_certified_one_is_seen(off: float) -> None:
    walker, result = made(stopping(0.5))
    refused("not the one that was certified", exact_samples, walker, result.log_most + off, 10, 0)


def test_a_sampler_that_cannot_reach_a_state_is_refused() -> None:
    refused("all positive", lambda: made(lambda state: {GRID.children(state)[0]: 1.0}))
