"""A penalty on flows beside detailed balance, as for shorter trajectories."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.graphs import GRAPHS, MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db
from fast.balance.steps import Steps


@dataclass(frozen=True)
class FlowPenalty(TrajectoryLoss):
    """Detailed balance plus `strength` times the mean flow of the states on a trajectory."""

    needs_flow = True
    strength: float = 0.1

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        flow = jnp.where(steps.active, jnp.exp(steps.log_flow), 0.0)
        return db(steps) + self.strength * jnp.sum(flow) / jnp.sum(steps.active)


JUDGED = (
    Judged(
        "detailed balance with lambda times the flow",
        "Morozov et al., Revisiting non-acyclic GFlowNets, 2025",
        "(log F(s) + log p_F - log p_B - log F(s'))^2 + lambda F(s)",
        "wrong",
        FlowPenalty(),
        {TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
        "any lambda > 0",
        (Case(FlowPenalty(0.0), GRAPHS[WAYS], "right", "lambda = 0"),),
    ),
)
