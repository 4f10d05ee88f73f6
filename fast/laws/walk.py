"""Every complete trajectory of an enumerated problem, with its probabilities under a policy."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fast.laws.enumeration import Enumeration, Floats, Ints
from fast.laws.exact_policy import to_float64
from fast.policies.policy import Policy

# Histories per network call: one of few sizes, so that few programs are compiled.
BLOCKS = (64, 512, 4096)


class Histories(NamedTuple):
    """A block of complete trajectories of an enumerated problem: ends are nodes, not states.

    Attributes:
        terminal: the terminal nodes.
        log_p_f: `log p_F(tau)`, in nats.
        log_p_b: `log p_B(tau | x)`, in nats.
    """

    terminal: Ints
    log_p_f: Floats
    log_p_b: Floats


class _Frontier(NamedTuple):
    """Histories that wait for the network to be evaluated at their last state.

    Attributes:
        nodes: the last states.
        back: the backward actions that undo the last steps.
        latents: of the histories that these extend by a step; None at the start.
        rows: which of them.
        log_p_f: `log p_F` of the history.
        log_p_b: `log p_B` of the history; a lifted `p_B` is added to it on evaluation.
    """

    nodes: Ints
    back: Ints
    latents: Any
    rows: Ints
    log_p_f: Floats
    log_p_b: Floats


def complete_histories(
    policy: Policy, enumeration: Enumeration, *, float64: bool
) -> Iterator[Histories]:
    """Every complete trajectory of the DAG, depth-first in blocks, with its probabilities."""
    # The precision is set for each call and not for the loop: a generator that is suspended inside
    # the setting would leave it to its caller.
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        network = to_float64(policy) if float64 else policy
        tables = (
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
            jnp.asarray(enumeration.parent_masks),
        )
    is_lifted = policy.backward.reads_latent
    log_p_b = (
        np.zeros(len(enumeration.dag.edges))
        if is_lifted
        else base_log_p_b(policy, enumeration, float64=float64)
    )
    is_terminal = np.array([not row for row in enumeration.dag.children])
    one = np.zeros(1, np.int64)
    stack = [_Frontier(one, one, None, one, np.zeros(1), np.zeros(1))]
    while stack:
        front = stack.pop()
        size = len(front.nodes)
        padding = next(block for block in BLOCKS if block >= size) - size
        rows, nodes, back = (np.pad(x, (0, padding)) for x in (front.rows, front.nodes, front.back))
        with jax.enable_x64(float64):
            parents = rows_of_latents(front.latents, rows)
            latents, log_p, log_back = evaluate_histories(network, parents, nodes, back, tables)
        arrived_b = front.log_p_b
        if is_lifted and front.latents is not None:
            arrived_b = arrived_b + np.asarray(log_back, np.float64)[:size]
            ends = is_terminal[front.nodes]
            if ends.any():
                yield Histories(front.nodes[ends], front.log_p_f[ends], arrived_b[ends])
        edges = np.where(is_terminal[front.nodes][:, None], -1, enumeration.edge[front.nodes])
        rows, actions = np.nonzero(edges >= 0)
        taken = edges[rows, actions]
        child = enumeration.child[front.nodes[rows], actions]
        child_f = front.log_p_f[rows] + np.asarray(log_p, np.float64)[rows, actions]
        child_b = arrived_b[rows] + log_p_b[taken]
        ended = is_terminal[child] & (not is_lifted)
        if ended.any():
            yield Histories(child[ended], child_f[ended], child_b[ended])
        going = np.flatnonzero(~ended)
        for start in range(0, len(going), BLOCKS[-1]):
            part = going[start : start + BLOCKS[-1]]
            undo = enumeration.undo[taken[part]]
            stack.append(
                _Frontier(child[part], undo, latents, rows[part], child_f[part], child_b[part])
            )


@jax.jit
def rows_of_latents(latents: Any, rows: Any) -> Any:
    """Some rows of the latents of a block, in a small program of its own.

    There is one for every two sizes of blocks; those that evaluate the network are larger, and one
    for every size is enough.
    """
    # Leaves without a batch axis (the step number) are shared by the block.
    return jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, latents)


@jax.jit
def evaluate_histories(
    policy: Policy, parents: Any, nodes: Any, back: Any, tables: Any
) -> tuple[Any, Any, Any]:
    """Latents on arrival in `nodes`, `log p_F` of every action, `log p_B` of the step there.

    Args:
        policy: the policy.
        parents: the latents of the histories that these extend by a step; None at the start.
        nodes: the last states.
        back: the backward actions that undo the last steps.
        tables: features, legal actions and legal backward actions of every node.
    """
    observations, masks, parent_masks = (table[nodes] for table in tables)
    if parents is None:
        latents = policy.network.initial(nodes.shape)
    else:
        latents = policy.network.advance(parents, observations)
    outputs = policy.network.read(latents, observations)
    log_p_b = policy.log_p_b(outputs, observations, parent_masks)
    return (
        latents,
        policy.log_p_f(outputs, masks),
        jnp.take_along_axis(log_p_b, back[:, None], -1)[:, 0],
    )


def base_log_p_b(policy: Policy, enumeration: Enumeration, *, float64: bool) -> Floats:
    """`log p_B`, in nats, one per edge of the base DAG; for a `p_B` that reads no latents."""
    heads = [v for _, v in enumeration.dag.edges]
    if policy.backward.is_uniform:
        # In float64 whatever the network is in, so that its mass is 1 to float64's rounding.
        uniform: Floats = -np.log(enumeration.parent_masks.sum(1)[heads])
        return uniform
    with jax.enable_x64(float64):
        observations = jnp.asarray(enumeration.observations, jnp.float64 if float64 else None)
        table = np.asarray(
            jax.jit(Policy.log_p_b)(
                to_float64(policy) if float64 else policy,
                None,
                observations,
                jnp.asarray(enumeration.parent_masks),
            ),
            np.float64,
        )
    log_p_b: Floats = table[heads, enumeration.undo]
    return log_p_b
