"""The h-transform and the copy of a backward policy, on all small lifts."""

from fractions import Fraction
from typing import Any

import pytest

from reference.fields.field import RATIONAL
from reference.lifted import History, LiftedDAG, lift
from reference.marginals import path_sums
from reference.policies import BackwardKernel, BackwardPolicy
from reference.solve import flows, forward_from_backward, h_transform
from verify.lib.fields import FLINT
from verify.lib.markovian import copies, has_memory, is_markovian, is_normalised
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope
from verify.lib.symbolic_scope import backward_and_rewards

LIFTED = lift(DIAMOND, History())


def check_transform(lifted: LiftedDAG[Any], p_b: BackwardPolicy[Any], rewards: Any) -> None:
    kernel, transformed = p_b.on(lifted), h_transform(lifted, p_b)
    assert all(transformed.along(tau) == kernel.along(tau) for tau in lifted.dag.trajectories())
    h = path_sums(kernel)
    flow, base_flow = flows(transformed, rewards), flows(p_b, rewards)
    total = [p_b.field.zero] * len(lifted.base.labels)
    for node, u in enumerate(lifted.projection):
        assert flow[node] == base_flow[u] * h[node]
        total[u] = total[u] + h[node]
    assert all(mass == p_b.field.one for mass in total)


@pytest.mark.catches(
    "The uniform p_B of the lift is used where the h-transform of an unlifted one is needed.",
    "reference/solve.py",
    "        kernel.values[edge] * h[u] / h[v]\n",
    "        field.one / field.convert(len(dag.in_edges[v]))\n",
)
@pytest.mark.claim("h-transform")
def test_the_h_transform_keeps_the_law_and_splits_the_flow_on_every_lift(scope: Scope) -> None:
    for draw in scope.lifts("{}, p~_B with zeros", larger=FLINT):
        lifted, base = draw.lifted, draw.lifted.base
        p_b = draw.sparse_backward(base)
        check_transform(lifted, p_b, draw.rewards)
        # prop:markovian is therefore about normalised policies too; rows not visited may differ.
        forward, _ = forward_from_backward(h_transform(lifted, p_b), draw.rewards)
        copied, _ = forward_from_backward(p_b.on(lifted), draw.rewards)
        assert all(forward.along(tau) == copied.along(tau) for tau in lifted.dag.trajectories())


@pytest.mark.claim("h-transform")
def test_the_h_transform_of_all_policies_at_once_on_a_diamond(scope: Any) -> None:
    _, p_b, rewards = backward_and_rewards(DIAMOND)
    check_transform(LIFTED, p_b, rewards)
    # Given x, the ways through a and b have the p~_B-probabilities of a and b given c.
    transformed = h_transform(LIFTED, p_b)
    way = {"a": p_b.values[2], "b": p_b.values[3]}
    for edge, (u, v) in enumerate(LIFTED.dag.edges):
        if LIFTED.projection[v] in DIAMOND.terminals:
            assert transformed.values[edge] == way[LIFTED.dag.labels[u][1][0]]
    scope("all p~_B and R at once on the history lift of a diamond")


@pytest.mark.control("h-transform")
def test_other_weights_than_h_are_not_normalised() -> None:
    # n(s) lifts as if equally likely: h = 1/2 at both lifts of c, but p~_B(a|c) = 1/3.
    p_b = BackwardPolicy.from_weights(DIAMOND, RATIONAL, [1, 1, 1, 2, 1, 1])
    kernel = p_b.on(LIFTED)
    counts = [LIFTED.projection.count(u) for u in LIFTED.projection]
    values = [
        value * counts[v] / counts[u]
        for value, (u, v) in zip(kernel.values, LIFTED.dag.edges, strict=True)
    ]
    equal = BackwardKernel(LIFTED.dag, RATIONAL, values)
    assert not is_normalised(equal)
    rows = {
        LIFTED.dag.labels[v][1][0]: sum(values[e] for e in LIFTED.dag.in_edges[v])
        for v in copies(LIFTED, "c")
    }
    assert rows == {"a": Fraction(2, 3), "b": Fraction(4, 3)}


@pytest.mark.claim("copied-backward-policy")
@pytest.mark.control("h-transform")
def test_on_the_diamond_copied_rows_sum_to_one_half_and_to_two() -> None:
    kernel = BackwardPolicy.uniform(DIAMOND, RATIONAL).on(LIFTED)
    rows = {
        (DIAMOND.labels[LIFTED.projection[v]], sum(kernel.values[e] for e in edges))
        for v, edges in enumerate(LIFTED.dag.in_edges)
        if edges
    }
    half = Fraction(1, 2)
    assert rows == {("a", 1), ("b", 1), ("c", half), ("x", 2), ("y", 2)}
    # The flow that solves balance against it is that of c, not split: 3 and 3 instead of 3/2.
    flow = flows(kernel, (Fraction(1), Fraction(2)))
    assert [flow[v] for v in copies(LIFTED, "c")] == [3, 3]


@pytest.mark.control("copied-backward-policy")
def test_weights_that_are_not_normalised_on_the_base_can_be_so_on_a_lift_with_memory() -> None:
    half = Fraction(1, 2)
    weights = {"a": Fraction(1), "b": Fraction(1), "c": Fraction(1), "x": half, "y": half}
    kernel = BackwardKernel(
        DIAMOND, RATIONAL, [weights[DIAMOND.labels[v]] for _, v in DIAMOND.edges]
    )
    assert not is_normalised(kernel)
    assert has_memory(LIFTED)
    assert is_normalised(kernel.on(LIFTED))
    forward, _ = forward_from_backward(kernel.on(LIFTED), (Fraction(1), Fraction(2)))
    assert is_markovian(forward, LIFTED)
