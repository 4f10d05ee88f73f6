"""Directed acyclic graphs on a few nodes, all of them, and sums over them by other means."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from random import Random

# The parents of each node, a bit mask.
Parents = tuple[int, ...]
Weights = tuple[tuple[int, ...], ...]

# How many labelled DAGs there are on 1, 2, ... nodes (Robinson, 1973).
COUNTS = (1, 3, 25, 543, 29281, 3781503, 1138779265)


def families(nodes: int, v: int) -> list[int]:
    """Every set of other nodes."""
    return [mask for mask in range(2**nodes) if not mask >> v & 1]


def random_weights(nodes: int, seed: int, least: int = 1) -> Weights:
    """Integers from `least` to 10^6, of many sizes; that of no parents is never 0."""
    rng = Random(seed)

    def weight(v: int, mask: int) -> int:
        return 0 if mask >> v & 1 else max(mask == 0, rng.randint(least, 10 ** rng.randint(0, 6)))

    return tuple(tuple(weight(v, mask) for mask in range(2**nodes)) for v in range(nodes))


def ones(nodes: int) -> Weights:
    """Every graph alike."""
    return tuple(tuple(1 - (mask >> v & 1) for mask in range(2**nodes)) for v in range(nodes))


def units(nodes: int) -> Iterator[tuple[Parents, Weights]]:
    """Every choice of one family for each node, cycles among them, and the weights 1 of these."""
    for parents in product(*(families(nodes, v) for v in range(nodes))):
        yield parents, tuple(tuple(int(m == p) for m in range(2**nodes)) for p in parents)


def is_acyclic(parents: Parents) -> bool:
    """True if the nodes can be taken away one after the other, each without parents left."""
    left = set(range(len(parents)))
    while left:
        first = {v for v in left if not any(parents[v] >> u & 1 for u in left)}
        if not first:
            return False
        left -= first
    return True


@cache
def all_dags(nodes: int) -> tuple[Parents, ...]:
    """Every DAG, by choosing the parents of one node after the other."""
    dags: list[Parents] = [()]
    for v in range(nodes):
        longer = ((*parents, mask) for parents in dags for mask in families(nodes, v))
        # A cycle among the first nodes stays one.
        dags = [g for g in longer if is_acyclic((*g, *(0,) * (nodes - v - 1)))]
    return tuple(dags)


def weighted(weights: Weights) -> Iterator[tuple[Parents, int]]:
    """Every DAG with the product of its weights."""
    for parents in all_dags(len(weights)):
        yield parents, math.prod(row[mask] for row, mask in zip(weights, parents, strict=True))


def enumerated(weights: Weights, has: Callable[[Parents, int, int], bool]) -> list[list[int]]:
    """For each pair of nodes the sum over the DAGs in which they have a property."""
    nodes = range(len(weights))
    sums = [[0 for _ in nodes] for _ in nodes]
    for parents, weight in weighted(weights):
        for u in nodes:
            for v in nodes:
                if has(parents, u, v):
                    sums[u][v] += weight
    return sums


def has_edge(parents: Parents, u: int, v: int) -> bool:
    """True if u is a parent of v."""
    return bool(parents[v] >> u & 1)


def has_path(parents: Parents, u: int, v: int) -> bool:
    """True if a path leads from u to v, in an acyclic graph; from a node to itself always."""
    nodes = range(len(parents))
    return u == v or any(has_path(parents, u, w) for w in nodes if parents[v] >> w & 1)


def by_layers(weights: Weights) -> int:
    """The sum over all DAGs, without subtracting sums from each other: layer after layer.

    A node of a layer has a parent in the one before it, and none in it or after: `4^n` terms, each
    of which is positive, and each DAG is in one of them.
    """
    nodes = len(weights)
    full = 2**nodes - 1

    @cache
    def family(v: int, placed: int, last: int) -> int:
        return sum(
            weight
            for mask, weight in enumerate(weights[v])
            if not mask & ~placed and (mask & last or not placed)
        )

    @cache
    def rest(placed: int, last: int) -> int:
        if placed == full:
            return 1
        return sum(
            rest(placed | layer, layer)
            * math.prod(family(v, placed, last) for v in range(nodes) if layer >> v & 1)
            for layer in range(1, full + 1)
            if not layer & placed
        )

    return rest(0, 0)


def without_edge(weights: Weights, u: int, v: int) -> Weights:
    """The same weights, but 0 of all graphs with the edge from u to v."""
    return tuple(
        tuple(0 if i == v and mask >> u & 1 else w for mask, w in enumerate(row))
        for i, row in enumerate(weights)
    )
