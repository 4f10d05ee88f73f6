"""eq:marginal: one pass over the edges against the sum over trajectories."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from reference.dag import PointedDAG, pointed_dag
from reference.fields.field import FLOAT64, RATIONAL, gamma
from reference.marginals import marginal, marginal_by_trajectories
from reference.policies import ForwardPolicy
from verify.lib import strategies
from verify.lib.fields import FLINT
from verify.lib.laws import by_label
from verify.lib.scopes import Draw, Scope


@pytest.mark.catches(
    "Where branches meet, the probability of the last parent replaces that of the others.",
    "reference/marginals.py",
    "sums[v] = sums[v] + sums[u] * value",
    "sums[v] = sums[u] * value",
)
@pytest.mark.claim("eq:marginal")
def test_the_sum_over_two_trajectories_by_hand() -> None:
    dag = pointed_dag({"o": ["a", "x"], "a": ["x", "y"], "x": [], "y": []})
    policy = ForwardPolicy.from_weights(dag, RATIONAL, [1, 1, 1, 2])
    assert list(policy.values) == [Fraction(n, d) for n, d in ((1, 2), (1, 2), (1, 3), (2, 3))]
    assert by_label(policy) == {"x": Fraction(1, 2) + Fraction(1, 6), "y": Fraction(1, 3)}


@pytest.mark.claim("eq:marginal")
def test_one_pass_over_the_edges_equals_the_sum_over_trajectories_on_every_small_lift(
    scope: Scope,
) -> None:
    for draw in scope.lifts(larger=FLINT):
        for dag in (draw.lifted.base, draw.lifted.dag):
            policy = draw.forward(dag)
            p_t = marginal(policy)
            assert p_t == marginal_by_trajectories(policy)
            assert sum(p_t) == 1


@pytest.mark.claim("eq:marginal")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.draws())
def test_one_pass_over_the_edges_equals_the_sum_over_trajectories_exactly_and_within_rounding(
    draw: Draw,
) -> None:
    dag = draw.lifted.dag
    given_weights = draw.weights(len(dag.edges))
    policy = ForwardPolicy.from_weights(dag, RATIONAL, given_weights)
    exact = marginal(policy)
    assert exact == marginal_by_trajectories(policy)
    assert sum(exact) == 1
    rounded = marginal(ForwardPolicy.from_weights(dag, FLOAT64, given_weights))
    # Per state on the way: one rounding to divide, one to multiply, and one per parent to add.
    roundings = sum(2 + len(row) for row in dag.in_edges)
    for p, q in zip(exact, rounded, strict=True):
        assert abs(Fraction(q) - p) <= Fraction(gamma(roundings)) * p


@pytest.mark.control("eq:marginal")
def test_a_state_without_children_that_is_not_terminal_loses_probability() -> None:
    # o -> x and o -> d, where d leads nowhere and is not in X.
    dag = PointedDAG(("o", "d", "x"), ((1, 2), (), ()))
    half = Fraction(1, 2)
    policy = ForwardPolicy(dag, RATIONAL, [half, half])
    on_x = [p for x, p in zip(dag.terminals, marginal(policy), strict=True) if x == 2]
    assert on_x == [half]


@pytest.mark.control("eq:marginal")
def test_leaving_out_one_trajectory_is_seen() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["x"], "x": []})
    policy = ForwardPolicy.uniform(dag, RATIONAL)
    first, *_ = dag.trajectories()
    assert policy.along(first) == Fraction(1, 2) != marginal(policy)[0]
