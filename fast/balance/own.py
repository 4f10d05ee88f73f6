"""Checked evaluation of a loss, which may be a user's."""

from typing import Any

from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import PolicyLoss, RatioLoss, TrajectoryLoss, log_ratio
from fast.balance.steps import Steps
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories
from fast.tracing import answer, traced


def value_of(
    loss: TrajectoryLoss, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray
) -> Float[Array, ""]:
    """The loss of a batch; raises InputError if the loss raises, or is not one real number.

    Args:
        loss: the loss.
        steps: the terms of balance, in nats.
        log_z: the learned log Z, in nats.
        key: a random key, for a loss that draws.
    """
    name = type(loss).__name__
    if isinstance(loss, RatioLoss):
        return answer(name, (), "of_ratios", loss.of_ratios, log_ratio(steps), key)
    return answer(name, (), "value", loss.value, steps, log_z, key)


def penalties_of(
    loss: PolicyLoss, policy: Policy, environment: AbstractEnvironment, trajectories: Trajectories
) -> Float[Array, "batch time"]:
    """The penalties of a batch.

    Raises InputError if the loss raises, or they are not one real number per step.

    Args:
        loss: the loss.
        policy: the sampler.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
    """
    shape = trajectories.active.shape
    asked = policy, environment, trajectories
    return answer(type(loss).__name__, shape, "penalties", loss.penalties, *asked)


def context_of(
    loss: TrajectoryLoss, environment: AbstractEnvironment, trajectories: Trajectories
) -> Any:
    """The further inputs of a loss; no gradient flows through them.

    Raises InputError if the loss raises.

    Args:
        loss: the loss.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
    """
    name = type(loss).__name__
    return lax.stop_gradient(traced(name, "context", loss.context, environment, trajectories))
