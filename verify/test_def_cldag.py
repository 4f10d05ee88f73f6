"""def:cldag: the axioms as programs, on kernels on every small DAG, and each of them broken."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from reference import pointed_dag
from verify.lib.stochastic.axioms import Axioms, axioms, horizon, is_absorbing, printed_forms
from verify.lib.stochastic.kernels import ZERO, closure, power, push, restrict, support
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    HALF,
    ONE,
    QUARTER,
    SIXTH,
    THIRD,
    TRIANGLE,
    Row,
    build,
    described,
    failing,
    law,
    longest,
    mass,
    mutated_lifts,
    small_lifts,
    with_row,
)


@pytest.mark.claim("def:cldag", "forced-visit-measure")
def test_a_lift_by_hand_satisfies_the_repaired_axioms() -> None:
    rows: dict[str, Row] = {"o0": "x0", "o1": {"x0": THIRD, "x1": 2 * THIRD}}
    fair = {"x0": HALF, "x1": HALF}
    lift = build({"o": "x", "x": ""}, {**rows, "x": fair}, latents=(0, 1))
    dag = lift.dag
    assert lift.nu == law(dag, {"o0": QUARTER, "o1": QUARTER, "x0": THIRD, "x1": SIXTH})
    assert lift.kappa_b[1, 0] == law(dag, {"o0": 3 * QUARTER, "o1": QUARTER})
    assert lift.kappa_b[1, 1] == law(dag, "o1")
    assert lift.kappa_b[0, 0] == lift.kappa_b[0, 1] == lift.initial_law
    # The backward row of (x, 1) charges half of a cell, since (o, 0) never moves there.
    assert failing(lift) == ["nondegeneracy"]
    everywhere = build({"o": "x", "x": ""}, {**rows, "o0": fair, "x": fair}, latents=(0, 1))
    assert all(axioms(everywhere))


@pytest.mark.claim("def:cldag")
def test_positive_kernels_on_every_small_dag_satisfy_the_repaired_axioms(scope: Any) -> None:
    for lift in small_lifts():
        assert all(axioms(lift))
        assert horizon(lift) == longest(lift.dag)
        for t in lift.inner | lift.terminal:
            parents = {u for u, v in lift.dag.edges if v == t[0]}
            assert {s for s, _ in support(lift.kappa_b[t])} == parents
    scope(described())


@pytest.mark.claim("def:cldag")
def test_three_printed_axioms_fail_on_all_of_these(scope: Any) -> None:
    for lift in small_lifts():
        printed = printed_forms(lift)
        assert not any(printed)
        # (A) Every charged row would have to enter the terminals, and none does.
        assert sum(restrict(lift.nu, lift.terminal).values()) > 0
        assert all(mass(lift.kappa_b, s, lift.terminal) == 0 for s in lift.charged)
        # (B) No step enters S_o*; with k = 0 allowed, each non-empty set is reached.
        for k in range(1, longest(lift.dag) + 1):
            arrived = push(lift.initial_law, power(lift.kappa_f, k))
            assert not support(arrived) & lift.initial
        assert closure(lift.kappa_f, lift.initial) == lift.states
        # (C) There are absorbing sets besides S_o*; the least one is S_o*.
        for absorbing in (lift.initial, lift.initial | lift.inner, lift.states):
            assert is_absorbing(lift.kappa_b, lift.nu, absorbing)
        assert not is_absorbing(lift.kappa_b, lift.nu, lift.terminal)
        assert all(closure(lift.kappa_b, {s}) >= lift.initial for s in lift.states)
    scope("contradictions on the same")


@pytest.mark.claim("def:cldag")
def test_no_lift_satisfies_2_4_6_and_the_printed_7_but_any_three_are_satisfied(scope: Any) -> None:
    # All kernels with entries in {0, 1/2, 1} on one edge, no choice of latent.
    dag = pointed_dag({"o": ["x"], "x": []})
    rows = [law(dag, row) for row in ("o0", "x0", {"o0": HALF, "x0": HALF})]
    measures = [rows[0], rows[2], law(dag, {"o0": THIRD, "x0": 2 * THIRD})]
    seen = set()
    for o_f, x_f, o_b, x_b, nu in product(rows, rows, rows, rows, measures):
        forward, backward = {(0, 0): o_f, (1, 0): x_f}, {(0, 0): o_b, (1, 0): x_b}
        lift = StochasticLift(dag, (0,), forward, backward, nu)
        holds = axioms(lift)
        seen.add(
            (
                holds.forward_absorption,
                holds.backward_absorption,
                holds.absolute_continuity_f and holds.absolute_continuity_b,
                printed_forms(lift).nondegeneracy,
            )
        )
    assert {row.index(False) for row in seen if sum(row) == 3} == {0, 1, 2, 3}
    assert (True, True, True, True) not in seen
    for lift in mutated_lifts():
        holds = axioms(lift)
        assert not (
            holds.forward_absorption
            and holds.backward_absorption
            and holds.absolute_continuity_f
            and printed_forms(lift).nondegeneracy
        )
    scope(
        "all 243 kernels of entries 0, 1/2, 1 on one edge; "
        f"{len(mutated_lifts())} lifts with rows moved"
    )


@pytest.mark.control("def:cldag")
def test_a_backward_kernel_that_enters_x_is_nondegenerate_as_printed() -> None:
    for lift in small_lifts():
        everywhere = replace(lift, kappa_b=dict.fromkeys(lift.states, lift.nu))
        assert printed_forms(everywhere).nondegeneracy
        assert not axioms(everywhere).backward_absorption


@pytest.mark.control("def:cldag")
def test_each_axiom_can_be_broken() -> None:
    fair = {"o": "ux", "u": "x", "x": "x"}
    rows = {s: {t + w: HALF / len(to) for t in to for w in "01"} for s, to in fair.items()}
    lift = build(TRIANGLE, rows, latents=(0, 1))
    s_o, u, x = ((lift.dag.index[s], 0) for s in "oux")
    stay = {s: {s: ONE} for s in lift.states}
    moved = {**lift.nu, s_o: lift.nu[s_o] / 2, u: lift.nu[u] + lift.nu[s_o] / 2}
    nowhere = {**lift.nu, s_o: lift.nu[s_o] + lift.nu[u], u: ZERO}
    broken = {
        "duality": [replace(lift, nu=moved)],
        "forward_absorption": [
            replace(lift, kappa_f=with_row(lift.kappa_f, s, row))
            for s, row in ((u, stay[u]), (x, stay[u]), (x, stay[s_o]))
        ],
        "reachability": [replace(lift, kappa_f=stay)],
        "backward_absorption": [
            replace(lift, kappa_b=with_row(lift.kappa_b, s, row))
            for s, row in ((s_o, stay[u]), (u, stay[x]))
        ],
        "full_support": [replace(lift, nu=nowhere)],
        "absolute_continuity_f": [replace(lift, nu=nowhere)],
        "absolute_continuity_b": [replace(lift, nu=nowhere)],
        "nondegeneracy": [replace(lift, kappa_b=stay)],
    }
    assert all(axioms(lift))
    assert tuple(broken) == Axioms._fields
    for name, lifts in broken.items():
        assert not any(getattr(axioms(wrong), name) for wrong in lifts)


@pytest.mark.control("def:cldag")
@pytest.mark.parametrize(
    ("children", "kappa_f", "charged"),
    [
        # A null state that is never left for X*.
        ({"o": "xu", "u": "x", "x": ""}, {"o": "x0", "u": "u0", "x": "x0"}, "ox"),
        # A terminal that moves to another one.
        (
            {"o": "xy", "x": "", "y": ""},
            {"o": {"x0": HALF, "y0": HALF}, "x": "x0", "y": "x0"},
            "oxy",
        ),
        # A null terminal that moves back to the start.
        ({"o": "x", "x": ""}, {"o": "x0", "x0": "x0", "x1": "o0"}, "ox"),
    ],
)
def test_each_clause_of_forward_absorption_can_be_broken_alone(
    children: dict[str, str], kappa_f: dict[str, Row], charged: str
) -> None:
    backward = dict.fromkeys(children, "o0")
    nu = {s + "0": ONE / len(charged) for s in charged}
    latents = (0, 1) if "x1" in kappa_f else (0,)
    lift = build(children, kappa_f, backward, nu, latents)
    assert not axioms(lift).forward_absorption
    assert axioms(lift).backward_absorption
