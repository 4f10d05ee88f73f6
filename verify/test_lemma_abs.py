"""lemma:abs: kernels on every small DAG, and each hypothesis dropped."""

from typing import Any

import pytest

from verify.lib.stochastic.axioms import horizon
from verify.lib.stochastic.kernels import power
from verify.lib.stochastic.lemmas import Lemma, forward_absorption_lasts, from_horizon_on, lemma_of
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    check_fails_without,
    check_never_refuted,
    described,
    enters_an_unreached_state,
    failing,
    leaves_a_null_terminal,
    longest,
    mass,
    mutated_lifts,
    small_lifts,
    stuck_forward,
    triangle,
)


def absorption_from_every_state(lift: StochasticLift) -> Lemma:
    """The conclusion for null terminals too, for which reachability is needed."""
    return lemma_of(
        lift,
        ("forward_absorption", "reachability", "absolute_continuity_f"),
        from_horizon_on(lift, lift.kappa_f, lift.states) <= lift.terminal,
    )


@pytest.mark.claim("lemma:abs")
def test_absorption_on_a_triangle_by_hand() -> None:
    lift = triangle()
    assert horizon(lift) == 2
    assert [mass(power(lift.kappa_f, n), (0, 0), lift.terminal) for n in (1, 2, 3)] == [0.5, 1, 1]


@pytest.mark.claim("lemma:abs")
def test_absorption_lasts_step_by_step_on_every_small_dag(scope: Any) -> None:
    for lift in small_lifts():
        assert absorption_from_every_state(lift).applies
        n = longest(lift.dag)
        for k in (n, n + 1):
            forward = power(lift.kappa_f, k)
            assert all(mass(forward, s, lift.terminal) == 1 for s in lift.states)
        if n > 1:
            early = power(lift.kappa_f, n - 1)
            assert any(mass(early, s, lift.terminal) < 1 for s in lift.initial)
        assert forward_absorption_lasts(lift).conclusion
    scope(described())


@pytest.mark.claim("lemma:abs")
def test_no_lift_satisfies_the_hypotheses_of_absorption_and_not_its_conclusion(scope: Any) -> None:
    check_never_refuted(forward_absorption_lasts, mutated_lifts())
    check_never_refuted(absorption_from_every_state, mutated_lifts())
    scope(f"{len(mutated_lifts())} lifts with rows moved at random")


@pytest.mark.control("lemma:abs")
def test_absorption_needs_a_kernel_that_does_not_stay_outside_nor_leave_a_null_terminal() -> None:
    check_fails_without(forward_absorption_lasts, "forward_absorption", stuck_forward())
    lift = leaves_a_null_terminal()
    check_fails_without(forward_absorption_lasts, "absolute_continuity_f", lift)
    assert failing(lift) == ["full_support", "absolute_continuity_f"]
    assert horizon(lift) == 1
    assert mass(power(lift.kappa_f, 1), (0, 1), lift.terminal) == 1
    assert mass(power(lift.kappa_f, 2), (0, 1), lift.terminal) == 0


@pytest.mark.control("lemma:abs")
def test_from_a_null_terminal_absorption_needs_reachability() -> None:
    lift = enters_an_unreached_state()
    check_fails_without(absorption_from_every_state, "reachability", lift)
    assert forward_absorption_lasts(lift).applies
    assert horizon(lift) == 1
    assert mass(lift.kappa_f, (lift.dag.index["x"], 1), lift.terminal) == 0
