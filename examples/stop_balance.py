"""Modified detailed balance (Deleu et al., 2022): every state can stop, so no flow is learned."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.balance.loss import PolicyLoss


@dataclass(frozen=True)
class StopBalance(PolicyLoss):
    """Detailed balance with the flow `R(x_s) / p_F(x_s|s, W)`, where s stops in a state x_s alone.

    Steps that stop have no residual. Proof: proofs_notes/losses/stop_balance.md.
    """

    def penalties(
        self, policy: Any, environment: Any, trajectories: Any
    ) -> Float[Array, "batch time"]:
        return self.residuals(policy, environment, trajectories) ** 2

    def residuals(self, policy: Any, environment: Any, batch: Any) -> Float[Array, "batch time"]:
        def along(function: Any, *arguments: Any) -> Any:
            return jax.vmap(jax.vmap(function))(*arguments)

        def stop(state: Any) -> tuple[Array, Array]:
            children = jax.vmap(environment.step, (None, 0))(state, jnp.arange(environment.actions))
            ends = environment.mask(state) & jax.vmap(environment.is_terminal)(children)
            action = jnp.argmax(ends)
            return action, environment.log_reward(environment.step(state, action))

        def taken(log_p: Array, index: Array) -> Array:
            return jnp.take_along_axis(log_p, index[..., None], -1)[..., 0]

        observed = along(environment.observe, batch.states)
        outputs = policy.network.unroll(observed)
        log_p_f = policy.log_p_f(outputs, along(environment.mask, batch.states))
        log_p_b = policy.log_p_b(outputs, observed, along(environment.parent_mask, batch.states))
        action, log_reward = along(stop, batch.states)
        flow = log_reward - taken(log_p_f, action)
        before, after = (
            jax.tree.map(lambda leaf, cut=cut: leaf[:, cut], batch.states)
            for cut in (slice(None, -1), slice(1, None))
        )
        parent = along(environment.undo, before, batch.actions)
        step = taken(log_p_f[:, :-1], batch.actions) - taken(log_p_b[:, 1:], parent)
        goes_on = batch.active & ~along(environment.is_terminal, after)
        return jnp.where(goes_on, flow[:, :-1] + step - flow[:, 1:], 0)
