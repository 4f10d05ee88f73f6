"""The exact expectation of a loss over batches, and its gradient in two ways."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Int

from fast.balance.loss import Loss, PolicyLoss, TrajectoryLoss
from fast.balance.own import context_of, penalties_of, value_of
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy, Sampler
from fast.sampling.trajectories import Cached, Trajectories
from fast.training.step import Batch, loss_and_gradient
from reference.errors import InputError

# The largest number of batches that is enumerated.
MOST_BATCHES = 512

# Random keys over which losses that draw random numbers are averaged.
KEYS = 4


class Batches(NamedTuple):
    """Batches of trajectories, by their numbers, and the probability of each."""

    rows: Int[Array, "batches batch"]
    weights: Float[Array, " batches"]


def all_batches(law: npt.NDArray[np.float64], size: int) -> Batches:
    """Every ordered batch of independent draws from a law; if these are too many, 32 of them.

    The first of the 32 holds every trajectory, so that a loss is zero only if it is zero on all;
    the others are drawn uniformly. They have equal weights. The law has shape (trajectories,).
    """
    count = len(law)
    if count**size <= MOST_BATCHES:
        rows = np.array(list(product(range(count), repeat=size)))
        return Batches(jnp.asarray(rows), jnp.asarray(law[rows].prod(1)))
    length = max(size, count)
    first = np.resize(np.arange(count), length)
    drawn = np.random.default_rng(0).integers(count, size=(31, length))
    return Batches(jnp.asarray(np.vstack([first, drawn])), jnp.full(32, 1 / 32))


def batch_loss(
    loss: Loss,
    environment: AbstractEnvironment[Any],
    sampler: Sampler,
    batch: Trajectories,
    key: Array,
) -> Float[Array, ""]:
    """The loss of a batch by its definition, without the short cuts of training.

    Raises InputError if it is neither a loss of trajectories nor one of policies, or no number.
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
    loss: Loss, environment: AbstractEnvironment[Any], trajectories: Trajectories, batches: Batches
) -> Callable[[Sampler], Float[Array, ""]]:
    """The mean loss over batches with fixed probabilities, as a function of the sampler."""
    keys = jax.random.split(jax.random.key(0), KEYS)

    def of_batch(sampler: Sampler, rows: Array) -> Array:
        batch = take(trajectories, rows)
        values = jax.vmap(lambda key: batch_loss(loss, environment, sampler, batch, key))(keys)
        return jnp.mean(values)

    def expected(sampler: Sampler) -> Array:
        values = jax.vmap(of_batch, (None, 0))(sampler, batches.rows)
        # The loss of a batch of probability zero may be infinite.
        return jnp.sum(jnp.where(batches.weights > 0, batches.weights * values, 0.0))

    return expected


def training_gradient(
    loss: Loss,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    batches: Batches,
    *,
    cached: bool,
) -> Callable[[Sampler], Sampler]:
    """The mean over batches of the gradient of training, as a function of the sampler.

    With `cached`, the loss gets the values that forward sampling caches.
    """
    keys = jax.random.split(jax.random.key(0), KEYS)

    def of_batch(sampler: Sampler, rows: Array) -> Sampler:
        batch = take(trajectories, rows)
        cache = None
        if cached and loss.reads_cache:
            cache = Cached(evaluate(sampler.policy, environment, batch).log_p_f)
        by_key = lax.map(
            lambda key: loss_and_gradient(loss, environment, sampler, Batch(batch, cache), key).by,
            keys,
        )
        return jax.tree.map(lambda leaf: jnp.mean(leaf, 0), by_key)  # type: ignore[no-any-return]

    def mean(sampler: Sampler) -> Sampler:
        gradients = lax.map(lambda rows: of_batch(sampler, rows), batches.rows)
        return jax.tree.map(  # type: ignore[no-any-return]
            lambda leaf: jnp.tensordot(batches.weights, leaf, 1), gradients
        )

    return mean


def take(trajectories: Trajectories, rows: Int[Array, " batch"]) -> Trajectories:
    """Trajectories by their numbers."""
    return jax.tree.map(lambda leaf: leaf[rows], trajectories)  # type: ignore[no-any-return]


def path_law(
    policy: Policy, environment: AbstractEnvironment[Any], trajectories: Trajectories
) -> Float[Array, " trajectories"]:
    """`p_F(tau)` of every trajectory."""
    return jnp.exp(evaluate(policy, environment, trajectories).log_p_f.sum(-1))


def learned(sampler: Sampler) -> Sampler:
    """The parameters of a sampler that are differentiated."""
    return eqx.filter(sampler, eqx.is_inexact_array)  # type: ignore[no-any-return]
