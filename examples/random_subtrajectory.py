"""A loss of one's own that draws: subtrajectory balance on one random slice of each trajectory."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import subtb_residuals
from fast.balance.steps import Steps


@dataclass(frozen=True)
class RandomSubtrajectory(TrajectoryLoss):
    """The mean squared residual between `s_i` and `s_j`, `i < j` drawn anew in every step."""

    needs_flow: ClassVar[bool] = True

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of a batch, in nats squared."""
        residuals = subtb_residuals(steps)
        first, second = jax.random.split(key)
        length = steps.active.sum(1)
        start = jax.random.randint(first, length.shape, 0, length)
        end = start + jax.random.randint(second, length.shape, 0, length - start)
        return jnp.mean(residuals[jnp.arange(len(length)), start, end] ** 2)
