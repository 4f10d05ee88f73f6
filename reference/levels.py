"""A large pointed DAG as NumPy arrays, its nodes sorted by level.

For graphs of millions of edges. The sums over them are in `reference.float_sums` and
`reference.integer_sums`; neither this module nor those are imported by `reference` itself, because
importing `scipy.sparse` takes longer than importing the rest.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from reference.dag import PointedDAG
from reference.errors import InputError, TooLargeError

Indices = npt.NDArray[np.int32]
# `slice(None)` where both numberings are the same: indexing with it copies nothing.
Renumbering = Indices | slice

# The edges of one choice: those that leave a node (p_F), or those that enter it (p_B).
Rows = Literal["forward", "backward"]

MAX_EDGES = int(np.iinfo(np.int32).max)


class Block(NamedTuple):
    """The edges that leave one level, with their children counted from the first one of them.

    Attributes:
        nodes: the nodes of the level.
        edges: the edges that leave them.
        window: the nodes from the first child to the last.
        first: int32, for each node the start of its row in `children`, and the end of the last.
        children: int32, the place of each child in the window.
    """

    nodes: slice
    edges: slice
    window: slice
    first: Indices
    children: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of nodes of the level and of the window."""
        return self.nodes.stop - self.nodes.start, self.window.stop - self.window.start


@dataclass(frozen=True, eq=False)
class LevelDAG:
    """A pointed DAG in compressed rows, nodes sorted by level: the longest path from `s_o`.

    Every edge leads to a higher level, so sums over paths are one sparse product per level. The
    nodes and edges have numbers of their own, by level and by parent; `nodes` and `edges` lead back
    to the numbers in what the graph was built from, and functions of this graph take and return
    quantities in those. Build one with `from_dag` or `from_edges`, which check it.

    Attributes:
        first: int32, `n + 1` numbers: the edges of node u are `first[u]` to `first[u + 1] - 1`.
        children: int32, the child of each edge.
        starts: int32, the first node of each level, and `n`.
        nodes: the given number of each node.
        edges: the given number of each edge.
    """

    first: Indices
    children: Indices
    starts: Indices
    nodes: Renumbering
    edges: Renumbering

    @classmethod
    def from_dag(cls, dag: PointedDAG[Any]) -> Self:
        """The arrays of a `PointedDAG`, with its numbers of nodes and edges."""
        degrees = [len(row) for row in dag.children]
        return cls.from_edges(
            np.repeat(np.arange(len(degrees), dtype=np.int32), degrees),
            np.fromiter(chain.from_iterable(dag.children), np.int32, count=sum(degrees)),
        )

    @classmethod
    def from_edges(cls, parents: npt.NDArray[Any], children: npt.NDArray[Any]) -> Self:
        """The graph with the edges `parents[e] -> children[e]`, nodes numbered from 0.

        Nothing is copied if the arrays are int32, the edges sorted by parent and the nodes by
        level.

        Raises:
            InputError: arrays that are not integers in one dimension of equal length, a negative
                number, a repeated edge, several sources (among them the nodes without any edge, and
                what is not reachable), a cycle.
            TooLargeError: if the edges do not fit 32-bit numbers.
        """
        tails, heads = _node_numbers("parents", parents), _node_numbers("children", children)
        if len(tails) != len(heads) or not len(tails):
            raise InputError(
                f"{len(tails)} parents and {len(heads)} children: give one of each per edge, and "
                "at least one edge"
            )
        edges: Renumbering = slice(None)
        if np.any(tails[1:] < tails[:-1]):
            edges = np.argsort(tails, kind="stable").astype(np.int32)
            tails, heads = tails[edges], heads[edges]
        count = 1 + max(int(tails[-1]), int(heads.max()))
        if count > len(tails) + 1:
            raise InputError(
                f"the largest node is {count - 1}, but {len(tails)} edges connect at most "
                f"{len(tails) + 1} nodes: number the nodes 0, 1, 2, ... without gaps"
            )
        degrees = np.bincount(tails, minlength=count)
        first = _starts(degrees)
        parents_left = _parent_counts(first, heads)
        order, starts = _level_order(first, heads, parents_left)
        if len(order) < count:
            _refuse_cycle(tails, heads, parents_left)
        nodes: Renumbering = slice(None)
        if np.any(order[1:] < order[:-1]):
            position = np.empty(count, np.int32)
            position[order] = np.arange(count, dtype=np.int32)
            rows = _ranges(first[order], degrees[order])
            nodes, edges = order, rows if isinstance(edges, slice) else edges[rows]
            first, heads = _starts(degrees[order]), position[heads[rows]]
        return cls(first, heads, starts, nodes, edges)

    @property
    def depth(self) -> int:
        """The number of edges of the longest path."""
        return len(self.starts) - 2

    @cached_property
    def terminals(self) -> npt.NDArray[np.intp]:
        """The given numbers of the nodes without children, in increasing order."""
        return np.flatnonzero(self.by_given_node(np.diff(self.first)) == 0)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The edges by the level that they leave, for levels that are not all terminal."""
        blocks = []
        for start, stop in pairwise(self.starts.tolist()):
            rows = self.first[start : stop + 1]
            edges = slice(int(rows[0]), int(rows[-1]))
            children = self.children[edges]
            if len(children):
                window = slice(int(children.min()), int(children.max()) + 1)
                blocks.append(
                    Block(
                        slice(start, stop), edges, window, rows - rows[0], children - window.start
                    )
                )
        return tuple(blocks)

    @cached_property
    def in_edges(self) -> sparse.csc_array:
        """Column v holds the edges that enter node v: their parents as rows, numbers as data."""
        return _in_edges(self.first, self.children)

    def given_node(self, node: int) -> int:
        """The given number of a node of this graph."""
        return node if isinstance(self.nodes, slice) else int(self.nodes[node])

    def by_given_node(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values per node of this graph, reordered by given number."""
        if isinstance(self.nodes, slice):
            return values
        given = np.empty_like(values)
        given[self.nodes] = values
        return given


def _node_numbers(name: str, array: npt.NDArray[Any]) -> Indices:
    if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, np.integer):
        found = getattr(array, "dtype", type(array).__name__)
        raise InputError(
            f"the {name} are of type {found}, but must be a NumPy array of integers, the numbers "
            "of nodes: convert them with np.asarray(..., dtype=np.int32)"
        )
    if array.ndim != 1:
        raise InputError(
            f"the {name} have shape {array.shape}, but must be one number per edge: flatten them"
        )
    if len(array) > MAX_EDGES or (len(array) and int(array.max()) >= MAX_EDGES):
        raise TooLargeError(
            f"the {name} are {len(array):,} numbers up to {int(array.max()):,}, but edges and "
            f"nodes are counted in 32 bits, up to {MAX_EDGES:,}: use a smaller instance"
        )
    if len(array) and array.min() < 0:
        edge = int(np.argmax(array < 0))
        raise InputError(
            f"the {name} have the number {array[edge]} at edge {edge}, but nodes are numbered from "
            "0: shift the numbers"
        )
    return array.astype(np.int32, copy=False)


def _starts(lengths: npt.NDArray[np.integer]) -> Indices:
    """Where consecutive rows of these lengths start, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _ranges(starts: Indices, lengths: npt.NDArray[np.integer]) -> Indices:
    """The numbers `starts[i], ..., starts[i] + lengths[i] - 1` for every i, one after another."""
    offsets = _starts(lengths)
    return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1], dtype=np.int32)


def _in_edges(first: Indices, children: Indices) -> sparse.csc_array:
    count = len(first) - 1
    edges = np.arange(len(children), dtype=np.int32)
    return sparse.csr_array((edges, children, first), shape=(count, count)).tocsc()


def _parent_counts(first: Indices, children: Indices) -> Indices:
    """The number of parents of each node, if no edge is repeated and there is one source."""
    entering = _in_edges(first, children)
    counts = np.diff(entering.indptr)
    column = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    # A column lists its parents in increasing order, so a repeated edge has its twin beside it.
    twins = (entering.indices[1:] == entering.indices[:-1]) & (column[1:] == column[:-1])
    if twins.any():
        place = int(np.argmax(twins))
        raise InputError(
            f"node {entering.indices[place]} lists the child {column[place]} twice, but between "
            "two states of a pointed DAG there is at most one edge: list it once"
        )
    sources = np.flatnonzero(counts == 0)
    if len(sources) > 1:
        names = ", ".join(map(str, sources[:5])) + (", ..." if len(sources) > 5 else "")
        raise InputError(
            f"a pointed DAG has exactly one state without incoming edges, this one has "
            f"{len(sources)}: {names}; connect them from one initial state, or remove the others"
        )
    return counts


def _level_order(
    first: Indices, children: Indices, parents_left: Indices
) -> tuple[Indices, Indices]:
    """The nodes by level, those on or below a cycle left out, and the start of each level.

    A level is what has no parents once the levels before it are removed. `parents_left` is counted
    down on the way.
    """
    level = np.flatnonzero(parents_left == 0).astype(np.int32)
    levels = []
    while len(level):
        levels.append(level)
        entered = children[_ranges(first[level], first[level + 1] - first[level])]
        nodes, counts = np.unique(entered, return_counts=True)
        parents_left[nodes] -= counts.astype(np.int32)
        level = nodes[parents_left[nodes] == 0]
    return (
        np.concatenate([np.empty(0, np.int32), *levels]),
        _starts(np.array([len(level) for level in levels], np.int32)),
    )


def _refuse_cycle(parents: Indices, children: Indices, parents_left: Indices) -> None:
    """Backwards from any node that is left, through parents that are left, there is a cycle."""
    left = parents_left[parents] > 0
    parent_of = dict(zip(children[left].tolist(), parents[left].tolist(), strict=True))
    path = [int(np.argmax(parents_left > 0))]
    seen = {}
    while path[-1] not in seen:
        seen[path[-1]] = len(path) - 1
        path.append(parent_of[path[-1]])
    cycle = " -> ".join(map(str, reversed(path[seen[path[-1]] :])))
    raise InputError(
        f"the state graph has the cycle {cycle}, and a pointed DAG has none: remove one of these "
        "edges, or add the time step to the state"
    )
