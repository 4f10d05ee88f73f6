"""A Gaussian latent in R on every state of a pointed DAG: terminal law by quadrature, balance.

The example of the stochastic section, `Omega = R`: the next state is drawn from a law that depends
on the latent, then the latent from a normal law, `w' ~ N(mean(v, w), scale(v, w)^2)` on arrival at
`v`. Backwards, a parent is drawn uniformly and then the latent there. All in float64; a function of
the latent takes an array of any shape and gives one of the same shape.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference import FLOAT64, BackwardPolicy, enumerate_dag, forward_from_backward
from reference.dag import PointedDAG, Trajectory
from reference.problems import Lines

Floats = npt.NDArray[np.float64]
Moments = tuple[Floats, Floats]
"""Mean and scale (standard deviation) of a normal law, one per latent it is conditioned on."""

MEMORY = 0.6
SHIFTS = {"q0": -1.5, "p1": 1.0}
WIDTHS = {"q0": 0.5, "p1": 1.2}


class Component(NamedTuple):
    """A normal law in a mixture: its weight, mean and scale."""

    weight: float
    mean: float
    scale: float


@dataclass(frozen=True, eq=False)
class GaussianForward:
    """`xi` and `p_F = p_{F,s} p_{F,w}`: a forward kernel with a latent in R, from `s_o`, node 0.

    `start` is `xi`, the law of the latent there, a mixture of normal laws. `choice(u, w)[i]` is the
    probability of the i-th child of `u`, and `step(v, w)` the mean and scale of the latent on
    arrival at `v`, given the one before.
    """

    dag: PointedDAG[Any]
    start: tuple[Component, ...]
    choice: Callable[[int, Floats], Floats]
    step: Callable[[int, Floats], Moments]

    def log_start(self, w: Floats) -> Floats:
        """`log xi`, the log density of the latent at `s_o`."""
        terms = [
            math.log(weight) + log_normal(w, mean, scale)
            for weight, mean, scale in self.start
            if weight
        ]
        total: Floats = np.logaddexp.reduce(terms, axis=0)
        return total


@dataclass(frozen=True, eq=False)
class GaussianTarget:
    """The target `R(x) N(w | mean, variance)` of a balanced kernel, up to `Z = sum of R`.

    The variance is Lambda in the paper, a number as `d = 1`; it and all rewards must be positive.
    """

    rewards: tuple[float, ...]
    mean: float = 0.0
    variance: float = 1.0


Reverse = Callable[[int, int, Floats], Moments]
"""`reverse(u, v, w)`: mean and scale of the latent at `u`, backwards from `(v, w)`."""


class TerminalLaw(NamedTuple):
    """`p_T`, one probability per terminal, and an estimate of the sum of their errors."""

    probabilities: tuple[float, ...]
    error: float


def log_normal(w: Any, mean: Any, scale: Any) -> Any:
    """The log density of `N(mean, scale^2)` at `w`, in nats."""
    return -(((w - mean) / scale) ** 2) / 2 - np.log(scale) - math.log(2 * math.pi) / 2


def terminal_law(forward: GaussianForward, half_width: float, points: int = 401) -> TerminalLaw:
    """The law of the terminal, the latents integrated out by the trapezoidal rule.

    The density of the latent at a visited node is carried along the edges,

        f_v(w') = sum over parents u of int f_u(w) p_{F,s}(v | u, w) p_{F,w}(w' | v, w) dw,

    on an odd number of equidistant points of `[-half_width, half_width]`. On smooth integrands that
    vanish at both ends the rule converges faster than any power of the step. The result from every
    other point therefore differs by about its own error. The reported error is that difference,
    summed over the terminals, and the mass outside the interval. Steps must be below the smallest
    scale.
    """
    grid = np.linspace(-half_width, half_width, points)
    coarse, fine = _terminal_masses(forward, grid[::2]), _terminal_masses(forward, grid)
    error = float(np.abs(fine - coarse).sum() + abs(1 - fine.sum()))
    return TerminalLaw(tuple(fine.tolist()), error)


def log_tb_residual(
    forward: GaussianForward,
    reverse: Reverse,
    target: GaussianTarget,
    log_z: float,
    tau: Trajectory,
    latents: Sequence[Floats],
) -> Floats:
    """The log residual of trajectory balance on a trajectory of nodes and latents, in nats.

        log Z + log xi(w_0) + sum of log p_{F,s} p_{F,w} - log R(x) N(w_n | mean, variance)
              - sum of log p_B

    over the `n` steps that the trajectory has (claims.md, E20, repairs the printed loss, which pads
    all trajectories to one length). `p_B` is uniform over the parents, times `reverse`. The latents
    are one array per node of `tau`, all of one shape, one entry per trajectory.
    """
    dag = forward.dag
    terminal = dag.terminals.index(tau[-1])
    total: Floats = log_z + forward.log_start(latents[0])
    total = total - math.log(target.rewards[terminal])
    total = total - log_normal(latents[-1], target.mean, math.sqrt(target.variance))
    for (u, v), (w, after) in zip(pairwise(tau), pairwise(latents), strict=True):
        choice = forward.choice(u, w)[dag.children[u].index(v)]
        mean, scale = reverse(u, v, after)
        total = total + np.log(choice) + log_normal(after, *forward.step(v, w))
        total = total + math.log(len(dag.in_edges[v]))
        total = total - log_normal(w, mean, scale)
    return total


class Balanced(NamedTuple):
    """A forward kernel, the backward one it is dual to, and what they sample."""

    forward: GaussianForward
    reverse: Reverse
    target: GaussianTarget
    log_z: float


def balanced_lines(problem: Lines) -> Balanced:
    """Lines of which `p_F`, `p_B` and `Z` are known; the policy at `p_0` depends on the latent.

    `p_B` draws a parent uniformly and then the latent: `w ~ N(r w', 1 - r^2)` at every `p_i`,
    `i >= 1`, and `w ~ N(shift_v + r w', s^2)` at `p_0` coming from `v`. The target is `R(x) N(w
    | 0, 1)`, so that the latent is standard normal at every node but `p_0`, and at `p_0` a
    mixture of one normal law per child. Forwards, the child of `p_0` is then drawn by Bayes'
    rule given the latent, and all steps are normal, if the nodes that other parents than `p_0`
    lead to as well have shift 0 and `s^2 = 1 - r^2`.
    """
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
            logits += [log_normal(w, at_start(v).mean, at_start(v).scale) for v in row]
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


def _terminal_masses(forward: GaussianForward, grid: Floats) -> Floats:
    dag, step = forward.dag, float(grid[1] - grid[0])
    density = np.zeros((len(dag.labels), len(grid)))
    density[0] = np.exp(forward.log_start(grid))
    mass = np.zeros(len(dag.labels))
    entering = np.zeros_like(density)
    for v, row in enumerate(dag.children):
        if v and row:
            mean, scale = forward.step(v, grid)
            density[v] = np.exp(log_normal(grid[:, None], mean, scale)) @ entering[v] * step
        if row:
            # End points weigh half; the density there is zero, or lost mass.
            flows = forward.choice(v, grid) * density[v]
            for child, flow in zip(row, flows, strict=True):
                entering[child] += flow
                mass[child] += flow.sum() * step
    return mass[list(dag.terminals)]
