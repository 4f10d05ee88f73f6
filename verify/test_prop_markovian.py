"""prop:markovian: with a Markovian backward policy, the balanced forward policy is Markovian.

Printed: let p~_B be a backward policy on the base DAG with
p_B(s_t* | s_{t+1}*) = p~_B(s_t | s_{t+1}) on the lift, and p_F balanced. Then
p_F(s' | s, W) = p~_F(s' | s) for some p~_F on the base.

If both are normalised, the hypothesis forces the trivial lift. Let n(s) be the number of lifts of
s, and add up the rows of all of them. Each lift of a parent u has exactly one child above s, so the
sum is n(s) = sum over parents u of n(u) p~_B(u|s). As n(s_o) = 1, n = 1 throughout, by induction
in topological order. So, as printed, the proposition speaks of no lift with memory.

Repaired: ask for the law of trajectories only, p_B(tau | x) = product of p~_B along tau. Let F~(s)
be the sum of R(x) times p~_B over the paths from s to a terminal, the flow of the base. If
Z p_F(tau) = R(x) p_B(tau | x) for all tau, sum over the continuations of a history h that ends in
s: Z p_F(h) = p~_B(h) F~(s). Dividing the identity for h followed by s' by that for h gives
p_F(s' | s, W) = p~_B(s | s') F~(s') / F~(s), in which W does not occur, wherever p_F(h) > 0. With
R, p~_B > 0 that is everywhere; else rows that are never visited are free.
"""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import (
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    LiftedDAG,
    forward_from_backward,
    lift,
    marginal,
    normalize,
    path_sums,
    pointed_dag,
    tb_residuals,
)
from verify import strategies
from verify.scopes import all_small_lifts, balanced_with, described

DIAMOND = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"], "x": [], "y": []})


def is_markovian(policy: ForwardPolicy[Fraction], lifted: LiftedDAG[Any]) -> bool:
    """Whether all visited lifts of a base state have the same row."""
    visits = path_sums(policy)
    rows: dict[int, list[Fraction]] = {}
    for node, edges in enumerate(lifted.dag.out_edges):
        if visits[node] > 0:
            row = [policy.values[e] for e in edges]
            if rows.setdefault(lifted.projection[node], row) != row:
                return False
    return True


def is_normalised(kernel: BackwardKernel[Fraction]) -> bool:
    try:
        BackwardPolicy(kernel.dag, kernel.field, kernel.values)
    except InputError:
        return False
    return True


def check_repaired(
    lifted: LiftedDAG[Any], p_b: BackwardPolicy[Fraction], rewards: tuple[Fraction, ...]
) -> None:
    kernel = p_b.on(lifted)
    forward = balanced_with(kernel, rewards)
    z = sum(rewards, Fraction(0))
    assert all(r == 0 for _, r in tb_residuals(forward, kernel, rewards, z))
    assert marginal(forward) == normalize(rewards)
    base_forward, _ = forward_from_backward(p_b, rewards)
    assert list(forward.values) == [base_forward.values[e] for e in lifted.base_edge]
    assert is_markovian(forward, lifted)


@pytest.mark.claim("prop:markovian")
def test_the_printed_hypothesis_holds_on_a_small_lift_iff_the_lift_is_trivial(scope: Any) -> None:
    count = trivial = 0
    for draw in all_small_lifts():
        lifted = draw.lifted
        has_no_memory = len(lifted.dag.labels) == len(lifted.base.labels)
        for p_b in (BackwardPolicy.uniform(lifted.base, RATIONAL), draw.backward(lifted.base)):
            assert is_normalised(p_b.on(lifted)) == has_no_memory
        count, trivial = count + 1, trivial + has_no_memory
    scope(f"{described(count)}, of which {count - trivial} have memory: printed form on 0 of these")


@pytest.mark.claim("prop:markovian")
def test_on_the_diamond_copied_rows_sum_to_one_half_and_to_two() -> None:
    lifted = lift(DIAMOND, History())
    kernel = BackwardPolicy.uniform(DIAMOND, RATIONAL).on(lifted)
    rows = {
        (DIAMOND.labels[lifted.projection[v]], sum(kernel.values[e] for e in edges))
        for v, edges in enumerate(lifted.dag.in_edges)
        if edges
    }
    half = Fraction(1, 2)
    assert rows == {("a", 1), ("b", 1), ("c", half), ("x", 2), ("y", 2)}


@pytest.mark.claim("prop:markovian")
def test_balance_against_a_markovian_trajectory_law_forces_a_markovian_policy_on_every_small_lift(
    scope: Any,
) -> None:
    count = 0
    for draw in all_small_lifts():
        check_repaired(draw.lifted, draw.backward(draw.lifted.base), draw.rewards)
        count += 1
    scope(f"repaired form on {described(count)}")


@pytest.mark.claim("prop:markovian")
def test_where_the_backward_policy_has_zeros_the_visited_states_are_markovian() -> None:
    differing = 0
    for draw in all_small_lifts():
        lifted, p_b = draw.lifted, draw.sparse_backward(draw.lifted.base)
        kernel, z = p_b.on(lifted), sum(draw.rewards, Fraction(0))
        # Where no probability goes, the free rows are drawn anew for each lifted state.
        forward = balanced_with(kernel, draw.rewards, draw.forward(lifted.dag))
        assert all(r == 0 for _, r in tb_residuals(forward, kernel, draw.rewards, z))
        assert marginal(forward) == normalize(draw.rewards)
        assert is_markovian(forward, lifted)
        base_forward, _ = forward_from_backward(p_b, draw.rewards)
        copied = [base_forward.values[e] for e in lifted.base_edge]
        for visit, row in zip(path_sums(forward), lifted.dag.out_edges, strict=True):
            same = [forward.values[e] for e in row] == [copied[e] for e in row]
            assert same or visit == 0
            differing += not same
    assert differing > 0


@pytest.mark.claim("prop:markovian")
def test_the_repaired_hypothesis_is_met_by_a_normalised_backward_policy_on_every_small_lift() -> (
    None
):
    # h(s, W) is the p~_B-probability that the history of s ends in W. The backward policy
    # p~_B(u | s) h(u, V) / h(s, W) is normalised and, h telescoping to 1, has the law of p~_B.
    for draw in all_small_lifts():
        dag = draw.lifted.dag
        kernel = draw.backward(draw.lifted.base).on(draw.lifted)
        h = path_sums(kernel)
        transformed = [
            value * h[u] / h[v] for value, (u, v) in zip(kernel.values, dag.edges, strict=True)
        ]
        p_b = BackwardPolicy(dag, RATIONAL, transformed)
        assert all(p_b.along(tau) == kernel.along(tau) for tau in dag.trajectories())
        forward, _ = forward_from_backward(p_b, draw.rewards)
        assert forward.values == balanced_with(kernel, draw.rewards).values


@pytest.mark.claim("prop:markovian")
@given(st.data())
def test_balance_against_a_markovian_trajectory_law_forces_a_markovian_policy(
    data: st.DataObject,
) -> None:
    lifted = data.draw(strategies.lifted_dags())
    check_repaired(
        lifted,
        data.draw(strategies.backward_policies(lifted.base)),
        data.draw(strategies.rewards(lifted.base)),
    )


@pytest.mark.control("prop:markovian")
def test_where_the_backward_policy_vanishes_the_forward_policy_may_depend_on_the_path() -> None:
    dag = pointed_dag(
        {
            "o": ["a", "b", "v"],
            "a": ["u"],
            "b": ["u"],
            "u": ["x", "y"],
            "v": ["x", "y"],
            "x": [],
            "y": [],
        }
    )
    # p~_B never goes from x or y to u, so no balance condition reaches the rows at u.
    weight = [0 if dag.labels[u] == "u" else 1 for u, _ in dag.edges]
    p_b = BackwardPolicy.from_weights(dag, RATIONAL, weight)
    lifted = lift(dag, History())
    kernel, rewards = p_b.on(lifted), (Fraction(1), Fraction(1))
    balanced = balanced_with(kernel, rewards)
    copies = [n for n, v in enumerate(lifted.projection) if dag.labels[v] == "u"]
    values = list(balanced.values)
    for number, node in enumerate(copies):
        for position, edge in enumerate(lifted.dag.out_edges[node]):
            values[edge] = Fraction(int(position == number))
    path_dependent = ForwardPolicy(lifted.dag, RATIONAL, values)
    assert all(r == 0 for _, r in tb_residuals(path_dependent, kernel, rewards, Fraction(2)))
    rows = [[path_dependent.values[e] for e in lifted.dag.out_edges[node]] for node in copies]
    assert rows == [[1, 0], [0, 1]]


@pytest.mark.control("prop:markovian")
def test_a_backward_law_that_depends_on_the_terminal_gives_a_path_dependent_policy() -> None:
    lifted = lift(DIAMOND, History())
    at = {x: DIAMOND.labels[x] for x in DIAMOND.terminals}
    weight = {("a", "x"): 3, ("b", "x"): 1, ("a", "y"): 1, ("b", "y"): 3}
    values = [Fraction(1)] * len(lifted.dag.edges)
    for edge, (u, v) in enumerate(lifted.dag.edges):
        if lifted.projection[v] in at:
            _, history = lifted.dag.labels[u]
            values[edge] = Fraction(weight[history[0], at[lifted.projection[v]]], 4)
    p_b = BackwardPolicy(lifted.dag, RATIONAL, values)
    forward = balanced_with(p_b, (Fraction(1), Fraction(1)))
    assert all(
        r == 0 for _, r in tb_residuals(forward, p_b, (Fraction(1), Fraction(1)), Fraction(2))
    )
    assert marginal(forward) == (Fraction(1, 2), Fraction(1, 2))
    assert not is_markovian(forward, lifted)
    to_x = {
        lifted.dag.labels[u][1][0]: forward.values[edge]
        for edge, (u, v) in enumerate(lifted.dag.edges)
        if at.get(lifted.projection[v]) == "x"
    }
    assert to_x == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
