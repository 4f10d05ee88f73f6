"""The losses that are built in: flow matching, detailed, trajectory, subtrajectory balance."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from examples.losses.graphs import GRAPHS, MEMORY, TREE, TWO_LENGTHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.flow_matching import FlowMatching
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import (
    DetailedBalance,
    LogVariance,
    SubtrajectoryBalance,
    TrajectoryBalance,
    subtb_residuals,
)
from fast.balance.steps import Steps

RIGHT = {TREE: "right", WAYS: "right", MEMORY: "right"}


@dataclass(frozen=True)
class Windows(TrajectoryLoss):
    """Subtrajectory balance on subtrajectories of one length alone."""

    needs_flow = True
    length: int = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        time = jnp.arange(steps.active.shape[1])
        kept = time[None, :] - time[:, None] == self.length - 1
        return jnp.mean(jnp.where(kept, subtb_residuals(steps) ** 2, 0.0))


@dataclass(frozen=True)
class EqualLengths(TrajectoryLoss):
    """Contrastive balance of pairs of equal length alone."""

    least_batch = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        ratios = jnp.sum(steps.log_p_f - steps.log_p_b, -1) - steps.log_reward
        lengths = steps.active.sum(1)
        squares = (ratios[:, None] - ratios[None]) ** 2
        return jnp.mean(jnp.where(lengths[:, None] == lengths[None], squares, 0.0))


JUDGED = (
    Judged(
        "flow matching",
        "Bengio et al., Flow network based generative models, 2021",
        "(log sum over parents of F(s) p_F(s'|s) - log F(s'))^2",
        "right",
        FlowMatching(),
        {TREE: "right", WAYS: "right"},
        "Markovian policies only",
    ),
    Judged(
        "detailed balance",
        "Bengio et al., GFlowNet foundations, 2023",
        "(log F(s) + log p_F - log p_B - log F(s'))^2",
        "right",
        DetailedBalance(),
        RIGHT,
    ),
    Judged(
        "trajectory balance",
        "Malkin et al., Trajectory balance, 2022",
        "(log Z + log p_F(tau) - log p_B(tau|x) - log R(x))^2",
        "right",
        TrajectoryBalance(),
        RIGHT,
    ),
    Judged(
        "subtrajectory balance",
        "Madan et al., Learning GFlowNets from partial episodes, 2023",
        "sum of lambda^(j - i) (log F(s_i) + log p_F - log p_B - log F(s_j))^2",
        "right under a condition",
        SubtrajectoryBalance(),
        RIGHT,
        "lambda > 0; subtrajectories of a single length above one are not enough",
        (
            Case(SubtrajectoryBalance(subtb_lambda=0.01), GRAPHS[WAYS], "right", "lambda near 0"),
            Case(Windows(1), GRAPHS[WAYS], "right", "of one step alone"),
            Case(Windows(2), GRAPHS[WAYS], "wrong", "of two steps alone"),
        ),
    ),
    Judged(
        "log variance, contrastive balance",
        "Richter et al., VarGrad, 2020; Zhang et al., Robust scheduling, 2023",
        "Var of log p_F(tau) - log p_B(tau|x) - log R(x)",
        "right under a condition",
        LogVariance(),
        RIGHT,
        "pairs of all lengths are compared",
        (Case(EqualLengths(), TWO_LENGTHS, "wrong", "pairs of equal length alone"),),
    ),
)
