"""Guided trajectory balance: a law of trajectories given their ends takes the place of `p_B`."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps


@dataclass(frozen=True)
class Guided(TrajectoryLoss):
    """Trajectory balance with the guide `mu(tau|x) = p_B(tau|x)^power`."""

    learns_log_z = True
    power: float = 1.0

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        guide = self.power * steps.log_p_b
        return jnp.mean((log_z + jnp.sum(steps.log_p_f - guide, -1) - steps.log_reward) ** 2)


JUDGED = (
    Judged(
        "guided trajectory balance",
        "Shen et al., Towards understanding and improving GFlowNet training, 2023",
        "(log Z + log p_F(tau) - log mu(tau|x) - log R(x))^2",
        "right under a condition",
        Guided(),
        RIGHT,
        "the guide sums to one over the trajectories to each end",
        (Case(Guided(2.0), GRAPHS[WAYS], "wrong", "a guide that does not"),),
    ),
)
