"""Balance conditions as log residuals of trajectories, and losses on them.

A residual is the logarithm of the left-hand side minus that of the right-hand side, in nats; it is
zero everywhere if and only if the condition holds. A loss averages a penalty of residuals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import RatioLoss, TrajectoryLoss, log_path_ratio, log_ratio
from fast.balance.steps import Steps
from reference.contract.errors import check_fields, require

Penalty = Callable[[Float[Array, "*any"]], Float[Array, "*any"]]
PenaltyName = Literal["square", "huber", "log-cosh"]
UNITS: dict[PenaltyName, str] = {
    "square": "nats²",
    "huber": "nats², linear beyond 1 nat",
    "log-cosh": "nats², linear far from 0",
}


def square(residual: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """`r^2`."""
    return residual**2


def huber(residual: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """`r^2` up to 1 nat, `2 |r| - 1` beyond: large residuals no longer dominate."""
    size = jnp.abs(residual)
    return jnp.where(size <= 1, residual**2, 2 * size - 1)


def log_cosh(residual: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """`2 log cosh r`, which is about `r^2` near 0 and `2 |r|` far away."""
    return 2 * (jnp.logaddexp(residual, -residual) - jnp.log(2.0))


PENALTIES: dict[PenaltyName, Penalty] = {"square": square, "huber": huber, "log-cosh": log_cosh}


def tb_residuals(steps: Steps, log_z: Float[Array, ""]) -> Float[Array, " batch"]:
    """Trajectory balance: `log Z + log p_F(tau) - log p_B(tau|x) - log R(x)`.

    Paper: col:tb. (Malkin et al., Trajectory balance, 2022.)
    """
    return log_z + log_ratio(steps)


def tb(steps: Steps, log_z: Float[Array, ""], penalty: Penalty = square) -> Float[Array, ""]:
    """The trajectory balance loss: the mean penalty of `tb_residuals`. Paper: col:objectives.

    Args:
        steps: the terms of balance, in nats.
        log_z: the learned log Z, in nats.
        penalty: the function of a residual that is averaged.
    """
    return jnp.mean(penalty(tb_residuals(steps, log_z)))


def log_variance(ratios: Float[Array, " batch"], penalty: Penalty = square) -> Float[Array, ""]:
    """The contrastive balance loss, `E (f(tau) - f(tau'))^2 = 2 Var f`, without bias.

    Needs no `log Z`; with `f = log_ratio` it is twice the trajectory balance loss at the best
    `log Z = -E f`. With `aggregated_ratio` or `streaming_ratio` it is the loss of those conditions.
    Another penalty than the square is averaged over all pairs of distinct trajectories.
    Paper: col:objectives, "variance loss". (Richter et al., VarGrad, 2020; Zhang et al., Robust
    scheduling with GFlowNets, 2023.)
    """
    if penalty is square:
        return 2 * jnp.var(ratios, ddof=1)
    batch = len(ratios)
    return jnp.sum(penalty(ratios[:, None] - ratios)) / (batch * (batch - 1))


def aggregated_ratio(steps: Steps, clients: Sequence[Steps]) -> Float[Array, " batch"]:
    """`log p_F/p_B (tau) - sum over clients of log p_F/p_B (tau)`, constant at balance.

    Then the sampler's law is proportional to the product of the clients' laws. All are evaluated
    along the same base trajectories, each through its own latent. Paper: prop:apx:dist.
    (Silva et al., Embarrassingly parallel GFlowNets, 2024.)
    """
    return log_path_ratio(steps) - sum(log_path_ratio(client) for client in clients)


def streaming_ratio(steps: Steps, previous: Steps) -> Float[Array, " batch"]:
    """`log p_F/(p_B R_T) (tau) - log p_F/p_B (tau)` of the previous sampler, constant at balance.

    Then the sampler's law is proportional to `R_T` times the previous law. Paper: prop:apx:sm.
    (Silva et al., Streaming Bayes GFlowNets, 2024.)
    """
    return log_ratio(steps) - log_path_ratio(previous)


def db_residuals(steps: Steps) -> Float[Array, "batch time"]:
    """Detailed balance: `log F(s_t) + log p_F - log p_B - log F(s_{t+1})`, with `F(x) = R(x)`.

    Zero where padded. (Bengio et al., GFlowNet foundations, 2023.)
    """
    # `log F` of `s_0, ..., s_T`: the learned flow, and the reward from the end on.
    flows = jnp.where(steps.active, steps.log_flow, steps.log_reward[:, None])
    flows = jnp.concatenate([flows, steps.log_reward[:, None]], -1)
    residuals = flows[:, :-1] + steps.log_p_f - steps.log_p_b - flows[:, 1:]
    return jnp.where(steps.active, residuals, 0.0)


def db(steps: Steps, penalty: Penalty = square) -> Float[Array, ""]:
    """The detailed balance loss: the mean penalty over all steps of the batch."""
    residuals = penalty(db_residuals(steps))
    return jnp.sum(jnp.where(steps.active, residuals, 0.0)) / jnp.sum(steps.active)


def subtb_residuals(steps: Steps) -> Float[Array, "batch starts ends"]:
    """Subtrajectory balance between `s_i` and `s_j`: the sum of `db_residuals` from i to j.

    `log F(s_i) + sum of (log p_F - log p_B) - log F(s_j)` at `[:, i, j - 1]` for `i < j`, else 0;
    zero where padded. Paper: prop:lifted_balance. (Madan et al., Learning GFlowNets from partial
    episodes, 2023.)
    """
    total = jnp.cumsum(db_residuals(steps), -1)
    before = jnp.pad(total[:, :-1], ((0, 0), (1, 0)))
    return jnp.where(_pairs(steps), total[:, None, :] - before[:, :, None], 0.0)


def subtb(steps: Steps, decay: float = 0.9, penalty: Penalty = square) -> Float[Array, ""]:
    """The subtrajectory balance loss: weights `lambda^(j - i)` that sum to 1 per trajectory.

    Args:
        steps: the terms of balance, in nats.
        decay: lambda, in (0, 1].
        penalty: the function of a residual that is averaged.
    """
    time = jnp.arange(steps.active.shape[1])
    weights = jnp.where(_pairs(steps), decay ** (time[None, :] - time[:, None]), 0.0)
    weights = weights / weights.sum((1, 2), keepdims=True)
    return jnp.mean(jnp.sum(weights * penalty(subtb_residuals(steps)), (1, 2)))


def _pairs(steps: Steps) -> Array:
    """A mask of the pairs `(i, j - 1)`: the first and the last step of a subtrajectory."""
    time = jnp.arange(steps.active.shape[1])
    return (time[:, None] <= time[None, :]) & steps.active[:, None, :]


@dataclass(frozen=True)
class Penalised:
    """A loss that is an average of penalties of residuals."""

    penalty: PenaltyName = "square"
    """The function of a residual that is averaged."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)

    @property
    def unit(self) -> str:
        """The unit of the penalty."""
        return UNITS[self.penalty]


@dataclass(frozen=True)
class TrajectoryBalance(Penalised, TrajectoryLoss):
    """Trajectory balance (col:tb): one residual per trajectory, and log Z as a parameter."""

    name: ClassVar[str] = "tb"
    learns_log_z: ClassVar[bool] = True
    source: ClassVar[str] = "Malkin et al., Trajectory balance, 2022"

    log_z_learning_rate: float = 0.1
    """Learning rate of log Z."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.log_z_learning_rate
        require(self, "log_z_learning_rate", 0 < rate < float("inf"), "be positive and finite")

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`tb` with the chosen penalty."""
        return tb(steps, log_z, PENALTIES[self.penalty])


@dataclass(frozen=True)
class LogVariance(Penalised, RatioLoss):
    """Contrastive balance (col:cb), all pairs of a batch: twice the variance of the log ratio.

    With another penalty, its mean over the differences of all pairs.
    """

    name: ClassVar[str] = "log_variance"
    source: ClassVar[str] = "Richter et al., VarGrad, 2020; Zhang et al., 2023"

    def of_ratios(self, ratios: Float[Array, " batch"], key: PRNGKeyArray) -> Float[Array, ""]:
        """`log_variance` with the chosen penalty."""
        return log_variance(ratios, PENALTIES[self.penalty])


@dataclass(frozen=True)
class DetailedBalance(Penalised, TrajectoryLoss):
    """Detailed balance (eq:conditionsa): one residual per step, between flows of states."""

    name: ClassVar[str] = "db"
    needs_flow: ClassVar[bool] = True
    source: ClassVar[str] = "Bengio et al., GFlowNet foundations, 2023"

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`db` with the chosen penalty."""
        return db(steps, PENALTIES[self.penalty])


@dataclass(frozen=True)
class SubtrajectoryBalance(Penalised, TrajectoryLoss):
    """Subtrajectory balance (prop:lifted_balance): all pairs of states along a trajectory."""

    name: ClassVar[str] = "subtb"
    needs_flow: ClassVar[bool] = True
    source: ClassVar[str] = "Madan et al., Learning GFlowNets from partial episodes, 2023"

    subtb_lambda: float = 0.9
    """Subtrajectories of n steps weigh lambda^n."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "subtb_lambda", 0 < self.subtb_lambda <= 1, "lie in (0, 1]")

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`subtb` with the chosen penalty."""
        return subtb(steps, self.subtb_lambda, PENALTIES[self.penalty])
