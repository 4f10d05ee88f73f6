"""fixed_length_loss, lines_latents: kernels on every small DAG; Lines with latents in R."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from reference import PointedDAG
from reference.problems import Lines
from verify.lib.stochastic.gaussian import (
    Balanced,
    Floats,
    GaussianTarget,
    balanced_lines,
    log_tb_residual,
    terminal_law,
)
from verify.lib.stochastic.kernels import ZERO, Kernel, Measure, Path, paths, restrict, visits
from verify.lib.stochastic.lemmas import padded_laws
from verify.lib.stochastic.lift import StochasticLift
from verify.lib.stochastic_lifts import (
    HALF,
    ONE,
    Row,
    build,
    described,
    longest,
    small_lifts,
    triangle,
)


def stopped(lift: StochasticLift, start: Measure, kernel: Kernel, ends: Any) -> dict[Path, Any]:
    """The trajectories between `S_o*` and `X*`, from `start`, with their weights."""
    return {
        path: weight
        for n in range(1, longest(lift.dag) + 1)
        for path, weight in paths(start, kernel, n, lift.inner)
        if path[-1] in ends
    }


def densities(lift: StochasticLift, base: StochasticLift, path: Path) -> tuple[Fraction, Fraction]:
    """`xi(s_0) prod p_F` and `pi(s_n) prod p_B`, relative to `nu`, `kappa_F` and `kappa_B`."""
    forward = lift.initial_law.get(path[0], ZERO) / base.nu[path[0]]
    backward = lift.terminal_law.get(path[-1], ZERO) / base.nu[path[-1]]
    for s, t in pairwise(path):
        forward *= lift.kappa_f[s].get(t, ZERO) / base.kappa_f[s][t]
        backward *= lift.kappa_b[t].get(s, ZERO) / base.kappa_b[t][s]
    return forward, backward


@pytest.mark.claim("fixed_length_loss")
def test_stopped_trajectories_of_a_triangle_by_hand() -> None:
    lift = triangle()
    o, u, x = ((lift.dag.index[s], 0) for s in "oux")
    law = {(o, x): HALF, (o, u, x): HALF}
    assert stopped(lift, {o: ONE}, lift.kappa_f, lift.terminal) == law
    backward = stopped(lift, {x: ONE}, lift.kappa_b, lift.initial)
    assert {path[::-1]: weight for path, weight in backward.items()} == law


@pytest.mark.claim("fixed_length_loss")
def test_dual_kernels_have_zero_loss_on_stopped_trajectories(scope: Any) -> None:
    # The learned kernels may have zeros; those that they are relative to have none.
    for lift, base in zip(small_lifts(0), small_lifts(1), strict=True):
        total = ZERO
        for path, weight in stopped(
            base, restrict(base.nu, base.initial), base.kappa_f, base.terminal
        ).items():
            forward, backward = densities(lift, base, path)
            assert forward == backward
            total += weight * forward
        assert total == 1
    scope(described(0))


@pytest.mark.claim("fixed_length_loss")
def test_summed_residuals_of_stopped_trajectories_are_what_the_end_misses(scope: Any) -> None:
    for forward, backward in zip(small_lifts(0), small_lifts(1), strict=True):
        target = {x: Fraction(1 + 2 * x[0] + x[1]) for x in forward.terminal}
        total = dict.fromkeys(target, ZERO)
        start = forward.initial_law
        for path, p in stopped(forward, start, forward.kappa_f, forward.terminal).items():
            total[path[-1]] += p
        for path, p in stopped(backward, target, backward.kappa_b, backward.initial).items():
            total[path[0]] -= p
        law = visits(forward.kappa_f, start, forward.inner, longest(forward.dag))
        assert total == {x: law.get(x, ZERO) - mass for x, mass in target.items()}
        assert sum(law.get(x, ZERO) for x in target) == 1
    scope("as many pairs of unrelated kernels")


@pytest.mark.control("fixed_length_loss")
def test_padded_to_one_length_the_laws_share_full_length_trajectories_alone() -> None:
    for lift in small_lifts():
        n = longest(lift.dag)
        forward, backward = padded_laws(lift, n)
        assert sum(forward.values()) == sum(backward.values()) == 1
        unpadded = {path for path in forward if path[-2] not in lift.terminal}
        assert unpadded
        assert forward.keys() & backward.keys() == unpadded
        # Beyond the horizon they share nothing.
        if len(lift.dag.labels) < 5:
            longer, back = padded_laws(lift, n + 1)
            assert longer.keys().isdisjoint(back.keys())


@pytest.mark.control("fixed_length_loss")
def test_on_a_triangle_half_of_the_trajectories_have_no_density() -> None:
    lift = triangle()
    o, u, x = ((lift.dag.index[s], 0) for s in "oux")
    assert padded_laws(lift, 2) == (
        {(o, x, x): HALF, (o, u, x): HALF},
        {(o, o, x): HALF, (o, u, x): HALF},
    )
    # p_B(x, x) is a density with respect to kappa_B(x, .), at a point that it does not charge.
    assert x not in lift.kappa_b[x]


@pytest.mark.control("fixed_length_loss")
def test_an_exploratory_policy_that_misses_a_terminal_does_not_see_the_loss_there() -> None:
    # P_E << kappa_F holds for the P_E that always moves to x; there log Z can be chosen freely.
    kappa_f: dict[str, Row] = {"o": {"x0": 9 * ONE / 10, "y0": ONE / 10}, "x": "x0", "y": "y0"}
    lift = build({"o": "xy", "x": "", "y": ""}, kappa_f)
    o, x, y = ((lift.dag.index[s], 0) for s in "oxy")
    # The target is uniform, pi~ = (1, 1); the loss at x vanishes for Z = 9/10, that at y does not.
    z = lift.kappa_f[o][x]
    assert [lift.kappa_f[o][end] - z * lift.kappa_b[end][o] for end in (x, y)] == [0, -4 * ONE / 5]
    assert padded_laws(lift, 1)[0] == {(o, x): 9 * ONE / 10, (o, y): ONE / 10}


# Sums of up to 25 log densities of size 100 at most, each rounded.
ROUNDING = 1e-11
HALF_WIDTH, POINTS = 12.0, 241


def trajectories(dag: PointedDAG[Any]) -> list[tuple[int, ...]]:
    """The nodes of each trajectory."""
    return [(0, *(dag.edges[e][1] for e in tau)) for tau in dag.trajectories()]


def largest_residual(balanced: Balanced) -> float:
    """The terms of all trajectories of nodes, each with 200 trajectories of latents."""
    rng = np.random.default_rng(0)
    return max(
        float(
            np.abs(
                log_tb_residual(*balanced[:4], tau, [rng.normal(scale=1.5, size=200) for _ in tau])
            ).max()
        )
        for tau in trajectories(balanced.forward.dag)
    )


def distance(balanced: Balanced) -> tuple[float, float]:
    """The sum of `|p_T - R / Z|`, and how wrong the quadrature may be."""
    law = terminal_law(balanced.forward, HALF_WIDTH, POINTS)
    rewards = np.array(balanced.target.rewards)
    return float(np.abs(law.probabilities - rewards / rewards.sum()).sum()), law.error


def check(problem: Lines) -> int:
    """Checks one instance; returns how many trajectories of nodes it has."""
    balanced = balanced_lines(problem)
    dag = balanced.forward.dag
    assert largest_residual(balanced) < ROUNDING
    missed, error = distance(balanced)
    assert error < 1e-11
    assert missed <= error + ROUNDING
    choice = balanced.forward.choice(0, np.array([-2.0, 2.0]))
    assert np.abs(choice[:, 0] - choice[:, 1]).max() > 0.3
    assert len(set(map(len, trajectories(dag)))) > 1
    return dag.trajectory_count


@pytest.mark.claim("fixed_length_loss")
def test_zero_residuals_with_gaussian_latents_give_the_target(scope: Any) -> None:
    counts = [check(Lines.laplaces(length, 2)) for length in (1, 2, 3, 4)]
    scope(f"Gaussian latents on Lines, M = 2, N = 1..4: {sum(counts)} trajectories of nodes")


@pytest.mark.claim("lines_latents")
def test_lines_with_gaussian_latents_samples_its_target(scope: Any) -> None:
    for length in (1, 2, 3, 4):
        check(Lines.laplaces(length, 1))
    scope("Gaussian latents by quadrature, N = 1..4")


@pytest.mark.control("fixed_length_loss")
def test_a_policy_that_ignores_the_latent_leaves_residuals_and_misses_the_target() -> None:
    balanced = balanced_lines(Lines.laplaces(3, 2))

    def blind(u: int, w: Floats) -> Floats:
        return balanced.forward.choice(u, np.zeros_like(w))

    wrong = balanced._replace(forward=replace(balanced.forward, choice=blind))
    assert largest_residual(wrong) > 1
    missed, error = distance(wrong)
    assert error < 1e-11
    assert missed > 0.1


@pytest.mark.control("fixed_length_loss")
def test_a_target_of_another_variance_leaves_residuals() -> None:
    balanced = balanced_lines(Lines.laplaces(3, 2))
    wrong = balanced._replace(target=GaussianTarget(balanced.target.rewards, variance=1.1))
    assert largest_residual(wrong) > 0.1


@pytest.mark.control("lines_latents")
def test_inverting_the_gaussian_step_leaves_residuals() -> None:
    balanced = balanced_lines(Lines.laplaces(3, 1))

    def inverted(u: int, v: int, w: Floats) -> tuple[Floats, Floats]:
        mean, scale = balanced.forward.step(v, np.zeros_like(w))
        slope = balanced.forward.step(v, np.ones_like(w))[0] - mean
        return (w - mean) / slope, scale / slope

    assert largest_residual(balanced._replace(reverse=inverted)) > 1
