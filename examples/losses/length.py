"""Trajectory balance divided by length, limits of length, and alpha-GFN."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, MEMORY, TREE, TWO_LENGTHS, WAYS
from examples.losses.judging import Case, Judged
from examples.losses.weighted import Behaviour
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import tb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import CROSSING, make_instance


@dataclass(frozen=True)
class PerStep(TrajectoryLoss):
    """The residual of trajectory balance divided by the number of steps."""

    learns_log_z = True
    corrected: bool = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        gap = tb_residuals(steps, log_z)
        if not self.corrected:
            gap = gap + steps.log_p_b.sum(-1)
        return jnp.mean((gap / steps.active.sum(1)) ** 2)


@dataclass(frozen=True)
class Forced(TrajectoryLoss):
    """Trajectory balance where the last step at the cap is forced, and the loss takes it as chosen.

    It counts the probability that the network would have given it, which is below one.
    """

    learns_log_z = True
    needs_flow = True
    cap: int = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        at_cap = steps.active & (jnp.arange(steps.active.shape[1]) == self.cap - 1)
        chosen = jnp.where(at_cap, jax.nn.log_sigmoid(steps.log_flow), 0.0).sum(-1)
        return jnp.mean((tb_residuals(steps, log_z) + chosen) ** 2)


@dataclass(frozen=True)
class Alpha(TrajectoryLoss):
    """Trajectory balance of `alpha p_F` and `(1 - alpha) p_B`."""

    learns_log_z = True
    alpha: float = 1 / 3

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        mixed = jnp.log(self.alpha / (1 - self.alpha)) * steps.active.sum(1)
        return jnp.mean((tb_residuals(steps, log_z) + mixed) ** 2)


JUDGED = (
    Judged(
        "trajectory balance divided by length",
        "recursionpharma/gflownet, pull request 105; Hu et al., GFlowNet-EM, 2023",
        "((log Z + log p_F(tau) - log p_B(tau|x) - log R(x)) / T)^2",
        "right under a condition",
        PerStep(),
        RIGHT,
        "p_B is kept",
        (Case(PerStep(False), GRAPHS[WAYS], "wrong", "without p_B"),),
    ),
    Judged(
        "a forced end at a cap of length",
        "practice: torchgfn and recursionpharma/gflownet have such caps",
        "trajectory balance, the forced step with the probability that p_F would give it",
        "wrong",
        Forced(),
        {"two lengths": "wrong"},
        "right for R on what is left if the mask is also that of p_F",
        (
            Case(Forced(9), TWO_LENGTHS, "right", "the mask is that of p_F"),
            Case(Behaviour(1.0, cap=1), TWO_LENGTHS, "wrong", "longer ones are dropped"),
        ),
        graphs={"two lengths": TWO_LENGTHS},
    ),
    Judged(
        "weights alpha and 1 - alpha (alpha-GFN)",
        "Chen et al., Controlling exploration-exploitation in GFlowNets, 2026; as read",
        "(log Z + sum of (log alpha p_F - log (1 - alpha) p_B) - log R(x))^2",
        "right under a condition",
        Alpha(),
        {TREE: "wrong", WAYS: "wrong", MEMORY: "wrong", "one length": "right"},
        "alpha = 1/2, or all trajectories have one length: T steps weigh ((1 - alpha)/alpha)^T",
        (Case(Alpha(0.5), GRAPHS[WAYS], "right", "alpha = 1/2"),),
        graphs={**GRAPHS, "one length": make_instance("crossing", CROSSING)},
    ),
)
