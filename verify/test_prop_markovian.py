"""prop:markovian, fig:setsa: each reading of the hypothesis, on all small lifts."""

import math
from fractions import Fraction
from typing import Any

import pytest

from reference.balance import tb_residuals
from reference.dag import PointedDAG, pointed_dag
from reference.expressivity.memory import memory_kl
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.marginals import marginal, mass, path_sums
from reference.metrics import normalize
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.problems import Lines
from reference.problems.enumeration import enumerate_dag
from reference.solve import forward_from_backward
from verify.lib.fields import FLINT
from verify.lib.markovian import (
    copies,
    has_memory,
    is_markovian,
    is_normalised,
    parent_laws,
    preferring_one_way_to_each_end,
)
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Draw, Scope, all_small_dags, all_small_lifts, balanced_with
from verify.lib.symbolic_scope import backward_and_rewards


def check_repaired(draw: Draw) -> None:
    """For positive weights on base edges, normalised or not: every row is that of the base."""
    lifted, rewards = draw.lifted, draw.rewards
    weights = list(map(draw.field.convert, draw.weights(len(lifted.base.edges))))
    base = BackwardKernel(lifted.base, draw.field, weights)
    forward = balanced_with(base.on(lifted), rewards)
    below, _ = forward_from_backward(base, rewards)
    assert list(forward.values) == [below.values[e] for e in lifted.base_edge]
    # p_T is proportional to R b.
    masses = [r * b for r, b in zip(rewards, mass(base), strict=True)]
    z = draw.field.sum(masses)
    assert [z * p for p in marginal(forward)] == masses


def check_repaired_where_visited(draw: Draw) -> int:
    """With zeros of p~_B; the number of rows that are free, and differ."""
    lifted, p_b = draw.lifted, draw.sparse_backward(draw.lifted.base)
    kernel, z = p_b.on(lifted), draw.field.sum(draw.rewards)
    # Where no probability goes, the free rows are drawn anew for each lifted state.
    forward = balanced_with(kernel, draw.rewards, draw.forward(lifted.dag))
    assert all(r == 0 for _, r in tb_residuals(forward, kernel, draw.rewards, z))
    assert tuple(z * p for p in marginal(forward)) == draw.rewards
    assert is_markovian(forward, lifted)
    base_forward, _ = forward_from_backward(p_b, draw.rewards)
    copied = [base_forward.values[e] for e in lifted.base_edge]
    differing = 0
    for visit, row in zip(path_sums(forward), lifted.dag.out_edges, strict=True):
        same = [forward.values[e] for e in row] == [copied[e] for e in row]
        assert same or visit == 0
        differing += not same
    return differing


@pytest.mark.claim("prop:markovian", "copied-backward-policy")
def test_the_printed_hypothesis_holds_on_a_small_lift_iff_the_lift_is_trivial(scope: Scope) -> None:
    remembering = 0
    for draw in scope.over(all_small_lifts(larger=FLINT)):
        lifted = draw.lifted
        memory = has_memory(lifted)
        for p_b in (draw.backward(lifted.base), draw.sparse_backward(lifted.base)):
            assert is_normalised(p_b.on(lifted)) == (not memory)
        # Not even the law of the base parent can be the same at all lifts of a state.
        laws = parent_laws(draw.backward(lifted.dag), lifted).values()
        apart = any(not set(p) & set(q) for row in laws for p in row for q in row if p is not q)
        assert apart == memory
        remembering += memory
    scope(f"{scope.walked}, of which {remembering} have memory: printed form on 0 of these")


@pytest.mark.claim("prop:markovian")
def test_balance_against_a_markovian_trajectory_law_forces_a_markovian_policy_on_every_small_lift(
    scope: Scope,
) -> None:
    free = 0
    for draw in scope.lifts(
        "repaired form on {}, p~_B with zeros and k > 0 of any mass", one_in=1, larger=FLINT
    ):
        check_repaired(draw)
        free += check_repaired_where_visited(draw)
    assert free > 0


@pytest.mark.claim("prop:markovian")
def test_on_a_history_lift_normalised_policies_may_depend_on_the_base_edge_alone(
    scope: Scope,
) -> None:
    # Inside the tree of histories p_B = 1; the rows of x spread 1 over n(u) lifts of each parent u.
    remembering = 0
    for base in scope.over(all_small_dags()):
        lifted = lift(base, History())
        values = [Fraction(1)] * len(base.edges)
        for x in base.terminals:
            row = base.in_edges[x]
            for edge in row:
                values[edge] /= len(row) * base.path_counts[base.edges[edge][0]]
        p_b = BackwardPolicy(lifted.dag, RATIONAL, [values[e] for e in lifted.base_edge])
        rewards = tuple(Fraction(1 + n) for n in range(len(base.terminals)))
        forward, _ = forward_from_backward(p_b, rewards)
        assert is_markovian(forward, lifted)
        assert marginal(forward) == normalize(rewards)
        remembering += has_memory(lifted)
    assert remembering > 0
    dags = f"{scope.count} DAGs, {remembering} of them with memory"
    scope(f"p~_B = 1 inside the history lifts of {dags}")


@pytest.mark.claim("prop:markovian")
def test_all_backward_policies_and_rewards_at_once_force_a_markovian_policy(scope: Any) -> None:
    lines = enumerate_dag(Lines.laplaces(3, 2))
    bases: tuple[PointedDAG[Any], ...] = (DIAMOND, lines)
    for base in bases:
        lifted = lift(base, History())
        assert has_memory(lifted)
        _, p_b, rewards = backward_and_rewards(base)
        kernel = p_b.on(lifted)
        forward, z = forward_from_backward(kernel, rewards)
        assert is_markovian(forward, lifted)
        assert z == sum(rewards[1:], start=rewards[0])
        assert all(z * p == r for p, r in zip(marginal(forward), rewards, strict=True))
    scope("all p~_B and R at once on the history lifts of a diamond and of Lines (N = 3, M = 2)")


@pytest.mark.control("prop:markovian")
def test_where_the_backward_policy_vanishes_the_forward_policy_may_depend_on_the_path() -> None:
    children = {"o": "abv", "a": "u", "b": "u", "u": "xy", "v": "xy", "x": "", "y": ""}
    dag = pointed_dag({state: list(row) for state, row in children.items()})
    # p~_B never goes from x or y to u, so no balance condition reaches the rows at u.
    weight = [0 if dag.labels[u] == "u" else 1 for u, _ in dag.edges]
    lifted, rewards = lift(dag, History()), (Fraction(1), Fraction(1))
    kernel = BackwardPolicy.from_weights(dag, RATIONAL, weight).on(lifted)
    first, second = (lifted.dag.out_edges[v] for v in copies(lifted, "u"))
    free = [int(e not in (first[1], second[0])) for e in range(len(lifted.dag.edges))]
    elsewhere = ForwardPolicy.from_weights(lifted.dag, RATIONAL, free)
    path_dependent = balanced_with(kernel, rewards, elsewhere)
    assert all(r == 0 for _, r in tb_residuals(path_dependent, kernel, rewards, Fraction(2)))
    rows = [[path_dependent.values[e] for e in row] for row in (first, second)]
    assert rows == [[1, 0], [0, 1]]


@pytest.mark.control("prop:markovian", "markovian-optimum", "fig:setsa")
def test_a_backward_law_that_depends_on_the_terminal_gives_a_path_dependent_policy() -> None:
    lifted, rewards = lift(DIAMOND, History()), (Fraction(1), Fraction(1))
    p_b = preferring_one_way_to_each_end(lifted)
    forward = balanced_with(p_b, rewards)
    assert all(r == 0 for _, r in tb_residuals(forward, p_b, rewards, Fraction(2)))
    assert marginal(forward) == (Fraction(1, 2), Fraction(1, 2))
    assert not is_markovian(forward, lifted)
    rows = [[forward.values[e] for e in lifted.dag.out_edges[v]] for v in copies(lifted, "c")]
    assert rows == [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    # KL((3/4, 1/4) || (1/4, 3/4)) = log(3) / 2.
    kl = memory_kl(lifted, forward)
    assert kl["c"] == pytest.approx(math.log(3) / 2)
    assert kl["a"] == kl["b"] == kl["o"] == 0.0
    blind = ForwardPolicy.uniform(lifted.dag, RATIONAL)
    assert set(memory_kl(lifted, blind).values()) == {0.0}
