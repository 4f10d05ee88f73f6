"""Sums over all DAGs: against enumeration, another recursion, and known numbers."""

import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from operator import add
from random import Random

import pytest

from reference.problems.dag_mode import heaviest_dag
from reference.problems.dag_sums import DagSums, subset_sums

Weights = tuple[tuple[int, ...], ...]
# How many labelled DAGs there are on 1, 2, ... nodes (Robinson, 1973).
COUNTS = (1, 3, 25, 543, 29281, 3781503, 1138779265)


def random_weights(nodes: int, seed: int, least: int = 1) -> Weights:
    """Integers from `least` to 10^6, of many sizes; that of no parents is never 0."""
    rng = Random(seed)

    def weight(v: int, mask: int) -> int:
        return 0 if mask >> v & 1 else max(mask == 0, rng.randint(least, 10 ** rng.randint(0, 6)))

    return tuple(tuple(weight(v, mask) for mask in range(2**nodes)) for v in range(nodes))


def ones(nodes: int) -> Weights:
    return tuple(tuple(1 - (mask >> v & 1) for mask in range(2**nodes)) for v in range(nodes))


def is_acyclic(parents: tuple[int, ...]) -> bool:
    left = set(range(len(parents)))
    while left:
        first = {v for v in left if not any(parents[v] >> u & 1 for u in left)}
        if not first:
            return False
        left -= first
    return True


@cache
def all_dags(nodes: int) -> tuple[tuple[int, ...], ...]:
    """Every DAG, by choosing the parents of one node after the other."""
    found: list[tuple[int, ...]] = [()]
    for v in range(nodes):
        masks = [m for m in range(2**nodes) if not m >> v & 1]
        longer = ((*parents, m) for parents in found for m in masks)
        # A cycle among the first nodes stays one.
        found = [g for g in longer if is_acyclic((*g, *(0,) * (nodes - v - 1)))]
    return tuple(found)


def weighted(weights: Weights) -> Iterator[tuple[tuple[int, ...], int]]:
    for parents in all_dags(len(weights)):
        yield parents, math.prod(row[m] for row, m in zip(weights, parents, strict=True))


def enumerated(
    weights: Weights, has: Callable[[tuple[int, ...], int, int], bool]
) -> list[list[int]]:
    """For each pair of nodes the sum over the DAGs in which they have a property."""
    nodes = range(len(weights))
    return [[sum(w for g, w in weighted(weights) if has(g, u, v)) for v in nodes] for u in nodes]


def has_edge(parents: tuple[int, ...], u: int, v: int) -> bool:
    return bool(parents[v] >> u & 1)


def has_path(parents: tuple[int, ...], u: int, v: int) -> bool:
    return u == v or any(
        has_path(parents, u, w) for w in range(len(parents)) if parents[v] >> w & 1
    )


def by_layers(weights: Weights) -> int:
    """The sum over all DAGs, without subtracting sums from each other: layer after layer.

    A node of a layer has a parent in the one before it, and none in it or after: `4^n` terms, each
    of which is positive, and each DAG is in one of them.
    """
    nodes = len(weights)
    full = 2**nodes - 1

    @cache
    def family(v: int, placed: int, last: int) -> int:
        return sum(
            w
            for mask, w in enumerate(weights[v])
            if not mask & ~placed and (mask & last or not placed)
        )

    @cache
    def rest(placed: int, last: int) -> int:
        if placed == full:
            return 1
        return sum(
            rest(placed | layer, layer)
            * math.prod(family(v, placed, last) for v in range(nodes) if layer >> v & 1)
            for layer in range(1, full + 1)
            if not layer & placed
        )

    return rest(0, 0)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("least", [0, 1])
def test_sums_over_all_dags_are_those_enumerated(nodes: int, least: int) -> None:
    weights = random_weights(nodes, seed=nodes, least=least)
    sums = DagSums(weights)
    assert sums.total == sums.above[0] == sum(w for _, w in weighted(weights))
    assert sums.edges == enumerated(weights, has_edge)
    assert sums.ancestors == enumerated(weights, has_path)
    best = max(w for _, w in weighted(weights))
    assert dict(weighted(weights))[heaviest_dag(weights)] == best
    if least:
        logs = [[math.log(w) if w else -math.inf for w in row] for row in weights]
        assert dict(weighted(weights))[heaviest_dag(logs, add, 0.0)] == best


def test_all_graphs_with_five_nodes_are_summed() -> None:
    weights = random_weights(5, seed=5)
    total, edges = 0, [[0] * 5 for _ in range(5)]
    pairs = [(u, v) for u in range(5) for v in range(5)]
    best = 0
    for parents, weight in weighted(weights):
        total += weight
        best = max(best, weight)
        for u, v in pairs:
            if parents[v] >> u & 1:
                edges[u][v] += weight
    sums = DagSums(weights)
    assert len(all_dags(5)) == COUNTS[4]
    assert (sums.total, sums.edges) == (total, edges)
    assert math.prod(r[m] for r, m in zip(weights, heaviest_dag(weights), strict=True)) == best


@pytest.mark.parametrize("nodes", range(1, 8))
def test_as_many_graphs_are_counted_as_there_are(nodes: int) -> None:
    assert DagSums(ones(nodes)).total == COUNTS[nodes - 1]


@pytest.mark.parametrize("nodes", [6, 7, 8])
def test_beyond_enumeration_the_sum_is_that_over_layers(nodes: int) -> None:
    weights = random_weights(nodes, seed=nodes)
    sums = DagSums(weights)
    assert sums.total == sums.above[0] == by_layers(weights)
    # Control: one weight of 2^n n less by one is another sum.
    other = [list(row) for row in weights]
    other[2][9] += 1
    assert DagSums(other).total != sums.total


@pytest.mark.parametrize("nodes", [6, 7])
def test_marginals_beyond_enumeration_are_derivatives_of_another_recursion(nodes: int) -> None:
    weights = random_weights(nodes, seed=nodes)
    sums = DagSums(weights)
    for u, v in ((0, 1), (nodes - 1, 2), (3, nodes - 2)):
        without = tuple(
            tuple(0 if i == v and m >> u & 1 else w for m, w in enumerate(row))
            for i, row in enumerate(weights)
        )
        assert sums.edges[u][v] == sums.total - by_layers(without)
    assert [sums.ancestors[u][u] for u in range(nodes)] == [sums.total] * nodes
    for u in range(nodes):
        for v in range(nodes):
            assert sums.edges[u][v] <= sums.ancestors[u][v] <= sums.total


@pytest.mark.parametrize("nodes", [3, 5])
def test_what_layers_are_drawn_from_sums_to_all_that_may_follow(nodes: int) -> None:
    sums = DagSums(random_weights(nodes, seed=nodes))
    full = 2**nodes - 1
    for placed in range(full):
        for last in range(1, placed + 1) if placed else (0,):
            if last & ~placed:
                continue
            total = sum(
                sums.after(placed | layer, layer)
                * math.prod(sums.attached(v, placed, last) for v in range(nodes) if layer >> v & 1)
                for layer in range(1, full + 1)
                if not layer & placed
            )
            assert total == (sums.after(placed, last) if placed else sums.total)


class Scripted(Random):
    """Goes through all numbers that it may be asked for, in turn."""

    def __init__(self) -> None:
        super().__init__(0)
        self.path: list[list[int]] = []
        self.at = 0

    def randrange(self, *ends: int) -> int:  # type: ignore[override]
        if self.at == len(self.path):
            self.path.append([0, ends[0]])
        self.at += 1
        return self.path[self.at - 1][0]

    def advance(self) -> bool:
        """To the next sequence of numbers, if there is one."""
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        self.at = 0
        return bool(self.path)


def test_graphs_are_drawn_by_integers_without_bias() -> None:
    weights = ((2, 0, 1, 0), (1, 3, 0, 0))
    sums, found, rng = DagSums(weights), {}, Scripted()
    while True:
        graph = sums.draw(rng)
        share = 1.0
        for _, end in rng.path[: rng.at]:
            share /= end
        found[graph] = found.get(graph, 0.0) + share
        if not rng.advance():
            break
    assert found == pytest.approx({g: w / sums.total for g, w in weighted(weights)}, rel=1e-12)


def test_subset_sums_add_up_what_lies_below() -> None:
    assert subset_sums([1, 10, 100, 1000], 2) == [1, 11, 101, 1111]


def test_control_without_alternating_signs_graphs_are_counted_often() -> None:
    class Unsigned(DagSums):
        """Adds up all sets of sinks, as if a graph had one of them."""

        @cached_property
        def below(self) -> list[int]:
            sums = [1] + [0] * self.full
            for whole in range(1, self.full + 1):
                for sinks in range(1, whole + 1):
                    if not sinks & ~whole:
                        rest = whole ^ sinks
                        rows = [self.within[v] for v in range(self.nodes) if sinks >> v & 1]
                        sums[whole] += sums[rest] * math.prod(row[rest] for row in rows)
            return sums

    assert [Unsigned(ones(n)).total for n in (1, 2)] == [1, 5]
    assert DagSums(ones(2)).total == 3
