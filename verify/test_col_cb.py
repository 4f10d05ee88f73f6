"""col:cb: the policies that contrasts force, on all small lifts, and too few pairs of lengths."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings

from reference.balance import cb_residuals, tb_residuals
from reference.dag import pointed_dag
from reference.fields.field import RATIONAL, T
from reference.lifted import History, lift
from reference.marginals import marginal
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib import strategies
from verify.lib.fields import FLINT
from verify.lib.laws import by_label
from verify.lib.scopes import Draw, Scope
from verify.lib.small_scope import isomorphism_classes
from verify.lib.symbolic_scope import everything


def check_balanced(
    forward: ForwardPolicy[T], backward: BackwardKernel[T], rewards: tuple[T, ...]
) -> None:
    zero, residuals = forward.field.zero, cb_residuals(forward, backward, rewards)
    assert all(residual == zero for _, _, residual in residuals)
    z = forward.field.sum(rewards)
    assert tuple(z * p for p in marginal(forward)) == rewards


@pytest.mark.catches(
    "Contrastive balance multiplies each p_F with its own p_B R instead of the other's.",
    "reference/balance.py",
    "yield tau, tau2, p * w2 - p2 * w",
    "yield tau, tau2, p * w - p2 * w2",
)
@pytest.mark.claim("col:cb")
def test_contrastive_balance_on_two_edges_by_hand() -> None:
    dag = pointed_dag({"o": ["x", "y"], "x": [], "y": []})
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    rewards = (Fraction(1), Fraction(2))
    forward = ForwardPolicy(dag, RATIONAL, [Fraction(1, 3), Fraction(2, 3)])
    check_balanced(forward, backward, rewards)
    unbalanced = ForwardPolicy.uniform(dag, RATIONAL)
    assert [r for *_, r in cb_residuals(unbalanced, backward, rewards)] == [Fraction(1, 2)]


@pytest.mark.claim("col:cb")
def test_zero_cb_residual_implies_marginal_proportional_to_reward_on_every_small_lift(
    scope: Scope,
) -> None:
    for draw in scope.lifts(larger=FLINT):
        lifted, rewards = draw.lifted, draw.rewards
        lifted_p_b = draw.backward(lifted.dag)
        forward, _ = forward_from_backward(lifted_p_b, rewards)
        check_balanced(forward, lifted_p_b, rewards)
        with_zeros = draw.sparse_backward(lifted.dag)
        check_balanced(forward_from_backward(with_zeros, rewards)[0], with_zeros, rewards)


@pytest.mark.claim("col:cb")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.draws(6))
def test_summed_contrasts_are_what_trajectory_balance_misses(draw: Draw) -> None:
    # Summed contrasts are TB residuals at Z = sum of R b; the corollary is that of residual 0.
    dag, rewards = draw.lifted.dag, draw.rewards
    backward, forward = draw.backward(dag), draw.forward(dag)
    reward = dict(zip(dag.terminals, rewards, strict=True))
    w = {tau: backward.along(tau) * reward[dag.end(tau)] for tau in dag.trajectories()}
    total = dict.fromkeys(w, Fraction(0))
    for tau, other, residual in cb_residuals(forward, backward, rewards):
        total[tau] += residual
        total[other] -= residual
    assert total == {tau: forward.along(tau) * sum(w.values()) - own for tau, own in w.items()}
    balanced, z = forward_from_backward(backward, rewards)
    check_balanced(balanced, backward, rewards)
    assert all(r == 0 for _, r in tb_residuals(balanced, backward, rewards, z))


@pytest.mark.control("col:cb")
def test_pairs_of_equal_length_alone_allow_the_wrong_law() -> None:
    # Trajectories of lengths 1 and 2: no pair has equal length, so nothing is asked of p_F.
    dag = pointed_dag({"o": ["x", "u"], "u": ["y"], "x": [], "y": []})
    backward, rewards = BackwardPolicy.uniform(dag, RATIONAL), (Fraction(1), Fraction(1))
    rows = {"o": {"x": Fraction(9, 10), "u": Fraction(1, 10)}, "u": {"y": Fraction(1)}}
    forward = ForwardPolicy.from_rows(dag, RATIONAL, rows)
    assert list(cb_residuals(forward, backward, rewards, same_length_only=True)) == []
    assert by_label(forward) == {"x": Fraction(9, 10), "y": Fraction(1, 10)}
    assert any(r != 0 for *_, r in cb_residuals(forward, backward, rewards))


def shares_by_length(backward: BackwardKernel[Any]) -> list[list[Any]]:
    """`b` of the trajectories of each length, per terminal."""
    dag, zero = backward.dag, backward.field.zero
    shares: dict[int, list[Any]] = {}
    for tau in dag.trajectories():
        row = shares.setdefault(len(tau), [zero] * len(dag.terminals))
        row[dag.terminals.index(dag.end(tau))] += backward.along(tau)
    return list(shares.values())


@pytest.mark.control("col:cb")
@pytest.mark.parametrize(
    ("nodes", "for_uniform", "for_some", "classes"),
    [(2, 0, 0, 1), (3, 0, 0, 3), (4, 3, 4, 16), (5, 50, 60, 164)],
)
def test_the_printed_condition_is_too_weak_on_many_dags_and_on_none_with_three_states(
    nodes: int, for_uniform: int, for_some: int, classes: int
) -> None:
    # History lift, so that every law of trajectories is a policy. The condition fixes the law of
    # each length and leaves free how lengths are weighted: it determines the marginal iff all
    # lengths share one, that is, iff their b are parallel. R multiplies all of them alike.
    def too_weak(backward: BackwardKernel[Any]) -> bool:
        return any(
            left[x] * right[y] != left[y] * right[x]
            for left, right in combinations(shares_by_length(backward), 2)
            for x, y in combinations(range(len(left)), 2)
        )

    shapes = [lift(base, History()).dag for base, _ in isomorphism_classes(nodes)]
    uniform = sum(too_weak(BackwardPolicy.uniform(dag, RATIONAL)) for dag in shapes)
    # As polynomials: equal for all p_B or, where they differ, for almost none.
    some = sum(too_weak(everything(dag).backward) for dag in shapes)
    assert (uniform, some, len(shapes)) == (for_uniform, for_some, classes)
    # The note proves which: where there are two terminals and two lengths.
    lengths = ({len(tau) for tau in dag.trajectories()} for dag in shapes)
    two = sum(
        len(dag.terminals) > 1 < len(sizes) for dag, sizes in zip(shapes, lengths, strict=True)
    )
    assert some == two
