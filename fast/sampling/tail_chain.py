"""Chains on terminal states that correct a sampler: cut a trajectory's tail, grow another.

`reference.tail_chain` has the rule, and its transition matrix.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.actions import ON_POLICY, draw_action
from fast.sampling.backward import sample_backward
from fast.sampling.trajectories import Trajectories, batch_first, repeat, uniforms


class Chains(NamedTuple):
    """A batch of chains, each with the trajectory that led to its state, and its terms of balance.

    `accepted` is the number of accepted proposals of each chain: of a step, 0 or 1.
    """

    trajectories: Trajectories
    steps: Steps
    accepted: Int[Array, " batch"]


def step_chains(
    policy: Policy, environment: AbstractEnvironment[Any], states: Any, key: PRNGKeyArray
) -> Chains:
    """A step of every chain from its terminal state; not for a `p_B` that reads latents."""
    back_key, cut_key, tail_key, accept_key = jax.random.split(key, 4)
    batch = len(jax.tree.leaves(states)[0])
    draws = uniforms(back_key, environment, batch)
    old = sample_backward(policy, environment, states, draws)
    length = old.active.sum(1)
    kept = jnp.floor(jax.random.uniform(cut_key, (batch,)) * length).astype(jnp.int32)
    new = regrow(policy, environment, old, kept, uniforms(tail_key, environment, batch))
    before, after = evaluate(policy, environment, old), evaluate(policy, environment, new)
    log_ratio = _log_weight(after, kept) - _log_weight(before, kept)
    draw = jax.random.uniform(accept_key, (batch,))
    # From a state without reward, every proposal is accepted.
    accepted = (jnp.log(draw) < log_ratio) | (before.log_reward == -jnp.inf)

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(accepted.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    trajectories, steps = jax.tree.map(choose, (new, after), (old, before))
    return Chains(trajectories, steps, accepted.astype(jnp.int32))


def _log_weight(steps: Steps, kept: Int[Array, " batch"]) -> Float[Array, " batch"]:
    """`log( R(x) p_B(tail | x) / (p_F(tail) L) )`, in nats."""
    tail = jnp.arange(steps.active.shape[1]) >= kept[:, None]
    ratios = jnp.where(tail & steps.active, steps.log_p_b - steps.log_p_f, 0.0)
    return steps.log_reward + ratios.sum(1) - jnp.log(steps.active.sum(1))


def regrow(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    old: Trajectories,
    kept: Int[Array, " batch"],
    draws: Float[Array, "time batch"],
) -> Trajectories:
    """Trajectories with the first `kept` steps of given ones, and new ones drawn from `p_F`.

    The draws are those of `uniforms`.
    """
    network = policy.network

    def move(carry: Any, at: Any) -> tuple[Any, Any]:
        state, latent, active = carry
        t, draw, old_action = at
        seen = jax.vmap(environment.observe)(state)
        # The latent of the initial state is `W_o`, which reads nothing.
        arrived = network.advance(latent, seen)
        latent = jax.tree.map(lambda a, b: jnp.where(t > 0, a, b), arrived, latent)
        mask = jax.vmap(environment.mask)(state)
        log_p = policy.log_p_f(network.read(latent, seen), mask)
        action = draw_action(log_p, mask, draw, ON_POLICY)
        action = jnp.where(t < kept, old_action, action)
        following = jax.vmap(environment.step)(state, action)
        going = active & ~jax.vmap(environment.is_terminal)(following)
        return (following, latent, going), (following, action, active)

    batch = len(kept)
    start = repeat(environment.initial(), batch)
    carry = (start, network.initial((batch,)), jnp.ones(batch, bool))
    steps = (jnp.arange(environment.horizon), draws, old.actions.T)
    (final, *_), (later, actions, active) = lax.scan(move, carry, steps)
    states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, later)
    log_reward = jax.vmap(environment.log_reward)(final)
    return batch_first(Trajectories(states, actions, active, final, log_reward))
