"""The loss of a batch of trajectories and its gradient, as cheap as the policy allows."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fast.environments import AbstractEnvironment
from fast.policies import Policy
from fast.rollout import Trajectories
from fast.steps import Steps, as_steps, evaluate, row_terms, rows_of

# Rows per block: enough for fast matrix products. Between the two, an eighth of the batch, so that
# most of the padding is skipped, if there is any.
SMALLEST, BLOCK = 64, 512

# Trajectories of a path-dependent policy per group: few enough that their activations stay in the
# processor's cache.
GROUP = 32

# From derivatives by `log p_F`, `log p_B` and `log F` to those by the policy's parameters.
Pullback = Callable[[Float[Array, "3 batch time"]], Policy]


def evaluate_with_pullback(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    log_p_f: Float[Array, "batch time"] | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """`evaluate`, and the map from derivatives by its terms to those by the policy's parameters.

    Args:
        policy: the policy.
        environment: the state graph.
        trajectories: a batch.
        log_p_f: of their actions, if known from sampling: spares a Markovian policy one of two
            evaluations, and lets others go group by group.
        skip_ended: whether these groups are cut where their trajectories have ended. Inside `vmap`
            that is slower, as there all branches are taken.
    """
    if policy.is_markovian:
        return _by_blocks(policy, environment, trajectories, log_p_f)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def terms(arrays: Policy, some: Trajectories) -> Float[Array, "3 rows time"]:
        return jnp.stack(evaluate(eqx.combine(arrays, static), environment, some)[:3])

    known = _known_terms(policy, environment, trajectories, log_p_f)
    if known is None:
        found, pull = jax.vjp(lambda arrays: terms(arrays, trajectories), arrays)
        return as_steps(trajectories, found), lambda derivative: pull(derivative)[0]
    batch, time = trajectories.actions.shape
    share = math.gcd(batch, GROUP)
    # Sorted by length, the trajectories of a group end at about the same time.
    lengths = trajectories.active.sum(1)
    order = jnp.argsort(lengths) if skip_ended and not environment.is_graded else jnp.arange(batch)
    cuts = [time]
    if skip_ended and not environment.is_graded:
        cuts = sorted({-(-time * part // 4) for part in (1, 2, 3, 4)})

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        def weighted(cut: int) -> Callable[[Policy, Trajectories, Array], Policy]:
            def value(arrays: Policy, some: Trajectories, weights: Array) -> Array:
                return jnp.sum(weights[:, :, :cut] * terms(arrays, _from_to(some, 0, cut)))

            return jax.grad(value)

        def add(total: Policy, start: Array) -> tuple[Policy, None]:
            chosen = lax.dynamic_slice_in_dim(order, start, share)
            some = jax.tree.map(lambda leaf: leaf[chosen], trajectories)
            cut = jnp.searchsorted(jnp.array(cuts), lengths[chosen].max())
            gradient = lax.switch(
                cut, [weighted(cut) for cut in cuts], arrays, some, derivative[:, chosen]
            )
            return jax.tree.map(jnp.add, total, gradient), None

        total: Policy
        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, arrays), jnp.arange(0, batch, share))
        return total

    return as_steps(trajectories, known), pullback


def _from_to(trajectories: Trajectories, start: int, stop: int) -> Trajectories:
    """Some of their steps."""
    return trajectories._replace(
        states=jax.tree.map(lambda leaf: leaf[:, start : stop + 1], trajectories.states),
        actions=trajectories.actions[:, start:stop],
        active=trajectories.active[:, start:stop],
    )


def _known_terms(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    log_p_f: Float[Array, "batch time"] | None,
) -> Float[Array, "3 batch time"] | None:
    """The terms, if they are known from sampling: with a uniform `p_B` and no flow."""
    if log_p_f is None or policy.p_b != "uniform" or policy.has_flow:
        return None
    parents = jax.vmap(environment.parent_mask)(rows_of(trajectories).after).sum(-1)
    log_p_b = -jnp.log(jnp.maximum(parents, 1)).astype(log_p_f.dtype).reshape(log_p_f.shape)
    return jnp.stack([log_p_f, log_p_b, jnp.zeros_like(log_p_f)])


def _by_blocks(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    log_p_f: Float[Array, "batch time"] | None,
) -> tuple[Steps, Pullback]:
    """The same for a Markovian policy: its terms are sums over steps, and padding is skipped.

    The steps that are there are moved to the front and taken block by block, so that the work
    goes with the length of the trajectories and not with the horizon.
    """
    batch, time = trajectories.actions.shape
    first, rest = _from_to(trajectories, 0, 1), _from_to(trajectories, 1, time)
    whole = batch * (time - 1)
    size = min(whole, max(SMALLEST, whole // 8))
    if environment.is_graded or size > BLOCK:
        # As equal as can be: the last block is not padded much.
        size = -(-whole // max(1, -(-whole // BLOCK)))
    rows = rows_of(rest)
    count = rest.active.sum()
    padded = -(-whole // size) * size if whole else 0
    (order,) = jnp.nonzero(rest.active.reshape(-1), size=padded, fill_value=whole)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def first_terms(arrays: Policy) -> Array:
        full: Policy = eqx.combine(arrays, static)
        # All in the same state: one row, whose derivatives are summed before they go back.
        outputs = full.network.evaluate((), environment.observe(environment.initial()))
        outputs = jnp.broadcast_to(outputs, (batch, *outputs.shape))
        return row_terms(full, environment, rows_of(first), outputs)

    def terms(arrays: Policy, start: Array) -> tuple[Array, Array]:
        chosen = lax.dynamic_slice(order, (start,), (size,))
        block = jax.tree.map(lambda leaf: leaf.at[chosen].get(mode="clip"), rows)
        full: Policy = eqx.combine(arrays, static)
        outputs = full.network.evaluate((), jax.vmap(environment.observe)(block.before))
        return row_terms(full, environment, block, outputs), chosen

    def forward(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, values = carry
        found, chosen = terms(arrays, start)
        return start + size, values.at[:, chosen].set(found, mode="drop")

    start = jnp.zeros((), order.dtype)
    known = _known_terms(policy, environment, trajectories, log_p_f)
    if known is None:
        at_start = first_terms(arrays)
        values = jnp.zeros((3, whole), at_start.dtype)
        if whole:
            _, values = lax.while_loop(lambda carry: carry[0] < count, forward, (start, values))
        known = jnp.concatenate([at_start[..., None], values.reshape(3, batch, time - 1)], -1)

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        weights = jnp.where(trajectories.active, derivative, 0.0)
        later = weights[..., 1:].reshape(3, -1)

        def backward(carry: tuple[Array, Policy]) -> tuple[Array, Policy]:
            start, total = carry

            def weighted(arrays: Policy) -> Array:
                found, chosen = terms(arrays, start)
                return jnp.sum(found * later.at[:, chosen].get(mode="fill", fill_value=0.0))

            return start + size, jax.tree.map(jnp.add, total, jax.grad(weighted)(arrays))

        total: Policy = jax.grad(lambda arrays: jnp.sum(first_terms(arrays) * weights[..., 0]))(
            arrays
        )
        if whole:
            _, total = lax.while_loop(lambda carry: carry[0] < count, backward, (start, total))
        return total

    return as_steps(trajectories, known), pullback
