"""Backward policies that are learned, fixed by a rule of their own, or guided by the end."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from examples.losses.graphs import GRAPHS, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import tb_residuals
from fast.balance.steps import Steps


@dataclass(frozen=True)
class BackwardLikelihood(TrajectoryLoss):
    """Trajectory balance for `p_F`, and `-log p_B(tau|x)` of the trajectories drawn for `p_B`."""

    learns_log_z = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        fixed = steps._replace(log_p_b=lax.stop_gradient(steps.log_p_b))
        return jnp.mean(tb_residuals(fixed, log_z) ** 2 - steps.log_p_b.sum(-1))


@dataclass(frozen=True)
class MaximumEntropy(TrajectoryLoss):
    """Trajectory balance with `p_B(tau|x) = 1/n(x)`, n(x) the number of trajectories to x."""

    learns_log_z = True
    reads_backward = False

    def context(self, environment: Any, trajectories: Any) -> Any:
        ways = jnp.log(jnp.asarray(np.array(environment.dag.path_counts), float))
        return ways[trajectories.states.node[:, -1]]

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        log_p_f = steps.log_p_f.sum(-1)
        return jnp.mean((log_z + log_p_f + steps.context - steps.log_reward) ** 2)


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
        "TLM",
        "Gritsaev et al., Optimizing backward policies via trajectory likelihood, 2025",
        "trajectory balance for p_F; -log p_B(tau|x) for p_B, tau from p_F",
        "right",
        BackwardLikelihood(),
        outcomes={TREE: "right", WAYS: "right"},
        draws="policy",
        backward="learned",
    ),
    Judged(
        "pessimistic p_B",
        "Jang et al., Pessimistic backward policy, 2024",
        "trajectory balance for p_F; -log p_B(tau|x) for p_B, tau from replay",
        "right",
        BackwardLikelihood(),
        outcomes={TREE: "right", WAYS: "right"},
        draws="uniform",
        backward="learned",
    ),
    Judged(
        "maximum-entropy p_B",
        "Mohammadpour et al., Maximum entropy GFlowNets with soft Q-learning, 2024",
        "(log Z + log p_F(tau) + log n(x) - log R(x))^2, n(x) the number of ways to x",
        "right",
        MaximumEntropy(),
    ),
    Judged(
        "guided trajectory balance",
        "Shen et al., Towards understanding and improving GFlowNet training, 2023",
        "(log Z + log p_F(tau) - log mu(tau|x) - log R(x))^2",
        "right under a condition",
        Guided(),
        "the guide sums to one over the trajectories to each end",
        (Case(Guided(2.0), GRAPHS[WAYS], "wrong", "a guide that does not"),),
    ),
)
