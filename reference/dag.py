"""The pointed DAG (def:normalpointeddag): a state graph with one source, whose sinks are X."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Generic, TypeVar

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_hashable,
    check_list,
    checked,
    shown,
)
from reference.contract.text import counted

S = TypeVar("S", bound=Hashable)

Trajectory = tuple[int, ...]


class Pictured:
    """The pictures of a graph, a lift, a policy or an inspection in notebooks."""

    def _repr_html_(self) -> str:
        show = import_module("reference.looking.show")  # It loads matplotlib.
        return show.html(self)  # type: ignore[no-any-return]

    def _repr_svg_(self) -> str:
        return import_module("reference.looking.show").svg(self)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False, repr=False)
class PointedDAG(Pictured, Generic[S]):
    """A finite pointed DAG `G = (S, X, E)` (def:normalpointeddag), nodes in topological order.

    Node 0 is the initial state `s_o`, the only node without parents; the terminal states `X` are
    the nodes without children. Every node is then reachable from `s_o`, and every walk ends in
    `X`: both follow from finiteness, which the paper leaves out. Build one with `pointed_dag` or
    `enumerate_dag`, which check all of this.

    Edges are numbered by parent, then in the order of `children`; quantities on edges (policies,
    flows) are sequences in that numbering.

    Attributes:
        labels: the state that each node stands for.
        children: for each node, its children, all of them later nodes.
    """

    labels: tuple[S, ...]
    children: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        rows, nodes = self.children, len(self.labels)
        sound = (
            0 < nodes == len(rows)
            and {*map(type, rows)} == {tuple}
            and {*map(type, chain.from_iterable(rows))} == {int}
            and {*chain.from_iterable(rows)} == {*range(1, nodes)}
            and all(u < min(row) and len({*row}) == len(row) for u, row in enumerate(rows) if row)
        )
        if not sound:
            raise InputError(
                "PointedDAG: the children must be one tuple of distinct, larger node numbers per "
                "label, in which every node but the first occurs: build DAGs with `pointed_dag`"
            )

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every edge as (parent, child)."""
        return tuple((u, v) for u, row in enumerate(self.children) for v in row)

    @cached_property
    def out_edges(self) -> tuple[range, ...]:
        """For each node, the numbers of the edges that leave it, in the order of its children."""
        rows, start = [], 0
        for row in self.children:
            rows.append(range(start, start + len(row)))
            start += len(row)
        return tuple(rows)

    @cached_property
    def in_edges(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the numbers of the edges that enter it."""
        rows: list[list[int]] = [[] for _ in self.labels]
        for edge, (_, v) in enumerate(self.edges):
            rows[v].append(edge)
        return tuple(map(tuple, rows))

    @cached_property
    def terminals(self) -> tuple[int, ...]:
        """The nodes of `X`, in increasing order."""
        return tuple(v for v, row in enumerate(self.children) if not row)

    @cached_property
    def index(self) -> dict[S, int]:
        """The node of each state; raises InputError if two nodes have the same label."""
        index = {label: node for node, label in enumerate(self.labels)}
        if len(index) != len(self.labels):
            raise InputError(
                f"PointedDAG: {len(self.labels)} nodes share {len(index)} labels, so a label does "
                "not name a node: give each its own"
            )
        return index

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """For each node, the number of edges of a longest path from `s_o` to it."""
        depths = [0] * len(self.labels)
        for u, v in self.edges:
            depths[v] = max(depths[v], depths[u] + 1)
        return tuple(depths)

    @cached_property
    def path_counts(self) -> tuple[int, ...]:
        """For each node, the number of paths from `s_o` to it: its histories."""
        counts = [1] + [0] * (len(self.labels) - 1)
        for u, v in self.edges:
            counts[v] += counts[u]
        return tuple(counts)

    @cached_property
    def trajectory_count(self) -> int:
        """The number of complete trajectories, by dynamic programming."""
        return sum(self.path_counts[x] for x in self.terminals)

    def trajectories(self, limit: int = 10_000_000) -> Iterator[Trajectory]:
        """Yields every complete trajectory as numbers of edges; TooLargeError beyond a limit."""
        if self.trajectory_count > limit:
            raise TooLargeError(
                f"the DAG has {self.trajectory_count:,} complete trajectories, and at most "
                f"{limit:,} are enumerated one by one: sum over states instead "
                "(reference.marginals.marginal), or raise `limit`"
            )
        stack: list[tuple[int, Trajectory]] = [(0, ())]
        while stack:
            node, path = stack.pop()
            if not self.children[node]:
                yield path
            for edge in reversed(self.out_edges[node]):
                stack.append((self.edges[edge][1], (*path, edge)))

    def end(self, trajectory: Trajectory) -> int:
        """The terminal node of a complete trajectory."""
        return self.edges[trajectory[-1]][1]

    def states(self, trajectory: Trajectory) -> tuple[S, ...]:
        """The states `(s_0, ..., s_T)` of a trajectory, or of an edge or another path from any."""
        first = self.edges[trajectory[0]][0] if trajectory else 0
        return (self.labels[first], *(self.labels[self.edges[edge][1]] for edge in trajectory))

    @property
    def size(self) -> str:
        """The numbers of states, edges and terminals, in words."""
        counts = (self.labels, "state"), (self.edges, "edge"), (self.terminals, "terminal")
        return ", ".join(counted(len(things), name) for things, name in counts)

    def __repr__(self) -> str:
        return f"PointedDAG({self.size})"


@checked
def pointed_dag(children: Mapping[S, Sequence[S]], initial: S | None = None) -> PointedDAG[S]:
    """Checks a graph given by the children of each state, and orders it topologically.

    Args:
        children: the children of every state; `()` for a terminal state.
        initial: if given, the state that must be `s_o`.

    Raises:
        InputError: a child that is not a state, a repeated edge, a cycle, several sources, an
            unreachable state.
    """
    check_hashable("the initial state", initial)
    number = {state: i for i, state in enumerate(children)}
    # Each row is read once, as it may be an iterator.
    lists: dict[S, list[S]] = {}
    for state, row in children.items():
        lists[state] = check_list("pointed_dag", f"the children of {shown(state)}", row)
        for child in lists[state]:
            check_hashable(f"a child of {shown(state)}", child)
            if child not in number:
                raise InputError(
                    f"state {shown(state)} has the child {shown(child)}, which is not a state of "
                    "the DAG: give every child an entry of its own, () if it is terminal"
                )
    rows = [tuple(map(number.__getitem__, row)) for row in lists.values()]
    return numbered_dag(list(lists), rows, initial)


def check_distinct(state: Hashable, others: Sequence[Hashable], kind: str = "child") -> None:
    """Checks that no child, or parent, of a state is listed twice; raises InputError if one is.

    Args:
        state: the state.
        others: its children or parents.
        kind: "child" or "parent", for the message.
    """
    if len({*others}) < len(others):
        twice = next(other for other in others if others.count(other) > 1)
        raise InputError(
            f"state {shown(state)} lists the {kind} {shown(twice)} twice, but between two states "
            "of a pointed DAG there is at most one edge: list it once"
        )


def numbered_dag(
    states: Sequence[S], rows: Sequence[tuple[int, ...]], initial: S | None = None
) -> PointedDAG[S]:
    """Orders a graph of numbered states topologically, and checks that it is a pointed DAG.

    Args:
        states: the states; numbers that already rise along every edge stay as they are.
        rows: the numbers of the children of each state.
        initial: if given, the state that must be `s_o`.

    Raises:
        InputError: a repeated edge, a cycle, several sources, an unreachable state, or an initial
            state without children.
    """
    for state, row in zip(states, rows, strict=True):
        if len(set(row)) != len(row):
            check_distinct(state, [states[v] for v in row])
    order = _topological_order(states, rows)
    _check_source(states, rows, initial)
    if order == range(len(states)):
        return PointedDAG(tuple(states), tuple(rows))
    position = [0] * len(states)
    for i, u in enumerate(order):
        position[u] = i
    return PointedDAG(
        labels=tuple(states[u] for u in order),
        children=tuple(tuple(position[v] for v in rows[u]) for u in order),
    )


def _topological_order(states: Sequence[S], rows: Sequence[tuple[int, ...]]) -> Sequence[int]:
    """Depth-first order: every state before its children; a state met while open is in a cycle.

    States and children are taken in reverse, so that siblings keep their order.
    """
    # Numbers that rise along every edge are already a topological order.
    if all(u < min(row) for u, row in enumerate(rows) if row):
        return range(len(rows))
    unseen, is_open, done = 0, 1, 2
    status = bytearray(len(rows))
    postorder: list[int] = []
    for root in reversed(range(len(rows))):
        if status[root] == done:
            continue
        status[root] = is_open
        path, unvisited = [root], [reversed(rows[root])]
        while path:
            for child in unvisited[-1]:
                if status[child] == is_open:
                    around = [*path[path.index(child) :], child]
                    cycle = " -> ".join(repr(states[u]) for u in around)
                    raise InputError(
                        f"the state graph has the cycle {cycle}, and a pointed DAG has none: "
                        "remove one of these edges, or add the time step to the state"
                    )
                if status[child] == unseen:
                    status[child] = is_open
                    path.append(child)
                    unvisited.append(reversed(rows[child]))
                    break
            else:
                unvisited.pop()
                status[path[-1]] = done
                postorder.append(path.pop())
    return postorder[::-1]


def _check_source(states: Sequence[S], rows: Sequence[tuple[int, ...]], initial: S | None) -> None:
    entered = bytearray(len(rows))
    for v in chain.from_iterable(rows):
        entered[v] = True
    numbers = [v for v, has_parent in enumerate(entered) if not has_parent]
    sources = [states[v] for v in numbers]
    if initial is not None and initial not in sources:
        raise InputError(
            f"the initial state {shown(initial)} is not a state without incoming edges: remove the "
            "edges into it, or name the right initial state"
        )
    if len(sources) != 1:
        names = ", ".join(map(repr, sources)) or "none"
        raise InputError(
            "a pointed DAG has exactly one state without incoming edges, this one has "
            f"{len(sources)}: {names}; connect them from one initial state, or remove the others"
        )
    if not rows[numbers[0]]:
        raise InputError(
            f"the initial state {shown(sources[0])} has no children, so there is no trajectory: "
            "give it at least one"
        )
