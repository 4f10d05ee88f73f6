"""Projections of policies on all small lifts."""

import math
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest

from reference.balance import fm_residuals
from reference.dag import pointed_dag
from reference.expressivity.memory import price_of_forgetting
from reference.fields.field import RATIONAL
from reference.lifted import History, LiftedDAG, lift
from reference.marginals import marginal, path_sums
from reference.metrics import kl_divergence, normalize
from reference.policies import ForwardPolicy
from reference.solve import flows, forward_from_backward, markov_projection
from verify.lib.markovian import copies, has_memory, is_markovian
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope, all_small_lifts

Law = list[Fraction]


def edge_flows(policy: ForwardPolicy[Fraction], lifted: LiftedDAG[Any]) -> Law:
    """The probability of each base edge, summed over the edges above it."""
    visits, total = path_sums(policy), [Fraction(0)] * len(lifted.base.edges)
    for edge, (u, _) in enumerate(lifted.dag.edges):
        total[lifted.base_edge[edge]] += visits[u] * policy.values[edge]
    return total


def base_edge_flows(policy: ForwardPolicy[Fraction]) -> Law:
    visits = path_sums(policy)
    return [visits[u] * p for (u, _), p in zip(policy.dag.edges, policy.values, strict=True)]


def trajectory_laws(
    lifted: LiftedDAG[Any], above: ForwardPolicy[Fraction], *below: ForwardPolicy[Fraction]
) -> list[Law]:
    """On the trajectories of the base: of a policy on the lift, then of some on the base."""
    trajectories = list(lifted.base.trajectories())
    return [
        [above.along(lifted.above(tau)) for tau in trajectories],
        *([policy.along(tau) for tau in trajectories] for policy in below),
    ]


def gated(*at_c: tuple[float, float]) -> tuple[LiftedDAG[str], ForwardPolicy[Fraction]]:
    """One tenth goes by a, nine tenths by b; at c, the rows are those of the way taken."""
    lifted = lift(DIAMOND, History())
    values = [Fraction(1)] * len(lifted.dag.edges)
    values[0], values[1] = Fraction(1, 10), Fraction(9, 10)
    for node, row in zip(copies(lifted, "c"), at_c, strict=True):
        for edge, value in zip(lifted.dag.out_edges[node], row, strict=True):
            values[edge] = Fraction(value)
    return lifted, ForwardPolicy(lifted.dag, RATIONAL, values)


@pytest.mark.catches(
    "The Markov projection averages p_F over the lifts of a state without their visits.",
    "reference/solve.py",
    "through[below] = through[below] + visits[node] * forward.values[edge]",
    "through[below] = through[below] + forward.values[edge]",
)
@pytest.mark.claim("markov-projection", "fig:flows:m")
def test_flows_of_a_multi_gated_network_are_those_of_its_markov_projection(scope: Scope) -> None:
    path_dependent = 0
    for draw in scope.over(all_small_lifts()):
        lifted, rewards = draw.lifted, draw.rewards
        p_b = draw.backward(lifted.dag)
        forward, z = forward_from_backward(p_b, rewards)
        projected = markov_projection(lifted, forward)
        through = edge_flows(forward, lifted)
        assert base_edge_flows(projected) == through
        other = draw.forward(lifted.base)
        assert (base_edge_flows(other) == through) == (other.values == projected.values)
        # In units of reward: F~(s) = sum over W of F(s, W), and both bring R(x) to x.
        flow = [Fraction(0)] * len(lifted.base.labels)
        for node, amount in enumerate(flows(p_b, rewards)):
            flow[lifted.projection[node]] += amount
        assert all(r == 0 for _, r in fm_residuals(projected, flow, rewards))
        assert marginal(projected) == marginal(forward) == normalize(rewards)
        assert flow == [z * visit for visit in path_sums(projected)]
        path_dependent += not is_markovian(forward, lifted)
    assert path_dependent > 0
    scope(f"balanced p_F on {scope.walked}, {path_dependent} of them path-dependent")


@pytest.mark.claim("markov-projection")
def test_the_projection_of_a_gated_diamond_by_hand() -> None:
    # By a: 1/10 * (1, 0); by b: 9/10 * (0, 1). Together c has 1/10 for x and 9/10 for y.
    lifted, forward = gated((1, 0), (0, 1))
    projected = markov_projection(lifted, forward)
    assert list(projected.values)[-2:] == [Fraction(1, 10), Fraction(9, 10)]
    assert marginal(forward) == marginal(projected) == (Fraction(1, 10), Fraction(9, 10))
    # Forgetting costs what the way says of the end: here all of its entropy.
    entropy = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
    assert price_of_forgetting(lifted, forward) == pytest.approx(entropy)
    assert price_of_forgetting(lifted, ForwardPolicy.uniform(lifted.dag, RATIONAL)) == 0.0


@pytest.mark.claim("markov-projection")
def test_states_that_are_not_visited_are_free() -> None:
    dag = pointed_dag({"o": ["u", "x"], "u": ["x", "y"], "x": [], "y": []})
    lifted = lift(dag, History())
    forward = ForwardPolicy(lifted.dag, RATIONAL, [Fraction(p) for p in (0, 1, 1, 0)])
    projected = markov_projection(lifted, forward)
    assert list(projected.values) == [0, 1, Fraction(1, 2), Fraction(1, 2)]
    assert base_edge_flows(projected) == edge_flows(forward, lifted)


@pytest.mark.catches(
    "The price of forgetting is measured by the KL of the projection from the policy.",
    "reference/expressivity/memory.py",
    "[forward.values[e] for e in row], [projected.values[lifted.base_edge[e]] for e in row]",
    "[projected.values[lifted.base_edge[e]] for e in row], [forward.values[e] for e in row]",
)
@pytest.mark.claim("markov-projection")
def test_the_price_of_forgetting_completes_a_pythagorean_identity(scope: Any) -> None:
    draws = list(islice(all_small_lifts(), 0, 600, 10))
    for draw in draws:
        lifted, forward = draw.lifted, draw.forward(draw.lifted.dag)
        other, projected = draw.forward(lifted.base), markov_projection(lifted, forward)
        p, p_tilde, q = trajectory_laws(lifted, forward, projected, other)
        price = price_of_forgetting(lifted, forward)
        assert kl_divergence(p, p_tilde) == pytest.approx(price, abs=1e-14)
        assert kl_divergence(p, q) == pytest.approx(price + kl_divergence(p_tilde, q), abs=1e-13)
    scope(f"KL in floats on {len(draws)} of these")


@pytest.mark.claim("representational-power")
def test_a_lift_adds_laws_on_trajectories_iff_a_state_with_a_choice_has_two_lifts(
    scope: Scope,
) -> None:
    adding = 0
    for draw in scope.over(all_small_lifts()):
        lifted = draw.lifted
        choices = [u for u, row in zip(lifted.projection, lifted.dag.children, strict=True) if row]
        adds = any(choices.count(u) > 1 and len(lifted.base.children[u]) > 1 for u in {*choices})
        # Each lift of a state has a row of its own, where a row can vary at all.
        weights = [
            1 + node * (edge == row[0])
            for node, row in enumerate(lifted.dag.out_edges)
            for edge in row
        ]
        forward = ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights)
        projected = markov_projection(lifted, forward)
        above, below = trajectory_laws(lifted, forward, projected)
        assert (above != below) == adds
        # But no law on X that the base has not.
        assert marginal(projected) == marginal(forward)
        assert not adds or has_memory(lifted)
        adding += adds
    scope(f"{scope.walked}: {adding} have more laws on trajectories, none has more on X")


@pytest.mark.control("markov-projection", "fig:flows:m")
def test_the_unweighted_average_over_lifts_changes_the_terminal_law() -> None:
    lifted, forward = gated((1, 0), (0, 1))
    averaged = [Fraction(0)] * len(DIAMOND.edges)
    for edge, below in enumerate(lifted.base_edge):
        above = copies(lifted, DIAMOND.labels[DIAMOND.edges[below][0]])
        averaged[below] += forward.values[edge] / len(above)
    assert marginal(forward)[0] == Fraction(1, 10)
    assert marginal(ForwardPolicy(DIAMOND, RATIONAL, averaged))[0] == Fraction(1, 2)


@pytest.mark.control("fig:flows:m")
def test_exchanged_gates_exchange_the_flows_of_the_terminals() -> None:
    laws = [marginal(gated(*rows)[1]) for rows in (((1, 0), (0, 1)), ((0, 1), (1, 0)))]
    assert laws == [(Fraction(1, 10), Fraction(9, 10)), (Fraction(9, 10), Fraction(1, 10))]


@pytest.mark.control("markov-projection")
def test_against_a_path_dependent_law_the_identity_fails() -> None:
    # With Q = P itself: 0 on the left, but the price and KL(P~ || P) > 0 on the right.
    lifted, forward = gated((0.75, 0.25), (0.25, 0.75))
    p, p_tilde = trajectory_laws(lifted, forward, markov_projection(lifted, forward))
    assert kl_divergence(p, p) == 0
    right = price_of_forgetting(lifted, forward) + kl_divergence(p_tilde, p)
    assert right == pytest.approx(0.0989, abs=1e-4)
