"""Trajectories sampled backwards from terminal states."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.actions import ON_POLICY, draw_action
from fast.sampling.trajectories import Trajectories, batch_first


def sample_backward(
    policy: Policy, environment: AbstractEnvironment, final: Any, draws: Float[Array, "time batch"]
) -> Trajectories:
    """Samples trajectories `tau ~ p_B(. | x)` from their ends; not for a `p_B` that reads latents.

    No gradient flows through the samples; the draws are those of `uniforms`.

    Args:
        policy: the sampler, whose p_B reads no latent.
        environment: the state graph as array code.
        final: a batch of terminal states.
        draws: those of `uniforms`.
    """

    def move(state: Any, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        mask = jax.vmap(environment.parent_mask)(state)
        active = mask.any(-1)
        log_p = policy.log_p_b(None, jax.vmap(environment.observe)(state), mask)
        parent = draw_action(log_p, mask, draw, ON_POLICY)
        action = jax.vmap(environment.redo)(state, parent)
        before = jax.vmap(environment.backward_step)(state, parent)
        kept = jax.tree.map(lambda a, b: _where(active, a, b), before, state)
        return kept, (kept, action, active)

    _, (earlier, actions, active) = lax.scan(move, final, draws)
    # Row k is k + 1 steps before the end. A trajectory of L steps begins at row L - 1.
    time, batch = draws.shape
    row = active.sum(0) - 1 - jnp.arange(time)[:, None]
    forward = row >= 0
    take = jnp.maximum(row, 0), jnp.arange(batch)
    states = jax.tree.map(
        lambda a, x: jnp.concatenate([_where(forward, a[take], x[None]), x[None]]), earlier, final
    )
    log_reward = jax.vmap(environment.log_reward)(final)
    return batch_first(Trajectories(states, actions[take], forward, final, log_reward))


def _where(condition: Array, a: Array, b: Array) -> Array:
    """`jnp.where` with the condition's axes first."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim)), a, b)
