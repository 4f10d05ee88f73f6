"""col:tb, def:flows: the policies that balance forces, on all small lifts, for any mass."""

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from reference.balance import subtb_residuals, tb_residuals
from reference.fields.field import RATIONAL, T
from reference.lifted import History, lift
from reference.marginals import marginal, mass, path_sums
from reference.metrics import normalize, total_variation
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.problems import Grid, enumerate_dag
from reference.solve import flows, forward_from_backward
from verify.lib import strategies
from verify.lib.fields import FLINT
from verify.lib.named_dags import DIAMOND, TWO_TO_ONE
from verify.lib.scopes import Draw, Scope, all_small_lifts, balanced_with
from verify.lib.small_scope import lifts, pointed_dags


def check_balanced(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: tuple[T, ...], z: T
) -> None:
    zero, residuals = forward.field.zero, tb_residuals(forward, backward, rewards, z)
    assert all(residual == zero for _, residual in residuals)
    assert z == forward.field.sum(rewards)
    assert tuple(z * p for p in marginal(forward)) == rewards


@pytest.mark.claim("col:tb")
def test_balance_with_two_ways_to_one_end_by_hand() -> None:
    # Uniform target, p_B uniform: a and b each carry half of what flows to x.
    forward = ForwardPolicy.from_weights(TWO_TO_ONE, RATIONAL, [1, 1, 2, 1, 1])
    backward = BackwardPolicy.uniform(TWO_TO_ONE, RATIONAL)
    check_balanced(forward, backward, (Fraction(1), Fraction(1)), Fraction(2))


@pytest.mark.catches(
    "p_F is made from p_B(s|s') F(s) instead of p_B(s|s') F(s').",
    "reference/solve.py",
    "through = [backward.values[edge] * flow[v] for edge, (_, v) in enumerate(dag.edges)]",
    "through = [backward.values[edge] * flow[u] for edge, (u, _) in enumerate(dag.edges)]",
)
@pytest.mark.claim("col:tb")
def test_zero_tb_residual_implies_marginal_proportional_to_reward_on_every_small_lift(
    scope: Scope,
) -> None:
    for draw in scope.lifts(one_in=1, larger=FLINT):
        lifted, rewards = draw.lifted, draw.rewards
        lifted_p_b = draw.backward(lifted.dag)
        forward, z = forward_from_backward(lifted_p_b, rewards)
        check_balanced(forward, lifted_p_b, rewards, z)
        base_p_b = draw.backward(lifted.base).on(lifted)
        forward = balanced_with(base_p_b, rewards)
        check_balanced(forward, base_p_b, rewards, draw.field.sum(rewards))
        assert set(mass(lifted_p_b)) == set(mass(base_p_b)) == {1}


@pytest.mark.claim("col:tb")
def test_no_backward_probability_need_be_positive_and_unvisited_rows_are_free(scope: Any) -> None:
    unvisited = 0
    for draw in all_small_lifts(larger=FLINT):
        dag = draw.lifted.dag
        backward = draw.sparse_backward(dag)
        forward, z = forward_from_backward(backward, draw.rewards)
        check_balanced(forward, backward, draw.rewards, z)
        values, free = list(forward.values), draw.forward(dag).values
        for visit, row in zip(path_sums(forward), dag.out_edges, strict=True):
            for edge in row if visit == 0 else ():
                values[edge] = free[edge]
                unvisited += 1
        check_balanced(ForwardPolicy(dag, draw.field, values), backward, draw.rewards, z)
    assert unvisited > 0
    scope("p_B with zeros on the same")


@pytest.mark.claim("col:tb")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.draws())
def test_summed_residuals_are_what_the_marginal_misses(draw: Draw) -> None:
    lifted, rewards = draw.lifted, draw.rewards
    lifted_p_b, forward = draw.backward(lifted.dag), draw.forward(lifted.dag)
    for p_b in (lifted_p_b, draw.backward(lifted.base).on(lifted)):
        # The corollary is the case of residual 0.
        z = Fraction(draw.rng.randint(1, 9))
        total = dict.fromkeys(lifted.dag.terminals, Fraction(0))
        for tau, residual in tb_residuals(forward, p_b, rewards, z):
            total[lifted.dag.end(tau)] += residual
        missed = zip(marginal(forward), rewards, mass(p_b), strict=True)
        assert list(total.values()) == [z * p - reward * b for p, reward, b in missed]
    balanced, z = forward_from_backward(lifted_p_b, rewards)
    check_balanced(balanced, lifted_p_b, rewards, z)


@pytest.mark.claim("unnormalised-backward-policy", "def:flows")
def test_weights_of_any_mass_give_rewards_times_mass_hence_the_target_iff_mass_is_constant(
    scope: Scope,
) -> None:
    right = 0
    for draw in scope.over(all_small_lifts(larger=FLINT)):
        dag, rewards, field = draw.lifted.dag, draw.rewards, draw.field
        kernel = BackwardKernel(dag, field, list(map(field.convert, draw.weights(len(dag.edges)))))
        b = mass(kernel)
        forward, z = forward_from_backward(kernel, rewards)
        assert all(r == 0 for _, r in tb_residuals(forward, kernel, rewards, z))
        through = zip(flows(kernel, rewards), path_sums(kernel), strict=True)
        assert path_sums(forward) == [flow * paths / z for flow, paths in through]
        p_t = marginal(forward)
        assert [z * p for p in p_t] == [r * m for r, m in zip(rewards, b, strict=True)]
        is_target = all(field.sum(rewards) * p == r for p, r in zip(p_t, rewards, strict=True))
        assert is_target == (len(set(b)) == 1)
        right += is_target
    assert right < scope.count
    scope(f"{scope.walked} with random weights: the target on {right}")


@pytest.mark.catches(
    "Where branches meet, the histories of the last parent replace those of the others.",
    "reference/dag.py",
    "            counts[v] += counts[u]\n",
    "            counts[v] = counts[u]\n",
)
@pytest.mark.claim("unnormalised-backward-policy")
def test_weights_of_one_count_paths() -> None:
    dag = enumerate_dag(Grid(4))
    ones = BackwardKernel(dag, RATIONAL, [Fraction(1)] * len(dag.edges))
    assert mass(ones) == tuple(dag.path_counts[x] for x in dag.terminals)
    assert max(mass(ones)) == 20


@pytest.mark.control(
    "unnormalised-backward-policy", "col:tb", "residual-tv-bound", "prop:lifted_balance"
)
def test_with_mass_that_varies_balance_holds_for_the_wrong_law() -> None:
    # p_B = 1 on every edge is a policy on trees only.
    ones = BackwardKernel(TWO_TO_ONE, RATIONAL, [Fraction(1)] * len(TWO_TO_ONE.edges))
    rewards = (Fraction(1), Fraction(1))
    third, z = forward_from_backward(ones, rewards)
    assert third.values == ForwardPolicy.uniform(TWO_TO_ONE, RATIONAL).values
    assert z == 3
    assert all(residual == 0 for _, residual in tb_residuals(third, ones, rewards, z))
    of_parts = subtb_residuals(third, ones, flows(ones, rewards), rewards)
    assert all(residual == 0 for _, residual in of_parts)
    ends = [TWO_TO_ONE.labels[x] for x in TWO_TO_ONE.terminals]
    reached = zip(ends, mass(ones), marginal(third), strict=True)
    assert sorted(reached) == [
        ("x", Fraction(2), Fraction(2, 3)),
        ("y", Fraction(1), Fraction(1, 3)),
    ]
    assert total_variation(marginal(third), normalize(rewards)) == Fraction(1, 6)


@pytest.mark.control("col:tb")
def test_one_changed_row_on_a_lifted_diamond_by_hand() -> None:
    dag = lift(DIAMOND, History()).dag
    p_b, rewards = BackwardPolicy.uniform(dag, RATIONAL), (Fraction(1), Fraction(2))
    forward, z = forward_from_backward(p_b, rewards)
    changed = dag.index["c", ("a", "c")]
    values = list(forward.values)
    for edge in dag.out_edges[changed]:
        values[edge] = Fraction(1, 2)
    broken = ForwardPolicy(dag, RATIONAL, values)
    # By the way of a, 3 * 1/2 * 1/2 meets 1 * 1/2 at x and 2 * 1/2 at y; b's way is unchanged.
    residuals = sorted(r for _, r in tb_residuals(broken, p_b, rewards, z))
    assert residuals == [Fraction(-1, 4), 0, 0, Fraction(1, 4)]
    assert marginal(broken) == (Fraction(5, 12), Fraction(7, 12)) != normalize(rewards)


@pytest.mark.control("col:tb")
def test_one_changed_edge_leaves_a_residual_and_the_wrong_law() -> None:
    changed_laws, rng = 0, random.Random(0)
    for lifted in (lifted for base in pointed_dags(4) for lifted in lifts(base)):
        dag = lifted.dag
        draw = Draw(lifted, tuple(Fraction(rng.randint(1, 9)) for _ in dag.terminals), rng)
        backward = draw.backward(dag)
        forward, z = forward_from_backward(backward, draw.rewards)
        for row in dag.out_edges:
            if len(row) < 2:
                continue
            # Move a third of the first edge's probability to the second.
            values = list(forward.values)
            moved = values[row[0]] / 3
            values[row[0]] -= moved
            values[row[1]] += moved
            broken = ForwardPolicy(dag, RATIONAL, values)
            assert any(r != 0 for _, r in tb_residuals(broken, backward, draw.rewards, z))
            changed_laws += marginal(broken) != normalize(draw.rewards)
    assert changed_laws > 0
