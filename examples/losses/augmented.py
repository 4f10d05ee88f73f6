"""GAFlowNets: a bonus of novelty on every edge."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.graphs import GRAPHS, MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps


@dataclass(frozen=True)
class Augmented(TrajectoryLoss):
    """Trajectory balance in which each edge leaks `bonus` beside its flow."""

    learns_log_z = True
    needs_flow = True
    bonus: float = 1.0

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        flow = jnp.where(steps.active, steps.log_flow, steps.log_reward[:, None])
        later = jnp.concatenate([flow[:, 1:], steps.log_reward[:, None]], 1)
        back = jnp.log(jnp.exp(steps.log_p_b) + self.bonus * jnp.exp(-later))
        step = jnp.where(steps.active, steps.log_p_f - back, 0.0)
        return jnp.mean((log_z + jnp.sum(step, -1) - steps.log_reward) ** 2)


JUDGED = (
    Judged(
        "GAFlowNet",
        "Pan et al., Generative augmented flow networks, 2023",
        "(log Z + log p_F(tau) - sum of log(p_B(s|s') + r(s, s')/F(s')) - log R(x))^2",
        "wrong",
        Augmented(),
        {TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
        "any fixed bonus r; right where it has vanished",
        (Case(Augmented(0.0), GRAPHS[WAYS], "right", "the bonus has vanished"),),
    ),
)
