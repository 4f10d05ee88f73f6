"""The loss of a batch of trajectories and its gradient, as cheap as the policy allows."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fast.balance.steps import Steps, as_steps, evaluate, row_terms, rows_of
from fast.dynamics.networks import Products
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.rollout import Known, Trajectories

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
    known: Known | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """`evaluate`, and the map from derivatives by its terms to those by the policy's parameters.

    Args:
        policy: the policy.
        environment: the state graph.
        trajectories: a batch.
        known: what sampling found out: spares evaluations, and lets policies that are not Markovian
            go group by group.
        skip_ended: whether these groups are cut where their trajectories have ended. Inside `vmap`
            that is slower, as there all branches are taken.
    """
    if policy.is_markovian:
        return _by_blocks(policy, environment, trajectories, known)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)
    products = () if known is None or policy.p_b == "lifted" else known.products

    def terms(
        arrays: Policy, some: Trajectories, products: Products
    ) -> Float[Array, "3 rows time"]:
        return jnp.stack(evaluate(eqx.combine(arrays, static), environment, some, products)[:3])

    values = _known_terms(policy, environment, trajectories, known)
    if values is None:
        found, pull = jax.vjp(lambda arrays: terms(arrays, trajectories, products), arrays)
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
        def weighted(cut: int) -> Callable[[Policy, Trajectories, Products, Array], Policy]:
            def value(
                arrays: Policy, some: Trajectories, products: Products, weights: Array
            ) -> Array:
                early = tuple(product[:cut] for product in products)
                found = terms(arrays, _from_to(some, 0, cut), early)
                return jnp.sum(weights[:, :, :cut] * found)

            return jax.grad(value)

        def add(total: Policy, start: Array) -> tuple[Policy, None]:
            chosen = lax.dynamic_slice_in_dim(order, start, share)
            some = jax.tree.map(lambda leaf: leaf[chosen], trajectories)
            theirs = tuple(product[:, chosen] for product in products)
            cut = jnp.searchsorted(jnp.array(cuts), lengths[chosen].max())
            gradient = lax.switch(
                cut, [weighted(cut) for cut in cuts], arrays, some, theirs, derivative[:, chosen]
            )
            return jax.tree.map(jnp.add, total, gradient), None

        total: Policy
        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, arrays), jnp.arange(0, batch, share))
        return total

    return as_steps(trajectories, values), pullback


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
    known: Known | None,
) -> Float[Array, "3 batch time"] | None:
    """The terms, if they are known from sampling: with a uniform `p_B` and no flow."""
    if known is None or policy.p_b != "uniform" or policy.has_flow:
        return None
    log_p_f = known.log_p_f
    parents = jax.vmap(environment.parent_mask)(rows_of(trajectories).after).sum(-1)
    log_p_b = -jnp.log(jnp.maximum(parents, 1)).astype(log_p_f.dtype).reshape(log_p_f.shape)
    return jnp.stack([log_p_f, log_p_b, jnp.zeros_like(log_p_f)])


def _by_blocks(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    known: Known | None,
) -> tuple[Steps, Pullback]:
    """The same for a Markovian policy: its terms are sums over steps, and padding is skipped.

    The first step has a row for itself, as all trajectories begin in the same state. Of the others,
    those that are there are moved to the front and taken block by block, so that the work goes with
    the length of the trajectories and not with the horizon.
    """
    batch, time = trajectories.actions.shape
    first, rest = _from_to(trajectories, 0, 1), _from_to(trajectories, 1, time)
    whole = batch * (time - 1)
    size = min(whole, max(SMALLEST, whole // 8))
    if environment.is_graded or size > BLOCK:
        # As equal as can be: the last block is not padded much.
        size = -(-whole // max(1, -(-whole // BLOCK)))
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def by_time(leaf: Array) -> Array:
        """Rows in the order in which they were sampled."""
        apart = leaf.reshape(batch, time - 1, *leaf.shape[1:])
        return jnp.swapaxes(apart, 0, 1).reshape(leaf.shape)

    rows = jax.tree.map(by_time, rows_of(rest))
    recorded = known.products if known else ()
    products = tuple(each.reshape(whole, *each.shape[2:]) for each in recorded)
    count = rest.active.sum()
    (order,) = jnp.nonzero(rest.active.T.reshape(-1), size=whole, fill_value=0)

    def pick(tree: Any, numbers: Array) -> Any:
        if environment.is_graded:
            # All rows are there, in their places.
            cut = partial(lax.dynamic_slice_in_dim, start_index=numbers[0], slice_size=size)
            return jax.tree.map(cut, tree)
        return jax.tree.map(lambda leaf: leaf[order[numbers]], tree)

    def first_terms(arrays: Policy) -> Array:
        full: Policy = eqx.combine(arrays, static)
        # One row, whose derivatives are summed before they go back.
        outputs = full.network.evaluate((), environment.observe(environment.initial()))
        outputs = jnp.broadcast_to(outputs, (batch, *outputs.shape))
        return row_terms(full, environment, rows_of(first), outputs)

    def terms(arrays: Policy, numbers: Array) -> Array:
        full: Policy = eqx.combine(arrays, static)
        block, theirs = pick((rows, products), numbers)
        seen = jax.vmap(environment.observe)(block.before)
        return row_terms(full, environment, block, full.network.recall(seen, theirs))

    def block_from(start: Array) -> Array:
        # The last block begins earlier, so that it is full.
        return jnp.minimum(start, whole - size) + jnp.arange(size)

    def forward(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, values = carry
        numbers = block_from(start)
        return start + size, values.at[:, order[numbers]].set(terms(arrays, numbers))

    start = jnp.zeros((), order.dtype)
    values = _known_terms(policy, environment, trajectories, known)
    if values is None:
        at_start = first_terms(arrays)
        later = jnp.zeros((3, whole), at_start.dtype)
        if whole:
            _, later = lax.while_loop(lambda carry: carry[0] < count, forward, (start, later))
        later = jnp.swapaxes(later.reshape(3, time - 1, batch), 1, 2)
        values = jnp.concatenate([at_start[..., None], later], -1)

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        weights = jnp.where(trajectories.active, derivative, 0.0)
        later = weights[..., 1:].T.reshape(whole, 3)

        def at_start(arrays: Policy) -> Array:
            return jnp.sum(first_terms(arrays) * weights[..., 0])

        def weighted(arrays: Policy, start: Array) -> Array:
            numbers = block_from(start)
            due = (start <= numbers) & (numbers < count)
            return jnp.sum(terms(arrays, numbers) * jnp.where(due, pick(later, numbers).T, 0.0))

        total: Policy
        if whole and environment.is_graded and size == whole:
            total = jax.grad(lambda arrays: at_start(arrays) + weighted(arrays, start))(arrays)
            return total

        def backward(carry: tuple[Array, Policy]) -> tuple[Array, Policy]:
            start, total = carry
            return start + size, jax.tree.map(jnp.add, total, jax.grad(weighted)(arrays, start))

        total = jax.grad(at_start)(arrays)
        if whole:
            _, total = lax.while_loop(lambda carry: carry[0] < count, backward, (start, total))
        return total

    return as_steps(trajectories, values), pullback
