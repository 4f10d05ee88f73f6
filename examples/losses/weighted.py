"""Weights of steps and trajectories, and so behaviour: of no matter, unless they are zero."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db_residuals, tb_residuals
from fast.balance.steps import Steps


@dataclass(frozen=True)
class WeightedDetailedBalance(TrajectoryLoss):
    """Detailed balance whose steps weigh one over the number of steps that are left."""

    needs_flow = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        left = jnp.cumsum(steps.active[:, ::-1], 1)[:, ::-1]
        return jnp.mean(jnp.sum(db_residuals(steps) ** 2 / jnp.maximum(left, 1), 1))


@dataclass(frozen=True)
class Behaviour(TrajectoryLoss):
    """Trajectory balance whose trajectories of length T are drawn in proportion to `weight^T`.

    With a cap, those that are longer are never drawn.
    """

    learns_log_z = True
    weight: float = 0.3
    cap: int = 1_000

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        length = steps.active.sum(1)
        drawn = jnp.where(length <= self.cap, self.weight**length, 0.0)
        return jnp.mean(drawn * tb_residuals(steps, log_z) ** 2)


JUDGED = (
    Judged(
        "weighted detailed balance",
        "Silva et al., When do GFlowNets learn the right distribution?, 2025",
        "sum of w(s, s') (log F(s) + log p_F - log p_B - log F(s'))^2, w > 0",
        "right",
        WeightedDetailedBalance(),
        RIGHT,
    ),
    Judged(
        "replay, local search, a teacher",
        "Vemgal et al., 2023; Kim et al., Local search, 2024; Kim et al., Adaptive teachers, 2025",
        "the mean over any behaviour of (log Z + log p_F - log p_B - log R)^2",
        "right under a condition",
        Behaviour(),
        RIGHT,
        "every trajectory is drawn with a positive probability",
        (Case(Behaviour(1.0, cap=1), GRAPHS[WAYS], "wrong", "a hole in the support"),),
    ),
)
