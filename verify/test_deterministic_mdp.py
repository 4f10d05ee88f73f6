"""deterministic-mdp: policies from backward policies as symbols on all small DAGs, and back."""

import random
from fractions import Fraction
from itertools import product

import pytest

from reference.dag import pointed_dag
from reference.fields.field import RATIONAL
from reference.marginals import marginal, path_sums
from reference.metrics import normalize
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib.scopes import Scope, all_small_dags
from verify.lib.small_scope import isomorphism_classes, pointed_dags_up_to
from verify.lib.symbolic_scope import backward_and_rewards


@pytest.mark.claim("deterministic-mdp")
def test_a_backward_policy_on_a_triangle_gives_the_policy_by_hand() -> None:
    # o -> a -> x and o -> x, o -> y: a passes on the quarter of R(x) = 4 that p_B gives it.
    dag = pointed_dag({"o": ["a", "x", "y"], "a": ["x"], "x": [], "y": []})
    quarter = {("a", "x"): 1, ("o", "x"): 3}
    weights = [quarter.get((dag.labels[u], dag.labels[v]), 1) for u, v in dag.edges]
    p_b = BackwardPolicy.from_weights(dag, RATIONAL, weights)
    reward = {"x": Fraction(4), "y": Fraction(1)}
    p_f, z = forward_from_backward(p_b, [reward[dag.labels[x]] for x in dag.terminals])
    row = {dag.labels[dag.edges[e][1]]: p_f.values[e] for e in dag.out_edges[0]}
    assert z == 5
    assert row == {"a": Fraction(1, 5), "x": Fraction(3, 5), "y": Fraction(1, 5)}


@pytest.mark.claim("deterministic-mdp", "representational-power")
def test_every_backward_policy_and_reward_give_a_policy_that_samples_the_target(
    scope: Scope,
) -> None:
    # As rational functions of all backward policies and rewards.
    shapes = (dag for nodes in (2, 3, 4, 5) for dag, _ in isomorphism_classes(nodes))
    for dag in scope.over(shapes, "all p_B, R as symbols on each of the {} DAGs up to 5 states"):
        field, p_b, rewards = backward_and_rewards(dag)
        p_f, z = forward_from_backward(p_b, rewards)
        assert z == field.sum(rewards)
        assert marginal(p_f) == tuple(reward / z for reward in rewards)


@pytest.mark.claim("deterministic-mdp")
def test_every_policy_is_the_one_of_its_own_backward_policy_and_law(scope: Scope) -> None:
    rng = random.Random(0)
    for dag in scope.over(all_small_dags(), "conversely on {:,} naturally labelled DAGs"):
        p_f = ForwardPolicy.from_weights(dag, RATIONAL, rng.choices(range(1, 10), k=len(dag.edges)))
        visits = path_sums(p_f)
        reversed_p_f = [
            visits[u] * value / visits[v]
            for value, (u, v) in zip(p_f.values, dag.edges, strict=True)
        ]
        p_b = BackwardPolicy(dag, RATIONAL, reversed_p_f)
        forced, z = forward_from_backward(p_b, marginal(p_f))
        assert z == 1
        assert forced.values == list(p_f.values)


@pytest.mark.control("deterministic-mdp")
def test_a_deterministic_policy_samples_a_uniform_target_only_if_there_is_one_terminal() -> None:
    for dag in pointed_dags_up_to(4):
        target = normalize([Fraction(1)] * len(dag.terminals))
        for choice in product(*(row for row in dag.out_edges if row)):
            values = [Fraction(edge in choice) for edge in range(len(dag.edges))]
            p_t = marginal(ForwardPolicy(dag, RATIONAL, values))
            assert sorted(p_t) == [0] * (len(p_t) - 1) + [1]
            assert (p_t == target) == (len(p_t) == 1)


@pytest.mark.control("deterministic-mdp")
def test_the_uniform_policy_misses_most_targets() -> None:
    dag = pointed_dag({"o": ["a", "y"], "a": ["x", "y"], "x": [], "y": []})
    p_t = marginal(ForwardPolicy.uniform(dag, RATIONAL))
    assert sorted(p_t) == [Fraction(1, 4), Fraction(3, 4)]
