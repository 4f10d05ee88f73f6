"""Drawing a weighted DAG, and the heaviest one; what their sums rest on is in `verify`."""

import math
from random import Random

import numpy as np
import pytest

from reference.problems.best_graphs import best_graph, best_within
from reference.problems.dag_sums import DagSums, subset_sums
from verify.lib.all_dags import random_weights, weighted


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("least", [0, 1])
def test_the_heaviest_graph_is_the_heaviest_of_all(nodes: int, least: int) -> None:
    weights = random_weights(nodes, seed=nodes, least=least)
    graphs = dict(weighted(weights))
    integers = [np.array(row, object) for row in weights]
    exact = best_graph(integers, times=np.multiply, one=1)
    assert graphs[exact.parents] == exact.log_weight == max(graphs.values())
    logs = [np.array([math.log(w) if w else -math.inf for w in row]) for row in weights]
    assert graphs[best_graph(logs).parents] == max(graphs.values())


def test_the_best_part_of_each_set_is_found() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    for mask, best in enumerate(best_within(np.array(values))):
        assert best == max(values[m] for m in range(8) if not m & ~mask)


class Scripted(Random):
    """Goes through all numbers that it may be asked for, in turn."""

    def __init__(self) -> None:
        super().__init__(0)
        self.path: list[list[int]] = []
        self.at = 0

    def randrange(self, *ends: int) -> int:
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
    sums, law, rng = DagSums(weights), {}, Scripted()
    while True:
        graph = sums.draw(rng)
        share = 1.0
        for _, end in rng.path[: rng.at]:
            share /= end
        law[graph] = law.get(graph, 0.0) + share
        if not rng.advance():
            break
    assert law == pytest.approx({g: w / sums.total for g, w in weighted(weights)}, rel=1e-12)


def test_subset_sums_add_up_what_lies_below() -> None:
    assert subset_sums([1, 10, 100, 1000], 2) == [1, 11, 101, 1111]


def test_required_edges_make_some_sums_nothing_and_edges_stay_right() -> None:
    weights = ((1, 0, 2, 0), (0, 3, 0, 0))
    assert DagSums(weights).edges == [[0, 3], [0, 0]]
