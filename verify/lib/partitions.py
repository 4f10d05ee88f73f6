"""Every deterministic lift of a pointed DAG.

A lift is determined, up to the names of its latents, by which lifted parents of a state arrive
with equal latents: a set partition per state, chosen in topological order. One block is no memory,
singletons are the full history. "For every Omega and every phi" is therefore a finite check.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, count
from typing import Any, TypeVar

from reference.dag import PointedDAG
from reference.errors import check_integer
from reference.lifted import LiftedDAG

A = TypeVar("A")
S = TypeVar("S", bound=Hashable)


def lifts(dag: PointedDAG[S], every: int = 1) -> Iterator[LiftedDAG[S]]:
    """Every deterministic lift of a DAG, once up to renaming of latents.

    The first is the DAG itself, the last has one state per history. A latent is a pair (node,
    block), so that a table of transitions (`reference.Table`) can distinguish all lifted parents.
    The DAGs with 3, 4, 5 and 6 states, one per isomorphism class, have 3, 20, 548 and 438,805
    lifts. Only the first of each `every` lifts is built, as building is most of the work.
    """
    check_integer("lifts", "every", every, 1)
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
