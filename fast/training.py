"""Training as a pair of pure functions, `init` and `advance`."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.config import TrainConfig
from fast.environments import AbstractEnvironment
from fast.flow_matching import fm_residuals
from fast.gradients import evaluate_with_pullback
from fast.losses import PENALTIES, db, log_ratio, log_variance, subtb, tb
from fast.models import make_policy
from fast.policies import Policy
from fast.replay import Buffer, add, choose, empty_buffer
from fast.rollout import Exploration, Trajectories, sample_backward, sample_trajectories
from fast.steps import Steps, as_steps


class Sampler(eqx.Module):
    """What training learns."""

    policy: Policy
    log_z: Float[Array, ""]


class TrainState(NamedTuple):
    """What the next step needs; every leaf has a leading axis, one entry per seed.

    Attributes:
        sampler: what is learned.
        optimizer: the state of the optimiser.
        buffer: terminal states for replay, or None.
        step: how many steps were done.
    """

    sampler: Sampler
    optimizer: Any
    buffer: Buffer | None
    step: Int[Array, " seeds"]


class TrainInfo(NamedTuple):
    """What a human needs, per seed and step.

    Attributes:
        loss: the loss on this step's batch, in nats squared.
        log_z: the estimate of `log Z`: the parameter for `tb`, the flow at `s_o` for losses with
            flows, else the batch mean of `-f(tau)`, which is the best constant for the batch.
    """

    loss: Float[Array, "seeds steps"]
    log_z: Float[Array, "seeds steps"]


class Trainer(NamedTuple):
    """A training method: `init()` gives the first state, `advance(state, n)` does n steps.

    Step t draws its randomness from the seed and t alone, so a run that is resumed from a saved
    state goes on exactly as it would have.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, TrainInfo]]


def make_trainer(config: TrainConfig, environment: AbstractEnvironment[Any]) -> Trainer:
    """The trainer of a configuration; several seeds are trained side by side."""
    optimizer = make_optimizer(config)
    seeds = jnp.arange(config.seed, config.seed + config.seeds)

    def init_one(seed: Int[Array, ""]) -> TrainState:
        policy = make_policy(config, environment, key=_key(seed, "policy"))
        sampler = Sampler(policy, jnp.zeros(()))
        buffer = None
        if config.replay != "none":
            buffer = empty_buffer(environment, config.replay_capacity)
        parameters = eqx.filter(sampler, eqx.is_array)
        return TrainState(sampler, optimizer.init(parameters), buffer, jnp.int32(0))

    def advance_one(
        environment: AbstractEnvironment[Any], steps: int, state: TrainState, seed: Int[Array, ""]
    ) -> tuple[TrainState, TrainInfo]:
        step = partial(train_step, config, optimizer, environment, _key(seed, "samples"))
        result: tuple[TrainState, TrainInfo] = lax.scan(step, state, None, length=steps)
        return result

    def advance(
        environment: AbstractEnvironment[Any], state: TrainState, steps: int
    ) -> tuple[TrainState, TrainInfo]:
        one = partial(advance_one, environment, steps)
        if config.seeds > 1:
            both: tuple[TrainState, TrainInfo] = jax.vmap(one)(state, seeds)
            return both
        # Without the axis, matrix products need no batching.
        state, info = one(jax.tree.map(lambda leaf: leaf[0], state), seeds[0])
        alone: tuple[TrainState, TrainInfo] = jax.tree.map(lambda leaf: leaf[None], (state, info))
        return alone

    # The environment is an argument: as a constant, its reward table would slow compilation.
    compiled = jax.jit(advance, static_argnums=2, donate_argnums=1)
    return Trainer(
        lambda: eqx.filter_vmap(init_one)(seeds),
        lambda state, steps: compiled(environment, state, steps),
    )


def train_step(
    config: TrainConfig,
    optimizer: optax.GradientTransformation,
    environment: AbstractEnvironment[Any],
    key: PRNGKeyArray,
    state: TrainState,
    _: None = None,
) -> tuple[TrainState, TrainInfo]:
    """One gradient step of one seed."""
    sampler, buffer = state.sampler, state.buffer
    draws = jax.random.uniform(
        jax.random.fold_in(key, state.step), (environment.horizon + 1, config.batch)
    )
    trajectories, log_p_f, buffer = draw_batch(config, environment, state, draws)
    loss, log_z, gradient = loss_and_gradient(config, environment, sampler, trajectories, log_p_f)
    updates, optimizer_state = optimizer.update(gradient, state.optimizer, sampler)
    sampler = optax.apply_updates(sampler, updates)
    return TrainState(sampler, optimizer_state, buffer, state.step + 1), TrainInfo(loss, log_z)


def draw_batch(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    state: TrainState,
    draws: Float[Array, "rows batch"],
) -> tuple[Trajectories, Float[Array, "batch time"] | None, Buffer | None]:
    """The trajectories of a step: forwards from the exploring policy, the rest from the buffer.

    Returns:
        the trajectories; `log p_F` of their actions if all are sampled forwards; the buffer with
        their ends.
    """
    policy = state.sampler.policy
    decay = 1 - state.step / (config.epsilon_until * config.steps)
    exploration = Exploration(
        config.epsilon and config.epsilon * jnp.clip(decay, 0, 1), config.temperature
    )
    replayed = 0 if state.buffer is None else round(config.replay_share * config.batch)
    forward, log_p_f = sample_trajectories(policy, environment, draws[1:, replayed:], exploration)
    if state.buffer is None:
        return forward, log_p_f, None
    buffer = add(state.buffer, forward.final, forward.log_reward)
    ends = choose(buffer, config.replay, draws[0, :replayed])
    backward = sample_backward(policy, environment, ends, draws[1:, :replayed])
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), forward, backward)
    return both, None, buffer


def loss_and_gradient(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    sampler: Sampler,
    trajectories: Trajectories,
    log_p_f: Float[Array, "batch time"] | None = None,
) -> tuple[Float[Array, ""], Float[Array, ""], Sampler]:
    """The loss on a batch, an estimate of `log Z`, and the gradient by what is learned."""
    penalty = PENALTIES[config.penalty]

    def loss_of(steps: Steps, log_z: Array) -> tuple[Array, Array]:
        if config.loss == "tb":
            return tb(steps, log_z, penalty), log_z
        if config.loss == "log_variance":
            ratios = log_ratio(steps)
            return log_variance(ratios), -jnp.mean(ratios)
        flow_at_start = steps.log_flow[0, 0]
        if config.loss == "db":
            return db(steps, penalty), flow_at_start
        return subtb(steps, config.subtb_lambda, penalty), flow_at_start

    if config.loss == "fm":
        return _flow_matching(config, environment, sampler, trajectories)
    steps, pullback = evaluate_with_pullback(sampler.policy, environment, trajectories, log_p_f)
    (loss, log_z), (by_terms, by_log_z) = jax.value_and_grad(
        lambda terms, log_z: loss_of(as_steps(trajectories, terms), log_z), (0, 1), has_aux=True
    )(jnp.stack(steps[:3]), sampler.log_z)
    return loss, log_z, Sampler(pullback(by_terms), by_log_z)


def _flow_matching(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    sampler: Sampler,
    trajectories: Trajectories,
) -> tuple[Array, Array, Sampler]:
    penalty = PENALTIES[config.penalty]

    def loss_of(sampler: Sampler) -> tuple[Array, Array]:
        residuals = fm_residuals(sampler.policy, environment, trajectories)
        loss = jnp.sum(jnp.where(trajectories.active, penalty(residuals), 0.0))
        start = environment.observe(environment.initial())
        log_z = sampler.policy.log_flow(sampler.policy.network.evaluate((), start))
        return loss / jnp.sum(trajectories.active), log_z

    (loss, log_z), gradient = eqx.filter_value_and_grad(loss_of, has_aux=True)(sampler)
    return loss, log_z, gradient


def make_optimizer(config: TrainConfig) -> optax.GradientTransformation:
    """AdamW on the policy, clipped to norm 1, and Adam on `log Z`."""
    rate: optax.Schedule = (
        optax.cosine_decay_schedule(config.learning_rate, config.steps)
        if config.schedule == "cosine"
        else optax.constant_schedule(config.learning_rate)
    )
    return optax.partition(
        {
            "policy": optax.chain(
                optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=1e-4)
            ),
            "log_z": optax.adam(config.log_z_learning_rate),
        },
        lambda sampler: eqx.tree_at(
            lambda tree: tree.log_z, jax.tree.map(lambda _: "policy", sampler), "log_z"
        ),
    )


def _key(seed: Int[Array, ""], purpose: str) -> PRNGKeyArray:
    """The key of a purpose: "policy" for the initial weights, "samples" for the training."""
    return jax.random.split(jax.random.key(seed))[0 if purpose == "policy" else 1]
