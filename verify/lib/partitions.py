"""Every deterministic lift of a pointed DAG, and the merges of a lift.

A lift is determined, up to the names of its latents, by which lifted parents of a state arrive
with equal latents: a set partition per state, chosen in topological order. One block is no memory,
singletons are the full history. "For every Omega and every phi" is therefore a finite check.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, count
from typing import Any, NamedTuple, TypeVar

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
    lifts.

    Args:
        dag: the DAG.
        every: build only the first of each `every` lifts; building is most of the work.

    Raises:
        InputError: if `every` is not a positive integer.
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


class MergeStatistics(NamedTuple):
    """The merges of a lift; a lift without merges is the history tree.

    Attributes:
        copies: for each base node s, the number `n(s)` of its lifts.
        histories: for each lifted node, the number of histories, paths from `s_o*`, that it stands
            for; more than one is a merge.
        merged_arrivals: for each base node that is not terminal, the number of lifted edges into
            its lifts that share their end with an earlier one; 0 for terminal nodes, which are not
            lifted.
        first_merge: the first base node, in topological order, with a merged arrival; `None` if
            there is none.
    """

    copies: tuple[int, ...]
    histories: tuple[int, ...]
    merged_arrivals: tuple[int, ...]
    first_merge: int | None

    @property
    def total(self) -> int:
        """The number of all merged arrivals."""
        return sum(self.merged_arrivals)


def merge_statistics(lifted: LiftedDAG[Any]) -> MergeStatistics:
    """Counts copies, histories and merges of a lift, in one pass over its edges.

    Two histories are merged for good where they first arrive in one lifted state, so that a state
    past a merge stands for several histories with no merged arrival of its own.
    """
    base, dag = lifted.base, lifted.dag
    copies, merged = [0] * len(base.labels), [0] * len(base.labels)
    for s in lifted.projection:
        copies[s] += 1
    for v, row in enumerate(dag.in_edges):
        if dag.children[v] and row:
            merged[lifted.projection[v]] += len(row) - 1
    first = next((s for s, count in enumerate(merged) if count), None)
    return MergeStatistics(tuple(copies), dag.path_counts, tuple(merged), first)
