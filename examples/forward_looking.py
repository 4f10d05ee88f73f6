"""Forward-looking detailed balance, with a potential of every state. Imports no JAX before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fast.balance.loss import TrajectoryLoss
from fast.balance.options import PenaltyName
from fast.tasks.options import check_options
from reference.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray

    from fast.balance.steps import Steps
    from fast.environments import AbstractEnvironment
    from fast.policies.policy import Sampler
    from fast.sampling.trajectories import Trajectories


@dataclass(frozen=True)
class ForwardLooking(TrajectoryLoss):
    """Detailed balance of flows `F(s) = F~(s) exp(phi(s))`, of which `log F~` is learned.

        log F~(s) + log p_F(s'|s) - log p_B(s|s') - log F~(s') + phi(s) - phi(s'),   F~(x) = 1

    The environment has a method `log_potential(state)`, `phi` in nats: any finite number at an
    inner state, `log R(x)` at a terminal one. An inner potential that is near the log flow leaves
    little to be learned: it gives credit before the end. `log R` itself is not read: what is
    learned is in proportion to `exp(phi(x))`.

    Proof that it has the zeros of detailed balance: `proofs_notes/losses/forward_looking.md`.
    """

    needs_flow: ClassVar[bool] = True
    source: ClassVar[str] = "Pan et al., Better training of GFlowNets with local credit, 2023"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""

    def __post_init__(self) -> None:
        check_options(self)

    def context(
        self, environment: AbstractEnvironment[Any], trajectories: Trajectories
    ) -> Float[Array, "batch states"]:
        """The potentials of `s_0, ..., s_T`.

        Raises:
            InputError: if the environment has none.
        """
        import jax

        potentials: Array = jax.vmap(jax.vmap(_potential_of(environment)))(trajectories.states)
        return potentials

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The mean penalty of `residuals` over the steps of a batch."""
        import jax.numpy as jnp

        from fast.balance.losses import PENALTIES

        penalties = jnp.where(steps.active, PENALTIES[self.penalty](self.residuals(steps)), 0.0)
        return jnp.sum(penalties) / jnp.sum(steps.active)

    def residuals(self, steps: Steps) -> Float[Array, "batch time"]:
        """The residual of every step, in nats, 0 where padded."""
        import jax.numpy as jnp

        # From the end on the learned factor is 1; then a potential minus itself is 0.
        learned = jnp.where(steps.active, steps.log_flow, 0.0)
        after = jnp.pad(learned[:, 1:], ((0, 0), (0, 1)))
        gained = steps.context[:, :-1] - steps.context[:, 1:]
        residuals = learned + steps.log_p_f - steps.log_p_b - after + gained
        return jnp.where(steps.active, residuals, 0.0)

    def estimate_log_z(self, steps: Steps, log_z: Float[Array, ""]) -> Float[Array, ""]:
        """`log F~(s_o) + phi(s_o)`."""
        estimate: Array = steps.log_flow[0, 0] + steps.context[0, 0]
        return estimate

    def learned_log_z(
        self, sampler: Sampler, environment: AbstractEnvironment[Any]
    ) -> Float[Array, ""] | None:
        """`log F~(s_o) + phi(s_o)`."""
        flow = super().learned_log_z(sampler, environment)
        return None if flow is None else flow + _potential_of(environment)(environment.initial())


def _potential_of(environment: AbstractEnvironment[Any]) -> Any:
    """The environment's potential.

    Raises:
        InputError: if it has none.
    """
    potential = getattr(environment, "log_potential", None)
    if not callable(potential):
        raise InputError(
            f"ForwardLooking: {type(environment).__name__} has no method log_potential(state), the "
            "potential of every state in nats: write one that is log_reward at terminal states"
        )
    return potential
