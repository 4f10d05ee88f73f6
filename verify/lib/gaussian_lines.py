"""Lines with a Gaussian latent of which `p_F`, `p_B` and `Z` are known in closed form.

`p_B` draws a parent uniformly and then the latent: `w ~ N(r w', 1 - r^2)` at every `p_i`, `i >= 1`,
and `w ~ N(shift_v + r w', s^2)` at `p_0` coming from `v`. The target is `R(x) N(w | 0, 1)`, so that
the latent is standard normal at every node but `p_0`, and at `p_0` a mixture of one normal law per
child. Forwards, the child of `p_0` is then drawn by Bayes' rule given the latent, and all steps are
normal, if the nodes that other parents than `p_0` lead to as well have shift 0 and `s^2 = 1 - r^2`.
"""

import math
from typing import NamedTuple

import numpy as np

from reference import FLOAT64, BackwardPolicy, enumerate_dag, forward_from_backward
from reference.problems import Lines
from verify.lib.stochastic.gaussian import (
    Component,
    Floats,
    GaussianForward,
    GaussianTarget,
    Moments,
    Reverse,
    log_normal,
)

MEMORY = 0.6
SHIFTS = {"q0": -1.5, "p1": 1.0}
WIDTHS = {"q0": 0.5, "p1": 1.2}


class Balanced(NamedTuple):
    """A forward kernel, the backward one it is dual to, and what they sample."""

    forward: GaussianForward
    reverse: Reverse
    target: GaussianTarget
    log_z: float


def balanced_lines(problem: Lines) -> Balanced:
    """The closed form on a Lines problem; the policy at `p_0` depends on the latent."""
    dag = enumerate_dag(problem)
    rewards = tuple(float(problem.reward(dag.labels[x])) for x in dag.terminals)
    base, z = forward_from_backward(BackwardPolicy.uniform(dag, FLOAT64), rewards)
    p = {edge: float(value) for edge, value in zip(dag.edges, base.values, strict=True)}
    narrow = math.sqrt(1 - MEMORY**2)

    def shift_and_width(v: int) -> tuple[float, float]:
        label = dag.labels[v]
        return SHIFTS.get(label, 0.0), WIDTHS.get(label, narrow)

    def reverse(u: int, v: int, w: Floats) -> Moments:
        shift, width = shift_and_width(v) if u == 0 else (0.0, narrow)
        return shift + MEMORY * w, np.full_like(w, width)

    def at_start(v: int) -> Component:
        shift, width = shift_and_width(v)
        return Component(p[0, v], shift, math.hypot(MEMORY, width))

    def choice(u: int, w: Floats) -> Floats:
        row = dag.children[u]
        logits = np.stack([np.full_like(w, math.log(p[u, v])) for v in row])
        if u == 0:
            logits = np.stack(
                [
                    math.log(weight) + log_normal(w, mean, scale)
                    for weight, mean, scale in map(at_start, row)
                ]
            )
        weights = np.exp(logits - logits.max(0))
        rows: Floats = weights / weights.sum(0)
        return rows

    def step(v: int, w: Floats) -> Moments:
        # The law of w' ~ N(0, 1) given w = shift + MEMORY w' + width e, e ~ N(0, 1).
        shift, width = shift_and_width(v)
        slope = MEMORY / (MEMORY**2 + width**2)
        return slope * (w - shift), np.full_like(w, math.sqrt(1 - slope * MEMORY))

    start = tuple(map(at_start, dag.children[0]))
    return Balanced(
        GaussianForward(dag, start, choice, step), reverse, GaussianTarget(rewards), math.log(z)
    )
