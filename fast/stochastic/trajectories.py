"""Trajectories of states and latents: sampled, traced again, and evaluated."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.steps import Steps
from fast.environments import AbstractEnvironment
from fast.sampling.actions import ON_POLICY, Exploration, draw_action
from fast.sampling.trajectories import Trajectories, batch_first, repeat
from fast.stochastic.densities import Normal, log_normal
from fast.stochastic.policy import StochasticPolicy, features_of


class Noise(NamedTuple):
    """The random numbers of a batch: a standard normal vector per latent, and uniform ones.

    The latter are on [0, 1), one per choice: first of the component of `xi`, then of actions.
    """

    uniform: Float[Array, "times batch"]
    normal: Float[Array, "times batch d"]


class LatentTrajectories(NamedTuple):
    """A batch of trajectories of pairs `(s_t, w_t)`, padded to the horizon.

    The latents are `w_0, ..., w_T`; after the end, the last one repeated. `w_0` was drawn from that
    component of `xi`, and the latents are functions of the noise `normal`.
    """

    base: Trajectories
    latents: Float[Array, "batch times d"]
    component: Int[Array, " batch"]
    normal: Float[Array, "batch times d"]


def draw_noise(key: PRNGKeyArray, environment: AbstractEnvironment, batch: int, size: int) -> Noise:
    """Random numbers for a batch of trajectories with latents in `R^size`.

    Args:
        key: a random key of JAX.
        environment: the state graph as array code.
        batch: the number of trajectories.
        size: the size of the latent.
    """
    choices, latents = jax.random.split(key)
    times = environment.horizon + 1
    return Noise(
        jax.random.uniform(choices, (times, batch)),
        jax.random.normal(latents, (times, batch, size)),
    )


def sample_latent_trajectories(
    policy: StochasticPolicy,
    environment: AbstractEnvironment,
    noise: Noise,
    exploration: Exploration = ON_POLICY,
) -> LatentTrajectories:
    """Samples trajectories from `xi` and `p_F`, or with exploring actions; latents never explore.

    No gradient flows through the samples; `trace` repeats the latents as functions of the policy.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        noise: the numbers of `draw_noise`.
        exploration: how actions differ from p_F.
    """
    batch = noise.uniform.shape[1]
    weights = jnp.broadcast_to(policy.start.log_weights(), (batch, len(policy.start.logits)))
    component = draw_action(weights, jnp.ones(weights.shape, bool), noise.uniform[0], ON_POLICY)
    latent = _first(policy, component, noise.normal[0])
    state = repeat(environment.initial(), batch)

    def move(carry: Any, draws: Any) -> tuple[Any, Any]:
        state, seen, latent, active = carry
        uniform, normal = draws
        mask = jax.vmap(environment.mask)(state)
        action = draw_action(policy.log_p_f(seen, latent, mask), mask, uniform, exploration)
        following = jax.vmap(environment.step)(state, action)
        arrived = jax.vmap(lambda s: features_of(environment, s))(following)
        latent = jnp.where(active[:, None], _next(policy, arrived, latent, normal), latent)
        still = active & ~jax.vmap(environment.is_terminal)(following)
        return (following, arrived, latent, still), (following, action, active, latent)

    carry = (
        state,
        jax.vmap(lambda s: features_of(environment, s))(state),
        latent,
        jnp.ones(batch, bool),
    )
    (final, *_), (later, actions, active, latents) = lax.scan(
        move, carry, (noise.uniform[1:], noise.normal[1:])
    )
    states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), state, later)
    log_reward = jax.vmap(environment.log_reward)(final)
    base = batch_first(Trajectories(states, actions, active, final, log_reward))
    latents = jnp.concatenate([latent[None], latents])
    return LatentTrajectories(
        lax.stop_gradient(base),
        lax.stop_gradient(jnp.swapaxes(latents, 0, 1)),
        component,
        jnp.swapaxes(noise.normal, 0, 1),
    )


def trace(
    policy: StochasticPolicy, environment: AbstractEnvironment, trajectories: LatentTrajectories
) -> Float[Array, "batch times d"]:
    """The latents along given states as functions of the policy and the noise.

    They equal the sampled ones and are differentiable, as in backpropagation through time.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
    """
    base = trajectories.base
    seen = _features(environment, base)
    start = _first(policy, trajectories.component, trajectories.normal[:, 0])

    def move(latent: Array, step: Any) -> tuple[Array, Array]:
        arrived, normal, active = step
        latent = jnp.where(active[:, None], _next(policy, arrived, latent, normal), latent)
        return latent, latent

    def time_first(leaf: Array) -> Array:
        return jnp.swapaxes(leaf, 0, 1)

    steps = (time_first(seen[:, 1:]), time_first(trajectories.normal[:, 1:]), base.active.T)
    _, later = lax.scan(move, start, steps)
    return jnp.concatenate([start[:, None], time_first(later)], 1)


def evaluate(
    policy: StochasticPolicy,
    environment: AbstractEnvironment,
    target: Normal,
    trajectories: LatentTrajectories,
    latents: Float[Array, "batch times d"],
) -> Steps:
    """The terms of trajectory balance along trajectories that stop on arrival.

    `fast.balance.losses.log_ratio` of them is, for a trajectory of `n` steps,

        log xi(w_0) + sum over t < n of log p_{F,s} p_{F,w} - log R(x) N(w_n | mu, Lambda)
                    - sum over t < n of log p_B

    (the printed loss pads trajectories to one length, which leaves it undefined.) The density of
    `w_0` is in the first step, that of `w_n` in the reward. A deterministic latent has no
    densities, so that the terms are those of the states. The latents, as sampled or as traced, are
    evaluated in place of the trajectories' own.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        target: the law of the last latent.
        trajectories: the batch, padded to the horizon.
        latents: the latents, sampled or traced, which are evaluated in place of the trajectories'
            own.
    """
    base = trajectories.base
    seen = _features(environment, base)
    arrived = jax.tree.map(lambda leaf: leaf[:, 1:], base.states)
    before, after = latents[:, :-1], latents[:, 1:]
    log_p_f = _log_chosen(policy, environment, base, seen, before)
    parents = jax.vmap(jax.vmap(environment.parent_mask))(arrived).sum(-1)
    log_p_b = -jnp.log(parents.astype(log_p_f.dtype))
    log_reward = base.log_reward
    if policy.is_stochastic:
        log_p_f = log_p_f + log_normal(after, *policy.forward(seen[:, 1:], before))
        log_p_f = log_p_f.at[:, 0].add(policy.start.log_density(latents[:, 0]))
        log_p_b = log_p_b + log_normal(before, *policy.backward(seen[:, :-1], seen[:, 1:], after))
        log_reward = log_reward + target.log_density(latents[:, -1])
    kept = [jnp.where(base.active, term, 0.0) for term in (log_p_f, log_p_b)]
    return Steps(kept[0], kept[1], jnp.zeros_like(log_p_f), base.active, log_reward)


def rollout_latents(
    policy: StochasticPolicy, environment: AbstractEnvironment, key: PRNGKeyArray, batch: int
) -> tuple[Trajectories, Steps]:
    """Trajectories from `xi` and `p_F`, and their terms, with the reward of the state alone.

    The target density of the last latent is in `p_B(. | x)` here.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        key: a random key of JAX.
        batch: the number of trajectories.
    """
    target = policy.target
    noise = draw_noise(key, environment, batch, len(target.mean))
    drawn = sample_latent_trajectories(policy, environment, noise)
    steps = evaluate(policy, environment, target, drawn, drawn.latents)
    log_reward = drawn.base.log_reward
    log_p_b = steps.log_p_b.at[:, 0].add(steps.log_reward - log_reward)
    return drawn.base, steps._replace(log_p_b=log_p_b, log_reward=log_reward)


def log_choices(
    policy: StochasticPolicy,
    environment: AbstractEnvironment,
    trajectories: LatentTrajectories,
    latents: Float[Array, "batch times d"],
) -> Float[Array, " batch"]:
    """The log probability of all discrete choices: the component of `xi` and the actions.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
        latents: the latents, sampled or traced.
    """
    base = trajectories.base
    taken = _log_chosen(policy, environment, base, _features(environment, base), latents[:, :-1])
    chosen = policy.start.log_weights()[trajectories.component]
    return chosen + jnp.sum(jnp.where(base.active, taken, 0.0), -1)


def _log_chosen(
    policy: StochasticPolicy,
    environment: AbstractEnvironment,
    base: Trajectories,
    seen: Array,
    before: Array,
) -> Array:
    """`log p_{F,s}` of the actions taken."""
    states = jax.tree.map(lambda leaf: leaf[:, :-1], base.states)
    log_choice = policy.log_p_f(seen[:, :-1], before, jax.vmap(jax.vmap(environment.mask))(states))
    return jnp.take_along_axis(log_choice, base.actions[..., None], -1)[..., 0]


def _features(environment: AbstractEnvironment, base: Trajectories) -> Array:
    features: Array = jax.vmap(jax.vmap(lambda s: features_of(environment, s)))(base.states)
    return features


def _first(policy: StochasticPolicy, component: Array, normal: Array) -> Array:
    if policy.is_stochastic:
        return policy.start.place(component, normal)
    return jnp.broadcast_to(policy.start.means[0], normal.shape)


def _next(policy: StochasticPolicy, arrived: Array, latent: Array, normal: Array) -> Array:
    mean, log_scale = policy.forward(arrived, latent)
    return mean + jnp.exp(log_scale) * normal if policy.is_stochastic else mean
