"""lemma:abscty: taboo compositions on every small DAG, within cells and across them."""

from functools import partial
from typing import Any

import pytest

from verify.lib.stochastic.axioms import axioms, cells, is_nondegenerate
from verify.lib.stochastic.kernels import power, support
from verify.lib.stochastic.lemmas import compositions_are_nondegenerate
from verify.lib.stochastic_lifts import (
    CHAIN,
    build,
    chain,
    check_fails_without,
    check_never_refuted,
    copying_triangle,
    described,
    longest,
    mutated_lifts,
    small_lifts,
)


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
