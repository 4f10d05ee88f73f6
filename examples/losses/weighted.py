"""Weights of steps and trajectories, and so behaviour: of no matter, unless they are zero."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

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


@dataclass(frozen=True)
class Complementary(TrajectoryLoss):
    """Trajectory balance on trajectories of its own and of an explorer, here the longest ones."""

    learns_log_z = True
    own: float = 0.5

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        p_f = lax.stop_gradient(jnp.exp(steps.log_p_f.sum(-1)))
        drawn = self.own * p_f + (1 - self.own) * steps.active.all(1)
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
    Judged(
        "ACE",
        "Dall'Antonia et al., Divergent trajectory balance, 2026; from the abstract and a summary",
        "the mean over w p_F + (1 - w) p_E of (log Z + log p_F - log p_B - log R)^2, p_E explores",
        "right under a condition",
        Complementary(),
        RIGHT,
        "0 < w; the explorer avoids what the sampler has learned",
        (Case(Complementary(0.0), GRAPHS[WAYS], "wrong", "w = 0, and an explorer of long ways"),),
        draws="uniform",
    ),
)
