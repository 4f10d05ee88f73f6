"""eq:graphss: policies of graph networks on small graphs, with the names of nodes exchanged."""

import random
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest

from reference import RATIONAL, ForwardPolicy, enumerate_dag, marginal
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.symbolic import Symbolic
from reference.problems.graphs import EdgeAddition, graph
from verify.lib.attainable import tied_by
from verify.lib.forks import (
    EVERYTHING,
    FORCED,
    FORKS,
    HALF,
    first,
    fork_nodes,
    lattice,
    probability,
    steps,
)
from verify.lib.gnn import added_edge, refine, relabel, wl_policies


def ordered_pairs(problem: EdgeAddition) -> list[tuple[int, int]]:
    """The colours of the ends of each action, that of the lesser node number first."""
    dag = enumerate_dag(problem)
    inner = list(problem.inner)
    rows = dict(zip(inner, refine(inner, [problem.features] * len(inner)), strict=True))
    pairs = []
    for u, v in dag.edges:
        m, n = added_edge(dag.labels[u], dag.labels[v])
        pairs.append((rows[dag.labels[u]][m], rows[dag.labels[u]][n]))
    return pairs


def concatenated(problem: EdgeAddition) -> TiedPolicies:
    """The policies of the printed formula, where edges are written with the lesser node first."""
    return tied_by(enumerate_dag(problem), ordered_pairs(problem))


def two_ways(start: tuple[int, int]) -> EdgeAddition:
    """One edge on three nodes; `q_1` and `q_2` join the third node to one of its ends."""
    p = graph([start])
    (third,) = {0, 1, 2} - set(start)
    q1, q2 = ((min(v, third), max(v, third)) for v in start)
    return EdgeAddition.fork(3, (graph([]), p), q1, q2)


@pytest.mark.catches(
    "The two ends of a new edge are compared in order, though an edge has none.",
    "verify/lib/gnn.py",
    "pairs.append(tuple(sorted((colours[label][m], colours[label][n]))))",
    "pairs.append((colours[label][m], colours[label][n]))",
)
@pytest.mark.claim("eq:graphss")
def test_one_edge_on_three_nodes_by_hand() -> None:
    # Both actions join an end to the isolated node: one class, so 1/2 each.
    for start in ((0, 1), (0, 2), (1, 2)):
        problem = two_ways(start)
        (p,) = fork_nodes(wl_policies(problem), problem)
        assert len(set(wl_policies(problem).row(p))) == 1
        assert first(wl_policies(problem), problem) == FORCED


@pytest.mark.claim("eq:graphss")
@pytest.mark.parametrize("name", FORKS)
def test_no_weights_make_the_terminals_of_a_fork_unequal(name: str) -> None:
    """As rational functions of the weights: for all networks at once."""
    problem = FORKS[name]()
    policies = wl_policies(problem)
    field = Symbolic(" ".join(f"w{c}" for c in range(policies.count)))
    weights = [field.symbols[c] for c in policies.classes]
    law = marginal(ForwardPolicy.from_weights(policies.dag, field, weights))
    assert law == (field.one / 2, field.one / 2)


@pytest.mark.claim("eq:graphss")
def test_the_symmetric_policy_does_not_depend_on_the_names_of_nodes(scope: Any) -> None:
    problem = lattice(4, 3)
    policies = wl_policies(problem)
    class_of = dict(zip(steps(policies), policies.classes, strict=True))
    for image in permutations(range(4)):
        for (g, h), c in class_of.items():
            assert class_of[relabel(g, image), relabel(h, image)] == c
    scope(f"all {len(class_of)} steps to the graphs with 3 edges on 4 nodes, 24 relabellings")


@pytest.mark.claim("eq:graphss")
def test_both_orders_of_an_edge_as_actions_are_a_symmetric_policy() -> None:
    """Concatenation is harmless where `(m, n)` and `(n, m)` are two actions with one result."""
    rng = random.Random(0)
    for problem in (*(fork() for fork in FORKS.values()), lattice(4, 3)):
        pairs = ordered_pairs(problem)
        drawn = {
            ordered: Fraction(rng.randint(1, 99)) for a, b in pairs for ordered in ((a, b), (b, a))
        }
        summed = [drawn[a, b] + drawn[b, a] for a, b in pairs]
        dag = enumerate_dag(problem)
        policies = wl_policies(problem)
        weights = [Fraction(0)] * policies.count
        for c, w in zip(policies.classes, summed, strict=True):
            weights[c] = w
        policy = ForwardPolicy.from_weights(dag, RATIONAL, summed)
        assert policy.values == policies.policy(weights).values


@pytest.mark.control("eq:graphss")
def test_concatenation_makes_the_law_depend_on_the_names_of_nodes() -> None:
    # From 01 the actions 02, 12 have the colours (end, isolated) twice; from 02 the actions
    # 01, 12 have (end, isolated) and (isolated, end). Weights 2 and 1 give 2/3 and 1/3.
    tied, torn = concatenated(two_ways((0, 1))), concatenated(two_ways((0, 2)))
    assert first(tied, two_ways((0, 1))) == FORCED
    assert first(torn, two_ways((0, 2))) == EVERYTHING
    problem = two_ways((0, 2))
    (p,) = fork_nodes(torn, problem)
    weights = [Fraction(1)] * torn.count
    weights[torn.classes[torn.dag.out_edges[p][0]]] = Fraction(2)
    law = {x: probability(torn, weights, x) for x in problem.terminals}
    assert set(law.values()) == {Fraction(2, 3), Fraction(1, 3)}
    assert probability(tied, [Fraction(2)] * tied.count, two_ways((0, 1)).terminals[0]) == HALF
