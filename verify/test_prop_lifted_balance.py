"""prop:lifted_balance (eq:conditionsa), def:flows: laws of inner states on all small lifts."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from reference.balance import db_residuals, fm_residuals, subtb_residuals, tb_residuals
from reference.dag import pointed_dag
from reference.fields.field import RATIONAL, T
from reference.lifted import History, LiftedDAG, lift
from reference.marginals import marginal, path_sums
from reference.metrics import normalize
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import flows, forward_from_backward
from verify.lib import strategies
from verify.lib.fields import FLINT
from verify.lib.markovian import copies
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Draw, Scope, all_small_lifts
from verify.lib.small_scope import lifts, pointed_dags

REWARDS = (Fraction(1), Fraction(2))


def vanish(residuals: Iterator[tuple[Any, Any]]) -> bool:
    return all(residual == 0 for _, residual in residuals)


def check_normalised(p_b: BackwardPolicy[T], rewards: tuple[T, ...]) -> None:
    """Every state is visited with probability F / Z."""
    p_f, z = forward_from_backward(p_b, rewards)
    flow = flows(p_b, rewards)
    assert vanish(db_residuals(p_f, p_b, flow, rewards))
    assert z == flow[0] == p_b.field.sum(rewards)
    assert path_sums(p_f) == [f / z for f in flow]


def check_copied(
    lifted: LiftedDAG[Any], base_p_b: BackwardPolicy[T], rewards: tuple[T, ...]
) -> bool:
    """Terminals are right, inner states are F h / Z; whether these are F / Z all the same."""
    kernel = base_p_b.on(lifted)
    p_f, z = forward_from_backward(kernel, rewards)
    flow, h, visits = flows(kernel, rewards), path_sums(kernel), path_sums(p_f)
    assert vanish(db_residuals(p_f, kernel, flow, rewards))
    assert tuple(z * p for p in marginal(p_f)) == rewards
    assert z == base_p_b.field.sum(rewards)
    assert visits == [f * mass / z for f, mass in zip(flow, h, strict=True)]
    # Flow is that of the base at each lift of a state, and h is a law over these lifts.
    base_flow, over = flows(base_p_b, rewards), [p_f.field.zero] * len(lifted.base.labels)
    for node, state in enumerate(lifted.projection):
        assert flow[node] == base_flow[state]
        over[state] = over[state] + visits[node]
    assert over == [f / z for f in base_flow]
    return visits == [f / z for f in flow]


@pytest.mark.claim("prop:lifted_balance", "def:flows")
def test_the_flow_is_the_unnormalised_probability_of_each_lifted_state_by_hand() -> None:
    dag = lift(DIAMOND, History()).dag
    p_b = BackwardPolicy.uniform(dag, RATIONAL)
    flow = dict(zip(dag.labels, flows(p_b, REWARDS), strict=True))
    # x and y have two lifted parents each, which share R = 1 and R = 2 equally.
    half = Fraction(3, 2)
    assert flow["c", ("a", "c")] == flow["c", ("b", "c")] == half
    assert (flow["o", ()], flow["x"], flow["y"]) == (3, 1, 2)
    check_normalised(p_b, REWARDS)


@pytest.mark.catches(
    "p_B is multiplied with the flow of the state before instead of the one after.",
    "reference/balance.py",
    "state_flow[v] * backward.values[edge]",
    "state_flow[u] * backward.values[edge]",
)
@pytest.mark.claim("prop:lifted_balance", "def:flows")
def test_balance_of_every_edge_gives_the_law_of_every_state_of_every_lift(scope: Scope) -> None:
    # Edges suffice: test_prop_lifted_balance_symbolic.py adds their residuals up to all others.
    trivial = unvisited = 0
    for draw in scope.over(all_small_lifts(one_in=1, larger=FLINT)):
        lifted, rewards = draw.lifted, draw.rewards
        check_normalised(draw.backward(lifted.dag), rewards)
        with_zeros = draw.sparse_backward(lifted.dag)
        check_normalised(with_zeros, rewards)
        unvisited += 0 in flows(with_zeros, rewards)
        agrees = check_copied(lifted, draw.backward(lifted.base), rewards)
        # A copied policy is right inside iff there is no memory.
        assert agrees == (len(lifted.dag.labels) == len(lifted.base.labels))
        trivial += agrees
    assert unvisited > 0
    scope(f"{scope.walked}; copied p_B: right inside on the {trivial} trivial ones only")


@pytest.mark.claim("prop:lifted_balance")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.draws())
def test_subtrajectory_balance_gives_the_law_of_every_state(draw: Draw) -> None:
    lifted, rewards = draw.lifted, draw.rewards
    p_b = draw.backward(lifted.dag)
    check_normalised(p_b, rewards)
    p_f, _ = forward_from_backward(p_b, rewards)
    assert vanish(fm_residuals(p_f, flows(p_b, rewards), rewards))
    assert vanish(subtb_residuals(p_f, p_b, flows(p_b, rewards), rewards))
    check_copied(lifted, draw.backward(lifted.base), rewards)


@pytest.mark.catches(
    "The flow of a terminal state is the learned one instead of the reward.",
    "reference/balance.py",
    "        state_flow[x] = reward\n",
    "        state_flow[x] = state_flow[x] or reward\n",
)
@pytest.mark.claim("def:flows")
def test_a_flow_takes_any_value_inside_and_the_rewards_at_terminals() -> None:
    p_b = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    p_f, _ = forward_from_backward(p_b, REWARDS)
    flow = flows(p_b, REWARDS)
    for node in DIAMOND.terminals:
        assert DIAMOND.labels[node] in "xy"
        flow[node] = Fraction(77)
    assert vanish(db_residuals(p_f, p_b, flow, REWARDS))
    assert vanish(subtb_residuals(p_f, p_b, flow, REWARDS))


@pytest.mark.control("prop:lifted_balance", "def:flows")
def test_a_copied_base_policy_is_right_at_terminals_and_wrong_inside() -> None:
    lifted = lift(DIAMOND, History())
    kernel = BackwardPolicy.uniform(DIAMOND, RATIONAL).on(lifted)
    p_f, z = forward_from_backward(kernel, REWARDS)
    flow = flows(kernel, REWARDS)
    assert vanish(subtb_residuals(p_f, kernel, flow, REWARDS))
    assert marginal(p_f) == normalize(REWARDS)
    visits = path_sums(p_f)
    inside = copies(lifted, "c")
    assert [visits[v] for v in inside] == [Fraction(1, 2)] * 2
    assert [flow[v] / z for v in inside] == [1, 1]


@pytest.mark.catches(
    "Flow matching leaves out the last node.",
    "reference/balance.py",
    "for node in range(1, len(dag.labels)):",
    "for node in range(1, len(dag.labels) - 1):",
)
@pytest.mark.catches(
    "Flow matching multiplies p_F with the flow of the child instead of the parent.",
    "reference/balance.py",
    "inflow[v] = inflow[v] + state_flow[u] * value",
    "inflow[v] = inflow[v] + state_flow[v] * value",
)
@pytest.mark.control("prop:lifted_balance", "def:flows")
def test_one_changed_flow_breaks_each_condition() -> None:
    for dag in (lifted.dag for base in pointed_dags(4) for lifted in lifts(base)):
        p_b, rewards = BackwardPolicy.uniform(dag, RATIONAL), (Fraction(1),) * len(dag.terminals)
        p_f, z = forward_from_backward(p_b, rewards)
        for changed in (u for u, row in enumerate(dag.children) if row):
            flow = flows(p_b, rewards)
            flow[changed] += 1
            # One more flows out of it, and into its children by p_F.
            gained = [Fraction(0)] * len(dag.labels)
            gained[changed] -= 1
            for e in dag.out_edges[changed]:
                gained[dag.edges[e][1]] += p_f.values[e]
            assert [*fm_residuals(p_f, flow, rewards)] == [*enumerate(gained)][1:]
            assert not vanish(db_residuals(p_f, p_b, flow, rewards))
            assert not vanish(subtb_residuals(p_f, p_b, flow, rewards))
        # Complete trajectories alone do not see it, and do not need to.
        assert vanish(tb_residuals(p_f, p_b, rewards, z))


@pytest.mark.control("prop:lifted_balance")
def test_balance_of_complete_trajectories_alone_says_nothing_of_inner_flows() -> None:
    chain = pointed_dag({"o": ["a"], "a": ["x"], "x": []})
    p_f = ForwardPolicy.uniform(chain, RATIONAL)
    p_b, rewards = BackwardPolicy.uniform(chain, RATIONAL), (Fraction(1),)
    flow = [Fraction(1), Fraction(7), Fraction(1)]
    residuals = dict(subtb_residuals(p_f, p_b, flow, rewards))
    assert residuals == {(0,): -6, (1,): 6, (0, 1): 0}
    assert path_sums(p_f)[1] == 1 != flow[1] / flow[0]
