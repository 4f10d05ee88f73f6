"""The models and compilation of `verify/lib`: their values by hand."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import marginal, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.problems import Lines
from reference.problems.graphs import EdgeAddition, graph
from tests.command_lines import python
from verify.lib.attainable import Interval
from verify.lib.gnn import Memory, TemporalDegree
from verify.lib.linear import law_from_odds, solve
from verify.lib.stochastic.axioms import axioms
from verify.lib.stochastic.gaussian import Floats, balanced_lines, terminal_law
from verify.lib.stochastic.kernels import Kernel, absorbed_after
from verify.lib.stochastic_lifts import CHAIN, FIFTH, HALF, ONE, Row, build

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


@pytest.mark.parametrize("half_width", [4.0, 6.0, 9.0])
@pytest.mark.parametrize("points", [25, 41, 61, 121, 401])
def test_the_error_of_a_quadrature_is_below_the_one_stated(half_width: float, points: int) -> None:
    # Coarser steps are above the smallest scale.
    points = max(points, round(half_width * 4 / 0.8) | 1)
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

    def walk(v: int, w: Floats) -> tuple[Floats, Floats]:
        return w, np.ones_like(w)

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
