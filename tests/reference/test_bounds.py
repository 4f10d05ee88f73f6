"""Inputs of bounds; the bounds are checked in `verify/test_residual_tv_bound.py`."""

import random
from fractions import Fraction

import pytest

from reference import (
    FLOAT64,
    RATIONAL,
    ForwardPolicy,
    History,
    PointedDAG,
    enumerate_dag,
    gamma,
    lift,
    path_sums,
)
from reference.bounds import kl_bound, roundings, tv_bound_from_loss
from reference.problems import Grid


@pytest.mark.catches(
    "The roundings of a path sum are counted without those of its products.",
    "reference/bounds.py",
    "return 2 * max(depth) + sum(widest)",
    "return sum(widest)",
)
def test_roundings_count_two_per_step_and_the_widest_sum_of_each_depth() -> None:
    # Depths 0 | 1 1 | 2 | 3, with in-degrees at most 0, 1, 3, 2.
    dag = PointedDAG(("o", "u", "v", "w", "x"), ((1, 2, 3), (3,), (3, 4), (4,), ()))
    assert roundings(dag) == 2 * 3 + 0 + 1 + 3 + 2


def test_floats_stay_within_the_roundings_of_the_graph() -> None:
    for dag in (enumerate_dag(Grid(6, 2)), lift(enumerate_dag(Grid(4, 2)), History()).dag):
        rng = random.Random(0)
        exact = ForwardPolicy.from_weights(
            dag, RATIONAL, [2 ** rng.randint(0, 3) for _ in dag.edges]
        )
        rounded = ForwardPolicy(dag, FLOAT64, [float(v) for v in exact.values])
        # The rounded policy itself as rationals: only the sums round.
        given = [Fraction(v) for v in rounded.values]
        sums = [Fraction(0)] * len(dag.labels)
        sums[0] = Fraction(1)
        for (u, v), value in zip(dag.edges, given, strict=True):
            sums[v] += sums[u] * value
        bound = Fraction(gamma(roundings(dag)))
        for value, truth in zip(path_sums(rounded), sums, strict=True):
            assert abs(Fraction(value) - truth) <= bound * truth


def test_no_bound_on_total_variation_is_above_one() -> None:
    assert tv_bound_from_loss(1e6, 0.5) == 1.0
    assert tv_bound_from_loss(0.01, 1.0) < 0.05


def test_a_bound_in_floats_is_not_below_its_formula() -> None:
    for spread in (number / 3 for number in range(1, 100)):
        assert Fraction(kl_bound(spread)) >= Fraction(spread) ** 2 / 8
