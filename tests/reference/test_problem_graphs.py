"""Edge addition: the state graphs, their rules, and what is known of their targets."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import chisquare

from reference import InputError, enumerate_dag, enumerate_rewards
from reference.problems.graphs import EdgeAddition, Graph, added_edge, graph

PRESETS: dict[str, tuple[Callable[[], EdgeAddition], int, int]] = {
    # preset, |S|, histories
    "matching": (EdgeAddition.matching, 5, 2),
    "paths": (EdgeAddition.paths, 5, 1),
    "marked": (EdgeAddition.marked, 4, 2),
    "mirrored": (EdgeAddition.mirrored, 4, 2),
    "paper": (EdgeAddition.paper, 5, 2),
    "minimal": (EdgeAddition.minimal, 5, 2),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_forks_with_the_stated_states_and_rewards(name: str) -> None:
    preset, inner, histories = PRESETS[name]
    problem = preset()
    dag = enumerate_dag(problem)
    assert dag.labels[0] == problem.initial
    assert {dag.labels[x] for x in dag.terminals} == set(problem.terminals)
    assert (len(dag.labels) - len(dag.terminals), len(dag.terminals)) == (inner, 2)
    assert dag.trajectory_count == 2 * histories
    p = dag.index[problem.inner[-1]]
    assert [dag.labels[v] for v in dag.children[p]] == list(problem.terminals)
    assert enumerate_rewards(problem, dag) == (Fraction(7, 10), Fraction(3, 10))


def test_every_step_adds_one_edge_and_every_such_step_is_there() -> None:
    problem = EdgeAddition.matching()
    dag = enumerate_dag(problem)
    steps = {
        (u, v)
        for u in dag.labels
        for v in dag.labels
        if set(u.edges) < set(v.edges) and len(v.edges) == len(u.edges) + 1
    }
    assert {(dag.labels[u], dag.labels[v]) for u, v in dag.edges} == steps
    for u, v in steps:
        assert graph([*u.edges, added_edge(u, v)]) == v


@pytest.mark.catches(
    "The ends of an edge keep their order, so that one graph has two names.",
    "reference/problems/graphs.py",
    "(min(pair), max(pair)) for pair in pairs",
    "pair for pair in pairs",
)
def test_graphs_are_equal_whatever_the_order_of_their_edges_and_print_them() -> None:
    assert graph([(3, 2), (0, 1)]) == graph([(1, 0), (2, 3)]) == Graph(((0, 1), (2, 3)))
    assert str(graph([(3, 2), (0, 1)])) == "0-1 2-3"
    assert str(graph([])) == "no edges"


def test_the_partition_function_is_the_enumerated_one() -> None:
    problem = replace(EdgeAddition.paper(), rewards=(Fraction(2, 3), Fraction(5, 7)))
    rewards = enumerate_rewards(problem, enumerate_dag(problem))
    assert problem.z() == sum(rewards) == Fraction(29, 21)
    assert problem.log_z().contains(0.322773392263051)
    assert not problem.log_z().contains(0.32277)


# A chi-square test of a correct sampler falls below this once in 10,000 seeds; the seed is fixed.
LEVEL = 1e-4


def p_value(problem: EdgeAddition, expected: tuple[int, int]) -> float:
    samples = problem.sample(20_000, seed=1)
    counts = [samples.count(x) for x in problem.terminals]
    return float(chisquare(counts, [20_000 * e / sum(expected) for e in expected]).pvalue)


@pytest.mark.catches(
    "A draw on the boundary between two states goes to the first of them.",
    "reference/problems/closed_form.py",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]))",
    "bisect_right(self._sums, rng.randrange(self._sums[-1]) - 1)",
)
def test_samples_follow_the_target() -> None:
    problem = replace(EdgeAddition.minimal(), rewards=(Fraction(2, 3), Fraction(5, 7)))
    assert p_value(problem, (14, 15)) > LEVEL
    assert problem.sample(9, seed=4) == problem.sample(9, seed=4) != problem.sample(9, seed=5)


def test_control_samples_of_another_target_are_rejected() -> None:
    problem = replace(EdgeAddition.minimal(), rewards=(Fraction(2, 3), Fraction(5, 7)))
    assert p_value(problem, (15, 14)) < LEVEL


EMPTY, P, Q = graph([]), graph([(0, 1)]), graph([(0, 1), (0, 2)])


def edge_addition(**changes: Any) -> EdgeAddition:
    fields: dict[str, Any] = {
        "features": (0, 0, 0),
        "inner": (EMPTY, P),
        "terminals": (Q,),
        "rewards": (Fraction(1),),
    }
    return EdgeAddition(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": (0, 0.5, 0)}, "features[1] is 0.5"),
        ({"inner": ()}, "at least one inner and one terminal"),
        ({"inner": (EMPTY, ((0, 1),))}, "a tuple, but must be a Graph"),
        ({"inner": (EMPTY, Graph(((1, 0),)))}, "must be (i, j) with 0 <= i < j < 3"),
        ({"terminals": (graph([(0, 1), (0, 3)]),)}, "must be (i, j) with 0 <= i < j < 3"),
        ({"inner": (EMPTY, Graph(((0, 1, 2),)))}, "must be a pair of node numbers"),
        ({"terminals": (Graph(((0, 2), (0, 1))),)}, "in increasing order"),
        ({"inner": (EMPTY, P, P)}, "the state [0-1] is listed twice"),
        ({"rewards": (Fraction(1), Fraction(1))}, "2 rewards for 1 terminals"),
        ({"rewards": (0.5,)}, "rewards[0] is 0.5, a float, but must be a Fraction"),
        ({"rewards": (Fraction(0),)}, "is 0, where the balance losses need log R"),
        ({"rewards": (True,)}, "rewards[0] is True"),
        ({"inner": (EMPTY, P, graph([(1, 2)]), graph([(0, 2)]))}, "no listed state is [1-2]"),
        ({"terminals": (P, Q), "rewards": (Fraction(1),) * 2}, "is listed twice"),
        (
            {
                "inner": (EMPTY, graph([(0, 2)])),
                "terminals": (P, Q),
                "rewards": (Fraction(1),) * 2,
            },
            "the terminal [0-1] leads to the listed state [0-1 0-2]",
        ),
        ({"inner": (P, EMPTY)}, "the state [no edges] is not an inner state with one edge more"),
        ({"inner": (EMPTY,)}, "the state [0-1 0-2] is not an inner state with one edge more"),
    ],
)
def test_lists_that_are_no_state_graph_are_refused(
    changes: dict[str, object], message: str
) -> None:
    assert edge_addition() is not None
    with pytest.raises(InputError, match=re.escape(message)):
        edge_addition(**changes)


@pytest.mark.parametrize("t", [Fraction(0), Fraction(1), Fraction(-1, 2), float("nan"), 0.5])
def test_a_fork_needs_an_exact_target_inside_the_unit_interval(t: Fraction) -> None:
    with pytest.raises(InputError, match=r"t must lie between 0 and 1|must be a Fraction"):
        EdgeAddition.matching(t)


def test_a_fork_needs_the_state_that_forks() -> None:
    with pytest.raises(InputError, match="ends with p"):
        EdgeAddition.fork(3, (), (0, 1), (0, 2))
