"""Policy gradients: the reverse divergence on policy, plain PPO, and rewards without `p_B`."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss, log_ratio
from fast.balance.losses import db_residuals, subtb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import make_instance, written

EVEN = make_instance("even tree", written("o: a x, a: y z", x=1, y=1, z=1))


def surrogate(cost: Any, steps: Steps) -> Any:
    """A value whose gradient is the mean of `cost` times that of `log p_F`."""
    return jnp.mean(jnp.sum(lax.stop_gradient(cost) * steps.log_p_f, -1))


@dataclass(frozen=True)
class ReverseKL(TrajectoryLoss):
    """REINFORCE with the cost `log p_F(tau) - log p_B(tau|x) - log R(x)`."""

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate(log_ratio(steps)[:, None], steps)


@dataclass(frozen=True)
class WithoutBackward(TrajectoryLoss):
    """The same without `p_B`, as in maximum-entropy reinforcement learning."""

    reads_backward = False

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate((steps.log_p_f.sum(-1) - steps.log_reward)[:, None], steps)


@dataclass(frozen=True)
class PlainPPO(TrajectoryLoss):
    """The return `log R(x)`, and the entropy of each row as a bonus beside it, not within it.

    At its first epoch the clipped objective has this gradient.
    """

    reads_backward = False
    bonus: float = 1.0

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate(self.bonus * steps.log_p_f - steps.log_reward[:, None], steps)


@dataclass(frozen=True)
class EvaluationBalance(TrajectoryLoss):
    """A flow learned from subtrajectories of the policy is the baseline of its own gradient."""

    needs_flow = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        fixed = steps._replace(log_p_f=lax.stop_gradient(steps.log_p_f))
        critic = jnp.mean(jnp.sum(subtb_residuals(fixed) ** 2, (1, 2)))
        rest = jnp.cumsum(db_residuals(steps)[:, ::-1], 1)[:, ::-1]
        return critic + surrogate(rest, steps)


JUDGED = (
    Judged(
        "REINFORCE of the reverse KL, hierarchical VI",
        "Malkin et al., GFlowNets and variational inference, 2023; Niu et al., 2024",
        "stop(log p_F(tau) - log p_B(tau|x) - log R(x)) log p_F(tau)",
        "right on policy",
        ReverseKL(),
        RIGHT,
        "trajectories of the policy itself, or importance weights",
        (Case(ReverseKL(), GRAPHS[WAYS], "wrong", "replay without weights", "uniform"),),
        draws="policy",
    ),
    Judged(
        "PPO with the KL to p_B in the reward (Ent-PPO, VPG)",
        "2606.15793; read as the first epoch, where nothing is clipped",
        "the return is log R(x) + sum of (log p_B - log p_F)",
        "right on policy",
        ReverseKL(),
        RIGHT,
        "p_B is in the reward; without it ends count by the number of their ways",
        (
            Case(ReverseKL(), GRAPHS[WAYS], "wrong", "replay without weights", "uniform"),
            Case(WithoutBackward(), GRAPHS[WAYS], "wrong", "p_B is dropped", "policy"),
        ),
        draws="policy",
    ),
    Judged(
        "Sub-EB",
        "Niu et al., Evaluating GFlowNet from partial episodes, 2026",
        "subtrajectory balance for the flow alone; its residual is the advantage of p_F",
        "right",
        EvaluationBalance(),
        RIGHT,
        cases=(Case(EvaluationBalance(), GRAPHS[WAYS], "right", "replay", "uniform"),),
        draws="policy",
    ),
    Judged(
        "plain PPO or A2C with an entropy bonus",
        "Schulman et al., Proximal policy optimization, 2017",
        "the return is log R(x); the entropy of each row is added to the loss",
        "wrong",
        PlainPPO(),
        {TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
        "an inner state is worth the mean of log R below it, not the log of a sum",
        (Case(PlainPPO(), EVEN, "wrong", "a tree of three equal rewards", "policy"),),
        draws="policy",
    ),
)
