"""Every pointed DAG with few states, and every deterministic lift of each.

A naturally labelled pointed DAG is a non-empty set of earlier parents for each node but the first:
there is nothing more to it, so nothing in the generator needs to be trusted.

The lifts of each, a set partition per state, are those of `reference.partitions`.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product
from math import factorial

from reference import PointedDAG
from reference.partitions import lifts, set_partitions

__all__ = [
    "canonical",
    "from_parents",
    "isomorphism_classes",
    "lifts",
    "pointed_dags",
    "set_partitions",
]


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


def canonical(dag: PointedDAG[int]) -> tuple[frozenset[tuple[int, int]], int]:
    """A representative of the isomorphism class, and the number of automorphisms."""
    edges = frozenset(dag.edges)
    images = [
        frozenset((p[u], p[v]) for u, v in edges) for p in permutations(range(len(dag.labels)))
    ]
    return min(images, key=sorted), images.count(edges)


@cache
def isomorphism_classes(nodes: int) -> tuple[tuple[PointedDAG[int], int], ...]:
    """One DAG per isomorphism class, with the number of its labellings, `n! / |Aut|`."""
    classes: dict[frozenset[tuple[int, int]], tuple[PointedDAG[int], int]] = {}
    for dag in pointed_dags(nodes):
        key, automorphisms = canonical(dag)
        classes.setdefault(key, (dag, factorial(nodes) // automorphisms))
    return tuple(classes.values())


def _non_empty_subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(items) + 1):
        yield from combinations(items, size)
