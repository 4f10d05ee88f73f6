"""Every pointed DAG with few states, and every deterministic lift of each.

A naturally labelled pointed DAG is a non-empty set of earlier parents for each node but the first:
there is nothing more to it, so nothing in the generator needs to be trusted.

The lifts of each, a set partition per state, are those of `verify.lib.partitions`.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations, permutations, product
from math import factorial

from reference import PointedDAG
from verify.lib.partitions import lifts, set_partitions

__all__ = [
    "canonical",
    "from_parents",
    "isomorphism_classes",
    "lifts",
    "pointed_dags",
    "pointed_dags_up_to",
    "set_partitions",
]


def pointed_dags(nodes: int) -> Iterator[PointedDAG[int]]:
    """All naturally labelled pointed DAGs with that many nodes: `prod over j of 2^j - 1`."""
    for parents in product(*(list(_non_empty_subsets(range(j))) for j in range(1, nodes))):
        yield from_parents(parents)


def pointed_dags_up_to(nodes: int) -> Iterator[PointedDAG[int]]:
    """Those with 2, 3, ... and that many nodes."""
    return chain.from_iterable(map(pointed_dags, range(2, nodes + 1)))


def from_parents(parents: Sequence[Sequence[int]]) -> PointedDAG[int]:
    """The DAG in which node j + 1 has the parents `parents[j]`, all smaller."""
    rows: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for j, row in enumerate(parents):
        for u in row:
            rows[u].append(j + 1)
    return PointedDAG(tuple(range(len(rows))), tuple(map(tuple, rows)))


def canonical(dag: PointedDAG[int]) -> tuple[tuple[tuple[int, int], ...], int]:
    """A representative of the isomorphism class, and the number of automorphisms.

    Nodes are first sorted by what no isomorphism changes, so that only nodes alike are permuted:
    the representative is the least list of edges, found once for each automorphism.
    """
    alike: dict[tuple[int, ...], list[int]] = {}
    for v, row in enumerate(dag.in_edges):
        ancestors = {v}
        for u, w in reversed(dag.edges):
            ancestors |= {u} if w in ancestors else set()
        degrees = sorted(len(dag.children[dag.edges[e][0]]) for e in row)
        key = (len(ancestors), len(row), len(dag.children[v]), *degrees)
        alike.setdefault(key, []).append(v)
    images = []
    for groups in product(*(permutations(alike[key]) for key in sorted(alike))):
        place = {v: i for i, v in enumerate(chain.from_iterable(groups))}
        images.append(tuple(sorted((place[u], place[v]) for u, v in dag.edges)))
    least = min(images)
    return least, images.count(least)


@cache
def isomorphism_classes(nodes: int) -> tuple[tuple[PointedDAG[int], int], ...]:
    """One DAG per isomorphism class, with the number of its labellings, `n! / |Aut|`."""
    classes: dict[tuple[tuple[int, int], ...], tuple[PointedDAG[int], int]] = {}
    for dag in pointed_dags(nodes):
        key, automorphisms = canonical(dag)
        classes.setdefault(key, (dag, factorial(nodes) // automorphisms))
    return tuple(classes.values())


def _non_empty_subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(items) + 1):
        yield from combinations(items, size)
