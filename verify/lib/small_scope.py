"""Every pointed DAG with few states, and every deterministic lift (def:pointeddag) of each.

A naturally labelled pointed DAG is a non-empty set of earlier parents for each node but the first:
there is nothing more to it, so nothing in the generator needs to be trusted.

A lift is determined, up to the names of its latents, by which lifted parents of a state arrive
with equal latents: a set partition per state, chosen in topological order. One block is no memory,
singletons are the full history. "For every Omega and every phi" is therefore a finite check.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, combinations, count, permutations, product
from math import factorial
from typing import Any, TypeVar

from reference import LiftedDAG, PointedDAG

A = TypeVar("A")
S = TypeVar("S", bound=Hashable)


def pointed_dags(nodes: int) -> Iterator[PointedDAG[int]]:
    """All naturally labelled pointed DAGs with that many nodes: `prod over j of 2^j - 1`."""
    subsets = [
        [row for size in range(1, j + 1) for row in combinations(range(j), size)]
        for j in range(1, nodes)
    ]
    yield from map(from_parents, product(*subsets))


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


def lifts(dag: PointedDAG[S], every: int = 1) -> Iterator[LiftedDAG[S]]:
    """Every deterministic lift of a DAG, once up to renaming of latents.

    The first is the DAG itself, the last has one state per history. A latent is a pair (node,
    block), so that a table of transitions (`reference.Table`) can distinguish all lifted parents.
    The DAGs with 3, 4, 5 and 6 states, one per isomorphism class, have 3, 20, 548 and 438,805
    lifts. Only the first of each `every` lifts is built, as building is most of the work.
    """
    serial = count()
    inner = [v for v, row in enumerate(dag.children) if v and row]
    copies = [1] * len(dag.labels)
    # For each edge, the block in which each copy of its parent arrives.
    arrival = [[0] for _ in dag.edges]

    def choose(position: int) -> Iterator[LiftedDAG[S]]:
        if position == len(inner):
            if next(serial) % every == 0:
                yield _assemble(dag, copies, arrival)
            return
        v = inner[position]
        ends = list(accumulate(copies[dag.edges[e][0]] for e in dag.in_edges[v]))
        for blocks in set_partitions(range(ends[-1])):
            copies[v] = len(blocks)
            block_of = [0] * ends[-1]
            for number, block in enumerate(blocks):
                for place in block:
                    block_of[place] = number
            for e, start, end in zip(dag.in_edges[v], [0, *ends], ends, strict=False):
                arrival[e] = block_of[start:end]
            for e in dag.out_edges[v]:
                # Terminals are not lifted; for any other child this is overwritten.
                arrival[e] = [0] * len(blocks)
            yield from choose(position + 1)

    yield from choose(0)


def _assemble(
    dag: PointedDAG[S], copies: Sequence[int], arrival: Sequence[Sequence[int]]
) -> LiftedDAG[S]:
    first = list(accumulate(copies, initial=0))
    labels: list[Any] = []
    children: list[tuple[int, ...]] = []
    projection: list[int] = []
    base_edge: list[int] = []
    for u, edges in enumerate(dag.out_edges):
        for copy in range(copies[u]):
            row = [first[v] + arrival[e][copy] for v, e in zip(dag.children[u], edges, strict=True)]
            labels.append((dag.labels[u], (u, copy)) if row else dag.labels[u])
            children.append(tuple(row))
            projection.append(u)
            base_edge += edges
    return LiftedDAG(
        base=dag,
        dag=PointedDAG(tuple(labels), tuple(children)),
        projection=tuple(projection),
        base_edge=tuple(base_edge),
    )


def set_partitions(items: Sequence[A]) -> Iterator[list[list[A]]]:
    """Every partition of a list into non-empty blocks, in the order of their first items."""
    if not items:
        yield []
        return
    last = items[-1]
    for blocks in set_partitions(items[:-1]):
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [*block, last], *blocks[i + 1 :]]
        yield [*blocks, [last]]
