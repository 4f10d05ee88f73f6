"""A sampler trained together with frozen samplers, each in place of a factor of the reward."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import RatioLoss, TrajectoryLoss
from fast.balance.losses import aggregated_ratio, streaming_ratio
from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories
from fast.tracing import answer


class FrozenSamplers(eqx.Module):
    """Frozen trained samplers, each in place of a factor of the reward.

    Attributes:
        policies: their policies; outside of `vmap` with a leading axis, one entry per seed.
        environments: the state graph with the features that each sampler sees.
        rewarded: whether the reward of other factors enters as well (a step of a stream), or
            none is evaluated (an aggregate).
    """

    policies: tuple[Policy, ...] = ()
    environments: tuple[AbstractEnvironment, ...] = ()
    rewarded: bool = eqx.field(static=True, default=True)


@dataclass(frozen=True)
class _CombinedLoss(TrajectoryLoss):
    """A `RatioLoss` of the ratios of eq:apx:dist or eq:apx:sm to frozen samplers."""

    loss: RatioLoss
    frozen: FrozenSamplers

    def context(self, environment: AbstractEnvironment, trajectories: Trajectories) -> list[Steps]:
        """The terms of each frozen sampler along base trajectories, through its own latent."""
        pairs = zip(self.frozen.policies, self.frozen.environments, strict=True)
        return [evaluate(policy, seen, trajectories) for policy, seen in pairs]

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of the combined ratios."""
        name, ratios = type(self.loss).__name__, self._ratios(steps)
        value: Array = answer(name, (), "of_ratios", self.loss.of_ratios, ratios, key)
        return value

    def estimate_log_z(self, steps: Steps, log_z: Float[Array, ""]) -> Float[Array, ""]:
        """Minus the mean combined ratio."""
        return -jnp.mean(self._ratios(steps))

    def _ratios(self, steps: Steps) -> Float[Array, " batch"]:
        return combined_ratio(steps, steps.context, rewarded=self.frozen.rewarded)


jax.tree_util.register_dataclass(_CombinedLoss, data_fields=["frozen"], meta_fields=["loss"])


def combined_loss(loss: RatioLoss, frozen: FrozenSamplers) -> TrajectoryLoss:
    """The loss of a sampler's ratios to frozen ones; its context is the terms of these."""
    return _CombinedLoss(loss, frozen)


def combined_ratio(
    steps: Steps, frozen: Sequence[Steps], *, rewarded: bool
) -> Float[Array, " batch"]:
    """The log ratio of a sampler to frozen ones along the same trajectories, in nats.

    Args:
        steps: the terms of the sampler.
        frozen: the terms of the frozen samplers.
        rewarded: whether the reward of other factors enters, as in a step of a stream.
    """
    if rewarded:
        (previous,) = frozen
        return streaming_ratio(steps, previous)
    return aggregated_ratio(steps, frozen)
