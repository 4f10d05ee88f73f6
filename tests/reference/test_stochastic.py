"""What a stochastic lift refuses, and how its axioms are decided; its claims are in `verify`."""

from dataclasses import replace
from typing import Any

import pytest

from reference import InputError
from verify.lib.stochastic.axioms import axioms
from verify.lib.stochastic.kernels import Kernel, absorbed_after, power
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import CHAIN, FIFTH, HALF, ONE, Row, build, chain, law, with_row


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


def test_duality_does_not_speak_of_steps_into_the_initial_states() -> None:
    half_back: dict[str, Row] = {"o": "u0", "u": {"o0": HALF, "x0": HALF}, "x": "x0"}
    nu = {"o0": 2 * FIFTH, "u0": 2 * FIFTH, "x0": FIFTH}
    lift = build(CHAIN, half_back, {"o": "o0", "u": "o0", "x": "u0"}, nu)
    assert axioms(lift).duality
    assert not axioms(lift).forward_absorption


@pytest.mark.catches(
    "The step at which absorption is certain is counted from one.",
    "verify/lib/stochastic/kernels.py",
    "            return len(seen)\n",
    "            return len(seen) + 1\n",
)
def test_the_horizon_is_decided_even_where_absorption_comes_late_or_does_not_last() -> None:
    def cycle(*nodes: int) -> Kernel:
        return {(s, 0): {(t, 0): ONE} for s, t in zip(nodes, nodes[1:] + nodes[:1], strict=True)}

    # Cycles of 3 and 4 states: both are at their last state for the first time after 11 steps.
    kernel = {**cycle(0, 1, 2), **cycle(10, 11, 12, 13)}
    assert absorbed_after(kernel, {(0, 0), (10, 0)}, {(2, 0), (13, 0)}) == 11
    assert absorbed_after(kernel, {(0, 0), (1, 0)}, {(2, 0)}) is None
