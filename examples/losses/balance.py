"""Balance of flows, steps and trajectories: built in, weighted, penalised, with a batch's `Z`."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.losses.graphs import GRAPHS, MEMORY, TREE, TWO_LENGTHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.flow_matching import FlowMatching
from fast.balance.loss import RatioLoss, TrajectoryLoss
from fast.balance.losses import (
    DetailedBalance,
    LogVariance,
    SubtrajectoryBalance,
    TrajectoryBalance,
    db,
    db_residuals,
    subtb_residuals,
    tb_residuals,
)
from fast.balance.steps import Steps


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


@dataclass(frozen=True)
class BatchZ(RatioLoss):
    """Trajectory balance with `Z` the mean of `R p_B / p_F` in groups of a batch."""

    group: int = 2

    def of_ratios(self, ratios: Any, key: Any) -> Any:
        groups = ratios[: len(ratios) // self.group * self.group].reshape(-1, self.group)
        log_z = jax.nn.logsumexp(-groups, 1, keepdims=True) - jnp.log(self.group)
        return jnp.mean((groups + log_z) ** 2)


@dataclass(frozen=True)
class FlowPenalty(TrajectoryLoss):
    """Detailed balance plus `strength` times the mean flow of the states on a trajectory."""

    needs_flow = True
    strength: float = 0.1

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        flow = jnp.where(steps.active, jnp.exp(steps.log_flow), 0.0)
        return db(steps) + self.strength * jnp.sum(flow) / jnp.sum(steps.active)


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
        "flow matching",
        "Bengio et al., Flow network based generative models, 2021",
        "(log sum over parents of F(s) p_F(s'|s) - log F(s'))^2",
        "right",
        FlowMatching(),
        "Markovian policies only",
        outcomes={TREE: "right", WAYS: "right"},
    ),
    Judged(
        "detailed balance",
        "Bengio et al., GFlowNet foundations, 2023",
        "(log F(s) + log p_F - log p_B - log F(s'))^2",
        "right",
        DetailedBalance(),
    ),
    Judged(
        "trajectory balance",
        "Malkin et al., Trajectory balance, 2022",
        "(log Z + log p_F(tau) - log p_B(tau|x) - log R(x))^2",
        "right",
        TrajectoryBalance(),
    ),
    Judged(
        "subtrajectory balance",
        "Madan et al., Learning GFlowNets from partial episodes, 2023",
        "sum of lambda^(j - i) (log F(s_i) + log p_F - log p_B - log F(s_j))^2",
        "right under a condition",
        SubtrajectoryBalance(),
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
        "pairs of all lengths are compared",
        (Case(EqualLengths(), TWO_LENGTHS, "wrong", "pairs of equal length alone"),),
    ),
    Judged(
        "weighted detailed balance",
        "Silva et al., When do GFlowNets learn the right distribution?, 2025",
        "sum of w(s, s') (log F(s) + log p_F - log p_B - log F(s'))^2, w > 0",
        "right",
        WeightedDetailedBalance(),
    ),
    Judged(
        "replay, local search, a teacher",
        "Vemgal et al., 2023; Kim et al., Local search, 2024; Kim et al., Adaptive teachers, 2025",
        "the mean over any behaviour of (log Z + log p_F - log p_B - log R)^2",
        "right under a condition",
        Behaviour(),
        "every trajectory is drawn with a positive probability",
        (Case(Behaviour(1.0, cap=1), GRAPHS[WAYS], "wrong", "a hole in the support"),),
    ),
    Judged(
        "ACE",
        "Dall'Antonia et al., Divergent trajectory balance, 2026; from the abstract and a summary",
        "the mean over w p_F + (1 - w) p_E of (log Z + log p_F - log p_B - log R)^2, p_E explores",
        "right under a condition",
        Complementary(),
        "0 < w; the explorer avoids what the sampler has learned",
        (Case(Complementary(0.0), GRAPHS[WAYS], "wrong", "w = 0, and an explorer of long ways"),),
        draws="uniform",
    ),
    Judged(
        "Z of the batch (GFlowRL)",
        "2607.13394; as read",
        "(log Z(batch) + log p_F - log p_B - log R)^2, Z(batch) the mean of R p_B / p_F",
        "right under a condition",
        BatchZ(),
        "groups of two or more; the zero does not depend on their size, a minimum above zero does",
        (Case(BatchZ(1), GRAPHS[WAYS], "wrong", "groups of one"),),
    ),
    Judged(
        "detailed balance with lambda times the flow",
        "Morozov et al., Revisiting non-acyclic GFlowNets, 2025",
        "(log F(s) + log p_F - log p_B - log F(s'))^2 + lambda F(s)",
        "wrong",
        FlowPenalty(),
        "any lambda > 0",
        (Case(FlowPenalty(0.0), GRAPHS[WAYS], "right", "lambda = 0"),),
        outcomes={TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
    ),
    Judged(
        "GAFlowNet",
        "Pan et al., Generative augmented flow networks, 2023",
        "(log Z + log p_F(tau) - sum of log(p_B(s|s') + r(s, s')/F(s')) - log R(x))^2",
        "wrong",
        Augmented(),
        "any fixed bonus r; right where it has vanished",
        (Case(Augmented(0.0), GRAPHS[WAYS], "right", "the bonus has vanished"),),
        outcomes={TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
    ),
)
