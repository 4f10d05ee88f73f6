"""lemma:trajs, lemma:abscty: duality and taboo compositions along trajectories of small DAGs."""

from functools import partial
from typing import Any

import pytest

from verify.lib.stochastic.axioms import axioms, cells, duality_residuals, is_nondegenerate
from verify.lib.stochastic.kernels import power, support
from verify.lib.stochastic.lemmas import compositions_are_nondegenerate
from verify.lib.stochastic_lifts import (
    CHAIN,
    FIFTH,
    ONE,
    build,
    chain,
    check_fails_without,
    check_never_refuted,
    copying_triangle,
    described,
    longest,
    mutated_lifts,
    small_lifts,
    triangle,
    with_another_nu,
    wrong_nu,
)


@pytest.mark.claim("lemma:trajs")
def test_duality_of_the_two_trajectories_of_a_triangle_by_hand() -> None:
    lift = triangle()
    o, u, x = ((lift.dag.index[s], 0) for s in "oux")
    assert duality_residuals(lift, 1) == {(o, u): 0, (o, x): 0, (u, x): 0}
    assert duality_residuals(lift, 2) == {(o, u, x): 0}
    # nu(o) 1/2 1 = nu(x) 1/2 1.
    assert lift.nu[o] * lift.kappa_f[o][u] * lift.kappa_f[u][x] == FIFTH
    assert lift.nu[x] * lift.kappa_b[x][u] * lift.kappa_b[u][o] == FIFTH


@pytest.mark.claim("lemma:trajs")
@pytest.mark.parametrize("least", [0, 1])
def test_duality_holds_for_trajectories_on_every_small_dag(least: int, scope: Any) -> None:
    for lift in small_lifts(least):
        for n in range(1, longest(lift.dag) + 1):
            residuals = duality_residuals(lift, n)
            assert residuals or least == 0
            assert not any(residuals.values())
    scope(described(least))


@pytest.mark.claim("lemma:trajs")
def test_taboo_compositions_are_dual_on_every_small_dag() -> None:
    for lift in small_lifts():
        for n in (2, 3):
            forward = power(lift.kappa_f, n, through=lift.inner)
            backward = power(lift.kappa_b, n, through=lift.inner)
            ahead = {(s, t): lift.nu[s] * p for s in lift.initial for t, p in forward[s].items()}
            back = {
                (s, t): lift.nu[t] * p
                for t in lift.inner | lift.terminal
                for s, p in backward[t].items()
                if s in lift.initial
            }
            assert ahead == back


@pytest.mark.claim("lemma:trajs")
def test_duality_of_steps_is_all_that_is_needed(scope: Any) -> None:
    dual = 0
    for lift in mutated_lifts():
        if axioms(lift).duality:
            dual += 1
            assert not any(duality_residuals(lift, 2).values())
            assert not any(duality_residuals(lift, 3).values())
    assert 0 < dual < len(mutated_lifts())
    scope(f"{dual} lifts that keep (1) and break others")


@pytest.mark.control("lemma:trajs")
def test_with_another_nu_duality_fails_for_steps_and_for_trajectories() -> None:
    assert duality_residuals(wrong_nu(), 2) == {((0, 0), (1, 0), (2, 0)): ONE / 4}
    for wrong in map(with_another_nu, small_lifts()):
        assert any(duality_residuals(wrong, 1).values())
        assert any(duality_residuals(wrong, longest(wrong.dag)).values())


@pytest.mark.control("lemma:trajs")
def test_reached_by_kappa_f_is_not_reached_by_its_taboo_compositions_without_duality() -> None:
    # A terminal whose latent moves on: x1 is reached after x0, but not at the end of a trajectory.
    lift = build(
        {"o": "x", "x": ""},
        {"o": "x0", "x0": "x1", "x1": "x1"},
        {"o": "o0", "x": "o0"},
        "o0 x0 x1",
        latents=(0, 1),
    )
    assert axioms(lift).reachability
    assert not axioms(lift).duality
    assert power(lift.kappa_f, 2)[0, 0] == {(1, 1): ONE}
    assert all((1, 1) not in power(lift.kappa_f, k, through=lift.inner)[0, 0] for k in range(1, 4))


@pytest.mark.claim("lemma:abscty")
def test_compositions_are_nondegenerate_within_cells_on_every_small_dag(scope: Any) -> None:
    for lift in small_lifts():
        for n in range(1, longest(lift.dag) + 1):
            assert compositions_are_nondegenerate(lift, n).conclusion
    scope(described())


@pytest.mark.claim("lemma:abscty")
def test_no_lift_satisfies_the_hypotheses_of_nondegeneracy_and_not_its_conclusion(
    scope: Any,
) -> None:
    for n in (1, 2):
        check_never_refuted(partial(compositions_are_nondegenerate, n=n), mutated_lifts(1))
    scope(f"{len(mutated_lifts(1))} lifts with rows moved at random, n = 1, 2")


@pytest.mark.control("lemma:abscty")
def test_nondegeneracy_does_not_hold_on_a_union_of_two_cells() -> None:
    # kappa_B(u, .) charges o, hence the union of the cells of o and u, but not u.
    lift = chain()
    assert all(axioms(lift))
    assert all(compositions_are_nondegenerate(lift, n).conclusion for n in (1, 2))
    o, u = (cells(lift)[lift.dag.index[s]] for s in "ou")
    assert is_nondegenerate(lift.kappa_b, lift.nu, [o, u])
    assert not is_nondegenerate(lift.kappa_b, lift.nu, [o | u])


@pytest.mark.control("lemma:abscty")
def test_a_kernel_that_copies_latents_is_degenerate_within_cells() -> None:
    lift = copying_triangle()
    check_fails_without(partial(compositions_are_nondegenerate, n=2), "nondegeneracy", lift)
    x = (lift.dag.index["x"], 1)
    assert support(power(lift.kappa_b, 2, through=lift.inner)[x]) == {(0, 1)}


@pytest.mark.control("lemma:abscty")
def test_a_kernel_that_enters_a_null_state_is_not_absolutely_continuous() -> None:
    one_step = partial(compositions_are_nondegenerate, n=1)
    # kappa_B enters (u, 1), which is nu-null.
    backward = {"o": "o0", "u0": "o0", "u1": "o0", "x": "u0 u1"}
    forward = {"o": "u0", "u": "x0", "x": "x0"}
    lift = build(CHAIN, forward, backward, "o0 u0 x0", latents=(0, 1))
    check_fails_without(one_step, "absolute_continuity_b", lift)
