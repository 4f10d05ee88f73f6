"""The graphs of the largest weight: a bound by dynamic programming, and a search below it."""

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def best_completions(logs: Floats) -> tuple[Floats, Ints]:
    """The largest log weight of a DAG on each set of nodes, and the number of its last node.

    The best DAG on S has a sink v with its best parents in `S - v`, and the best DAG on `S - v`
    (Silander and Myllymäki, UAI 2006). Among equal sinks the first is taken.

    Args:
        logs: log weights, nats, shape (n, 2^n): row v, column P for the parents in the bit mask P;
            -inf where there is no such family.

    Returns:
        For each bit mask of a set: the log weight, and the node; -1 for the empty set.
    """
    nodes = len(logs)
    best = logs.copy()
    for u in range(nodes):
        halves = best.reshape(nodes, -1, 2, 2**u)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    most, sinks = np.full(2**nodes, -np.inf), np.full(2**nodes, -1)
    most[0] = 0.0
    masks = np.arange(2**nodes)
    sizes = np.bitwise_count(masks)
    for size in range(1, nodes + 1):
        sets = masks[sizes == size]
        values = np.full((nodes, len(sets)), -np.inf)
        for v in range(nodes):
            own = np.flatnonzero(sets >> v & 1)
            rests = sets[own] ^ 1 << v
            values[v, own] = most[rests] + best[v, rests]
        sinks[sets] = values.argmax(axis=0)
        most[sets] = values.max(axis=0)
    return most, sinks


def best_base(logs: Floats) -> Floats:
    """The log weight of each node's family in a best graph; arguments as in `best_completions`."""
    _, sinks = best_completions(logs)
    base, left = np.zeros(len(logs)), 2 ** len(logs) - 1
    while left:
        v = int(sinks[left])
        left ^= 1 << v
        masks = np.arange(2 ** len(logs))
        base[v] = logs[v, masks & ~left == 0].max()
    return base


class Weighted(NamedTuple):
    """A graph and its log weight.

    Attributes:
        log_weight: nats.
        parents: the parents of each node, a bit mask.
    """

    log_weight: float
    parents: tuple[int, ...]


def best_graphs(logs: Floats, count: int) -> list[Weighted]:
    """The graphs of the largest weight, best first; all, if there are fewer.

    A search from the last node back, depth first, which cuts off what the best completion cannot
    raise above the worst graph kept. Each graph is met once: of its sinks the largest is taken
    away, so that a larger node passed over must become a parent before its turn. Weights are
    compared in float64: graphs that differ by less than a relative `1e-12` may change places.

    Args:
        logs: as in `best_completions`.
        count: the number of graphs.
    """
    return _Search(logs, count).run()


class _Search:
    def __init__(self, logs: Floats, count: int) -> None:
        self.logs, self.nodes, self.count = logs, len(logs), count
        self.most, _ = best_completions(logs)
        self.families: list[tuple[Ints, Floats]] = []
        for row in logs:
            masks = np.flatnonzero(row > -np.inf)
            masks = masks[np.argsort(-row[masks], kind="stable")]
            self.families.append((masks, row[masks]))
        self.kept: list[Weighted] = []

    def run(self) -> list[Weighted]:
        if self.count:
            self._extend(2**self.nodes - 1, 0, 0.0, (0,) * self.nodes)
        return sorted(self.kept, key=lambda graph: (-graph.log_weight, graph.parents))

    @property
    def least(self) -> float:
        """A log weight that a further graph must exceed."""
        return self.kept[0].log_weight if len(self.kept) == self.count else -np.inf

    def _extend(self, left: int, waiting: int, log_weight: float, parents: tuple[int, ...]) -> None:
        """Goes through the ways to take a last node away.

        Args:
            left: the nodes whose parents are not chosen.
            waiting: those among them that were passed over, and are no parents yet.
            log_weight: of the chosen parents.
            parents: the chosen parents.
        """
        if not left:
            push = heapq.heappush if len(self.kept) < self.count else heapq.heappushpop
            push(self.kept, Weighted(log_weight, parents))
            return
        bounds, ends, masks = self._choices(left, waiting, log_weight)
        for i in np.argsort(-bounds, kind="stable"):
            if bounds[i] <= self.least:
                break
            v, mask = int(ends[i]), int(masks[i])
            rest = left ^ 1 << v
            # The nodes above v that no family chosen so far needs.
            still = (waiting | rest & -(2 << v)) & ~mask
            if rest and still == rest:
                continue
            more = log_weight + float(self.logs[v, mask])
            self._extend(rest, still, more, (*parents[:v], mask, *parents[v + 1 :]))

    def _choices(self, left: int, waiting: int, log_weight: float) -> tuple[Floats, Ints, Ints]:
        """The bound, node and parents of each choice that may lead to a graph to keep."""
        bounds, ends, chosen = [], [], []
        for v in range(self.nodes):
            if (left & ~waiting) >> v & 1:
                rest = left ^ 1 << v
                masks, logs = self.families[v]
                values = log_weight + logs + self.most[rest]
                may = np.flatnonzero((masks & ~rest == 0) & (values > self.least))
                bounds.append(values[may])
                ends.append(np.full(len(may), v))
                chosen.append(masks[may])
        return np.concatenate(bounds), np.concatenate(ends), np.concatenate(chosen)
