"""Training as a pair of pure functions, `init` and `advance`."""

import dataclasses
import functools
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.balance.losses import log_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.policies.build import make_policy
from fast.policies.policy import Policy, uniform_policy
from fast.sampling.replay import empty_buffer
from fast.sampling.rollout import sample_trajectories, uniforms
from fast.training.config import TrainConfig
from fast.training.step import (
    NONE_GIVEN,
    Given,
    Sampler,
    TrainState,
    draw_batch,
    loss_and_gradient,
    loss_and_gradient_on_devices,
)

# Trajectories that the first `log Z` is estimated from.
FIRST_BATCH = 256


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


def make_trainer(
    config: TrainConfig, environment: AbstractEnvironment[Any], given: Given = NONE_GIVEN
) -> Trainer:
    """The trainer of a configuration; several seeds are trained side by side.

    Args:
        config: what is asked for.
        environment: the state graph, with the reward of the factors that no given sampler is for.
        given: samplers that stand for factors of the reward, each with as many seeds.
    """
    # Another seed or folder asks for no other program, so a process traces and compiles it once.
    initialise, advance = _programs(dataclasses.replace(config, seed=0, out=None))
    seeds = jnp.arange(config.seed, config.seed + config.seeds)
    return Trainer(
        lambda: initialise(environment, seeds, given.policies),
        lambda state, steps: advance(environment, given, seeds, state, steps),
    )


@functools.lru_cache(maxsize=64)
def _programs(config: TrainConfig) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What starts and what advances runs that differ in their seeds."""
    optimizer = make_optimizer(config)

    def init_one(
        environment: AbstractEnvironment[Any], seed: Int[Array, ""], policies: tuple[Policy, ...]
    ) -> TrainState:
        if config.warm:
            (policy,) = policies
        else:
            policy = make_policy(config, environment, key=_key(seed, "policy"))
        log_z = jnp.zeros(())
        if config.loss == "tb":
            log_z = _first_log_z(uniform_policy(policy), environment, _key(seed, "log_z"))
        sampler = Sampler(policy, log_z)
        buffer = None
        if config.replay != "none":
            buffer = empty_buffer(environment, config.replay_capacity)
        parameters = eqx.filter(sampler, eqx.is_array)
        return TrainState(sampler, optimizer.init(parameters), buffer, jnp.int32(0))

    def advance_one(
        environment: AbstractEnvironment[Any],
        given: Given,
        steps: int,
        state: TrainState,
        seed: Int[Array, ""],
        policies: tuple[Policy, ...],
    ) -> tuple[TrainState, TrainInfo]:
        own = Given(policies, given.environments, given.rewarded)
        step = partial(train_step, config, optimizer, environment, own, _key(seed, "samples"))
        result: tuple[TrainState, TrainInfo] = lax.scan(step, state, None, length=steps)
        return result

    def advance(
        environment: AbstractEnvironment[Any],
        given: Given,
        seeds: Int[Array, " seeds"],
        state: TrainState,
        steps: int,
    ) -> tuple[TrainState, TrainInfo]:
        one = partial(advance_one, environment, given, steps)
        each = (state, seeds, given.policies)
        if config.seeds > 1:
            both: tuple[TrainState, TrainInfo] = jax.vmap(one)(*each)
            return both
        # Without the axis, matrix products need no batching.
        state, info = one(*jax.tree.map(lambda leaf: leaf[0], each))
        alone: tuple[TrainState, TrainInfo] = jax.tree.map(lambda leaf: leaf[None], (state, info))
        return alone

    # The environment is an argument: as a constant, its reward table would slow compilation. So are
    # the given samplers.
    return (
        jax.jit(jax.vmap(init_one, (None, 0, 0))),
        jax.jit(advance, static_argnums=4, donate_argnums=3),
    )


def train_step(
    config: TrainConfig,
    optimizer: optax.GradientTransformation,
    environment: AbstractEnvironment[Any],
    given: Given,
    key: PRNGKeyArray,
    state: TrainState,
    _: None = None,
) -> tuple[TrainState, TrainInfo]:
    """One gradient step of one seed."""
    draws = jax.random.uniform(
        jax.random.fold_in(key, state.step), (environment.horizon + 1, config.batch)
    )
    if config.devices == 1:
        batch, buffer = draw_batch(config, environment, state, draws)
        loss, log_z, gradient = loss_and_gradient(
            config, environment, state.sampler, batch, given=given
        )
    else:
        buffer = None
        loss, log_z, gradient = loss_and_gradient_on_devices(
            config, environment, state, draws, given
        )
    updates, optimizer_state = optimizer.update(gradient, state.optimizer, state.sampler)
    sampler = optax.apply_updates(state.sampler, updates)
    return TrainState(sampler, optimizer_state, buffer, state.step + 1), TrainInfo(loss, log_z)


class Rates(Protocol):
    """The options of the optimiser."""

    @property
    def learning_rate(self) -> float: ...  # noqa: D102
    @property
    def log_z_learning_rate(self) -> float: ...  # noqa: D102
    @property
    def schedule(self) -> str: ...  # noqa: D102
    @property
    def steps(self) -> int: ...  # noqa: D102


def make_optimizer(config: Rates) -> optax.GradientTransformation:
    """AdamW on the policy, clipped to norm 1, and Adam on `log Z`."""
    schedules: dict[str, optax.Schedule] = {
        "cosine": optax.cosine_decay_schedule(config.learning_rate, config.steps),
        "constant": optax.constant_schedule(config.learning_rate),
    }
    rate = schedules[config.schedule]
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


def _first_log_z(
    policy: Policy, environment: AbstractEnvironment[Any], key: PRNGKeyArray
) -> Float[Array, ""]:
    """The best constant for a policy: `log Z` may be far from 0."""
    draws = uniforms(key, environment, FIRST_BATCH)
    # Without branches, as there is nothing to evaluate.
    drawn, _ = sample_trajectories(policy, environment, draws, skip_ended=False)
    return -jnp.mean(log_ratio(evaluate(policy, environment, drawn)))


def _key(seed: Int[Array, ""], purpose: Literal["policy", "samples", "log_z"]) -> PRNGKeyArray:
    """The key of a purpose."""
    return jax.random.fold_in(jax.random.key(seed), ("policy", "samples", "log_z").index(purpose))
