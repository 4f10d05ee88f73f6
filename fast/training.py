"""Training as a pair of pure functions, `init` and `advance`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int

from fast.config import TrainConfig
from fast.environments import AbstractEnvironment
from fast.losses import log_ratio, log_variance, tb
from fast.policies import Policy, make_policy
from fast.rollout import log_forward, sample_trajectories


class Sampler(eqx.Module):
    """What training learns."""

    policy: Policy
    log_z: Float[Array, ""]


class TrainState(NamedTuple):
    """What the next step needs."""

    sampler: Sampler
    optimizer: Any
    step: Int[Array, ""]


class TrainInfo(NamedTuple):
    """What a human needs, per step.

    Attributes:
        loss: the loss on this step's batch, in nats squared.
        log_z: the estimate of `log Z`: the parameter for `tb`, else the batch mean of
            `-f(tau)`, which is the best constant for the batch.
    """

    loss: Float[Array, " steps"]
    log_z: Float[Array, " steps"]


class Trainer(NamedTuple):
    """A training method: `init()` gives the first state, `advance(state, n)` does n steps.

    Step t draws its randomness from the seed and t alone, so a run that is resumed from a saved
    state goes on exactly as it would have.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, TrainInfo]]


def make_trainer(config: TrainConfig, environment: AbstractEnvironment[Any]) -> Trainer:
    """The trainer of a configuration."""
    optimizer = _make_optimizer(config)
    policy_key, sample_key = jax.random.split(jax.random.key(config.seed))

    def init() -> TrainState:
        policy = make_policy(config, environment, key=policy_key)
        sampler = Sampler(policy, jnp.zeros(()))
        return TrainState(sampler, optimizer.init(eqx.filter(sampler, eqx.is_array)), jnp.int32(0))

    def loss_of(sampler: Sampler, trajectories: Any) -> tuple[Array, Array]:
        log_p_f = log_forward(sampler.policy, trajectories)
        f = log_ratio(log_p_f, trajectories.log_p_b, trajectories.log_reward)
        if config.loss == "tb":
            return tb(f, sampler.log_z), sampler.log_z
        return log_variance(f), -jnp.mean(f)

    def one_step(
        environment: AbstractEnvironment[Any], state: TrainState, _: None
    ) -> tuple[TrainState, TrainInfo]:
        sampler, optimizer_state, step = state
        epsilon = config.epsilon * jnp.clip(1 - 2 * step / config.steps, 0, 1)
        trajectories = sample_trajectories(
            sampler.policy,
            environment,
            config.batch,
            epsilon,
            key=jax.random.fold_in(sample_key, step),
        )
        (loss, log_z), gradient = jax.value_and_grad(loss_of, has_aux=True)(sampler, trajectories)
        updates, optimizer_state = optimizer.update(gradient, optimizer_state, sampler)
        sampler = optax.apply_updates(sampler, updates)
        return TrainState(sampler, optimizer_state, step + 1), TrainInfo(loss, log_z)

    def advance(
        environment: AbstractEnvironment[Any], state: TrainState, steps: int
    ) -> tuple[TrainState, TrainInfo]:
        result: tuple[TrainState, TrainInfo] = lax.scan(
            lambda carry, x: one_step(environment, carry, x), state, None, length=steps
        )
        return result

    # The environment is an argument: as a constant, its reward table would slow compilation.
    compiled = jax.jit(advance, static_argnums=2, donate_argnums=1)
    return Trainer(init, lambda state, steps: compiled(environment, state, steps))


def _make_optimizer(config: TrainConfig) -> optax.GradientTransformation:
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
