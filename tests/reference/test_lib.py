"""The models and compilation of `verify/lib`: what they give by hand, and what they refuse."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import FLOAT64, RATIONAL, TooLargeError, marginal, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.problems import Lines
from reference.problems.graphs import EdgeAddition, graph
from tests.command_lines import python
from tests.refusals import refused, refuses, whole
from verify.lib.attainable import Interval, attainable
from verify.lib.gnn import Memory, PrintedTemporalDegree, TemporalDegree, symmetries, wl_policies
from verify.lib.linear import LinearLines, Parameters, law_from_odds, solve
from verify.lib.linear_policy import LinearDynamics, linear_policy
from verify.lib.named_dags import FORK
from verify.lib.stochastic.axioms import axioms
from verify.lib.stochastic.gaussian import (
    Component,
    Floats,
    GaussianForward,
    GaussianTarget,
    balanced_lines,
    log_tb_residual,
    terminal_law,
)
from verify.lib.stochastic.kernels import Kernel, absorbed_after, power
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import CHAIN, FIFTH, HALF, ONE, Row, build, chain, law, with_row

# Class 0 leads from o to s, class 1 from s to y.
TURN = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})
TURNING = TiedPolicies(TURN, (0, 1, 1, 0))


def test_a_policy_has_the_weights_of_its_classes() -> None:
    assert TURNING.count == 2
    assert TURNING.row(0) == TURNING.row(1) == (0, 1)
    assert TURNING.separates(0)
    assert not TiedPolicies(TURN, (0, 0, 1, 2)).separates(0)
    w = Fraction(3, 4)
    assert [TURN.labels[x] for x in TURN.terminals] == ["x", "y", "z"]
    assert marginal(TURNING.policy([Fraction(3), Fraction(1)])) == (1 - w, w * (1 - w), w * w)


def test_distance_is_to_the_closed_interval() -> None:
    interval = Interval(Fraction(1, 4), Fraction(3, 4))
    distances = [interval.distance(Fraction(n, 8)) for n in (0, 2, 4, 6, 7)]
    assert distances == [Fraction(1, 4), 0, 0, 0, Fraction(1, 8)]


def rows(*entries: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(Fraction, row)) for row in entries)


def test_the_linear_algebra_of_linear_policies_by_hand() -> None:
    odds = law_from_odds([Fraction(2), Fraction(1, 3), Fraction(5)])
    assert odds == (Fraction(1, 3), Fraction(1, 2), Fraction(1, 36), Fraction(5, 36))
    matrix = rows([1, 2], [3, 4], [5, 6])
    assert solve(matrix, [Fraction(5), Fraction(11), Fraction(17)]) == (1, 2)
    assert solve(matrix, [Fraction(5), Fraction(11), Fraction(18)]) is None


def test_dynamics_start_without_memory_in_the_empty_graph() -> None:
    assert TemporalDegree(EdgeAddition.minimal()).initial == Memory((Fraction(0),) * 6, graph([]))


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


BALANCED = balanced_lines(Lines.laplaces(3, 2))


def fair(u: int, w: Floats) -> Floats:
    return np.full((2, *w.shape), 0.5)


def walk(v: int, w: Floats) -> tuple[Floats, Floats]:
    return w, np.ones_like(w)


def twice(u: int, w: Floats) -> Floats:
    return 2 * fair(u, w)


def fork(**changed: Any) -> GaussianForward:
    parts: dict[str, Any] = {"start": (Component(1.0, 0.0, 1.0),), "choice": fair, "step": walk}
    return GaussianForward(FORK, **(parts | changed))


@pytest.mark.parametrize("half_width", [4.0, 6.0, 9.0])
@pytest.mark.parametrize("points", [25, 41, 61, 121, 401])
def test_the_error_of_a_quadrature_is_below_the_one_stated(half_width: float, points: int) -> None:
    if half_width * 4 / (points - 1) > 0.8:
        refused("give more points", terminal_law, BALANCED.forward, half_width, points)
        return
    quadrature = terminal_law(BALANCED.forward, half_width, points)
    rewards = np.array(BALANCED.target.rewards)
    true = np.abs(quadrature.probabilities - rewards / rewards.sum()).sum()
    # Not below rounding, which the difference of two roundings need not show.
    assert true <= quadrature.error + 1e-13


def test_refining_the_points_or_widening_the_interval_shrinks_the_error() -> None:
    settings = ((4.0, 201), (7.0, 201), (12.0, 401))
    errors = [terminal_law(BALANCED.forward, *at).error for at in settings]
    assert errors[0] > 100 * errors[1] > 100**2 * errors[2]
    assert errors[2] < 1e-12


def test_the_law_is_that_of_samples() -> None:
    # A policy without a closed form: stop at p_i where the latent, a random walk, is positive.
    dag = BALANCED.forward.dag

    def choice(u: int, w: Floats) -> Floats:
        stop = 1 / (1 + np.exp(-3 * w))
        rest = len(dag.children[u]) - 1
        return np.stack([stop, *[(1 - stop) / rest] * rest]) if rest else np.ones((1, *w.shape))

    forward = replace(BALANCED.forward, choice=choice, step=walk)
    exact = terminal_law(forward, 16.0, 401)
    assert exact.error < 1e-9
    rng, samples = np.random.default_rng(0), 40_000
    counts = np.zeros(len(dag.labels))
    at = np.zeros(samples, int)
    weights, means, scales = np.array(forward.start).T
    part = rng.choice(len(weights), samples, p=weights)
    w = rng.normal(means[part], scales[part])
    for u, row in enumerate(dag.children):
        here = np.flatnonzero(at == u)
        counts[u] = len(here)
        if row:
            below = forward.choice(u, w[here]).cumsum(0)
            moved = (below < rng.random(len(here))).sum(0).clip(max=len(row) - 1)
            at[here] = np.array(row)[moved]
            w[here] += rng.normal(size=len(here))
    expected = np.array(exact.probabilities) * samples
    # Chi-square with three degrees of freedom exceeds 25 with probability 1.6e-5.
    assert ((counts[list(dag.terminals)] - expected) ** 2 / expected).sum() < 25


def gated(value: Any, dynamics: Any) -> object:
    """The policies of a graph network with that gate at every graph."""
    problem = EdgeAddition.matching()
    return wl_policies(problem, dynamics(problem, lambda _: value))


def changed(**parts: Any) -> StochasticLift:
    """The lift of a chain with another part."""
    return replace(chain(), **parts)


def moved(kind: str, start: Any, row: Any) -> StochasticLift:
    """The lift of a chain with another row of a kernel."""
    return changed(**{kind: with_row(getattr(chain(), kind), start, row)})


def from_forward(initial: Any, start: str = "", end: str = "") -> object:
    """A lift of the chain by its forward kernel, which moves from `start` to `end`."""
    dag, kernel = chain().dag, chain().kappa_f
    if start:
        kernel = with_row(kernel, (dag.index[start], 0), law(dag, end))
    return StochasticLift.from_forward(dag, (0,), kernel, initial)


def lines_policy(length: int, entries: int, field: Any = FLOAT64) -> object:
    """A linear policy on Lines of four embeddings."""
    one = (Fraction(1),)
    dynamics = LinearDynamics((one,) * 4, Parameters(one, one, one))
    b = (Fraction(1), Fraction(2), Fraction(3))[:entries]
    return linear_policy(Lines.laplaces(length, 2), dynamics, b, field)


NOT_UNIQUE = LinearLines(rows([1, 1], [4, -4], [-4, -4], [-5, -3], [-3, 1]))
ODDS = [Fraction(o) for o in (0, 32, 32, 58, 14)]
NEGATIVE = {(0, 0): 2 * ONE, (1, 0): -ONE}
STILL = (
    fork(step=lambda v, w: (w, 0 * w)),
    lambda u, v, w: (w, 1 + 0 * w),
    GaussianTarget((1.0, 1.0)),
)
Case = tuple[Callable[[], object], str]
REFUSED: list[Case] = [
    *(
        (lambda v=v, d=d: gated(v, d), r"the gate at \[.*\] is .* must be a Fraction in")
        for v in (0.5, True, Fraction(0), Fraction(3, 2), float("nan"))
        for d in (TemporalDegree, PrintedTemporalDegree)
    ),
    (
        lambda: wl_policies(EdgeAddition.matching(), TemporalDegree(EdgeAddition.paper())),
        "build the dynamics from the same problem",
    ),
    (lambda: attainable(TURNING, "s"), "'s' is not a terminal"),
    (lambda: NOT_UNIQUE.interaction_coefficients(ODDS), "not unique"),
    (lambda: lines_policy(3, 2), "2 entries of b .* give 3"),
    (lambda: lines_policy(5, 3), "4 embeddings .* give 6"),
    (lambda: lines_policy(3, 3, RATIONAL), "exponential .* not a rational"),
    (lambda: LinearLines(()), "LinearLines"),
    (lambda: LinearLines(((),)), "LinearLines"),
    (lambda: LinearLines(((ONE,), ())), "LinearLines"),
    (lambda: changed(latents=()), "at least one"),
    (lambda: changed(latents=(0, 0)), "each of them once"),
    (lambda: changed(kappa_f={}), "kappa_f has no row for the lifted state"),
    (lambda: moved("kappa_b", (7, 0), {}), r"kappa_b has a row for \(7, 0\)"),
    (lambda: moved("kappa_f", (0, 0), {(7, 0): ONE}), r"mass on \(7, 0\)"),
    (lambda: moved("kappa_f", (0, 0), {(1, 0): HALF}), "sums to 1/2, not to 1"),
    (lambda: moved("kappa_b", (1, 0), NEGATIVE), "kappa_b gives .* use a Fraction >= 0"),
    (lambda: changed(nu={(0, 0): 0.5, (1, 0): 0.5}), "mass 0.5: use a Fraction"),
    (lambda: changed(nu={(0, 0): True}), "mass True: use a Fraction"),
    (lambda: changed(nu={(0, 0): HALF}), "nu sums to 1/2"),
    (lambda: changed(nu={(1, 0): ONE}), "nu gives the initial states no mass"),
    *(
        (lambda s=s, t=t: from_forward({0: ONE}, s, t), "along the edges of the DAG")
        for s, t in (("o", "x0"), ("u", "u0"), ("u", "o0"), ("x", "u0"))
    ),
    (lambda: from_forward({"a": ONE}), "initial has mass on"),
    (lambda: from_forward({0: HALF}), "initial sums to 1/2"),
    (lambda: power(chain().kappa_f, 0), "n >= 1 times, not 0"),
    (lambda: GaussianTarget((1.0,), variance=0.0), "Lambda is 0.0, which is not positive"),
    (lambda: GaussianTarget((0.0,)), "a reward is 0.0"),
    (lambda: fork(start=(Component(1.0, 0.0, 0.0),)), "the scale of the start is 0.0"),
    (lambda: fork(start=(Component(0.5, 0.0, 1.0),)), "make them non-negative with sum 1"),
    (lambda: terminal_law(fork(), 8.0, 200), "an odd number of points"),
    (lambda: terminal_law(fork(), -1.0, 201), "a positive width"),
    (lambda: terminal_law(fork(), 200.0, 201), "every other point is taken, 4 apart"),
    (lambda: terminal_law(fork(choice=twice), 8.0), "is no law at every"),
    (lambda: terminal_law(fork(choice=lambda u, w: w), 8.0), "choice at node 0 has shape"),
    (
        lambda: log_tb_residual(*STILL, 0.0, (0, 1), [np.zeros(3), np.zeros(3)]),
        "the scale of the step to node 1 is 0.0 somewhere",
    ),
]
TOO_LARGE: list[Case] = [
    (lambda: symmetries(EdgeAddition.minimal(), max_nodes=3), "relabellings of at most 3"),
    (lambda: attainable(TURNING, "x", max_beliefs=2), "more than 2 beliefs"),
]


test_a_mistake_is_refused_in_these_words = refuses(whole, *REFUSED)
test_what_is_too_large_is_refused_in_these_words = refuses(whole, *TOO_LARGE, kind=TooLargeError)


# Compiles programs; says how many memory maps they take, and how many remain when forgotten: if
# they take more than is allowed, and, the control, if they take less.
COUNTS = """
import jax, jax.numpy as jnp
from pathlib import Path
from verify.lib import compilation

def maps():
    return Path("/proc/self/maps").read_bytes().count(b"\\n")

jnp.ones(3).block_until_ready()
before = maps()
kept = [jax.jit(lambda x, i=i: x * i + 1) for i in range(60)]
[function(jnp.ones(3)) for function in kept]
print(maps() - before)
for above in (100.0, 0.0):
    compilation.forget_programs(above)
    print(maps() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="only Linux tells memory maps")
def test_programs_are_forgotten_where_they_take_too_much_and_kept_where_not() -> None:
    compiled, kept, left = map(int, python("-c", COUNTS).stdout.split())
    assert kept == compiled > 100
    assert left < 100
