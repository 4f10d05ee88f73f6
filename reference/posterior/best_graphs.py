"""The graphs of the largest weight, by dynamic programming over sets of nodes."""

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def best_within(row: Values) -> Values:
    """For each bit mask of a set, the largest entry of its parts."""
    best = row.copy()
    for u in range(len(row).bit_length() - 1):
        halves = best.reshape(-1, 2, 2**u)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return best


def _best_completions(
    best: Sequence[Values], times: np.ufunc = np.add, one: Any = 0.0
) -> tuple[Values, Ints]:
    """The largest log weight of a DAG on each set of nodes, by bit mask, and its last node.

    The best DAG on S has a sink v with its best parents in `S - v`, and the best DAG on `S - v`
    (Silander and Myllymäki, UAI 2006). Among equal sinks the first is taken; the empty set has -1.
    `best` has for each node the log weight of its best family within each set (`best_within`);
    `times` and `one` are as in `best_graph`.
    """
    nodes = len(best)
    most, sinks = np.full(2**nodes, -np.inf, best[0].dtype), np.full(2**nodes, -1)
    most[0] = one
    masks = np.arange(2**nodes)
    sizes = np.bitwise_count(masks)
    for size in range(1, nodes + 1):
        sets = masks[sizes == size]
        values = np.full((nodes, len(sets)), -np.inf, most.dtype)
        for v in range(nodes):
            own = np.flatnonzero(sets >> v & 1)
            rests = sets[own] ^ 1 << v
            values[v, own] = times(most[rests], best[v][rests])
        sinks[sets] = values.argmax(axis=0)
        most[sets] = values.max(axis=0)
    return most, sinks


class Weighted(NamedTuple):
    """A graph, by the bit mask of each node's parents, and its log weight, nats; -inf for none."""

    log_weight: Any
    parents: tuple[int, ...]


def best_graph(
    logs: Sequence[Values],
    best: Sequence[Values] | None = None,
    times: np.ufunc = np.add,
    one: Any = 0.0,
) -> Weighted:
    """A graph of the largest weight; among equal ones, always the same.

    Args:
        logs: for each node the log weight of each family, nats, by the bit mask of the parents;
            -inf where there is no such family. Integers, as objects, are compared exactly.
        best: `best_within` of each, if it is at hand.
        times: `np.multiply` for weights in place of their logarithms.
        one: the empty product, or sum.
    """
    within = [best_within(row) for row in logs] if best is None else best
    most, sinks = _best_completions(within, times, one)
    parents, left = [0] * len(logs), len(most) - 1
    masks = np.arange(len(most))
    while left and most[-1] > -np.inf:
        v = int(sinks[left])
        left ^= 1 << v
        parts = masks[masks & ~left == 0]
        parents[v] = int(parts[logs[v][parts].argmax()])
    return Weighted(most[-1], tuple(parents))


def best_graphs(logs: Floats, count: int) -> list[Weighted]:
    """The graphs of the largest weight, best first; all, if there are fewer.

    The other graphs are those that differ from the best one first at node 0, at node 1, ...: the
    best of each part is found in the same way, and the part of the best among them is parted again
    (Lawler, 1972). So each graph is met once. Weights are compared in float64: graphs whose log
    weights differ by less than `1e-9` may change places. `logs` is as in `best_graph`.
    """
    rows = list(logs)
    best = [best_within(row) for row in rows]
    first = best_graph(rows, best)
    # Each part: its best graph, the node whose families are excluded, and these families.
    parts: list[tuple[float, tuple[int, ...], int, tuple[int, ...]]] = []
    heapq.heappush(parts, (-first.log_weight, first.parents, 0, ()))
    chosen: list[Weighted] = []
    while parts and len(chosen) < count:
        value, parents, start, barred = heapq.heappop(parts)
        chosen.append(Weighted(-value, parents))
        if len(chosen) == count:
            break
        for node in range(start, len(rows)):
            excluded = (*(barred if node == start else ()), parents[node])
            part = _best_of_part(rows, best, parents[:node], excluded)
            if part.log_weight > -np.inf:
                heapq.heappush(parts, (-part.log_weight, part.parents, node, excluded))
    return chosen


def _best_of_part(
    logs: Sequence[Floats], best: Sequence[Floats], fixed: tuple[int, ...], barred: tuple[int, ...]
) -> Weighted:
    """The best graph with the first families as given, and others than some for the next node."""
    rows, within = list(logs), list(best)
    for v, mask in enumerate(fixed):
        rows[v] = np.full_like(logs[v], -np.inf)
        rows[v][mask] = logs[v][mask]
    node = len(fixed)
    rows[node] = logs[node].copy()
    rows[node][list(barred)] = -np.inf
    for v in range(node + 1):
        within[v] = best_within(rows[v])
    return best_graph(rows, within)
