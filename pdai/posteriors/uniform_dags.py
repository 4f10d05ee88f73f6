"""Directed acyclic graphs drawn uniformly, layer by layer, as array code."""

import math
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class _Layers(NamedTuple):
    """Indicators of the placed nodes and of the last layer, and the parents of each node."""

    placed: Bool[Array, " nodes"]
    last: Bool[Array, " nodes"]
    parents: Bool[Array, "nodes nodes"]


class UniformDags(eqx.Module):
    """The uniform law on the DAGs with a limit on the number of parents.

    A node of a layer has a parent in the layer before it and none in its own or after; every DAG
    has one division into layers. By symmetry only sizes count. `C(u, l)` DAGs continue u placed
    nodes, l of them in the last layer; in `binom(n - u, t) c(u, l)^t C(u + t, t)` of them the next
    layer has t nodes, each with one of `c(u, l)` parent sets (Kuipers and Moffa, 2015). Counted in
    integers, drawn in float32.

    Attributes:
        log_layer: the log-probability of t, shape (n + 1, n + 1, n + 1), by u and l.
        log_family: the log-probability of the numbers of parents in the last layer and before it,
            one index for both, by u and l; shape (n + 1, n + 1, (n + 1)^2).
        nodes: n.
    """

    log_layer: Float[Array, "placed last layer"]
    log_family: Float[Array, "placed last family"]
    nodes: int = eqx.field(static=True)

    @classmethod
    def of(cls, nodes: int, max_parents: int) -> "UniformDags":
        """The law for n nodes, each with at most `max_parents` parents."""
        shape = (nodes + 1,) * 3
        layer, family = np.full(shape, -np.inf), np.full((*shape, nodes + 1), -np.inf)
        for u in range(nodes):
            for last in range(bool(u), u + 1):
                for t, share in enumerate(_shares(nodes, max_parents, u, last), 1):
                    layer[u, last, t] = math.log(share) if share else -np.inf
                for (i, j), number in _families(max_parents, u, last).items():
                    family[u, last, i, j] = math.log(number)
        return cls(
            jnp.asarray(layer - layer.max(-1, keepdims=True, initial=-1e30), jnp.float32),
            jnp.asarray(family.reshape(*shape[:2], -1), jnp.float32),
            nodes,
        )

    def draw(self, key: PRNGKeyArray) -> Bool[Array, "nodes nodes"]:
        """The adjacency matrix of a DAG; row u holds the nodes that u points to."""
        none = jnp.zeros(self.nodes, bool)
        start = _Layers(none, none, jnp.zeros((self.nodes, self.nodes), bool))
        keys = jax.random.split(key, self.nodes)
        final, _ = lax.scan(lambda at, key: (self._layer(at, key), None), start, keys)
        return final.parents.T

    def _layer(self, at: _Layers, key: PRNGKeyArray) -> _Layers:
        """One more layer, if nodes are left, with the parents of its nodes."""
        size_key, node_key, family_key, parent_key = jax.random.split(key, 4)
        u, last, done = at.placed.sum(), at.last.sum(), jnp.all(at.placed)
        size = jax.random.categorical(size_key, jnp.where(done, 0.0, self.log_layer[u, last]))
        size = jnp.where(done, 0, size)
        chosen = _ranks(jax.random.uniform(node_key, (self.nodes,)), ~at.placed) < size
        rows = jnp.where(done, 0.0, self.log_family[u, last])
        family = jax.random.categorical(family_key, rows, shape=(self.nodes,))
        near, far = family // (self.nodes + 1), family % (self.nodes + 1)
        order = jax.random.uniform(parent_key, (self.nodes, self.nodes))
        ranks = jax.vmap(_ranks, (0, None))
        picked = (ranks(order, at.last) < near[:, None]) | (
            ranks(order, at.placed & ~at.last) < far[:, None]
        )
        parents = jnp.where(chosen[:, None], picked, at.parents)
        return _Layers(at.placed | chosen, jnp.where(done, at.last, chosen), parents)


def _ranks(values: Float[Array, " nodes"], among: Bool[Array, " nodes"]) -> Int[Array, " nodes"]:
    """The rank of each value among those in `among`; n for the others."""
    order = jnp.argsort(jnp.where(among, values, jnp.inf))
    places = jnp.zeros(values.shape[0], jnp.int32).at[order].set(jnp.arange(values.shape[0]))
    return jnp.where(among, places, values.shape[0])


def _families(most: int, placed: int, last: int) -> dict[tuple[int, int], int]:
    """The number of parent sets with i >= 1 members in the last layer and j before it, by (i, j).

    The nodes of the first layer have no parents.
    """
    return {
        (i, j): math.comb(last, i) * math.comb(placed - last, j)
        for i in range(bool(placed), last + 1)
        for j in range(placed - last + 1)
        if i + j <= most or not placed
    }


@cache
def _shares(nodes: int, most: int, placed: int, last: int) -> list[int]:
    """The terms of `C(u, l)`, by the number of nodes of the next layer, from 1 on."""
    if placed == nodes:
        return [1]
    families = sum(_families(most, placed, last).values())
    return [
        math.comb(nodes - placed, t) * families**t * sum(_shares(nodes, most, placed + t, t))
        for t in range(1, nodes - placed + 1)
    ]
