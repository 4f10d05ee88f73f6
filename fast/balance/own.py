"""A loss asked for its numbers, which may be of the user's own."""

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
    """The loss of a batch, which is of the user's own perhaps.

    Raises:
        InputError: if it raises, or is not one real number.
    """
    value: Array
    name = type(loss).__name__
    if isinstance(loss, RatioLoss):
        value = answer(name, (), "of_ratios", loss.of_ratios, log_ratio(steps), key)
    else:
        value = answer(name, (), "value", loss.value, steps, log_z, key)
    return value


def penalties_of(
    loss: PolicyLoss,
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
) -> Float[Array, "batch time"]:
    """The penalties of a batch, likewise.

    Raises:
        InputError: if asking for them raises, or they are not one real number for each step.
    """
    shape = trajectories.active.shape
    asked = policy, environment, trajectories
    penalties: Array = answer(type(loss).__name__, shape, "penalties", loss.penalties, *asked)
    return penalties


def context_of(
    loss: TrajectoryLoss, environment: AbstractEnvironment[Any], trajectories: Trajectories
) -> Any:
    """What else a loss wants to know of trajectories; no gradient flows through it.

    Raises:
        InputError: if asking for it raises.
    """
    name = type(loss).__name__
    return lax.stop_gradient(traced(name, "context", loss.context, environment, trajectories))
