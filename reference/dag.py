"""The pointed DAG (def:normalpointeddag): a state graph with one source, whose sinks are X."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from reference.errors import InputError, TooLargeError

S = TypeVar("S", bound=Hashable)

Trajectory = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PointedDAG(Generic[S]):
    """A finite pointed DAG `G = (S, X, E)` (def:normalpointeddag), nodes in topological order.

    Node 0 is the initial state `s_o`, the only node without parents; the terminal states `X` are
    the nodes without children. Every node is then reachable from `s_o`, and every walk ends in
    `X`: finiteness, which the paper leaves out, is what makes both true. Build one with
    `pointed_dag` or `enumerate_dag`, which check all of this.

    Edges are numbered by parent, then in the order of `children`; quantities on edges (policies,
    flows) are sequences in that numbering.

    Attributes:
        labels: the state that each node stands for.
        children: for each node, its children, all of them later nodes.
    """

    labels: tuple[S, ...]
    children: tuple[tuple[int, ...], ...]

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
        """The node of each state."""
        return {label: node for node, label in enumerate(self.labels)}

    @cached_property
    def trajectory_count(self) -> int:
        """The number of complete trajectories, by dynamic programming."""
        paths = [1] + [0] * (len(self.labels) - 1)
        for u, v in self.edges:
            paths[v] += paths[u]
        return sum(paths[x] for x in self.terminals)

    def trajectories(self, limit: int = 10_000_000) -> Iterator[Trajectory]:
        """Yields every complete trajectory `tau: s_o -> x`, as the numbers of its edges.

        Raises:
            TooLargeError: if there are more than `limit`.
        """
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
        """The states `(s_0, ..., s_T)` of a trajectory."""
        return (self.labels[0], *(self.labels[self.edges[edge][1]] for edge in trajectory))


def pointed_dag(
    children: Mapping[S, Sequence[S]],
    initial: S | None = None,
    terminals: Sequence[S] | None = None,
) -> PointedDAG[S]:
    """Checks a graph given by the children of each state, and orders it topologically.

    Args:
        children: the children of every state; `()` for a terminal state.
        initial: if given, the state that must be `s_o`.
        terminals: if given, the states that must be exactly those without children.

    Raises:
        InputError: a child that is not a state, a repeated edge, a cycle, several sources, an
            unreachable state, a terminal with children, a non-terminal without.
    """
    _check_edges(children)
    if terminals is not None:
        _check_terminals(children, terminals)
    order = _topological_order(children)
    _check_source(children, initial)
    node = {label: i for i, label in enumerate(order)}
    return PointedDAG(
        labels=tuple(order),
        children=tuple(tuple(node[child] for child in children[label]) for label in order),
    )


def _check_edges(children: Mapping[S, Sequence[S]]) -> None:
    for state, row in children.items():
        for child in row:
            if child not in children:
                raise InputError(
                    f"state {state!r} has the child {child!r}, which is not a state of the DAG: "
                    "give every child an entry of its own, () if it is terminal"
                )
        if len(set(row)) != len(row):
            twice = next(child for child in row if list(row).count(child) > 1)
            raise InputError(
                f"state {state!r} lists the child {twice!r} twice, but between two states of a "
                "pointed DAG there is at most one edge: list it once"
            )


def _check_terminals(children: Mapping[S, Sequence[S]], terminals: Sequence[S]) -> None:
    declared = set(terminals)
    for state in declared:
        if state not in children:
            raise InputError(f"terminal {state!r} is not a state of the DAG: add it, with ()")
        if children[state]:
            raise InputError(
                f"terminal {state!r} has the child {children[state][0]!r}, but terminal states "
                "have no children: remove the edge, or the state from the terminals"
            )
    for state, row in children.items():
        if not row and state not in declared:
            raise InputError(
                f"state {state!r} is not terminal but has no children, so probability that enters "
                "it is lost: give it a child, or declare it terminal"
            )


def _topological_order(children: Mapping[S, Sequence[S]]) -> list[S]:
    """Depth-first: every state before its children; a state met while still open is a cycle.

    Backwards through states and children, so that siblings keep the order in which they were given.
    """
    done: set[S] = set()
    postorder: list[S] = []
    for root in reversed(list(children)):
        if root in done:
            continue
        path: dict[S, Iterator[S]] = {root: reversed(children[root])}
        while path:
            state = next(reversed(path))
            for child in path[state]:
                if child in path:
                    start = list(path).index(child)
                    cycle = " -> ".join(repr(s) for s in [*list(path)[start:], child])
                    raise InputError(
                        f"the state graph has the cycle {cycle}, and a pointed DAG has none: "
                        "remove one of these edges, or add the time step to the state"
                    )
                if child not in done:
                    path[child] = reversed(children[child])
                    break
            else:
                path.popitem()
                done.add(state)
                postorder.append(state)
    return postorder[::-1]


def _check_source(children: Mapping[S, Sequence[S]], initial: S | None) -> None:
    entered = {child for row in children.values() for child in row}
    sources = [state for state in children if state not in entered]
    if initial is not None and initial not in sources:
        raise InputError(
            f"the initial state {initial!r} is not a state without incoming edges: remove the "
            "edges into it, or name the right initial state"
        )
    if initial is not None and len(sources) > 1:
        others = ", ".join(repr(s) for s in sources if s != initial)
        raise InputError(
            f"not reachable from the initial state {initial!r}: {others}, which have no incoming "
            "edges; connect them or remove them"
        )
    if len(sources) != 1:
        names = ", ".join(repr(s) for s in sources) or "none"
        raise InputError(
            f"a pointed DAG has exactly one state without incoming edges, this one has "
            f"{len(sources)}: {names}; connect them from one initial state, or remove the others"
        )
    if not children[sources[0]]:
        raise InputError(
            f"the initial state {sources[0]!r} has no children, so there is no trajectory: "
            "give it at least one"
        )
