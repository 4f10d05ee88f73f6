"""Flows on state graphs with cycles: expected visits, by linear systems in rationals."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from verify.lib import linear

# Anything that can be hashed.
State = Any
Graph = Mapping[State, tuple[State, ...]]
Rows = dict[tuple[State, State], Fraction]

ZERO, ONE = Fraction(0), Fraction(1)


def edges(graph: Graph) -> Iterator[tuple[State, State]]:
    """Every edge as (parent, child)."""
    return ((u, v) for u, row in graph.items() for v in row)


def ends(graph: Graph) -> list[State]:
    """The states without children."""
    return [s for s, row in graph.items() if not row]


def parents(graph: Graph) -> dict[State, list[State]]:
    """The parents of each state."""
    rows: dict[State, list[State]] = {s: [] for s in graph}
    for u, v in edges(graph):
        rows[v].append(u)
    return rows


def normalised(rows: Mapping[State, Any], weights: Mapping[tuple[State, State], Any]) -> Rows:
    """`p_B` in proportion to weights of the edges `(s, s')`, over the parents of each state."""
    totals = {v: sum((weights[u, v] for u in row), ZERO) for v, row in rows.items()}
    return {(u, v): weights[u, v] / totals[v] for v, row in rows.items() for u in row}


def flows(
    graph: Graph, p_b: Rows, rewards: Mapping[State, Fraction]
) -> dict[State, Fraction] | None:
    """`F(s) = sum over children of F(s') p_B(s|s')`, `F(x) = R(x)`; None unless there is one F."""
    return _solved({s: {v: p_b[s, v] for v in row} for s, row in graph.items()}, rewards)


def forward(graph: Graph, p_b: Rows, flow: Mapping[State, Fraction]) -> Rows:
    """`p_F(s'|s) = F(s') p_B(s|s') / F(s)`."""
    return {(u, v): flow[v] * p_b[u, v] / flow[u] for u, v in edges(graph)}


def visits(graph: Graph, p_f: Rows, start: State) -> dict[State, Fraction] | None:
    """The expected number of visits of each state by a walk from `start`; None if infinite."""
    above = parents(graph)
    return _solved({s: {u: p_f[u, s] for u in row} for s, row in above.items()}, {start: ONE})


def _solved(
    parts: Mapping[State, Mapping[State, Fraction]], own: Mapping[State, Fraction]
) -> dict[State, Fraction] | None:
    """The x with `x(s) = own(s) + sum of parts(s)(t) x(t)`; None unless there is one."""
    matrix = [[Fraction(s == t) - row.get(t, ZERO) for t in parts] for s, row in parts.items()]
    if linear.rank(matrix) < len(parts):
        return None
    solution = linear.solve(matrix, [own.get(s, ZERO) for s in parts])
    return None if solution is None else dict(zip(parts, solution, strict=True))


def distances(graph: Graph, start: State) -> dict[State, int]:
    """The number of steps on a shortest path from `start` to each state."""
    reached, layer = {start: 0}, [start]
    while layer:
        new = dict.fromkeys(v for u in layer for v in graph[u] if v not in reached)
        reached |= dict.fromkeys(new, reached[layer[0]] + 1)
        layer = list(new)
    return reached


def small_graphs() -> Iterator[Graph]:
    """Every graph on `o`, two inner states and ends among x and y, on which every walk can end.

    Nothing leads to `o`; every state is reached from it, and every inner state reaches an end.
    """
    possible = [("o", s) for s in "abxy"] + [("a", "b"), ("b", "a")]
    possible += [(s, x) for s in "ab" for x in "xy"]
    for chosen in chain.from_iterable(combinations(possible, k) for k in range(len(possible) + 1)):
        graph = {s: tuple(v for u, v in chosen if u == s) for s in "oabxy"}
        reached = distances(graph, "o")
        if len(reached) == len(graph) and all(set("xy") & {*distances(graph, s)} for s in "oab"):
            yield graph
