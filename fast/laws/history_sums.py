"""Sums over every complete trajectory of an enumerated problem, made on the device.

`fast.laws.walk` gives the trajectories themselves. Here a block of them never leaves the
device: the host keeps the stack of blocks, and is told of each how many histories go on.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import to_float64
from fast.laws.walk import base_log_p_b, evaluate_histories, rows_of_latents
from fast.policies.policy import Policy

# Histories per network call, of few sizes, so that few programs are compiled. A large device needs
# large blocks to be busy; on a CPU they would leave its caches.
CPU_BLOCKS, DEVICE_BLOCKS = (64, 512, 4096), (1024, 131_072)


class HistorySums(NamedTuple):
    """Sums over the complete trajectories `tau` that end in each node, in float64.

    Attributes:
        p_t: `sum of p_F(tau)`, one per node.
        mass: `sum of p_B(tau | x)`, one per node.
        low: the least `log( p_F(tau) / (p_B(tau | x) R(x)) )` of all, in nats.
        high: the largest.
    """

    p_t: Any
    mass: Any
    low: Any
    high: Any


class Share(NamedTuple):
    """A share of the trajectories, for one of several processes or machines.

    All walk the first steps alike, then each goes on with every `of`-th history. `p_t` and `mass`
    of all shares add up to those of the whole, and `low` and `high` are the extremes of theirs.

    Attributes:
        number: which share, from 0.
        of: how many there are.
        depth: after how many steps histories are dealt out; what ends before is in share 0.
    """

    number: int = 0
    of: int = 1
    depth: int = 3


WHOLE = Share()


class _Frontier(NamedTuple):
    """Histories that wait for the network to be evaluated at their last state, padded to a size.

    Attributes:
        rows: which of the histories of the block before these extend by a step.
        nodes: the last states.
        back: the backward actions that undo the last steps.
        log_p_f: `log p_F` of the history, in float64.
        log_p_b: `log p_B` of the history; a lifted `p_B` is added to it on evaluation.
        real: which are histories, and no padding.
    """

    rows: Int[Array, " block"]
    nodes: Int[Array, " block"]
    back: Int[Array, " block"]
    log_p_f: Float[Array, " block"]
    log_p_b: Float[Array, " block"]
    real: Bool[Array, " block"]


class _Graph(NamedTuple):
    """What the sums read of the enumerated problem.

    Attributes:
        child: the node that each action leads to, or -1.
        undo: the backward action that leads back.
        log_p_b: `log p_B` of that step; 0 if it reads the latent.
        ends: whether a node is terminal.
        log_reward: `log R` of terminal nodes.
    """

    child: Int[Array, "nodes actions"]
    undo: Int[Array, "nodes actions"]
    log_p_b: Float[Array, "nodes actions"]
    ends: Bool[Array, " nodes"]
    log_reward: Float[Array, " nodes"]


def sum_histories(
    policy: Policy,
    enumeration: Enumeration,
    *,
    float64: bool,
    blocks: tuple[int, ...] | None = None,
    share: Share = WHOLE,
) -> HistorySums:
    """The sums over every complete trajectory, or a share of them, as NumPy arrays.

    Args:
        policy: a path-dependent policy.
        enumeration: the problem.
        float64: whether the network is evaluated in float64; sums always are.
        blocks: histories per network call, the sizes that there are; the largest is the most.
        share: which trajectories.
    """
    if blocks is None:
        blocks = CPU_BLOCKS if jax.default_backend() == "cpu" else DEVICE_BLOCKS
    is_lifted = policy.backward.reads_latent
    # The precision is that of the network for its own programs, and float64 for what is summed.
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        network = to_float64(policy) if float64 else policy
        tables = (
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
            jnp.asarray(enumeration.parent_masks),
        )
    with jax.enable_x64(True):
        graph, sums, front = _start(policy, enumeration, float64, blocks[0])
        stack: list[tuple[_Frontier, Any, int]] = [(front, None, 0)]
        dealt = 0
        while stack:
            front, before, depth = stack.pop()
            with jax.enable_x64(float64):
                parents = rows_of_latents(before, front.rows)
                latents, log_p, log_back = evaluate_histories(
                    network, parents, front.nodes, front.back, tables
                )
            mine = share.number == 0 or depth >= share.depth
            if is_lifted and before is not None:
                sums, front = _arrive(sums, front, log_back, graph, mine)
            sums, children, found = _extend(sums, front, log_p, graph, mine, goes_to_ends=is_lifted)
            count = int(found)
            if depth + 1 == share.depth and share.of > 1:
                turn = (dealt + jnp.arange(len(children.real))) % share.of
                children = children._replace(real=children.real & (turn == share.number))
                dealt += count
            # The last parts are taken up first, so that few blocks wait at a time.
            stack += [(part, latents, depth + 1) for part in _cut(children, count, blocks)]
        return HistorySums(*map(np.asarray, sums))


def _start(
    policy: Policy, enumeration: Enumeration, float64: bool, size: int
) -> tuple[_Graph, HistorySums, _Frontier]:
    dag, edge = enumeration.dag, enumeration.edge
    nodes = len(dag.labels)
    log_p_b = np.zeros(len(dag.edges))
    if not policy.backward.reads_latent:
        log_p_b = base_log_p_b(policy, enumeration, float64=float64)
    log_reward = np.full(nodes, np.nan)
    log_reward[list(dag.terminals)] = enumeration.log_rewards
    graph = _Graph(
        jnp.asarray(enumeration.child, jnp.int32),
        jnp.asarray(enumeration.undo[edge], jnp.int32),
        jnp.asarray(log_p_b[edge]),
        jnp.asarray([not row for row in dag.children]),
        jnp.asarray(log_reward),
    )
    integers, floats = jnp.zeros(size, jnp.int32), jnp.zeros(size)
    front = _Frontier(integers, integers, integers, floats, floats, jnp.arange(size) == 0)
    sums = HistorySums(*map(jnp.array, (np.zeros(nodes), np.zeros(nodes), np.inf, -np.inf)))
    return graph, sums, front


@partial(jax.jit, donate_argnums=0)
def _arrive(
    sums: HistorySums, front: _Frontier, log_back: Array, graph: _Graph, mine: bool
) -> tuple[HistorySums, _Frontier]:
    """Adds the last step of a lifted `p_B`, and counts the histories that have ended, if mine."""
    front = front._replace(log_p_b=front.log_p_b + log_back)
    ended = front.real & graph.ends[front.nodes]
    counted = _count(sums, front.nodes, front.log_p_f, front.log_p_b, ended & mine, graph)
    return counted, front._replace(real=front.real & ~ended)


@partial(jax.jit, donate_argnums=0, static_argnames="goes_to_ends")
def _extend(
    sums: HistorySums,
    front: _Frontier,
    log_p: Array,
    graph: _Graph,
    mine: bool,
    *,
    goes_to_ends: bool,
) -> tuple[HistorySums, _Frontier, Int[Array, ""]]:
    """Every step on from a block of histories, those that go on first, and their number."""
    block, actions = log_p.shape
    child = graph.child[front.nodes]
    legal = front.real[:, None] & (child >= 0)
    child = jnp.where(legal, child, 0)
    log_p_f = front.log_p_f[:, None] + log_p
    log_p_b = front.log_p_b[:, None] + graph.log_p_b[front.nodes]
    ended = legal & graph.ends[child]
    going = legal
    if not goes_to_ends:
        sums = _count(sums, child, log_p_f, log_p_b, ended & mine, graph)
        going = legal & ~ended
    (place,) = jnp.nonzero(going.ravel(), size=block * actions, fill_value=0)
    count = going.sum()
    rows = (place // actions).astype(jnp.int32)

    def chosen(table: Array) -> Array:
        found: Array = table.ravel()[place]
        return found

    back = chosen(graph.undo[front.nodes])
    real = jnp.arange(block * actions) < count
    children = _Frontier(rows, chosen(child), back, chosen(log_p_f), chosen(log_p_b), real)
    return sums, children, count


def _count(
    sums: HistorySums, nodes: Array, log_p_f: Array, log_p_b: Array, ended: Array, graph: _Graph
) -> HistorySums:
    """The sums with what has ended added to them."""
    zero = jnp.zeros((), log_p_f.dtype)
    ratio = log_p_f - log_p_b - graph.log_reward[nodes]
    return HistorySums(
        sums.p_t.at[nodes].add(jnp.where(ended, jnp.exp(log_p_f), zero)),
        sums.mass.at[nodes].add(jnp.where(ended, jnp.exp(log_p_b), zero)),
        jnp.minimum(sums.low, jnp.where(ended, ratio, jnp.inf).min()),
        jnp.maximum(sums.high, jnp.where(ended, ratio, -jnp.inf).max()),
    )


def _cut(children: _Frontier, count: int, blocks: tuple[int, ...]) -> list[_Frontier]:
    """The first `count` histories in blocks of the sizes that there are."""
    parts = []
    for start in range(0, count, blocks[-1]):
        left = min(count - start, blocks[-1])
        size = next(block for block in blocks if block >= left)
        parts.append(_part(children, start, size=size))
    return parts


@partial(jax.jit, static_argnames="size")
def _part(children: _Frontier, start: int, *, size: int) -> _Frontier:
    """So many from a place on, beyond the last of them padding."""

    def cut(leaf: Array) -> Array:
        padded = jnp.pad(leaf, (0, size))
        found: Array = lax.dynamic_slice(padded, (start,), (size,))
        return found

    return _Frontier(*map(cut, children))
