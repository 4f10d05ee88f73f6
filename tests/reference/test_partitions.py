"""Lifts as set partitions, against the lifts that dynamics make, and what lifts merge by hand."""

from typing import Any

import pytest

from reference import Forgetful, History, LiftedDAG, PointedDAG, Table, lift, pointed_dag
from verify.lib.partitions import MergeStatistics, lifts, merge_statistics
from verify.lib.small_scope import pointed_dags

# Both histories of c can merge there, or one step later at d, or not at all.
LONG_DIAMOND = pointed_dag(
    {"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["d", "x"], "d": ["y"], "x": [], "y": []}
)


def parts(lifted: LiftedDAG[Any]) -> tuple[Any, ...]:
    return lifted.dag.labels, lifted.dag.children, lifted.projection, lifted.base_edge


def relifted(lifted: LiftedDAG[Any]) -> LiftedDAG[Any]:
    """The lift of the same base by the table of what arrives where."""
    labels, children = lifted.dag.labels, lifted.dag.children
    transitions = {
        (labels[v][0], labels[u][1]): labels[v][1]
        for u, row in enumerate(children)
        for v in row
        if children[v]
    }
    return lift(lifted.base, Table(transitions, initial=(0, 0)))


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_every_listed_lift_is_another_and_that_of_a_table(nodes: int) -> None:
    for dag in pointed_dags(nodes):
        listed = list(lifts(dag))
        assert all(parts(relifted(lifted)) == parts(lifted) for lifted in listed)
        assert len({parts(lifted) for lifted in listed}) == len(listed)
        # The first forgets and the last remembers everything.
        assert listed[0].dag.children == lift(dag, Forgetful()).dag.children == dag.children
        assert listed[-1].dag.children == lift(dag, History()).dag.children


def test_control_a_lift_with_two_arrivals_swapped_is_not_that_of_its_table() -> None:
    *_, tree = lifts(LONG_DIAMOND)
    moved = [tuple(row) for row in tree.dag.children]
    moved[1], moved[2] = moved[2], moved[1]
    broken = LiftedDAG(
        tree.base, PointedDAG(tree.dag.labels, tuple(moved)), tree.projection, tree.base_edge
    )
    assert parts(relifted(broken)) != parts(broken)


def test_the_lifts_of_a_long_diamond_merge_where_they_must() -> None:
    node = LONG_DIAMOND.index
    by_hand = {
        # c merges: everything after it stands for both histories. c does not and d does; neither.
        (1, 1): (node["c"], 1),
        (2, 1): (node["d"], 1),
        (2, 2): (None, 0),
    }
    merges = {}
    for lifted in lifts(LONG_DIAMOND):
        statistics = merge_statistics(lifted)
        copies = statistics.copies[node["c"]], statistics.copies[node["d"]]
        merges[copies] = statistics.first_merge, statistics.total
        assert max(statistics.histories) == 2
    assert merges == by_hand


@pytest.mark.catches(
    "The first arrival in a lifted state is counted as a merge.",
    "verify/lib/partitions.py",
    "merged[lifted.projection[v]] += len(row) - 1",
    "merged[lifted.projection[v]] += len(row)",
)
def test_statistics_of_a_double_merge_are_counted_by_hand() -> None:
    # Three histories reach d: o-d, o-a-d, o-b-d. All in one block: two arrivals merge.
    fan = pointed_dag({"o": ["a", "b", "d"], "a": ["d"], "b": ["d"], "d": ["x"], "x": []})
    forgetful, *_, history = lifts(fan)
    d = fan.index["d"]
    assert merge_statistics(forgetful) == MergeStatistics(
        copies=(1, 1, 1, 1, 1),
        histories=(1, 1, 1, 3, 3),
        merged_arrivals=(0, 0, 0, 2, 0),
        first_merge=d,
    )
    assert merge_statistics(history) == MergeStatistics(
        copies=(1, 1, 1, 3, 1),
        histories=(1, 1, 1, 1, 1, 1, 3),
        merged_arrivals=(0, 0, 0, 0, 0),
        first_merge=None,
    )


@pytest.mark.catches(
    "Where branches meet, the histories of the last parent replace those of the others.",
    "reference/dag.py",
    "            counts[v] += counts[u]\n",
    "            counts[v] = counts[u]\n",
)
@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_copies_and_merges_account_for_every_history(nodes: int) -> None:
    # Exactly the history tree merges nothing, and terminals receive every complete trajectory.
    for dag in pointed_dags(nodes):
        trees = 0
        for lifted in lifts(dag):
            statistics = merge_statistics(lifted)
            ends = [statistics.histories[x] for x in lifted.dag.terminals]
            assert sum(ends) == dag.trajectory_count
            inner = [
                h for h, row in zip(statistics.histories, lifted.dag.children, strict=True) if row
            ]
            assert (statistics.total == 0) == (max(inner) == 1)
            trees += statistics.total == 0
        assert trees == 1
