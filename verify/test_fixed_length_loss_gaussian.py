"""fixed_length_loss, lines_latents: Lines with latents in R, by quadrature."""

from dataclasses import replace
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
