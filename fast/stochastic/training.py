"""Training with a random latent as a pair of pure functions, by trajectory balance.

The gradient of trajectory balance is that of `E (log Z + f(tau))^2` over trajectories `tau` of
states *and* latents, whose law is held fixed:

- "fixed", the default: the loss is differentiated at the trajectories as they were drawn, so that
  the law they were drawn from needs no density, may explore, and is not drawn to where residuals
  happen to be small. On-policy, by what `xi` and `p_F` are made of, it is on average the gradient
  of `2 KL(p_F || p_B R / Z)`. A latent's step is trained by its density alone: nothing is
  backpropagated through time.
- "reparameterised": the gradient of the on-policy loss itself, of which the law depends on what is
  trained: through the latents as functions of noise, and, as components and actions are discrete,
  by their score. It is zero at balance as well, but elsewhere it also moves the samples to where
  residuals are small.
- A deterministic latent is a function of the states: the loss is differentiated through it, at
  fixed states, which is the default of `pdai train`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.losses import log_ratio, tb_residuals
from fast.environments import AbstractEnvironment
from fast.sampling.actions import Exploration
from fast.stochastic.config import GradientKind, StochasticConfig
from fast.stochastic.densities import Normal
from fast.stochastic.policy import StochasticPolicy, make_stochastic_policy
from fast.stochastic.trajectories import (
    LatentTrajectories,
    draw_noise,
    evaluate,
    log_choices,
    sample_latent_trajectories,
    trace,
)
from fast.training.optimiser import OptimiserOptions
from fast.training.trainer import FIRST_BATCH, TrainInfo


class StochasticSampler(eqx.Module):
    """What training learns."""

    policy: StochasticPolicy
    log_z: Float[Array, ""]


class StochasticState(NamedTuple):
    """What the next step needs; every leaf has a leading axis, one entry per seed."""

    sampler: StochasticSampler
    optimizer: Any
    step: Int[Array, " seeds"]


class StochasticTrainer(NamedTuple):
    """A training method: `init()` gives the first state, `advance(state, n)` does n steps.

    Step t draws its randomness from the seed and t alone, so a run that is resumed from a saved
    state goes on exactly as it would have.
    """

    init: Callable[[], StochasticState]
    advance: Callable[[StochasticState, int], tuple[StochasticState, TrainInfo]]


def stochastic_loss(
    sampler: StochasticSampler,
    environment: AbstractEnvironment[Any],
    target: Normal,
    trajectories: LatentTrajectories,
    gradient: GradientKind = "fixed",
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A function whose gradient is the one asked for, and the mean squared residual.

    The two are the same number for "fixed"; for "reparameterised", whose trajectories must be drawn
    on-policy, the first has the derivative of the sampling law added, at the value 0.
    """
    policy = sampler.policy
    if gradient == "fixed" and policy.is_stochastic:
        latents = trajectories.latents
    else:
        latents = trace(policy, environment, trajectories)
    steps = evaluate(policy, environment, target, trajectories, latents)
    losses = tb_residuals(steps, sampler.log_z) ** 2
    mean = jnp.mean(losses)
    if gradient == "fixed":
        return mean, mean
    score = log_choices(policy, environment, trajectories, latents)
    weighted = lax.stop_gradient(losses) * (score - lax.stop_gradient(score))
    return mean + jnp.mean(weighted), mean


def make_stochastic_trainer(
    config: StochasticConfig, environment: AbstractEnvironment[Any]
) -> StochasticTrainer:
    """The trainer of a configuration; several seeds are trained side by side."""
    options = OptimiserOptions(config.steps, config.learning_rate, config.schedule)
    optimizer = options.make(config.log_z_learning_rate)
    seeds = jnp.arange(config.seed, config.seed + config.seeds)
    target = Normal.of(config.mu, config.covariance, config.latent_size)

    def init_one(seed: Int[Array, ""]) -> StochasticState:
        policy = make_stochastic_policy(config, environment, key=_key(seed, 0))
        noise = draw_noise(_key(seed, 1), environment, FIRST_BATCH, config.latent_size)
        drawn = sample_latent_trajectories(policy, environment, noise)
        log_z = -jnp.mean(log_ratio(evaluate(policy, environment, target, drawn, drawn.latents)))
        sampler = StochasticSampler(policy, log_z)
        parameters = eqx.filter(sampler, eqx.is_array)
        return StochasticState(sampler, optimizer.init(parameters), jnp.int32(0))

    def advance(
        environment: AbstractEnvironment[Any],
        seeds: Int[Array, " seeds"],
        state: StochasticState,
        steps: int,
    ) -> tuple[StochasticState, TrainInfo]:
        def one(state: StochasticState, seed: Array) -> tuple[StochasticState, TrainInfo]:
            step = partial(_train_step, config, optimizer, environment, target, _key(seed, 2))
            result: tuple[StochasticState, TrainInfo] = lax.scan(step, state, None, length=steps)
            return result

        every: tuple[StochasticState, TrainInfo] = jax.vmap(one)(state, seeds)
        return every

    compiled = jax.jit(advance, static_argnums=3, donate_argnums=2)
    initialise = jax.jit(jax.vmap(init_one))
    return StochasticTrainer(
        lambda: initialise(seeds),
        lambda state, steps: compiled(environment, seeds, state, steps),
    )


def _train_step(
    config: StochasticConfig,
    optimizer: optax.GradientTransformation,
    environment: AbstractEnvironment[Any],
    target: Normal,
    key: PRNGKeyArray,
    state: StochasticState,
    _: None = None,
) -> tuple[StochasticState, TrainInfo]:
    """One gradient step of one seed."""
    decay = jnp.clip(1 - state.step / (config.epsilon_until * config.steps), 0, 1)
    exploration = Exploration(config.epsilon and config.epsilon * decay)
    noise = draw_noise(
        jax.random.fold_in(key, state.step), environment, config.batch, config.latent_size
    )
    drawn = sample_latent_trajectories(state.sampler.policy, environment, noise, exploration)
    (_surrogate, loss), gradient = eqx.filter_value_and_grad(stochastic_loss, has_aux=True)(
        state.sampler, environment, target, drawn, config.gradient
    )
    updates, optimizer_state = optimizer.update(gradient, state.optimizer, state.sampler)
    sampler = optax.apply_updates(state.sampler, updates)
    info = TrainInfo(loss, state.sampler.log_z)
    return StochasticState(sampler, optimizer_state, state.step + 1), info


def _key(seed: Int[Array, ""], purpose: int) -> PRNGKeyArray:
    """The key of a purpose: 0 the policy, 1 the first `log Z`, 2 the samples."""
    return jax.random.fold_in(jax.random.key(seed), purpose)
