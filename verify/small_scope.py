"""Every pointed DAG with few states, and every deterministic lift of each.

A naturally labelled pointed DAG is a non-empty set of earlier parents for each node but the first:
there is nothing more to it, so nothing in the generator needs to be trusted.

A lift is determined, up to the names of its latents, by which lifted parents of a state arrive
with equal latents: a set partition per state, chosen in topological order. One block is no memory,
singletons are the full history. "For every Omega and every phi" is therefore a finite check.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from math import factorial
from typing import Any, TypeVar

from reference import LiftedDAG, PointedDAG, Table, lift

A = TypeVar("A")


def pointed_dags(nodes: int) -> Iterator[PointedDAG[int]]:
    """All naturally labelled pointed DAGs with that many nodes: `prod over j of 2^j - 1`."""
    for parents in product(*(list(_non_empty_subsets(range(j))) for j in range(1, nodes))):
        yield from_parents(parents)


def from_parents(parents: Sequence[Sequence[int]]) -> PointedDAG[int]:
    """The DAG in which node j + 1 has the parents `parents[j]`, all smaller."""
    rows: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for j, row in enumerate(parents):
        for u in row:
            rows[u].append(j + 1)
    return PointedDAG(tuple(range(len(rows))), tuple(map(tuple, rows)))


def lifts(dag: PointedDAG[int]) -> Iterator[LiftedDAG[int]]:
    """Every deterministic lift of a DAG, once up to renaming of latents."""
    inner = [v for v in range(1, len(dag.labels)) if dag.children[v]]

    def choose(
        position: int, latents: dict[int, list[Any]], transitions: dict[Any, Any]
    ) -> Iterator[LiftedDAG[int]]:
        if position == len(inner):
            yield lift(dag, Table(transitions, (0, 0)))
            return
        v = inner[position]
        arriving = [w for e in dag.in_edges[v] for w in latents[dag.edges[e][0]]]
        for blocks in set_partitions(arriving):
            # A latent names its state, so the table may depend on the whole lifted parent.
            step = {(v, w): (v, b) for b, block in enumerate(blocks) for w in block}
            names = [(v, b) for b in range(len(blocks))]
            yield from choose(position + 1, {**latents, v: names}, {**transitions, **step})

    yield from choose(0, {0: [(0, 0)]}, {})


def set_partitions(items: Sequence[A]) -> Iterator[list[list[A]]]:
    """Every partition of a list into non-empty blocks."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for blocks in set_partitions(rest):
        yield [[first], *blocks]
        for i in range(len(blocks)):
            yield [*blocks[:i], [first, *blocks[i]], *blocks[i + 1 :]]


def canonical(dag: PointedDAG[int]) -> tuple[frozenset[tuple[int, int]], int]:
    """A representative of the isomorphism class, and the number of automorphisms."""
    edges = frozenset(dag.edges)
    images = [
        frozenset((p[u], p[v]) for u, v in edges) for p in permutations(range(len(dag.labels)))
    ]
    return min(images, key=sorted), images.count(edges)


def isomorphism_classes(nodes: int) -> list[tuple[PointedDAG[int], int]]:
    """One DAG per isomorphism class, with the number of its labellings, `n! / |Aut|`."""
    classes: dict[frozenset[tuple[int, int]], tuple[PointedDAG[int], int]] = {}
    for dag in pointed_dags(nodes):
        key, automorphisms = canonical(dag)
        classes.setdefault(key, (dag, factorial(nodes) // automorphisms))
    return list(classes.values())


def _non_empty_subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(items) + 1):
        yield from combinations(items, size)
