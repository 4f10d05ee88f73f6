"""Log residuals, losses and a gradient, as the float64 numbers nearest to the exact ones.

They are computed in balls of 320 bits from the exact ratios, so that they depend on no mathematical
library, and a residual that is zero is 0.0.

The batch holds every complete trajectory once. Its mean is the expectation under the exploratory
policy that chooses a child in proportion to the number of complete trajectories beyond it.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

from flint import arb

from reference import (
    BALL,
    RATIONAL,
    BackwardKernel,
    ForwardPolicy,
    PointedDAG,
    Trajectory,
    tb_objective,
)
from reference.fields.balls import precision
from verify.vectors.encoding import Json

SUBTB_LAMBDA = Fraction(9, 10)
BITS = 320
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}


def log_values(
    forward: ForwardPolicy[Fraction],
    backward: BackwardKernel[Fraction],
    rewards: Sequence[Fraction],
    flow: Sequence[Fraction],
    paths: Sequence[Trajectory],
    trajectories: Sequence[Trajectory],
) -> Json | None:
    """The logarithmic part of a case; `None` where a logarithm of zero would be needed."""
    if min([*forward.values, *backward.values, *rewards, *flow]) == 0:
        return None
    dag = forward.dag

    def ratio(path: Trajectory) -> Fraction:
        start, end = dag.edges[path[0]][0], dag.edges[path[-1]][1]
        return flow[start] * forward.along(path) / (backward.along(path) * flow[end])

    with precision(BITS):
        delta = {path: BALL.log(BALL.convert(ratio(path))) for path in paths}
        tb = [delta[tau] for tau in trajectories]
        p_e = uniform_over_trajectories(dag)
        objective = tb_objective(
            _forward(forward),
            BackwardKernel(dag, BALL, [BALL.convert(value) for value in backward.values]),
            [BALL.convert(r) for r in rewards],
            BALL.log(BALL.convert(flow[0])),
            _forward(p_e),
        )
        return {
            "tb": [nearest(d) for d in tb],
            "db": [nearest(delta[edge,]) for edge in range(len(dag.edges))],
            "loss": {
                "tb": nearest(_mean([d * d for d in tb])),
                "cb": nearest(_contrast(tb)) if len(tb) > 1 else None,
                "db": nearest(_mean([delta[e,] * delta[e,] for tau in trajectories for e in tau])),
                "subtb": nearest(_mean([_subtrajectories(tau, delta) for tau in trajectories])),
            },
            "tb_gradient": {
                "logits": [nearest(g) for g in objective.logits_gradient],
                "log_z": nearest(objective.log_z_gradient),
            },
            "tolerance": {
                name: _tolerances(
                    dag,
                    trajectories,
                    unit,
                    largest=max(abs(float(d)) for d in delta.values()),
                    p_f=_largest_log(forward.values),
                    step=2 * _largest_log(flow)
                    + _largest_log(forward.values)
                    + _largest_log(backward.values),
                )
                for name, unit in ROUNDOFF.items()
            },
        }


def uniform_over_trajectories(dag: PointedDAG[Any]) -> ForwardPolicy[Fraction]:
    """The policy under which every complete trajectory is equally likely."""
    beyond = [0 if row else 1 for row in dag.children]
    for u, v in reversed(dag.edges):
        beyond[u] += beyond[v]
    return ForwardPolicy.from_weights(dag, RATIONAL, [beyond[v] for _, v in dag.edges])


def nearest(value: arb) -> float:
    """The float64 number nearest to the one real number that a narrow ball stands for.

    A ball around zero stands for zero: sums of logarithms cancel exactly where balance holds.

    Raises:
        ArithmeticError: if the ball is too wide to tell.
    """
    if value.contains(0) and float(value.rad()) < 2.0 ** -(BITS // 2):
        return 0.0
    lower, upper = float(value.lower()), float(value.upper())
    if lower != upper:
        raise ArithmeticError(f"{value} has no nearest float64 number at {BITS} bits")
    return lower


def _mean(values: Sequence[arb]) -> arb:
    return BALL.sum(values) / BALL.convert(len(values))


def _contrast(tb: Sequence[arb]) -> arb:
    return _mean([(d - d2) * (d - d2) for d, d2 in combinations(tb, 2)])


def _subtrajectories(tau: Trajectory, delta: dict[Trajectory, arb]) -> arb:
    weighted, weights = BALL.zero, BALL.zero
    for i, j in combinations(range(len(tau) + 1), 2):
        weight, residual = BALL.convert(SUBTB_LAMBDA ** (j - i)), delta[tau[i:j]]
        weighted, weights = weighted + weight * residual * residual, weights + weight
    return weighted / weights


def _forward(policy: ForwardPolicy[Fraction]) -> ForwardPolicy[arb]:
    return ForwardPolicy(policy.dag, BALL, [BALL.convert(value) for value in policy.values])


def _largest_log(values: Sequence[Fraction]) -> float:
    return max(abs(float(BALL.log(BALL.convert(value)))) for value in values)


def _tolerances(
    dag: PointedDAG[Any],
    trajectories: Sequence[Trajectory],
    unit: float,
    *,
    largest: float,
    p_f: float,
    step: float,
) -> Json:
    """Bounds on the absolute error of a straightforward computation with unit roundoff u.

    A residual over T steps is a sum of at most k = 4 T logarithms, of size S in all: at most `step`
    each step, whether the flows between are cancelled or not. Each has an argument rounded once,
    which costs an absolute u, and is right to a relative 2 u; a sum in any order adds
    `gamma_{k-1} S`. All of it is below `gamma_{k+4} (1 + S)`; e is twice that, since a residual may
    be the difference of two such sums.

    A residual of size at most D squares to within `2 D e + e^2`; what follows are means of
    non-negative terms. Differences of residuals double D and e; a variance with `n / (n - 1)` at
    most doubles that twice again. The gradient adds residuals times rounded probabilities.
    """

    def gamma(roundings: int) -> float:
        return roundings * unit / (1 - roundings * unit)

    n, steps = len(trajectories), max(map(len, trajectories))
    error = 2 * gamma(4 * steps + 4) * (1 + steps * step)
    square = 2 * largest * error + error**2
    degree = max(map(len, dag.children))
    return {
        "residual": error,
        "tb": square + gamma(n + 5) * (largest + error) ** 2,
        "cb": 16 * (square + gamma(n * n + 8) * 2 * (largest + error) ** 2),
        "db": square + gamma(n * steps + 5) * (largest + error) ** 2,
        "subtb": square + gamma(n + 3 * steps**2 + 5) * (largest + error) ** 2,
        "tb_gradient": 4 * (error + gamma(n + 2 * degree + 12 + ceil(p_f)) * (largest + error)),
    }
