"""Edge addition: the state graphs, their rules, and what is known of their targets."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from reference import enumerate_dag, enumerate_rewards, marginal, total_variation
from reference.problems.graphs import EdgeAddition, Graph, added_edge, graph
from verify.lib.forks import target_weights, with_features
from verify.lib.gnn import wl_policies

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


@pytest.mark.catches(
    "The shares of the chords between the cycles and of the others are exchanged.",
    "reference/problems/graphs.py",
    "pairs = (((0, 1), t), ((2, 3), t), ((0, 2), 1 - t)",
    "pairs = (((0, 1), t), ((2, 3), 1 - t), ((0, 2), t)",
)
@pytest.mark.parametrize("grown", [False, True])
def test_two_cycles_tie_all_chords_though_half_of_them_join_the_cycles(grown: bool) -> None:
    problem = EdgeAddition.instance("cycles", 0.25, 6, grown)
    dag, p = enumerate_dag(problem), problem.inner[-1]
    assert dag.trajectory_count == 16
    assert len(problem.initial.edges) == (0 if grown else 8)
    # No chord is an edge, and rewards say which of them join the cycles.
    assert len({edge for x in problem.terminals for edge in x.edges}) == 12 + 16
    joined = {x for x in problem.terminals if len({node < 6 for node in added_edge(p, x)}) == 2}
    assert sum(map(problem.reward, joined)) == Fraction(1, 4)
    assert {problem.reward(x) for x in joined} == {Fraction(1, 32)}
    # Refinement of any depth ties them, and with path features it does not.
    target = [problem.reward(dag.labels[x]) for x in dag.terminals]
    for policies, off in ((wl_policies(problem), Fraction(1, 4)), (with_features(problem), 0)):
        law = marginal(policies.policy(target_weights(policies, problem)))
        assert total_variation(law, target) == off


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
