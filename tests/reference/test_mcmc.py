"""Markov chains over graphs and orders: the law they keep, as a whole transition matrix."""

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise, permutations
from random import Random
from typing import Any

import pytest

from reference.posterior import StructureLearning
from reference.posterior.mcmc import (
    GraphTarget,
    OrderTarget,
    Parents,
    Target,
    chain,
    linear_extensions,
    parts,
)
from reference.posterior.networks import all_ancestors
from verify.lib.all_dags import all_dags, is_acyclic

PROBLEMS = {
    "two nodes": StructureLearning.random(2),
    "three nodes": StructureLearning.minimal(),
    "one parent at most": StructureLearning.random(3, rows=20, max_parents=1),
    "uniform": StructureLearning.uniform(3),
}
FOUR = StructureLearning.random(4, rows=10)
each = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
each_and_four = pytest.mark.parametrize(
    "problem", [*PROBLEMS.values(), FOUR], ids=[*PROBLEMS, "four nodes"]
)


def weight(target: Any, state: Any) -> Fraction:
    """The weight of a graph or an order in integers, without a power of two common to all."""
    product, last = 1, 0
    for place, entry in enumerate(state):
        if isinstance(target, GraphTarget):
            product *= target.problem.weights[place][entry]
        else:
            product *= target.sums[entry][last]
            last |= 1 << entry
    return Fraction(product)


def edge_probabilities(target: OrderTarget, order: Any) -> dict[tuple[int, int], Fraction]:
    """The probability of each edge given an order."""
    return {
        (u, v): 1 - Fraction(target.sums[v][before ^ 1 << u], target.sums[v][before])
        if before >> u & 1
        else Fraction(0)
        for i, v in enumerate(order)
        for before in [sum(1 << w for w in order[:i])]
        for u in range(len(order))
        if u != v
    }


def transitions(target: Target[Any], state: Any, corrected: bool = True) -> dict[Any, Fraction]:
    """The exact law of the next state, where the chain stays included.

    Not corrected, it forgets that states have different numbers of neighbours.
    """
    near = target.neighbours(state)
    law = {state: Fraction(1)}
    for other in near:
        ratio = weight(target, other) / weight(target, state)
        if corrected:
            ratio *= Fraction(len(near), len(target.neighbours(other)))
        law[other] = min(Fraction(1), ratio) / len(near)
        law[state] -= law[other]
    return law


def rows_of(
    target: Target[Any], states: list[Any], corrected: bool = True
) -> dict[Any, dict[Any, Fraction]]:
    rows = {state: transitions(target, state, corrected) for state in states}
    assert all(min(row.values()) >= 0 and sum(row.values()) == 1 for row in rows.values())
    return rows


def is_kept(rows: dict[Any, dict[Any, Fraction]], weight: Any) -> bool:
    """Whether one step leaves the law that is proportional to a weight as it is, exactly."""
    after: Counter[Any] = Counter()
    for state, row in rows.items():
        for other, share in row.items():
            after[other] += weight(state) * share
    return all(after[state] == weight(state) for state in rows)


def is_balanced(rows: dict[Any, dict[Any, Fraction]], weight: Any) -> bool:
    """Whether as much goes from each state to each other as comes back, so that the law is kept."""
    return all(
        weight(state) * share == weight(other) * rows[other].get(state, 0)
        for state, row in rows.items()
        for other, share in row.items()
    )


def reached(rows: dict[Any, dict[Any, Fraction]], start: Any) -> set[Any]:
    states, todo = {start}, [start]
    while todo:
        new = {other for other, share in rows[todo.pop()].items() if share} - states
        states |= new
        todo += new
    return states


def graphs_of(problem: StructureLearning) -> list[Parents]:
    """The graphs that can be had, listed without the chain."""
    return [
        graph
        for graph in all_dags(problem.nodes)
        if all(row[mask] for row, mask in zip(problem.weights, graph, strict=True))
    ]


@each_and_four
def test_the_posterior_is_the_one_law_that_structure_mcmc_keeps(problem: StructureLearning) -> None:
    target, graphs = GraphTarget(problem), graphs_of(problem)
    rows = rows_of(target, graphs)
    assert is_balanced(rows, partial(weight, target))
    # Every graph can be reached, so that no other law is kept.
    assert reached(rows, (0,) * problem.nodes) == set(graphs)
    # The weight is the reward, up to one factor.
    z = sum(map(partial(weight, target), graphs))
    marginals = problem.edge_marginals()
    for u, v in permutations(range(problem.nodes), 2):
        with_edge = sum(weight(target, graph) for graph in graphs if graph[v] >> u & 1)
        assert with_edge / z == marginals[u][v]


@pytest.mark.parametrize("name", ["three nodes", "uniform", "one parent at most"])
def test_control_without_the_numbers_of_neighbours_another_law_is_kept(name: str) -> None:
    target = GraphTarget(PROBLEMS[name])
    rows = rows_of(target, graphs_of(PROBLEMS[name]), corrected=False)
    assert not is_balanced(rows, partial(weight, target))
    assert not is_kept(rows, partial(weight, target))


@each
def test_neighbours_are_all_graphs_one_edge_away_and_mutual(problem: StructureLearning) -> None:
    target, graphs = GraphTarget(problem), graphs_of(problem)

    def pairs(graph: Parents) -> set[tuple[int, int]]:
        nodes = range(problem.nodes)
        return {(u, v) for u in nodes for v in nodes if graph[v] >> u & 1}

    def is_near(first: Parents, second: Parents) -> bool:
        less, more = pairs(first) - pairs(second), pairs(second) - pairs(first)
        turned = len(less) == len(more) == 1 and {e[::-1] for e in less} == more
        return len(less) + len(more) == 1 or turned

    for graph in graphs:
        near = target.neighbours(graph)
        assert len(set(near)) == len(near)
        assert set(near) == {other for other in graphs if is_near(graph, other)}
        assert all(map(is_acyclic, near))


def test_ancestors_are_the_parents_of_ancestors_and_so_on() -> None:
    for graph in all_dags(4):
        for v, mask in enumerate(all_ancestors(graph)):
            expected = 1 << v
            for _ in graph:
                for u, parents in enumerate(graph):
                    expected |= parents if expected >> u & 1 else 0
            assert mask == expected


@each
def test_order_mcmc_keeps_the_sums_over_the_graphs_of_orders(problem: StructureLearning) -> None:
    target = OrderTarget(problem)
    orders = list(permutations(range(problem.nodes)))
    rows = rows_of(target, orders)
    assert is_balanced(rows, partial(weight, target))
    assert reached(rows, orders[0]) == set(orders)
    graphs, weigh = graphs_of(problem), partial(weight, GraphTarget(problem))
    for order in orders:
        place = {v: i for i, v in enumerate(order)}
        extended = [g for g in graphs if follows(g, place)]
        assert weight(target, order) == sum(map(weigh, extended))
        shares = edge_probabilities(target, order)
        for u, v in permutations(range(problem.nodes), 2):
            with_edge = sum(weigh(g) for g in extended if g[v] >> u & 1)
            assert shares[u, v] == with_edge / weight(target, order)


def follows(graph: Parents, place: dict[int, int]) -> bool:
    return all(place[u] < place[v] for v, mask in enumerate(graph) for u in place if mask >> u & 1)


def test_linear_extensions_are_counted() -> None:
    for graph in all_dags(4):
        orders = permutations(range(4))
        places = ({v: i for i, v in enumerate(order)} for order in orders)
        assert linear_extensions(graph) == sum(follows(graph, place) for place in places)
    assert linear_extensions((0,) * 8) == math.factorial(8)


class Scripted(Random):
    """Gives numbers in turn, and keeps the ends below which they were asked for."""

    def __init__(self, *values: int) -> None:
        super().__init__(0)
        self.values = iter(values)
        self.ends: list[int] = []

    def randrange(self, *ends: int) -> int:
        self.ends += ends
        return next(self.values)


def test_the_graph_of_an_order_is_drawn_in_proportion_to_its_weight() -> None:
    scores = [[math.log(1 + (3 * v + mask) % 5) for mask in range(4)] for v in range(2)]
    target = OrderTarget(StructureLearning.from_scores(scores))
    without, with_edge = target.problem.weights[1][0], target.problem.weights[1][1]
    # Node 0 has no choice; of node 1 both ends of each share are asked for.
    ends = {(0, 1): (0, with_edge - 1), (0, 0): (with_edge, with_edge + without - 1)}
    for graph, value in ((graph, value) for graph, values in ends.items() for value in values):
        rng = Scripted(0, value)
        assert target.draw((0, 1), rng) == graph
        assert rng.ends == [target.problem.weights[0][0], with_edge + without]
    assert with_edge != without
    assert sorted(parts(0b101)) == [0, 1, 4, 5]


@pytest.mark.parametrize("kind", [GraphTarget, OrderTarget])
def test_a_chain_moves_as_its_exact_transitions_say(kind: Any) -> None:
    target = kind(StructureLearning.minimal())
    states = list(islice(chain(target, Random(5)), 20_000))
    pairs = Counter(pairwise(states))
    visits = Counter(states[:-1])
    for state, count in visits.items():
        law = transitions(target, state)
        for other, share in law.items():
            # Five standard errors, of a chain of one seed.
            allowed = 5 * math.sqrt(float(share) * (1 - float(share)) / count) + 1e-12
            assert abs(pairs[state, other] / count - float(share)) <= allowed
        assert {other for at, other in pairs if at == state} <= law.keys()
    assert list(islice(chain(target, Random(5)), 100)) == states[:100]
    assert list(islice(chain(target, Random(6)), 100)) != states[:100]


def test_logarithms_are_those_of_the_exact_weights() -> None:
    problem = StructureLearning.random(3, rows=2_000)
    for target, states in (
        (GraphTarget(problem), list(all_dags(3))),
        (OrderTarget(problem), list(permutations(range(3)))),
    ):
        first: Any = states[0]
        for state in states:
            ratio = weight(target, state) / weight(target, first)
            exact = math.log(ratio.numerator) - math.log(ratio.denominator)
            gap = target.log_weight(state) - target.log_weight(first)
            assert gap == pytest.approx(exact, abs=1e-9)
