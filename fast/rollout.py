"""Sampling trajectories from a policy, and evaluating policies along them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.policies import Policy


class Trajectories(NamedTuple):
    """A batch of complete trajectories, padded to the horizon.

    Attributes:
        observations: of `s_0, ..., s_{T-1}`.
        masks: their legal actions.
        actions: the actions taken.
        active: whether `s_t` was not yet terminal; the rest is padding.
        log_p_b: `log p_B(tau | x)` of the uniform backward policy, in nats.
        log_reward: `log R(x)`, in nats.
        final: the terminal states.
    """

    observations: Float[Array, "batch time features"]
    masks: Bool[Array, "batch time actions"]
    actions: Int[Array, "batch time"]
    active: Bool[Array, "batch time"]
    log_p_b: Float[Array, " batch"]
    log_reward: Float[Array, " batch"]
    final: Any


def sample_trajectories(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    batch: int,
    epsilon: float | Float[Array, ""],
    *,
    key: PRNGKeyArray,
) -> Trajectories:
    """Samples from the exploratory policy `(1 - epsilon) p_F + epsilon uniform`.

    Args:
        policy: `p_F`; no gradient flows through the samples.
        environment: the state graph.
        batch: the number of trajectories.
        epsilon: the share of uniformly chosen actions; 0 samples from `p_F` itself.
        key: the random key.
    """

    def one_step(carry: Any, step_key: PRNGKeyArray) -> tuple[Any, Any]:
        state, latent, log_p_b = carry
        observation = jax.vmap(environment.observe)(state)
        mask = jax.vmap(environment.mask)(state)
        log_p = policy.log_probabilities(latent, observation, mask)
        uniform = mask / mask.sum(-1, keepdims=True)
        mixed = jnp.log((1 - epsilon) * jnp.exp(log_p) + epsilon * uniform)
        action = jax.random.categorical(step_key, jnp.where(mask, mixed, -jnp.inf))
        active = ~jax.vmap(environment.is_terminal)(state)
        following = jax.vmap(environment.step)(state, action)
        parents = jax.vmap(environment.parent_mask)(following).sum(-1)
        log_p_b = log_p_b - jnp.where(active, jnp.log(parents), 0.0)
        # Latents of terminal states are never read, so they need no care.
        latent = policy.dynamics.advance(latent, jax.vmap(environment.observe)(following))
        return (following, latent, log_p_b), (observation, mask, action, active)

    start = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), environment.initial()
    )
    carry = (start, policy.dynamics.initial((batch,)), jnp.zeros(batch))
    (final, _, log_p_b), steps = lax.scan(
        one_step, carry, jax.random.split(key, environment.horizon)
    )
    observations, masks, actions, active = (jnp.moveaxis(leaf, 0, 1) for leaf in steps)
    log_reward = jax.vmap(environment.log_reward)(final)
    return Trajectories(observations, masks, actions, active, log_p_b, log_reward, final)


def log_forward(policy: Policy, trajectories: Trajectories) -> Float[Array, " batch"]:
    """`log p_F(tau)` in nats, differentiable in the policy."""
    log_p = policy.unroll(trajectories.observations, trajectories.masks)
    taken = jnp.take_along_axis(log_p, trajectories.actions[..., None], -1)[..., 0]
    return jnp.sum(jnp.where(trajectories.active, taken, 0.0), -1)
