"""Forward-looking detailed balance (Pan et al., 2023): flows beside a potential of every state."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps


@dataclass(frozen=True)
class ForwardLooking(TrajectoryLoss):
    """The mean of `(log F~(s) + log p_F - log p_B - log F~(s') + phi(s) - phi(s'))^2`, `F~(x) = 1`.

    `phi` is the environment's `log_potential(state)` in nats: any finite number at an inner state,
    `log R` at a terminal one. The flow is `F~ exp(phi)`: proofs_notes/losses/forward_looking.md.
    """

    needs_flow: ClassVar[bool] = True

    def context(self, environment: Any, trajectories: Any) -> Array:
        return jax.vmap(jax.vmap(environment.log_potential))(trajectories.states)

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        return jnp.sum(self.residuals(steps) ** 2) / jnp.sum(steps.active)

    def residuals(self, steps: Steps) -> Float[Array, "batch time"]:
        learned = jnp.pad(jnp.where(steps.active, steps.log_flow, 0), ((0, 0), (0, 1)))
        flow = learned + steps.context
        gap = flow[:, :-1] + steps.log_p_f - steps.log_p_b - flow[:, 1:]
        return jnp.where(steps.active, gap, 0)

    def estimate_log_z(self, steps: Steps, log_z: Float[Array, ""]) -> Float[Array, ""]:
        return steps.log_flow[0, 0] + steps.context[0, 0]

    def learned_log_z(self, sampler: Any, environment: Any) -> Any:
        start = environment.log_potential(environment.initial())
        return super().learned_log_z(sampler, environment) + start
