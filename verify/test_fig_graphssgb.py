"""fig:graphssgb: the distance of both samplers on the fork, by hand and for explicit weights."""

import random
from fractions import Fraction
from typing import Any

import pytest

from reference import marginal, total_variation
from reference.expressivity.aliasing import TiedPolicies
from reference.problems.graphs import EdgeAddition
from verify.lib.forks import (
    FORKS,
    HALF,
    TENTHS,
    first,
    probability,
    random_weights,
    target_weights,
    with_features,
)
from verify.lib.gnn import wl_policies


def distance(policies: TiedPolicies, problem: EdgeAddition, weights: list[Fraction]) -> Fraction:
    """TV between target and `p_T`, from the whole law."""
    dag = policies.dag
    target = [problem.reward(dag.labels[x]) / problem.z() for x in dag.terminals]
    return total_variation(marginal(policies.policy(weights)), target)


@pytest.mark.claim("fig:graphssgb")
def test_the_printed_formula_by_hand() -> None:
    # (9/10, 1/10) against (1/2, 1/2): (2/5 + 2/5) / 2.
    t = Fraction(9, 10)
    assert total_variation((t, 1 - t), (HALF, HALF)) == Fraction(2, 5) == abs(t - HALF)
    assert [abs(t - HALF) * 10 for t in TENTHS] == [4, 3, 2, 1, 0, 1, 2, 3, 4]


@pytest.mark.claim("fig:graphssgb")
@pytest.mark.control("prop:temporal_gnns")
@pytest.mark.parametrize("name", FORKS)
def test_without_path_features_the_distance_is_that_of_one_half(name: str, scope: Any) -> None:
    rng = random.Random(0)
    for t in TENTHS:
        problem = FORKS[name](t)
        policies = wl_policies(problem)
        assert first(policies, problem).distance(t) == abs(t - HALF)
        for _ in range(5):
            assert distance(policies, problem, random_weights(policies, rng)) == abs(t - HALF)
    scope("the nine targets on 5 state graphs")


@pytest.mark.claim("fig:graphssgb")
@pytest.mark.parametrize("name", ["matching", "paths", "marked", "paper"])
def test_targets_on_one_terminal_are_approached_and_not_attained(name: str) -> None:
    """`t = 1` needs infinite logits: with the weights `r` and 1 its distance is `1 / (1 + r)`."""
    for r in (Fraction(9), Fraction(99), Fraction(999)):
        problem = FORKS[name](r / (1 + r))
        policies = with_features(problem)
        weights = target_weights(policies, problem)
        assert 1 - probability(policies, weights, problem.terminals[0]) == 1 / (1 + r)
        low, high = first(policies, problem)
        assert low < probability(policies, weights, problem.terminals[0]) < high == 1


@pytest.mark.control("fig:graphssgb")
def test_under_a_symmetry_path_features_leave_the_distance_of_one_half() -> None:
    rng = random.Random(0)
    for t in TENTHS:
        problem = EdgeAddition.mirrored(t)
        policies = with_features(problem)
        assert distance(policies, problem, random_weights(policies, rng)) == abs(t - HALF)
