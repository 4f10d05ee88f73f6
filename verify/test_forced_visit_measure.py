"""The measure of visits, and which axioms the lemmas need."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import PointedDAG
from verify.lib import strategies
from verify.lib.stochastic.axioms import axioms, duality_residuals
from verify.lib.stochastic.kernels import ZERO, power, push, restrict
from verify.lib.stochastic.lemmas import (
    backward_absorption_lasts,
    forward_absorption_lasts,
    nu_is_forced,
)
from verify.lib.stochastic_lifts import (
    FIFTH,
    HALF,
    QUARTER,
    THIRD,
    backward_enters_x,
    check_fails_without,
    check_never_refuted,
    described,
    longest,
    mutated_lifts,
    random_lift,
    small_lifts,
    triangle,
    waiting,
    with_another_nu,
    wrong_nu,
)


@pytest.mark.claim("forced-visit-measure")
@pytest.mark.parametrize("least", [0, 1])
def test_nu_is_the_sum_of_taboo_compositions_on_every_small_dag(least: int, scope: Any) -> None:
    # Two visits per trajectory of one step and three per one of two: 5/2 on average.
    assert [triangle().nu[s, 0] for s in range(3)] == [2 * FIFTH, FIFTH, 2 * FIFTH]
    for lift in small_lifts(least):
        start = restrict(lift.nu, lift.initial)
        total = dict.fromkeys(lift.states - lift.initial, ZERO)
        for k in range(1, longest(lift.dag) + 1):
            for s, p in push(start, power(lift.kappa_f, k, through=lift.inner)).items():
                total[s] += p
        assert total == {s: lift.nu.get(s, ZERO) for s in total}
        assert axioms(lift).reachability
    scope(described(least))


@pytest.mark.claim("forced-visit-measure")
def test_no_lift_satisfies_1_2_4_and_not_forced_nu_or_reachability(scope: Any) -> None:
    check_never_refuted(nu_is_forced, mutated_lifts())
    applied = [lift for lift in mutated_lifts() if nu_is_forced(lift).applies]
    assert all(axioms(lift).reachability for lift in applied)
    assert any(not axioms(lift).nondegeneracy for lift in applied)
    scope(f"{len(mutated_lifts())} lifts with rows moved, {len(applied)} of which satisfy them")


@pytest.mark.claim(
    "lemma:abs", "lemma:trajs", "lemma:abbs", "backward_absorption", "forced-visit-measure"
)
@given(strategies.pointed_dags(4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_lemmas_hold_for_one_to_three_latents(
    dag: PointedDAG[int], size: int, rng: random.Random
) -> None:
    lift = random_lift(rng, dag, least=0, size=size)
    assert not any(duality_residuals(lift, 2).values())
    assert nu_is_forced(lift).conclusion
    for lemma in (forward_absorption_lasts, backward_absorption_lasts):
        verdict = lemma(lift)
        assert verdict.conclusion or not verdict.applies


@pytest.mark.control("forced-visit-measure")
def test_for_another_nu_no_kernel_is_dual() -> None:
    # Duality would make nu(s) kappa_F(s, t) / nu(t), summed over s, a probability.
    for wrong in map(with_another_nu, small_lifts()):
        inflow = push(restrict(wrong.nu, wrong.initial | wrong.inner), wrong.kappa_f)
        assert any(inflow[t] != wrong.nu[t] for t in wrong.inner | wrong.terminal)
        assert not nu_is_forced(wrong).conclusion


@pytest.mark.control("forced-visit-measure")
def test_nu_is_not_forced_without_one_of_the_three_axioms() -> None:
    check_fails_without(nu_is_forced, "duality", wrong_nu())
    check_fails_without(nu_is_forced, "forward_absorption", waiting())
    check_fails_without(nu_is_forced, "backward_absorption", backward_enters_x())
    # Duality alone would have nu(o) = nu(u) in the first, nu(o) = nu(x) in the second; in the
    # third the chain visits u twice on average, but no N bounds the number of visits.
    assert [wrong_nu().nu[s, 0] for s in (0, 1)] == [HALF, QUARTER]
    assert [backward_enters_x().nu[s, 0] for s in (0, 1)] == [THIRD, 2 * THIRD]
    assert [waiting().nu[s, 0] for s in (0, 1)] == [QUARTER, HALF]
