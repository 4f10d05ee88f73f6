"""A policy along histories, step by step, and every trajectory of an enumerated problem."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.laws.enumeration import Enumeration, Floats, Ints
from fast.laws.paths import Paths
from fast.policies.policy import Policy

# Histories per network call, always a full block, so that one program is compiled, and one for the
# first state; it fits into the caches of a CPU.
BLOCK = 4_096


def to_float64(policy: Policy) -> Policy:
    """The policy with its parameters in float64 (inside `jax.enable_x64`)."""
    return jax.tree.map(  # type: ignore[no-any-return]
        lambda leaf: _placed(leaf, np.float64) if eqx.is_inexact_array(leaf) else leaf, policy
    )


def _placed(values: Any, dtype: Any) -> Any:
    """An array of JAX by way of NumPy: converted by JAX, each shape would need a program."""
    return jax.device_put(np.array(values, dtype))


@eqx.filter_jit
def policy_step(
    policy: Policy, latent: Any, seen: jax.Array, mask: Any
) -> tuple[Any, jax.Array, jax.Array]:
    """One step of a policy: latents on arrival, the outputs there, and `log p_F` of every action.

    Args:
        policy: the sampler.
        latent: that of the step before; None at the initial state.
        seen: features on arrival, shape (batch, features).
        mask: the legal actions, shape (batch, actions).
    """
    network = policy.network
    latent = network.initial(seen.shape[:1]) if latent is None else network.advance(latent, seen)
    outputs = network.read(latent, seen)
    return latent, outputs, policy.log_p_f(outputs, mask)


class _Frontier(NamedTuple):
    """Histories whose last state the network has not seen yet.

    Attributes:
        nodes: the last states.
        back: the backward actions that undo the last steps.
        latents: the latents of the histories one step shorter; None at the start.
        rows: for each history, the row of those latents that it extends.
        log_p_f: `log p_F` of the history.
        log_p_b: `log p_B` of the history; on arrival a lifted `p_B` is added.
    """

    nodes: Ints
    back: Ints
    latents: Any
    rows: Ints
    log_p_f: Floats
    log_p_b: Floats


def complete_histories(
    policy: Policy, enumeration: Enumeration, *, float64: bool, visits_ends: bool = False
) -> Iterator[Paths]:
    """Every complete trajectory of the DAG, depth-first in blocks; ends are nodes, sums in float64.

    Args:
        policy: the sampler.
        enumeration: the listed states, with their features and rewards.
        float64: evaluate the network in float64, not float32.
        visits_ends: evaluate the network in terminal states even if p_B reads no latent, so that
            the order is the same for every policy.
    """
    dag, is_lifted = enumeration.dag, policy.backward.reads_latent
    visits_ends = visits_ends or is_lifted
    # The precision is set for each call and not for the loop: a generator that is suspended inside
    # the setting would leave it to its caller.
    with jax.enable_x64(float64):
        network, tables = _on_device(policy, enumeration, float64=float64)
    log_p_b = np.zeros(len(dag.edges))
    if not is_lifted:
        log_p_b = base_log_p_b(policy, enumeration, float64=float64)
    is_terminal = np.array([not row for row in dag.children])
    log_rewards = np.full(len(dag.labels), np.nan)
    log_rewards[list(dag.terminals)] = enumeration.log_rewards

    def ended(nodes: Ints, log_p_f: Floats, log_p_b: Floats) -> Paths:
        return Paths(nodes, log_rewards[nodes], log_p_f, log_p_b, log_p_f - log_p_b)

    one = np.zeros(1, np.int64)
    stack = [_Frontier(one, one, None, one, np.zeros(1), np.zeros(1))]
    while stack:
        front = stack.pop()
        size = len(front.nodes)
        padding = BLOCK - size
        rows, nodes, back = (np.pad(x, (0, padding)) for x in (front.rows, front.nodes, front.back))
        with jax.enable_x64(float64):
            latents, log_p, log_back = _evaluate(
                network, _rows_of(front.latents, rows), nodes, back, tables
            )
        arrived_b = front.log_p_b
        if is_lifted and front.latents is not None:
            arrived_b = arrived_b + np.asarray(log_back, np.float64)[:size]
        if visits_ends:
            ends = is_terminal[front.nodes]
            if ends.any():
                yield ended(front.nodes[ends], front.log_p_f[ends], arrived_b[ends])
        edges = np.where(is_terminal[front.nodes][:, None], -1, enumeration.edge[front.nodes])
        rows, actions = np.nonzero(edges >= 0)
        taken = edges[rows, actions]
        child = enumeration.child[front.nodes[rows], actions]
        child_f = front.log_p_f[rows] + np.asarray(log_p, np.float64)[rows, actions]
        child_b = arrived_b[rows] + log_p_b[taken]
        # A lifted p_B reads the latent of the terminal state too: go there first.
        ends = is_terminal[child] & (not visits_ends)
        if ends.any():
            yield ended(child[ends], child_f[ends], child_b[ends])
        going = np.flatnonzero(~ends)
        for start in range(0, len(going), BLOCK):
            part = going[start : start + BLOCK]
            undo = enumeration.undo[taken[part]]
            stack.append(
                _Frontier(child[part], undo, latents, rows[part], child_f[part], child_b[part])
            )


def _on_device(
    policy: Policy, enumeration: Enumeration, *, float64: bool
) -> tuple[Policy, tuple[jax.Array, jax.Array, jax.Array]]:
    """The policy in its precision; features, legal actions and backward actions of every node."""
    return to_float64(policy) if float64 else policy, (
        _placed(enumeration.observations, np.float64 if float64 else np.float32),
        _placed(enumeration.edge >= 0, bool),
        _placed(enumeration.parent_masks, bool),
    )


@jax.jit
def _rows_of(latents: Any, rows: Any) -> Any:
    """Rows of the latents of a block; leaves without a batch axis (a step number) are shared."""
    return jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, latents)


@jax.jit
def _evaluate(
    policy: Policy, latents: Any, nodes: Any, back: Any, tables: Any
) -> tuple[Any, Any, Any]:
    """`policy_step` on arrival in nodes, and `log p_B` of the steps just taken."""
    seen, masks, parent_masks = (table[nodes] for table in tables)
    latents, outputs, log_p_f = policy_step(policy, latents, seen, masks)
    log_p_b = policy.log_p_b(outputs, seen, parent_masks)
    return latents, log_p_f, jnp.take_along_axis(log_p_b, back[:, None], -1)[:, 0]


def base_log_p_b(policy: Policy, enumeration: Enumeration, *, float64: bool) -> Floats:
    """`log p_B`, in nats, one per edge of the base DAG; for a `p_B` that reads no latents.

    Args:
        policy: the sampler.
        enumeration: the listed states, with their features and rewards.
        float64: evaluate the network in float64, not float32.
    """
    if policy.backward.is_uniform:
        # In float64 for any network, so that the mass of `p_B` is 1 up to float64's rounding.
        return enumeration.uniform_log_p_b
    _, heads = enumeration.edges
    with jax.enable_x64(float64):
        network, (observations, _, parent_masks) = _on_device(policy, enumeration, float64=float64)
        table = jax.jit(Policy.log_p_b)(network, None, observations, parent_masks)
    log_p_b: Floats = np.asarray(table, np.float64)[heads, enumeration.undo]
    return log_p_b
