"""trees: the number of lifts of all small DAGs."""

from typing import Any

import pytest
from hypothesis import given, settings

from reference import History, LiftedDAG, PointedDAG, Table, lift, pointed_dag
from verify.lib import strategies
from verify.lib.scopes import MAX_NODES, Scope, all_small_dags
from verify.lib.small_scope import lifts


def meets_inside(dag: PointedDAG[Any]) -> bool:
    """True if some inner state has two parents."""
    return any(len(row) > 1 for v, row in enumerate(dag.in_edges) if dag.children[v])


@pytest.mark.claim("trees")
def test_every_lift_is_trivial_iff_branches_meet_in_terminals_only(scope: Scope) -> None:
    trivial = 0
    for dag in scope.over(all_small_dags()):
        history = lift(dag, History()).dag
        # Every lift is a quotient of the full history: this one is trivial iff all are.
        assert (len(history.labels) > len(dag.labels)) == meets_inside(dag)
        assert history.edges == dag.edges or meets_inside(dag)
        if len(dag.labels) <= MAX_NODES:
            assert (len(list(lifts(dag))) == 1) != meets_inside(dag)
        trivial += not meets_inside(dag)
    scope(
        f"{scope.count:,} DAGs up to {len(dag.labels)} states: every lift is trivial on {trivial}"
    )


@pytest.mark.claim("trees")
@settings(max_examples=settings().max_examples // 4)
@given(strategies.lifted_dags())
def test_a_latent_is_a_function_of_the_state_where_branches_meet_in_terminals_only(
    lifted: LiftedDAG[int],
) -> None:
    trivial = len(set(lifted.projection)) == len(lifted.projection)
    assert trivial or meets_inside(lifted.base)


@pytest.mark.control("trees")
def test_one_edge_more_gives_a_tree_a_lift_with_memory() -> None:
    # o -> a, o -> b, b -> y is a tree with a -> x; the edge a -> b gives b two histories.
    tree = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["y"], "x": [], "y": []})
    more = pointed_dag({"o": ["a", "b"], "a": ["b", "x"], "b": ["y"], "x": [], "y": []})
    assert [len(lift(dag, History()).dag.labels) for dag in (tree, more)] == [5, 6]
    late = Table({("a", 0): 1, ("b", 0): 2, ("b", 1): 3}, 0)
    assert {("b", 2), ("b", 3)} <= set(lift(more, late).dag.labels)
