"""Detailed balance where every state can stop: no flows. Imports no JAX before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fast.balance.loss import PolicyLoss
from fast.balance.options import PenaltyName
from fast.tasks.options import check_options

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int

    from fast.environments import AbstractEnvironment
    from fast.policies.policy import Policy
    from fast.sampling.trajectories import Trajectories


@dataclass(frozen=True)
class StopBalance(PolicyLoss):
    """Modified detailed balance: every state s has one child x_s that is terminal, and no other's.

    Where the policy stops it says its flow, `F(s, W) = R(x_s) / p_F(x_s | s, W)`, so that none is
    learned. Of a step between two states that are not terminal,

        log R(x_s) + log p_F(s'|s, W) + log p_F(x_s'|s', W')
            - log R(x_s') - log p_B(s|s') - log p_F(x_s|s, W);

    a step that stops has none. For graphs in which a state cannot stop it means nothing. Proof:
    `proofs_notes/losses/stop_balance.md`.
    """

    source: ClassVar[str] = "Deleu et al., Bayesian structure learning with GFlowNets, 2022"

    penalty: PenaltyName = "square"
    """What is averaged of the residuals."""

    def __post_init__(self) -> None:
        check_options(self)

    def penalties(
        self, policy: Policy, environment: AbstractEnvironment[Any], trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The penalty of each step, 0 of those that stop."""
        import jax.numpy as jnp

        from fast.balance.losses import PENALTIES

        residuals = self.residuals(policy, environment, trajectories)
        return jnp.where(trajectories.active, PENALTIES[self.penalty](residuals), 0.0)

    def residuals(
        self, policy: Policy, environment: AbstractEnvironment[Any], trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The residual of every step in nats; 0 where it stops, and where padded."""
        import jax
        import jax.numpy as jnp

        states, actions = trajectories.states, trajectories.actions

        def every(function: Any, *arguments: Any) -> Any:
            return jax.vmap(jax.vmap(function))(*arguments)

        seen = every(environment.observe, states)
        outputs = policy.network.unroll(seen)
        log_p_f = policy.log_p_f(outputs, every(environment.mask, states))
        stop, log_reward = every(lambda state: _stop(environment, state), states)
        log_stop = _taken(log_p_f, stop)
        log_p_b = policy.log_p_b(outputs, seen, every(environment.parent_mask, states))
        before = jax.tree.map(lambda leaf: leaf[:, :-1], states)
        parent = every(environment.undo, before, actions)
        # A state's flow, log R(x_s) - log p_F(x_s|s).
        flow = log_reward - log_stop
        residuals = (
            flow[:, :-1] + _taken(log_p_f[:, :-1], actions) - _taken(log_p_b[:, 1:], parent)
        ) - flow[:, 1:]
        goes_on = trajectories.active & ~every(
            environment.is_terminal, jax.tree.map(lambda leaf: leaf[:, 1:], states)
        )
        return jnp.where(goes_on, residuals, 0.0)


def _stop(
    environment: AbstractEnvironment[Any], state: Any
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """The action by which a state stops, and the log reward of where."""
    import jax
    import jax.numpy as jnp

    children = jax.vmap(environment.step, (None, 0))(state, jnp.arange(environment.actions))
    ends = environment.mask(state) & jax.vmap(environment.is_terminal)(children)
    action = jnp.argmax(ends)
    return action, environment.log_reward(environment.step(state, action))


def _taken(log_p: Float[Array, "batch time n"], index: Int[Array, "batch time"]) -> Any:
    import jax.numpy as jnp

    return jnp.take_along_axis(log_p, index[..., None], -1)[..., 0]
