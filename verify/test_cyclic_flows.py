"""cyclic-flows: balance on graphs with cycles, by expected visits in rationals."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from verify.lib import cyclic
from verify.lib.cyclic import Graph, Rows, State
from verify.lib.scopes import Scope


def drawn(graph: Graph, rng: random.Random) -> tuple[Rows, dict[State, Fraction]]:
    """A positive `p_B` and rewards."""
    weights = {edge: Fraction(rng.randint(1, 9)) for edge in cyclic.edges(graph)}
    rewards = {x: Fraction(rng.randint(1, 9)) for x in cyclic.ends(graph)}
    return cyclic.normalised(cyclic.parents(graph), weights), rewards


def inner(graph: Graph, flow: dict[State, Fraction]) -> Fraction:
    """The sum of the flows of states with children, each of which a step leaves."""
    return sum((flow[s] for s, row in graph.items() if row), start=Fraction(0))


def checked(graph: Graph, p_b: Rows, rewards: dict[State, Fraction]) -> dict[State, Fraction]:
    """The flows, of which law and visits are checked."""
    start = next(iter(graph))
    flow = cyclic.flows(graph, p_b, rewards)
    assert flow is not None
    z = sum(rewards.values(), start=Fraction(0))
    assert flow[start] == z
    assert all(value > 0 for value in flow.values())
    p_f = cyclic.forward(graph, p_b, flow)
    assert all(sum(p_f[s, v] for v in row) == 1 for s, row in graph.items() if row)
    counts = cyclic.visits(graph, p_f, start)
    assert counts == {s: value / z for s, value in flow.items()}
    # Visits of ends are the law.
    assert {x: counts[x] * z for x in rewards} == rewards
    return flow


@pytest.mark.claim("cyclic-flows")
@pytest.mark.catches(
    "A flow is counted towards the child it came from.",
    "verify/lib/cyclic.py",
    "{(u, v): flow[v] * p_b[u, v] / flow[u] for u, v in edges(graph)}",
    "{(u, v): flow[v] * p_b[u, v] / flow[v] for u, v in edges(graph)}",
)
def test_flows_are_expected_visits_and_the_law_is_the_target(scope: Scope) -> None:
    rng = random.Random(0)
    with_cycle = 0
    for graph in scope.over(cyclic.small_graphs()):
        checked(graph, *drawn(graph, rng))
        with_cycle += "b" in graph["a"] and "a" in graph["b"]
    assert (scope.count, with_cycle) == (336, 144)
    scope(f"{scope.count} graphs on 5 states, {with_cycle} with a cycle, a random p_B each")


def lengths(graph: Graph, p_f: Rows, start: State, most: int) -> list[float]:
    """The probabilities of 0, 1, ..., `most` steps."""
    here, ended = {start: 1.0}, []
    for _ in range(most + 1):
        ended.append(sum(p for s, p in here.items() if not graph[s]))
        following: dict[State, float] = {}
        for s, p in here.items():
            for v in graph[s]:
                following[v] = following.get(v, 0.0) + p * float(p_f[s, v])
        here = following
    return ended


def grid(size: int) -> Graph:
    """Steps in four directions on a square; every cell can stop; `o` leads to all of them."""
    cells = [(i, j) for i in range(size) for j in range(size)]
    graph: dict[State, tuple[State, ...]] = {"o": tuple(cells)}
    for i, j in cells:
        near = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        graph[i, j] = (*(cell for cell in near if cell in cells), ("stop", i, j))
    return graph | {("stop", *cell): () for cell in cells}


def exchanged(p: tuple[int, ...], farthest: int) -> list[tuple[int, ...]]:
    """The permutations that differ by an exchange of two that lie no farther apart than that."""
    places = [(i, j) for i, j in combinations(range(len(p)), 2) if j - i <= farthest]
    return [(*p[:i], p[j], *p[i + 1 : j], p[i], *p[j + 1 :]) for i, j in places]


def orders(size: int, farthest: int) -> Graph:
    """Permutations, from the sorted one by exchanges; every one can stop."""
    every = list(permutations(range(size)))
    graph: dict[State, tuple[State, ...]] = {"o": (every[0],)}
    graph |= {p: (*exchanged(p, farthest), ("stop", *p)) for p in every}
    return graph | {("stop", *p): () for p in every}


@pytest.mark.claim("cyclic-flows")
@pytest.mark.parametrize("graph", [grid(3), orders(3, 1)], ids=["grid", "neighbours"])
def test_the_sum_of_flows_is_the_expected_length(graph: Graph, scope: Any) -> None:
    p_b, rewards = drawn(graph, random.Random(1))
    flow = checked(graph, p_b, rewards)
    law = lengths(graph, cyclic.forward(graph, p_b, flow), "o", 3_000)
    assert abs(sum(law) - 1) < 1e-9
    mean = sum(steps * p for steps, p in enumerate(law))
    assert abs(mean - float(inner(graph, flow) / flow["o"])) < 1e-6
    scope(f"a graph of {len(graph)} states, walked for 3,000 steps")


@pytest.mark.claim("cyclic-flows")
def test_permutations_of_four_by_exchanges_of_neighbours(scope: Any) -> None:
    graph = orders(4, 1)
    flow = checked(graph, *drawn(graph, random.Random(3)))
    steps = inner(graph, flow) / flow["o"]
    assert steps > 100
    scope(f"permutations of four, {float(steps):.0f} steps expected")


def cycles(p: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of the cycles of a permutation, shortest first."""
    lengths, left = [], {*range(len(p))}
    while left:
        i, count = min(left), 0
        while i in left:
            left.remove(i)
            i, count = p[i], count + 1
        lengths.append(count)
    return tuple(sorted(lengths))


def of_classes(size: int) -> tuple[Graph, Rows, dict[State, Fraction]]:
    """Exchanges of any two, with permutations of equal cycles as one state, for a uniform `p_B`.

    Renaming the items keeps the graph and the sorted permutation, so that flows are equal within a
    class, and those of classes solve the same equations. The reward is 2 to the fixed points.
    """
    kinds: dict[Any, State] = {p: cycles(p) for p in permutations(range(size))}
    members, example = Counter(kinds.values()), {kind: p for p, kind in kinds.items()}
    steps = {kind: Counter(map(cycles, exchanged(p, size))) for kind, p in example.items()}
    first: State = (1,) * size
    graph: dict[State, tuple[State, ...]] = {"o": (first,)}
    graph |= {kind: (*row, ("stop", *kind)) for kind, row in steps.items()}
    graph |= {("stop", *kind): () for kind in members}
    weights: dict[tuple[State, State], Fraction] = {("o", first): Fraction(1)}
    # An exchange is its own reversal.
    weights |= {(v, u): Fraction(n) for u, row in steps.items() for v, n in row.items()}
    weights |= {(kind, ("stop", *kind)): Fraction(1) for kind in members}
    rewards: dict[State, Fraction] = {
        ("stop", *k): Fraction(n * 2 ** k.count(1)) for k, n in members.items()
    }
    return graph, cyclic.normalised(cyclic.parents(graph), weights), rewards


@pytest.mark.claim("cyclic-flows")
def test_permutations_of_eight_by_exchanges_of_any_two(scope: Any) -> None:
    # On four, classes have the flow that all permutations have.
    every = orders(4, 4)
    weights = dict.fromkeys(cyclic.edges(every), Fraction(1))
    rewards = {x: Fraction(2 ** cycles(x[1:]).count(1)) for x in cyclic.ends(every)}
    p_b = cyclic.normalised(cyclic.parents(every), weights)
    four = of_classes(4)
    assert inner(every, checked(every, p_b, rewards)) == inner(four[0], checked(*four))
    graph, p_b, rewards = of_classes(8)
    flow = checked(graph, p_b, rewards)
    total, z = inner(graph, flow), flow["o"]
    assert len(rewards) == 22
    # Derangements of the other items; their numbers are those of de Montmort.
    deranged = (1, 0, 1, 2, 9, 44, 265, 1854, 14833)
    assert z == sum(comb(8, k) * 2**k * deranged[8 - k] for k in range(9))
    scope(f"40,320 permutations of eight in 22 classes, {float(total / z):.0f} steps expected")


@pytest.mark.claim("cyclic-flows")
def test_no_p_b_has_a_smaller_flow_than_shortest_paths(scope: Any) -> None:
    rng = random.Random(2)
    shortest = 0
    for graph in cyclic.small_graphs():
        p_b, rewards = drawn(graph, rng)
        depth = cyclic.distances(graph, "o")
        least = sum((r * depth[x] for x, r in rewards.items()), start=Fraction(0))
        detours = [edge for edge in p_b if depth[edge[1]] != depth[edge[0]] + 1]
        total = inner(graph, checked(graph, p_b, rewards))
        # Every flow is positive, so each detour from a state or into it costs.
        assert (total == least) == (not detours)
        assert total >= least
        shortest += not detours
        # Without detours the least flow is met.
        weights = {edge: Fraction(edge not in detours) for edge in p_b}
        direct = cyclic.normalised(cyclic.parents(graph), weights)
        flow = cyclic.flows(graph, direct, rewards)
        assert flow is not None
        assert inner(graph, flow) == least
    scope(f"336 graphs on 5 states, {shortest} with shortest paths alone")


def penalised_law(strength: float) -> float:
    """`p_T(x)` where squares of detailed balance plus `strength` times the flow are least."""

    def rows(logits: Any) -> tuple[Any, Any]:
        a, b = 1 / (1 + np.exp(-logits[:2]))
        # p_F at a: (b, x); at b: (a, y). p_B at a: (o, b), each 1/2; at b: a.
        return a, b

    def loss(vector: Any) -> float:
        a, b = rows(vector)
        o, f_a, f_b = vector[2:]
        half = np.log(0.5)
        gaps = (
            o - half - f_a,
            f_a + np.log(a) - f_b,
            f_b + np.log(b) - half - f_a,
            f_a + np.log(1 - a) - np.log(1.0),
            f_b + np.log(1 - b) - np.log(2.0),
        )
        return float(np.sum(np.square(gaps)) + strength * np.exp(vector[2:]).sum())

    ended = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    a, b = rows(ended.x)
    # From a: x at once, y by b, or round again.
    return float((1 - a) / (1 - a * b))


@pytest.mark.control("cyclic-flows")
def test_a_penalty_on_flows_moves_the_law_by_about_its_strength() -> None:
    law = {strength: penalised_law(strength) for strength in (0.0, 0.0001, 0.001, 0.01)}
    assert abs(law[0.0] - 1 / 3) < 1e-6
    moved = [law[strength] - law[0.0] for strength in (0.0001, 0.001, 0.01)]
    assert all(abs(after / before - 10) < 3 for before, after in pairwise(moved))
    assert moved[-1] > 0.02


@pytest.mark.control("cyclic-flows")
def test_a_cycle_that_the_backward_walk_never_leaves_has_no_flow() -> None:
    graph: Graph = {"o": ("a",), "a": ("b", "x"), "b": ("a",), "x": ()}
    one = Fraction(1)
    for back, states in ((Fraction(0), 0), (Fraction(1, 3), 4)):
        p_b = {("o", "a"): back, ("b", "a"): one - back, ("a", "b"): one, ("a", "x"): one}
        flow = cyclic.flows(graph, p_b, {"x": one})
        assert len(flow or ()) == states
    # Positive everywhere, the walk leaves: the cycle is gone round (1 - p)/p times.
    assert flow is not None
    assert [flow[s] for s in "ab"] == [3, 2]
