"""The evaluation of a latent with a head: the head is evaluated on rows, the latent in groups."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.balance.markovian_rows import FirstRow, LaterRows
from fast.balance.recurrent_groups import GROUP, Groups
from fast.balance.steps import Pullback, Steps, as_steps, cached_terms, rows_of
from fast.dynamics.base import AbstractDynamics, Activations
from fast.dynamics.head import WithHead
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Cached, Trajectories, between


def read_out_rows(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    cached: Cached | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """`evaluate`, and its pullback, of dynamics with a head; not for a lifted `p_B`.

    Given the read-outs `y_t`, the head is a Markovian network: of it the first step, which all
    trajectories share, is one row, and those that have ended are skipped. What the head passes back
    to the read-outs goes back through the latent, trajectory by trajectory.
    """
    network = policy.network
    assert isinstance(network, WithHead), network
    batch, time = trajectories.actions.shape
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)
    along = partial(_read_outs, static.network.dynamics, environment)
    if cached is not None and cached.activations:
        known, *products = cached.activations
    else:
        known = jnp.swapaxes(along(arrays.network.dynamics, trajectories)[:, 1:], 0, 1)
        products = []
    first = FirstRow(static, environment, rows_of(between(trajectories, 0, 1)), batch)
    later = LaterRows.of(static, environment, between(trajectories, 1, time), tuple(products))
    read_outs = known.reshape(later.whole, network.dynamics.output)
    values = cached_terms(policy, environment, trajectories, cached)
    if values is None:
        at_start = first.terms(arrays)
        rest = later.values(arrays, at_start.dtype, read_outs)
        values = jnp.concatenate([at_start[..., None], rest], -1)
    thins = skip_ended and not environment.is_graded
    # What a small latent goes through need not be divided, unless to leave out what has ended.
    share = batch if network.has_small_latent and not thins else math.gcd(batch, GROUP)
    groups = Groups(along, trajectories, (), share, thins)

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        weights = jnp.where(trajectories.active, derivative, 0.0)
        total = jax.grad(lambda arrays: jnp.sum(first.terms(arrays) * weights[..., 0]))(arrays)
        of_later = weights[..., 1:].T.reshape(later.whole, 3)
        total, passed = later.add_gradient(of_later, arrays, total, read_outs)
        # Before the first step the latent is `W_o`, whose derivative the first row has.
        passed = jnp.pad(passed.reshape(known.shape), ((1, 0), (0, 0), (0, 0)))
        by_latent = groups.pullback(arrays.network.dynamics, jnp.swapaxes(passed, 0, 1))
        both = jax.tree.map(jnp.add, _dynamics_of(total), by_latent)
        found: Policy = eqx.tree_at(_dynamics_of, total, both)
        return found

    return as_steps(trajectories, values), pullback


def _dynamics_of(policy: Any) -> Any:
    return policy.network.dynamics


def _read_outs(
    static: AbstractDynamics[Any],
    environment: AbstractEnvironment[Any],
    arrays: AbstractDynamics[Any],
    some: Trajectories,
    _: Activations = (),
) -> Float[Array, "rows time d"]:
    """`y_0, ..., y_{T-1}`."""
    dynamics: AbstractDynamics[Any] = eqx.combine(arrays, static)
    states = jax.tree.map(lambda leaf: leaf[:, :-1], some.states)
    return dynamics.unroll(jax.vmap(jax.vmap(environment.observe))(states))
