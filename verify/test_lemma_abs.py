"""lemma:abs: kernels on every small DAG, and each hypothesis dropped."""

from dataclasses import replace
from typing import Any

import pytest

from verify.lib.stochastic.axioms import horizon
from verify.lib.stochastic.kernels import power
from verify.lib.stochastic.lemmas import Lemma, forward_absorption_lasts, from_horizon_on, lemma_of
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    ONE,
    TRIANGLE,
    build,
    chain,
    check_fails_without,
    check_never_refuted,
    described,
    failing,
    longest,
    mass,
    mutated_lifts,
    small_lifts,
    triangle,
    with_row,
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
    stuck = replace(chain(), kappa_f=with_row(chain().kappa_f, (1, 0), {(1, 0): ONE}))
    check_fails_without(forward_absorption_lasts, "forward_absorption", stuck)
    # kappa_F enters (x, 1), which is nu-null and from where it leaves X*.
    rows = {"o0": "x0", "o1": "x1", "u": "x0", "x0": "x0", "x1": "u0"}
    lift = build(TRIANGLE, rows, {"o": "o0", "u": "o0", "x": "o0"}, "o0 x0", latents=(0, 1))
    check_fails_without(forward_absorption_lasts, "absolute_continuity_f", lift)
    assert failing(lift) == ["full_support", "absolute_continuity_f"]
    assert horizon(lift) == 1
    assert mass(power(lift.kappa_f, 1), (0, 1), lift.terminal) == 1
    assert mass(power(lift.kappa_f, 2), (0, 1), lift.terminal) == 0


@pytest.mark.control("lemma:abs")
def test_from_a_null_terminal_absorption_needs_reachability() -> None:
    # From the null (x, 1), kappa_F enters u, which nu charges and nothing else enters.
    rows = {"o": "x0", "u": "x0", "x0": "x0", "x1": "u0"}
    lift = build(TRIANGLE, rows, {"o": "o0", "u": "o0", "x": "o0"}, "o0 u0 x0", latents=(0, 1))
    check_fails_without(absorption_from_every_state, "reachability", lift)
    assert forward_absorption_lasts(lift).applies
    assert horizon(lift) == 1
    assert mass(lift.kappa_f, (lift.dag.index["x"], 1), lift.terminal) == 0
