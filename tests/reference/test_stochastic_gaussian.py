"""Quadrature of a Gaussian latent: its error is what it says, and bad input is refused."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reference import InputError, pointed_dag
from reference.problems import Lines
from verify.lib.stochastic.gaussian import (
    Component,
    Floats,
    GaussianForward,
    GaussianTarget,
    balanced_lines,
    log_tb_residual,
    terminal_law,
)

BALANCED = balanced_lines(Lines.laplaces(3, 2))
FORK = pointed_dag({"o": ["x", "y"], "x": [], "y": []})


def fair(u: int, w: Floats) -> Floats:
    return np.full((2, *w.shape), 0.5)


def walk(v: int, w: Floats) -> tuple[Floats, Floats]:
    return w, np.ones_like(w)


def fork(**changed: Any) -> GaussianForward:
    parts: dict[str, Any] = {"start": (Component(1.0, 0.0, 1.0),), "choice": fair, "step": walk}
    return GaussianForward(FORK, **(parts | changed))


@pytest.mark.parametrize("half_width", [4.0, 6.0, 9.0])
@pytest.mark.parametrize("points", [25, 41, 61, 121, 401])
def test_the_true_error_is_below_the_one_stated(half_width: float, points: int) -> None:
    if half_width * 4 / (points - 1) > 0.8:
        with pytest.raises(InputError, match="give more points"):
            terminal_law(BALANCED.forward, half_width, points)
        return
    law = terminal_law(BALANCED.forward, half_width, points)
    rewards = np.array(BALANCED.target.rewards)
    true = np.abs(law.probabilities - rewards / rewards.sum()).sum()
    # Not below rounding, which the difference of two roundings need not show.
    assert true <= law.error + 1e-13


def test_refining_the_points_or_widening_the_interval_shrinks_the_error() -> None:
    errors = [
        terminal_law(BALANCED.forward, *at).error for at in ((4.0, 201), (7.0, 201), (12.0, 401))
    ]
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
    law = terminal_law(forward, 16.0, 401)
    assert law.error < 1e-9
    rng, samples = np.random.default_rng(0), 40_000
    counts = np.zeros(len(dag.labels))
    at = np.zeros(samples, int)
    weights, means, scales = np.array(forward.start).T
    part = rng.choice(len(weights), samples, p=weights)
    w = rng.normal(means[part], scales[part])
    for u, row in enumerate(dag.children):
        here = np.flatnonzero(at == u)
        if row:
            below = forward.choice(u, w[here]).cumsum(0)
            moved = (below < rng.random(len(here))).sum(0).clip(max=len(row) - 1)
            at[here] = np.array(row)[moved]
            w[here] += rng.normal(size=len(here))
        else:
            counts[u] = len(here)
    expected = np.array(law.probabilities) * samples
    found = counts[list(dag.terminals)]
    # Chi-square with three degrees of freedom exceeds 25 with probability 1.6e-5.
    assert ((found - expected) ** 2 / expected).sum() < 25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianTarget((1.0,), variance=0.0), "Lambda is 0.0, which is not positive"),
        (lambda: GaussianTarget((0.0,)), "a reward is 0.0"),
        (lambda: fork(start=(Component(1.0, 0.0, 0.0),)), "the scale of the start is 0.0"),
        (lambda: fork(start=(Component(0.5, 0.0, 1.0),)), "make them non-negative with sum 1"),
        (lambda: terminal_law(fork(), 8.0, 200), "an odd number of points"),
        (lambda: terminal_law(fork(), -1.0, 201), "a positive width"),
        (lambda: terminal_law(fork(), 200.0, 201), "every other point is taken, 4 apart"),
        (lambda: terminal_law(fork(choice=lambda u, w: 2 * fair(u, w)), 8.0), "is no law at every"),
        (lambda: terminal_law(fork(choice=lambda u, w: w), 8.0), "choice at node 0 has shape"),
        (
            lambda: log_tb_residual(
                fork(step=lambda v, w: (w, 0 * w)),
                lambda u, v, w: (w, 1 + 0 * w),
                GaussianTarget((1.0, 1.0)),
                0.0,
                (0, 1),
                [np.zeros(3), np.zeros(3)],
            ),
            "the scale of the step to node 1 is 0.0 somewhere",
        ),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()
