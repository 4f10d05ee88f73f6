"""The finite stochastic lift (def:cldag): its construction and its axioms."""

from dataclasses import replace
from typing import Any

import pytest

from reference import InputError
from reference.stochastic import StochasticLift
from reference.stochastic_axioms import Axioms, axioms, horizon, is_absorbing, printed_forms
from reference.stochastic_kernels import (
    ZERO,
    Kernel,
    absorbed_after,
    power,
    push,
    restrict,
    support,
)
from tests.stochastic_lifts import (
    CHAIN,
    FIFTH,
    HALF,
    ONE,
    QUARTER,
    SEEDS,
    SIXTH,
    THIRD,
    Row,
    build,
    build_forward,
    chain,
    law,
    longest,
    mass,
    random_lift,
    with_row,
)


def test_duality_forces_nu_and_the_backward_kernel_as_by_hand() -> None:
    rows: dict[str, Row] = {
        "o0": "x0",
        "o1": {"x0": THIRD, "x1": 2 * THIRD},
        "x0": "x0",
        "x1": "x1",
    }
    lift = build_forward({"o": "x", "x": ""}, rows)
    dag = lift.dag
    assert lift.nu == law(dag, {"o0": QUARTER, "o1": QUARTER, "x0": THIRD, "x1": SIXTH})
    assert lift.kappa_b[1, 0] == law(dag, {"o0": 3 * QUARTER, "o1": QUARTER})
    assert lift.kappa_b[1, 1] == law(dag, "o1")
    assert lift.kappa_b[0, 0] == lift.kappa_b[0, 1] == lift.initial_law


@SEEDS
def test_the_repaired_axioms_hold_for_positive_kernels(seed: int) -> None:
    lift = random_lift(seed)
    assert all(axioms(lift))
    assert horizon(lift) == longest(lift.dag)
    for t in lift.inner | lift.terminal:
        assert {lift.dag.labels[s] for s, _ in support(lift.kappa_b[t])} == {
            lift.dag.labels[u] for u, v in lift.dag.edges if v == t[0]
        }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"latents": ()}, "at least one"),
        ({"latents": (0, 0)}, "each of them once"),
        ({"kappa_f": {}}, "kappa_f has no row for the lifted state"),
        ({"kappa_b": {**chain().kappa_b, (7, 0): {}}}, r"kappa_b has a row for \(7, 0\)"),
        ({"kappa_f": with_row(chain().kappa_f, (0, 0), {(7, 0): ONE})}, r"mass on \(7, 0\)"),
        ({"kappa_f": with_row(chain().kappa_f, (0, 0), {(1, 0): HALF})}, "sums to 1/2, not to 1"),
        (
            {"kappa_b": with_row(chain().kappa_b, (1, 0), {(0, 0): 2 * ONE, (1, 0): -ONE})},
            "kappa_b gives .* use a Fraction >= 0",
        ),
        ({"nu": {(0, 0): 0.5, (1, 0): 0.5}}, "mass 0.5: use a Fraction"),
        ({"nu": {(0, 0): True}}, "mass True: use a Fraction"),
        ({"nu": {(0, 0): HALF}}, "nu sums to 1/2"),
        ({"nu": {(1, 0): ONE}}, "nu gives the initial states no mass"),
    ],
)
def test_a_lift_that_is_none_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(chain(), **change)


@pytest.mark.parametrize("row", [("o", "x0"), ("u", "u0"), ("u", "o0"), ("x", "u0")])
def test_a_forward_kernel_that_leaves_the_dag_is_refused(row: tuple[str, str]) -> None:
    dag = chain().dag
    kappa_f = with_row(chain().kappa_f, (dag.index[row[0]], 0), law(dag, row[1]))
    with pytest.raises(InputError, match="move along the edges of the DAG"):
        StochasticLift.from_forward(dag, (0,), kappa_f, {0: ONE})


def test_an_initial_law_on_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="initial has mass on"):
        StochasticLift.from_forward(chain().dag, (0,), chain().kappa_f, {"a": ONE})
    with pytest.raises(InputError, match="initial sums to 1/2"):
        StochasticLift.from_forward(chain().dag, (0,), chain().kappa_f, {0: HALF})
    with pytest.raises(InputError, match="n >= 1 times, not 0"):
        power(chain().kappa_f, 0)


# The axioms as printed contradict each other.


@SEEDS
def test_contradiction_a_printed_nondegeneracy_asks_the_backward_kernel_to_enter_x(
    seed: int,
) -> None:
    lift = random_lift(seed)
    assert not printed_forms(lift).nondegeneracy
    assert sum(restrict(lift.nu, lift.terminal).values()) > 0
    assert all(mass(lift.kappa_b, s, lift.terminal) == 0 for s in lift.charged)


def test_control_a_backward_kernel_that_enters_x_is_nondegenerate_as_printed() -> None:
    lift = random_lift(0)
    everywhere = replace(lift, kappa_b=dict.fromkeys(lift.states, lift.nu))
    assert printed_forms(everywhere).nondegeneracy
    assert not axioms(everywhere).backward_absorption


@SEEDS
def test_contradiction_b_the_empty_set_and_the_initial_states_are_not_reached(seed: int) -> None:
    lift = random_lift(seed)
    assert not printed_forms(lift).reachability
    assert axioms(lift).reachability
    for k in range(1, 5):
        arrived = push(lift.initial_law, power(lift.kappa_f, k))
        assert not support(arrived) & lift.initial


@SEEDS
def test_contradiction_c_the_initial_states_are_not_the_only_absorbing_set(seed: int) -> None:
    lift = random_lift(seed)
    assert not printed_forms(lift).only_absorbing_set
    for absorbing in (lift.initial, lift.initial | lift.inner, lift.states, frozenset[Any]()):
        assert is_absorbing(lift.kappa_b, lift.nu, absorbing)
    assert not is_absorbing(lift.kappa_b, lift.nu, lift.terminal)


def test_control_each_axiom_can_be_broken() -> None:
    lift = random_lift(2)
    (s_o, x), u = ((0, 0), (lift.dag.terminals[0], 0)), min(lift.inner)
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
    assert tuple(broken) == Axioms._fields
    for name, lifts in broken.items():
        assert not any(getattr(axioms(wrong), name) for wrong in lifts)


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
def test_control_each_clause_of_forward_absorption_can_be_broken_alone(
    children: dict[str, str], kappa_f: dict[str, Row], charged: str
) -> None:
    backward = dict.fromkeys(children, "o0")
    nu = {s + "0": ONE / len(charged) for s in charged}
    latents = (0, 1) if "x1" in kappa_f else (0,)
    lift = build(children, kappa_f, backward, nu, latents)
    assert not axioms(lift).forward_absorption
    assert axioms(lift).backward_absorption


def test_duality_does_not_speak_of_steps_into_the_initial_states() -> None:
    half_back: dict[str, Row] = {"o": "u0", "u": {"o0": HALF, "x0": HALF}, "x": "x0"}
    nu = {"o0": 2 * FIFTH, "u0": 2 * FIFTH, "x0": FIFTH}
    lift = build(CHAIN, half_back, {"o": "o0", "u": "o0", "x": "u0"}, nu)
    assert axioms(lift).duality
    assert not axioms(lift).forward_absorption


def test_the_horizon_is_decided_even_where_absorption_comes_late_or_does_not_last() -> None:
    def cycle(*nodes: int) -> Kernel:
        return {(s, 0): {(t, 0): ONE} for s, t in zip(nodes, nodes[1:] + nodes[:1], strict=True)}

    # Cycles of 3 and 4 states: both are at their last state for the first time after 11 steps.
    kernel = {**cycle(0, 1, 2), **cycle(10, 11, 12, 13)}
    assert absorbed_after(kernel, {(0, 0), (10, 0)}, {(2, 0), (13, 0)}) == 11
    assert absorbed_after(kernel, {(0, 0), (1, 0)}, {(2, 0)}) is None
