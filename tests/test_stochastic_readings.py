"""The examples that decide how def:cldag and its lemmas must be read."""

from dataclasses import replace

from reference.stochastic_axioms import axioms, cells, horizon, is_nondegenerate
from reference.stochastic_kernels import power, support
from reference.stochastic_lemmas import backward_absorption_lasts, compositions_are_nondegenerate
from tests.stochastic_lifts import (
    HALF,
    ONE,
    QUARTER,
    THIRD,
    build,
    build_forward,
    fork,
    leaves_a_null_initial_state,
    leaves_a_null_terminal,
    mass,
    stuck_backward,
    with_row,
)


def test_a_null_terminal_that_is_left_breaks_absorption_after_it_happened() -> None:
    lift = leaves_a_null_terminal()
    false = [name for name, holds in axioms(lift)._asdict().items() if not holds]
    assert false == ["full_support", "absolute_continuity_f"]
    assert horizon(lift) == 1
    assert mass(power(lift.kappa_f, 1), (0, 1), lift.terminal) == 1
    assert mass(power(lift.kappa_f, 2), (0, 1), lift.terminal) == 0


def test_taboo_compositions_are_sub_stochastic_so_a_step_of_the_printed_proof_fails() -> None:
    # From kappa_B^{o N}(x, S_o*) < 1 it infers kappa_B^{o N}(x, .) > 0 on the complement.
    lift = fork()
    x = (lift.dag.index["x"], 0)
    assert all(axioms(lift))
    assert horizon(lift) == 2
    assert power(lift.kappa_b, 2, through=lift.inner)[x] == {}
    assert power(lift.kappa_b, 2)[x] == {(0, 0): ONE}


def test_one_backward_step_does_not_absorb_where_two_do() -> None:
    # The printed proof for n >= N ends in kappa_B(x*, S_o*) = 1 instead of kappa_B^n(x*, S_o*).
    lift = fork()
    y = (lift.dag.index["y"], 0)
    assert mass(lift.kappa_b, y, lift.initial) == 0
    assert mass(power(lift.kappa_b, 2), y, lift.initial) == 1


def test_backward_absorption_from_every_terminal_needs_full_support() -> None:
    lift = build(
        {"o": "x", "x": ""},
        {"o": "x0", "x": "x0"},
        {"o": {"o0": HALF, "o1": HALF}, "x0": {"o0": HALF, "o1": HALF}, "x1": "x0"},
        {"o0": QUARTER, "o1": QUARTER, "x0": HALF},
        latents=(0, 1),
    )
    false = [name for name, holds in axioms(lift)._asdict().items() if not holds]
    assert false == ["full_support"]
    assert horizon(lift) == 1
    assert backward_absorption_lasts(lift).conclusion
    assert mass(lift.kappa_b, (1, 1), lift.initial) == 0


def test_absorbing_almost_surely_is_not_enough_without_absolute_continuity() -> None:
    lift = leaves_a_null_initial_state()
    false = [name for name, holds in axioms(lift)._asdict().items() if not holds]
    assert false == ["full_support", "absolute_continuity_b"]
    x = (lift.dag.index["x"], 0)
    assert horizon(lift) == 3
    assert mass(power(lift.kappa_b, 3), x, lift.initial) == HALF


def test_duality_cannot_be_dropped_from_backward_absorption() -> None:
    lift = stuck_backward()
    assert all(mass(power(lift.kappa_b, n), (2, 0), lift.initial) == 0 for n in range(1, 6))


def test_nondegeneracy_holds_on_cells_and_not_on_unions_of_cells() -> None:
    lift = fork()
    assert all(compositions_are_nondegenerate(lift, n).conclusion for n in (1, 2))
    o, u = (cells(lift)[lift.dag.index[s]] for s in "ou")
    assert is_nondegenerate(lift.kappa_b, lift.nu, [o, u])
    assert not is_nondegenerate(lift.kappa_b, lift.nu, [o | u])


def test_reached_by_kappa_f_is_not_reached_by_its_taboo_compositions() -> None:
    # A terminal whose latent moves on: x1 is reached after x0, but not at the end of a trajectory.
    lift = build(
        {"o": "x", "x": ""},
        {"o": "x0", "x0": "x1", "x1": "x1"},
        {"o": "o0", "x": "o0"},
        {"o0": THIRD, "x0": THIRD, "x1": THIRD},
        latents=(0, 1),
    )
    assert axioms(lift).reachability
    assert not axioms(lift).duality
    assert power(lift.kappa_f, 2)[0, 0] == {(1, 1): ONE}
    assert all((1, 1) not in power(lift.kappa_f, k, through=lift.inner)[0, 0] for k in range(1, 4))


def test_on_lines_the_backward_kernel_enters_the_previous_point() -> None:
    # The paper's example has kappa_B((p_i, w), .) on {p_i} x Omega, which duality contradicts.
    fair = {
        "p": {"x0": QUARTER, "x1": QUARTER, "q0": QUARTER, "q1": QUARTER},
        "q": {"y0": QUARTER, "y1": QUARTER, "r0": QUARTER, "r1": QUARTER},
        **{s: {"z0": HALF, "z1": HALF} for s in "rz"},
        **{s: {s + "0": HALF, s + "1": HALF} for s in "xy"},
    }
    lift = build_forward({"p": "xq", "q": "yr", "r": "z", "x": "", "y": "", "z": ""}, fair)
    dag = lift.dag
    entered = {
        dag.labels[t]: {dag.labels[s] for s, _ in support(lift.kappa_b[t, 0])} for t in range(1, 6)
    }
    assert entered == {"q": {"p"}, "r": {"q"}, "x": {"p"}, "y": {"q"}, "z": {"r"}}
    printed = with_row(lift.kappa_b, (dag.index["q"], 0), {(dag.index["q"], 0): ONE})
    assert not axioms(replace(lift, kappa_b=printed)).duality
