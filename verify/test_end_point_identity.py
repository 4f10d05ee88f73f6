"""end_point_identity: sums of residuals on every small DAG, and kernels that fail it."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from verify.lib.stochastic.kernels import ZERO, Measure, power, push
from verify.lib.stochastic.lemmas import end_point_residuals, freeze
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    HALF,
    ONE,
    THIRD,
    chain,
    copying_triangle,
    described,
    longest,
    mass,
    small_lifts,
    with_row,
)


def residuals(lift: StochasticLift, target: Measure, n: int) -> list[Fraction]:
    given = end_point_residuals(lift, lift.initial_law, target, n)
    return list(given.values())


def with_independent_latents(lift: StochasticLift) -> StochasticLift:
    """The lift whose latents are drawn anew at each step, and do not influence the next one."""
    latent = {0: THIRD, 1: 1 - THIRD}
    kappa_f = {}
    for s in lift.states:
        step: dict[int, Fraction] = {}
        for (v, _), p in lift.kappa_f[s[0], 0].items():
            step[v] = step.get(v, ZERO) + p
        kappa_f[s] = {(v, w): p * q for v, p in step.items() for w, q in latent.items()}
    return StochasticLift.from_forward(lift.dag, (0, 1), kappa_f, latent)


@pytest.mark.claim("end_point_identity")
def test_the_end_point_identity_on_a_chain_by_hand() -> None:
    lift = chain()
    assert end_point_residuals(lift, {(0, 0): ONE}, {(2, 0): ONE}, 2) == {((0, 0), (2, 0)): 0}
    assert push({(0, 0): ONE}, power(lift.kappa_f, 2)) == {(2, 0): ONE}


@pytest.mark.catches(
    "Weighs the way back with the law of its other end.",
    "verify/lib/stochastic/lemmas.py",
    "- target.get(x, ZERO) * backward[x]",
    "- xi.get(s, ZERO) * backward[x]",
)
@pytest.mark.claim("end_point_identity")
def test_summed_residuals_are_what_the_law_of_the_end_misses(scope: Any) -> None:
    for one, other in zip(small_lifts(0), small_lifts(1), strict=True):
        lift, n = replace(one, kappa_b=other.kappa_b), longest(one.dag)
        target = {x: Fraction(1 + 2 * x[0] + x[1]) for x in lift.terminal}
        given = end_point_residuals(lift, lift.initial_law, target, n)
        reached, backward = push(lift.initial_law, power(lift.kappa_f, n)), power(lift.kappa_b, n)
        for x in lift.terminal:
            missed = reached.get(x, ZERO) - target[x] * mass(backward, x, lift.initial)
            assert sum(given[s, x] for s in lift.initial) == missed
            assert mass(backward, x, lift.initial) == 1
    scope(f"{described()}, with xi, P_F and Pi of others")


@pytest.mark.claim("end_point_identity")
def test_with_latents_kept_while_waiting_dual_kernels_satisfy_it(scope: Any) -> None:
    for index, moving in enumerate(small_lifts(0)):
        # Any N will do that is long enough.
        lift, n = freeze(moving), longest(moving.dag) + index % 2
        target = lift.terminal_law
        assert not any(residuals(lift, target, n))
        reached = push(lift.initial_law, power(lift.kappa_f, n))
        assert {x: reached.get(x, ZERO) for x in target} == target
    scope("dual kernels that keep, redraw or move the latent while waiting, on as many")


@pytest.mark.claim("end_point_identity")
def test_with_latents_drawn_anew_dual_kernels_satisfy_it() -> None:
    for lift in map(with_independent_latents, small_lifts()):
        assert not any(residuals(lift, lift.terminal_law, longest(lift.dag)))


@pytest.mark.claim("end_point_identity")
def test_if_latents_move_dual_kernels_satisfy_it_just_for_trajectories_of_one_length() -> None:
    several = 0
    for lift in small_lifts():
        lengths = {len(tau) for tau in lift.dag.trajectories()}
        identity = not any(residuals(lift, lift.terminal_law, longest(lift.dag)))
        assert identity == (len(lengths) == 1)
        several += len(lengths) > 1
    assert 0 < several < len(small_lifts())


@pytest.mark.control("end_point_identity")
def test_another_target_breaks_the_end_point_identity() -> None:
    for moving in small_lifts():
        lift, n = freeze(moving), longest(moving.dag)
        target = lift.terminal_law
        x, y = sorted(target)[:2]
        target[x], target[y] = target[x] + target[y] / 2, target[y] / 2
        assert any(residuals(lift, target, n))


@pytest.mark.control("end_point_identity")
def test_a_latent_that_moves_while_waiting_breaks_it_on_three_states() -> None:
    lift = copying_triangle()
    given = end_point_residuals(lift, lift.initial_law, lift.terminal_law, 2)
    # Forward the latent is copied: 1/2. Backward it is drawn anew at s_o on half of the ways: 3/8.
    expected = [(s, x, Fraction(1 if s == x else -1, 8)) for s in (0, 1) for x in (0, 1)]
    assert given == {((0, s), (2, x)): eighth for s, x, eighth in expected}
    assert not any(residuals(freeze(lift), lift.terminal_law, 2))


@pytest.mark.control("end_point_identity")
def test_an_unnormalised_target_needs_backward_absorption_in_the_closing_argument() -> None:
    row = {(0, 0): HALF, (1, 0): HALF}
    leaking = replace(chain(), kappa_b=with_row(chain().kappa_b, (1, 0), row))
    target = {(2, 0): 2 * ONE}
    assert residuals(leaking, target, 2) == [0]
    assert push(leaking.initial_law, power(leaking.kappa_f, 2)) == {(2, 0): ONE} != target
