"""lemma:abs, lemma:abbs, backward_absorption: kernels on every small DAG; hypotheses dropped."""

from dataclasses import replace
from typing import Any

import pytest

from verify.lib.stochastic.axioms import axioms, horizon
from verify.lib.stochastic.kernels import power, successors
from verify.lib.stochastic.lemmas import (
    Lemma,
    backward_absorption_at_horizon,
    backward_absorption_lasts,
    forward_absorption_lasts,
    from_horizon_on,
    lemma_of,
)
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    HALF,
    ONE,
    QUARTER,
    TRIANGLE,
    backward_enters_x,
    build,
    chain,
    check_fails_without,
    check_never_refuted,
    described,
    failing,
    leaves_a_null_initial_state,
    longest,
    mass,
    mutated_lifts,
    small_lifts,
    stuck_backward,
    triangle,
    waiting,
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


def absorption_from(lift: StochasticLift, start: frozenset[Any], **more: bool) -> Lemma:
    """The lasting lemma with absolute continuity on `S_o*` alone, and `more` hypotheses."""
    lemma = lemma_of(
        lift,
        ("duality", "forward_absorption", "backward_absorption"),
        from_horizon_on(lift, lift.kappa_b, start) <= lift.initial,
    )
    within = successors(lift.kappa_b, lift.initial & lift.charged) <= lift.charged
    more = {"absolutely continuous on S_o*": within, **more}
    return replace(lemma, hypotheses=lemma.hypotheses | more)


def absorption_from_almost_every_terminal(lift: StochasticLift) -> Lemma:
    return absorption_from(lift, lift.terminal & lift.charged)


def absorption_from_every_terminal(lift: StochasticLift) -> Lemma:
    entered = successors(lift.kappa_b, lift.terminal)
    return absorption_from(
        lift,
        lift.terminal,
        avoids_terminals=entered.isdisjoint(lift.terminal),
        absolutely_continuous_from_each_terminal=entered <= lift.charged,
    )


@pytest.mark.claim("lemma:abbs", "backward_absorption")
def test_backward_absorption_on_a_triangle_and_on_a_chain_by_hand() -> None:
    x, lift = (2, 0), triangle()
    assert [mass(power(lift.kappa_b, n), x, lift.initial) for n in (1, 2, 3)] == [HALF, 1, 1]
    # The display that ends the printed proof for n >= N has kappa_B for kappa_B^n: 0 for 1.
    lift = chain()
    assert [mass(power(lift.kappa_b, n), x, lift.initial) for n in (1, 2, 3)] == [0, 1, 1]


@pytest.mark.claim("lemma:abbs", "backward_absorption")
def test_backward_absorption_step_by_step_on_every_small_dag(scope: Any) -> None:
    for lift in small_lifts():
        verdict, n = backward_absorption_lasts(lift), longest(lift.dag)
        assert verdict.applies
        assert verdict.conclusion
        for k in (n, n + 1):
            backward = power(lift.kappa_b, k)
            assert all(mass(backward, x, lift.initial) == 1 for x in lift.terminal)
        if n > 1:
            early = power(lift.kappa_b, n - 1)
            assert any(mass(early, x, lift.initial) < 1 for x in lift.terminal)
    scope(described())


@pytest.mark.claim("lemma:abbs", "backward_absorption")
def test_no_lift_satisfies_the_hypotheses_of_backward_absorption_and_not_its_conclusion(
    scope: Any,
) -> None:
    for lemma in (
        backward_absorption_at_horizon,
        backward_absorption_lasts,
        absorption_from_almost_every_terminal,
        absorption_from_every_terminal,
    ):
        check_never_refuted(lemma, mutated_lifts())
    scope(f"{len(mutated_lifts())} lifts with rows moved at random")


@pytest.mark.catches(
    "A taboo composition goes through the states that it should leave out.",
    "verify/lib/stochastic/kernels.py",
    "s: push(row if through is None else restrict(row, through), second)",
    "s: push(row, second)",
)
@pytest.mark.control("lemma:abbs")
def test_a_taboo_composition_loses_mass_so_that_a_step_of_the_printed_proof_fails() -> None:
    # From kappa_B^{o N}(x, S_o*) < 1 it infers kappa_B^{o N}(x, .) > 0 on the complement.
    lift = triangle()
    assert all(axioms(lift))
    assert horizon(lift) == 2
    assert power(lift.kappa_b, 2, through=lift.inner)[2, 0] == {(0, 0): HALF}
    assert power(lift.kappa_b, 2)[2, 0] == {(0, 0): ONE}


@pytest.mark.control("lemma:abbs", "backward_absorption")
def test_from_every_terminal_it_is_false_if_a_null_terminal_is_not_left() -> None:
    # kappa_B does not leave the null (x, 1) for S_o*.
    lift = build(
        {"o": "x", "x": ""},
        {"o": "x0", "x": "x0"},
        {"o": "o0 o1", "x0": "o0 o1", "x1": "x0"},
        {"o0": QUARTER, "o1": QUARTER, "x0": HALF},
        latents=(0, 1),
    )
    assert failing(lift) == ["full_support"]
    assert horizon(lift) == 1
    assert backward_absorption_lasts(lift).conclusion
    assert mass(lift.kappa_b, (1, 1), lift.initial) == 0
    check_fails_without(absorption_from_every_terminal, "avoids_terminals", lift)


@pytest.mark.control("lemma:abbs")
def test_absorbing_almost_surely_is_not_enough_without_absolute_continuity() -> None:
    lift = leaves_a_null_initial_state()
    assert failing(lift) == ["full_support", "absolute_continuity_b"]
    check_fails_without(
        absorption_from_almost_every_terminal, "absolutely continuous on S_o*", lift
    )
    assert horizon(lift) == 3
    x = (lift.dag.index["x"], 0)
    assert mass(power(lift.kappa_b, 3), x, lift.initial) == 3 * QUARTER


@pytest.mark.control("lemma:abbs", "backward_absorption")
def test_backward_absorption_and_its_lasting_need_each_hypothesis() -> None:
    for lemma in (backward_absorption_at_horizon, backward_absorption_lasts):
        check_fails_without(lemma, "duality", stuck_backward())
        check_fails_without(lemma, "forward_absorption", waiting())
        check_fails_without(lemma, "backward_absorption", backward_enters_x())
        check_fails_without(lemma, "absolute_continuity_b", leaves_a_null_initial_state())
    lift = stuck_backward()
    assert all(mass(power(lift.kappa_b, n), (2, 0), lift.initial) == 0 for n in range(1, 6))


@pytest.mark.control("backward_absorption")
def test_absorption_at_the_horizon_need_not_last_without_absolute_continuity() -> None:
    # kappa_B is in S_o* after N = 1 steps, and leaves it later by the null (o, 1).
    rows = {"o0": "o0 o1", "o1": "x0", "x": "o0"}
    lift = build({"o": "x", "x": ""}, {"o": "x0", "x": "x0"}, rows, "o0 x0", latents=(0, 1))
    check_fails_without(backward_absorption_lasts, "absolute_continuity_b", lift)
    assert horizon(lift) == 1
    assert backward_absorption_at_horizon(lift).conclusion
    powers = [power(lift.kappa_b, n) for n in (1, 2, 3)]
    assert [mass(kernel, (1, 0), lift.initial) for kernel in powers] == [1, 1, HALF]


@pytest.mark.control("lemma:abbs", "backward_absorption")
def test_on_every_small_dag_a_backward_chain_that_turns_back_is_not_absorbed() -> None:
    for lift in small_lifts():
        x = (lift.dag.terminals[-1], 0)
        stuck = replace(lift, kappa_b=with_row(lift.kappa_b, x, {x: ONE}))
        assert not backward_absorption_at_horizon(stuck).conclusion
        restless = replace(lift, kappa_b=with_row(lift.kappa_b, (0, 0), {x: ONE}))
        assert not backward_absorption_lasts(restless).conclusion
