"""The exact expectation of a loss over batches, and its gradient in two ways."""

from collections.abc import Callable
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fast.balance.loss import Loss, PolicyLoss, TrajectoryLoss
from fast.balance.own import context_of, penalties_of, value_of
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Sampler
from fast.sampling.trajectories import Cached, Trajectories
from fast.training.step import Batch, loss_and_gradient
from reference.contract.errors import InputError

# The largest number of batches that is enumerated.
MOST_BATCHES = 512

# Random keys over which losses that draw random numbers are averaged.
KEYS = 4


def all_batches(count: int, size: int) -> Int[Array, "batches batch"]:
    """Every ordered batch of trajectories, by their numbers; if these are too many, 32 of them.

    The first of the 32 holds every trajectory, so that a loss is zero only if it is zero on all;
    the others are drawn uniformly.
    """
    if count**size <= MOST_BATCHES:
        return jnp.asarray(list(product(range(count), repeat=size)))
    length = max(size, count)
    drawn = np.random.default_rng(0).integers(count, size=(31, length))
    return jnp.asarray(np.vstack([np.resize(np.arange(count), length), drawn]))


def batch_loss(
    loss: Loss, environment: AbstractEnvironment, sampler: Sampler, batch: Trajectories, key: Array
) -> Float[Array, ""]:
    """The loss of a batch by its definition, without the short cuts of training.

    Raises InputError if it is neither a loss of trajectories nor one of policies, or no number.

    Args:
        loss: the loss.
        environment: the state graph as array code.
        sampler: the policy, with log Z where the loss learns one.
        batch: the trajectories.
        key: a random key, for a loss that draws.
    """
    if isinstance(loss, PolicyLoss):
        penalties = penalties_of(loss, sampler.policy, environment, batch)
        return jnp.sum(penalties) / jnp.sum(batch.active)
    if not isinstance(loss, TrajectoryLoss):
        raise InputError(
            f"{loss!r} is a {type(loss).__name__}, but a loss derives from TrajectoryLoss, "
            "RatioLoss or PolicyLoss of fast.balance.loss: derive it from one of them"
        )
    steps = evaluate(sampler.policy, environment, batch)
    context = context_of(loss, environment, batch)
    return value_of(loss, steps._replace(context=context), sampler.log_z, key)


def expected_loss(
    loss: Loss, environment: AbstractEnvironment, trajectories: Trajectories, batches: Array
) -> Callable[[Sampler], tuple[Float[Array, ""], Float[Array, ""]]]:
    """The mean loss over batches, and the largest one without its sign, by the sampler.

    Args:
        loss: the loss.
        environment: the state graph as array code.
        trajectories: every trajectory of the environment.
        batches: numbers of trajectories, shape (batches, batch).
    """
    keys = jax.random.split(jax.random.key(0), KEYS)

    def of_batch(sampler: Sampler, rows: Array) -> Array:
        batch = take(trajectories, rows)
        return jax.vmap(lambda key: batch_loss(loss, environment, sampler, batch, key))(keys)

    def expected(sampler: Sampler) -> tuple[Array, Array]:
        values = jax.vmap(of_batch, (None, 0))(sampler, batches)
        return jnp.mean(values), jnp.max(jnp.abs(values))

    return expected


def training_gradient(
    loss: Loss,
    environment: AbstractEnvironment,
    trajectories: Trajectories,
    batches: Array,
    *,
    cached: bool,
) -> Callable[[Sampler], Sampler]:
    """The mean over batches of the gradient of training, as a function of the sampler.

    Args:
        loss: the loss.
        environment: the state graph as array code.
        trajectories: every trajectory of the environment.
        batches: numbers of trajectories, shape (batches, batch).
        cached: give the loss the values that forward sampling caches.
    """
    keys = jax.random.split(jax.random.key(0), KEYS)

    def of_batch(sampler: Sampler, rows: Array) -> Sampler:
        batch = take(trajectories, rows)
        cache = None
        if cached:
            cache = Cached(evaluate(sampler.policy, environment, batch).log_p_f)
        by: Sampler = jax.vmap(
            lambda key: loss_and_gradient(loss, environment, sampler, Batch(batch, cache), key).by
        )(keys)
        return by

    def mean(sampler: Sampler) -> Sampler:
        by = jax.vmap(of_batch, (None, 0))(sampler, batches)
        return jax.tree.map(lambda leaf: jnp.mean(leaf, (0, 1)), by)  # type: ignore[no-any-return]

    return mean


def take(trajectories: Trajectories, rows: Int[Array, " batch"]) -> Trajectories:
    """Trajectories by their numbers."""
    return jax.tree.map(lambda leaf: leaf[rows], trajectories)  # type: ignore[no-any-return]


def learned(sampler: Sampler) -> Sampler:
    """The parameters of a sampler that are differentiated."""
    return eqx.filter(sampler, eqx.is_inexact_array)  # type: ignore[no-any-return]
