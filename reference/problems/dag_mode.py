"""The directed acyclic graph of largest weight, by dynamic programming over sets of nodes."""

from collections.abc import Callable, Sequence
from operator import mul
from typing import Any


def heaviest_dag(
    weights: Sequence[Sequence[Any]], times: Callable[[Any, Any], Any] = mul, one: Any = 1
) -> tuple[int, ...]:
    """The parents of each node in a DAG with the largest `prod over v of w_v(Pa_v)`.

    The best DAG on S has a sink v, whose best parents lie in `S - v`, and is best on the rest
    (Silander and Myllymäki, UAI 2006): `n 2^n` comparisons of integers. Of DAGs of equal weight
    one is taken, always the same.

    Args:
        weights: `w_v(P)` by the bit mask P, as in `DagSums`; logarithms, with -inf for 0, if
            `times` adds them.
        times: the product of two weights.
        one: the product of none.
    """
    nodes = len(weights)
    families = [best_subsets(row, nodes) for row in weights]
    most, sinks = [one] * 2**nodes, [0] * 2**nodes
    for mask in range(1, 2**nodes):
        ends = [v for v in range(nodes) if mask >> v & 1]
        rests = [mask ^ 1 << v for v in ends]
        values = [
            times(most[rest], weights[v][families[v][rest]])
            for v, rest in zip(ends, rests, strict=True)
        ]
        most[mask] = max(values)
        sinks[mask] = ends[values.index(most[mask])]
    parents, mask = [0] * nodes, 2**nodes - 1
    while mask:
        v = sinks[mask]
        mask ^= 1 << v
        parents[v] = families[v][mask]
    return tuple(parents)


def best_subsets(values: Sequence[Any], nodes: int) -> list[int]:
    """For each mask U the part of it with the largest of `values`."""
    best = list(range(2**nodes))
    for mask in range(2**nodes):
        for v in range(nodes):
            if mask >> v & 1 and values[best[mask ^ 1 << v]] >= values[best[mask]]:
                best[mask] = best[mask ^ 1 << v]
    return best
