"""Losses as objects: their needs of a policy, their value on a batch, and their source.

A loss of your own is a frozen dataclass that derives from `TrajectoryLoss`, `RatioLoss` or
`PolicyLoss`; its fields are its options. Use it as `--loss my_module:MyLoss` or as an object.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.steps import Steps
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy, Sampler
from fast.sampling.trajectories import Trajectories


def log_ratio(steps: Steps) -> Float[Array, " batch"]:
    """`f(tau) = log( p_F(tau) / (p_B(tau|x) R(x)) )`, in nats.

    The residual of trajectory balance is `log Z + f(tau)`; that of contrastive balance is
    `f(tau) - f(tau')`.
    """
    return log_path_ratio(steps) - steps.log_reward


def log_path_ratio(steps: Steps) -> Float[Array, " batch"]:
    """`log( p_F(tau) / p_B(tau|x) )`, in nats: the ratio without a reward."""
    return jnp.sum(steps.log_p_f - steps.log_p_b, -1)


@dataclass(frozen=True)
class Loss:
    """A function of a batch of complete trajectories, zero if the policy is balanced on them.

    Attributes:
        needs_flow: true if it reads `log F(s_t, W_t)`, which the network then gives.
        learns_log_z: true if `log Z` is a parameter of its own.
        log_z_reach: the largest distance, in nats, between that parameter and the estimate of a
            batch; beyond it the estimate replaces the parameter.
        least_batch: the size of the smallest batch on which it has a value.
        needs_markovian: true if it is for Markovian policies only.
        reads_backward: true if it reads `p_B`.
        reads_cache: true if it reads the activations that sampling cached.
        combines_samplers: true if samplers can be combined by it (eq:apx:dist, eq:apx:sm).
        source: its authors, and the year.
    """

    needs_flow: ClassVar[bool] = False
    learns_log_z: ClassVar[bool] = False
    log_z_reach: ClassVar[float] = 10.0
    least_batch: ClassVar[int] = 1
    needs_markovian: ClassVar[bool] = False
    reads_backward: ClassVar[bool] = True
    reads_cache: ClassVar[bool] = True
    combines_samplers: ClassVar[bool] = False
    source: ClassVar[str] = ""

    @property
    def log_z_learning_rate(self) -> float:
        """The learning rate of `log Z`."""
        return 0.1

    @property
    def anneals(self) -> bool:
        """True if it reads rewards at ends alone, so that they may be `R^beta` meanwhile."""
        return False

    @property
    def unit(self) -> str:
        """The unit of its values, for the axis of a plot; empty if it has none."""
        return ""

    def learned_log_z(
        self, sampler: Sampler, environment: AbstractEnvironment
    ) -> Float[Array, ""] | None:
        """`log Z` in nats as the sampler has learned it; None if it has not."""
        if self.learns_log_z:
            return sampler.log_z
        if not self.needs_flow:
            return None
        policy: Policy = sampler.policy
        start = environment.observe(environment.initial())
        return policy.log_flow(policy.network.read(policy.network.initial(), start))


@dataclass(frozen=True)
class TrajectoryLoss(Loss, ABC):
    """A loss that is a function of the terms of balance along trajectories.

    Subclasses define `value`. The gradient with respect to the policy's parameters goes through the
    terms, by the fastest way that the policy has.
    """

    @property
    def anneals(self) -> bool:
        """True unless it has inputs of its own, which may hold rewards."""
        return type(self).context is TrajectoryLoss.context

    @abstractmethod
    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of a batch.

        Args:
            steps: the terms: `log p_F`, `log p_B`, `log F` per step, `log R` per trajectory, in
                nats, 0 where padded; `steps.context` is the result of `context`.
            log_z: the parameter log Z, in nats, which starts at 0 unless the loss learns it.
            key: a random key, for losses that draw random numbers.
        """

    def estimate_log_z(self, steps: Steps, log_z: Float[Array, ""]) -> Float[Array, ""]:
        """An estimate of `log Z` from the batch: learned, the flow at `s_o`, or `-E f(tau)`."""
        if self.learns_log_z:
            return log_z
        return steps.log_flow[0, 0] if self.needs_flow else -log_ratio(steps).mean()

    def starting_log_z(self, steps: Steps, log_z: Float[Array, ""]) -> Float[Array, ""]:
        """`log Z` at the start of a step: the parameter, or the batch's value if that is far off.

        The best constant for a batch is `-E f(tau)`. Where `log R` spans hundreds of nats, it
        moves faster at first than Adam follows, so that all residuals have one sign and the policy
        learns little else. Beyond `log_z_reach`, and in the first step, when the parameter is NaN,
        it replaces the parameter, and the gradient is that of the log variance. (Richter et al.,
        VarGrad, 2020.)
        """
        if not self.learns_log_z:
            return log_z
        best = -log_ratio(steps).mean()
        return jnp.where(jnp.abs(best - log_z) <= self.log_z_reach, log_z, best)

    def context(self, environment: AbstractEnvironment, trajectories: Trajectories) -> Any:
        """More inputs from trajectories: arrays with a leading batch axis; by default none.

        No gradient flows through them.
        """
        return ()


@dataclass(frozen=True)
class RatioLoss(TrajectoryLoss):
    """A loss of `f(tau) = log( p_F(tau) / (p_B(tau|x) R(x)) )` that a constant does not change.

    It needs no `log Z`, and it can combine samplers: then `f` is the ratio of eq:apx:dist or
    eq:apx:sm.
    """

    least_batch: ClassVar[int] = 2
    combines_samplers: ClassVar[bool] = True

    @abstractmethod
    def of_ratios(self, ratios: Float[Array, " batch"], key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of a batch of ratios, in nats; zero if they are all equal."""

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of the ratios of a batch.

        Args:
            steps: the terms of balance, in nats.
            log_z: the learned log Z, in nats.
            key: a random key, for a loss that draws.
        """
        return self.of_ratios(log_ratio(steps), key)


@dataclass(frozen=True)
class PolicyLoss(Loss, ABC):
    """A loss that also evaluates the policy off the steps taken: other parents, other actions.

    It is the mean of `penalties` over the steps of a batch, differentiated as a whole.
    """

    reads_cache: ClassVar[bool] = False

    @abstractmethod
    def penalties(
        self, policy: Policy, environment: AbstractEnvironment, trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The penalty of each step of trajectories, 0 where padded.

        Args:
            policy: the sampler.
            environment: the state graph as array code.
            trajectories: the batch, padded to the horizon.
        """
