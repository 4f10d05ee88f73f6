"""A wrong sampler whose largest weight is certified gives exact samples of its target."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from reference import RATIONAL, BackwardPolicy, InputError
from reference.certificates.exact import exact_sampler
from reference.certificates.policies import BackwardRows, ForwardRows
from reference.certificates.rejection import exact_samples, rejection
from reference.certificates.walks import Walker
from reference.metrics import normalize
from reference.problems import Grid, enumerate_dag, enumerate_rewards

PROBLEM = Grid(3, 2)


def policy(state: Any) -> list[float]:
    children = len(PROBLEM.children(state))
    return [0.5] + [0.5 / (children - 1)] * (children - 1) if children > 1 else [1.0]


def made() -> tuple[Walker, Any]:
    dag = enumerate_dag(PROBLEM)
    rows = ForwardRows(policy, PROBLEM)
    exact = exact_sampler(rows, dag, 1_000)
    backward = BackwardPolicy.uniform(dag, RATIONAL).on(exact.lifted)
    found = rejection(exact.forward, backward, enumerate_rewards(PROBLEM, dag))
    return Walker(PROBLEM, rows, BackwardRows(PROBLEM, dag=dag), 0), found


def distance(samples: list[Any]) -> float:
    dag = enumerate_dag(PROBLEM)
    target = normalize(enumerate_rewards(PROBLEM, dag))
    counts = Counter(samples)
    return (
        sum(
            abs(counts[dag.labels[x]] / len(samples) - float(p))
            for x, p in zip(dag.terminals, target, strict=True)
        )
        / 2
    )


@pytest.mark.catches(
    "The first log rewards stand beside the last terminals.",
    "reference/certificates/rejection.py",
    "Kept(kept.terminals[:count]",
    "Kept(kept.terminals[-count:]",
)
def test_what_is_kept_has_the_law_of_the_target() -> None:
    walker, found = made()
    kept = exact_samples(walker, found.log_most, 4_000, 0)
    # Nine states and 4,000 samples: 0.02 on average.
    assert distance(kept.terminals) < 0.04
    assert distance(list(walker.draw(4_000).terminals)) > 0.2
    assert len(kept.terminals) / kept.drawn == pytest.approx(found.rate, rel=0.1)
    assert kept.log_rewards == [walker.reward(x).value for x in kept.terminals]


def test_the_largest_weight_is_that_of_a_trajectory() -> None:
    walker, found = made()
    weights = walker.draw(20_000).log_weight
    assert weights.max() <= found.log_most
    assert weights.max() == pytest.approx(found.log_most, abs=1e-9)


@pytest.mark.parametrize("off", [-0.5, math.nan])
def test_control_a_weight_beyond_the_certified_one_is_seen(off: float) -> None:
    walker, found = made()
    with pytest.raises(InputError, match="not the one that was certified"):
        exact_samples(walker, found.log_most + off, 10, 0)


def test_a_sampler_that_cannot_reach_a_state_is_refused() -> None:
    dag = enumerate_dag(PROBLEM)
    rows = ForwardRows(lambda s: {PROBLEM.children(s)[0]: 1.0}, PROBLEM)
    exact = exact_sampler(rows, dag, 1_000)
    backward = BackwardPolicy.uniform(dag, RATIONAL).on(exact.lifted)
    with pytest.raises(InputError, match="all positive"):
        rejection(exact.forward, backward, enumerate_rewards(PROBLEM, dag))
    assert Fraction(0) in exact.forward.values
