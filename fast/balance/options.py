"""The losses by name. Imports no JAX before one is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fast.balance.loss import Loss, PolicyLoss, RatioLoss, TrajectoryLoss
from fast.tasks.options import check_options, require

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray

    from fast.balance.steps import Steps
    from fast.environments import AbstractEnvironment
    from fast.policies.policy import Policy
    from fast.sampling.trajectories import Trajectories

PenaltyName = Literal["square", "huber", "log-cosh"]
UNITS: dict[PenaltyName, str] = {
    "square": "nats²",
    "huber": "nats², linear beyond 1 nat",
    "log-cosh": "nats², linear far from 0",
}


class _Penalised:
    """A loss that is an average of penalties of residuals."""

    penalty: PenaltyName

    @property
    def unit(self) -> str:
        """That of the penalty."""
        return UNITS[self.penalty]


@dataclass(frozen=True)
class TrajectoryBalance(_Penalised, TrajectoryLoss):
    """Trajectory balance (col:tb): one residual per trajectory, and log Z as a parameter."""

    learns_log_z: ClassVar[bool] = True
    source: ClassVar[str] = "Malkin et al., Trajectory balance, 2022"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""
    log_z_learning_rate: float = 1e-1  # type: ignore[misc]  # here an option, elsewhere a constant
    """Learning rate of log Z."""

    def __post_init__(self) -> None:
        check_options(self)
        rate = self.log_z_learning_rate
        require(self, "log_z_learning_rate", 0 < rate < float("inf"), "be positive and finite")

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`tb` of the penalty."""
        from fast.balance.losses import PENALTIES, tb

        return tb(steps, log_z, PENALTIES[self.penalty])


@dataclass(frozen=True)
class LogVariance(RatioLoss):
    """Contrastive balance (col:cb), all pairs of a batch: twice the variance of the log ratio."""

    source: ClassVar[str] = "Richter et al., VarGrad, 2020; Zhang et al., 2023"

    @property
    def unit(self) -> str:
        """That of a square."""
        return UNITS["square"]

    def of_ratios(self, ratios: Float[Array, " batch"], key: PRNGKeyArray) -> Float[Array, ""]:
        """`log_variance`."""
        from fast.balance.losses import log_variance

        return log_variance(ratios)


@dataclass(frozen=True)
class DetailedBalance(_Penalised, TrajectoryLoss):
    """Detailed balance (eq:conditionsa): one residual per step, between flows of states."""

    needs_flow: ClassVar[bool] = True
    source: ClassVar[str] = "Bengio et al., GFlowNet foundations, 2023"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""

    def __post_init__(self) -> None:
        check_options(self)

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`db` of the penalty."""
        from fast.balance.losses import PENALTIES, db

        return db(steps, PENALTIES[self.penalty])


@dataclass(frozen=True)
class SubtrajectoryBalance(_Penalised, TrajectoryLoss):
    """Subtrajectory balance (prop:lifted_balance): all pairs of states along a trajectory."""

    needs_flow: ClassVar[bool] = True
    source: ClassVar[str] = "Madan et al., Learning GFlowNets from partial episodes, 2023"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""
    subtb_lambda: float = 0.9
    """Subtrajectories of n steps weigh lambda^n."""

    def __post_init__(self) -> None:
        check_options(self)
        require(self, "subtb_lambda", 0 < self.subtb_lambda <= 1, "lie in (0, 1]")

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """`subtb` of the penalty."""
        from fast.balance.losses import PENALTIES, subtb

        return subtb(steps, self.subtb_lambda, PENALTIES[self.penalty])


@dataclass(frozen=True)
class FlowMatching(_Penalised, PolicyLoss):
    """Flow matching (eq:conditionsa): what flows into a state, over all its parents, flows out."""

    needs_flow: ClassVar[bool] = True
    needs_markovian: ClassVar[bool] = True
    reads_backward: ClassVar[bool] = False
    source: ClassVar[str] = "Bengio et al., Flow network based generative models, 2021"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""

    def __post_init__(self) -> None:
        check_options(self)

    def penalties(
        self, policy: Policy, environment: AbstractEnvironment[Any], trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The penalties of `fm_residuals`."""
        import jax.numpy as jnp

        from fast.balance.flow_matching import fm_residuals
        from fast.balance.losses import PENALTIES

        residuals = PENALTIES[self.penalty](fm_residuals(policy, environment, trajectories))
        return jnp.where(trajectories.active, residuals, 0.0)


LOSSES: dict[str, type[Loss]] = {
    "tb": TrajectoryBalance,
    "log_variance": LogVariance,
    "db": DetailedBalance,
    "subtb": SubtrajectoryBalance,
    "fm": FlowMatching,
}
