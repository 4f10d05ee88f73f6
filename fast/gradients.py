"""The loss of a batch of trajectories and its gradient, as cheap as the policy allows."""

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
# most of the padding is skipped.
SMALLEST, BLOCK = 64, 512

# From derivatives by `log p_F`, `log p_B` and `log F` to those by the policy's parameters.
Pullback = Callable[[Float[Array, "3 batch time"]], Policy]


def evaluate_with_pullback(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    log_p_f: Float[Array, "batch time"] | None = None,
) -> tuple[Steps, Pullback]:
    """`evaluate`, and the map from derivatives by its terms to those by the policy's parameters.

    Args:
        policy: the policy.
        environment: the state graph.
        trajectories: a batch.
        log_p_f: of their actions, if known from sampling: spares a Markovian policy one of two
            evaluations.
    """
    if policy.is_markovian:
        return _by_blocks(policy, environment, trajectories, log_p_f)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)
    terms, pull = jax.vjp(
        lambda a: jnp.stack(evaluate(eqx.combine(a, static), environment, trajectories)[:3]), arrays
    )
    return as_steps(trajectories, terms), lambda derivative: pull(derivative)[0]


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
    size = min(BLOCK, max(SMALLEST, batch * time // 8), batch * time)
    rows = rows_of(trajectories)
    active = trajectories.active.reshape(-1)
    count = active.sum()
    padded = -(-batch * time // size) * size
    (order,) = jnp.nonzero(active, size=padded, fill_value=batch * time)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def terms(arrays: Policy, start: Array) -> tuple[Array, Array]:
        chosen = lax.dynamic_slice(order, (start,), (size,))
        block = jax.tree.map(lambda leaf: leaf.at[chosen].get(mode="clip"), rows)
        whole: Policy = eqx.combine(arrays, static)
        outputs = whole.network.evaluate((), jax.vmap(environment.observe)(block.before))
        return row_terms(whole, environment, block, outputs), chosen

    def forward(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, values = carry
        found, chosen = terms(arrays, start)
        return start + size, values.at[:, chosen].set(found, mode="drop")

    start = jnp.zeros((), order.dtype)
    if log_p_f is not None and policy.p_b == "uniform" and not policy.has_flow:
        parents = jax.vmap(environment.parent_mask)(rows.after).sum(-1)
        log_p_b = -jnp.log(jnp.maximum(parents, 1)).astype(log_p_f.dtype)
        flat = log_p_f.reshape(-1)
        values = jnp.stack([flat, log_p_b, jnp.zeros_like(flat)])
    else:
        kind = jax.eval_shape(lambda: terms(arrays, start))[0].dtype
        _, values = lax.while_loop(
            lambda carry: carry[0] < count, forward, (start, jnp.zeros((3, batch * time), kind))
        )

    def pullback(derivative: Float[Array, "3 batch time"]) -> Policy:
        weights = jnp.where(trajectories.active, derivative, 0.0).reshape(3, -1)

        def backward(carry: tuple[Array, Policy]) -> tuple[Array, Policy]:
            start, total = carry

            def weighted(arrays: Policy) -> Array:
                found, chosen = terms(arrays, start)
                return jnp.sum(found * weights.at[:, chosen].get(mode="fill", fill_value=0.0))

            return start + size, jax.tree.map(jnp.add, total, jax.grad(weighted)(arrays))

        total: Policy
        _, total = lax.while_loop(
            lambda carry: carry[0] < count,
            backward,
            (start, jax.tree.map(jnp.zeros_like, arrays)),
        )
        return total

    return as_steps(trajectories, values.reshape(3, batch, time)), pullback
