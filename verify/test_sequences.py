"""sequences: state graphs of tasks that append, and of others, with their history lifts."""

from typing import Any

import pytest

from reference import History, PointedDAG, enumerate_dag, lift
from reference.problems import BitSequences, Lines, Sets
from reference.problems.sequences import Sequences


def lifted_states(dag: PointedDAG[Any]) -> int:
    return len(lift(dag, History()).dag.labels)


@pytest.mark.claim("sequences", "trees")
def test_appended_sequences_form_a_tree_on_which_the_whole_history_adds_nothing(scope: Any) -> None:
    # With the whole history for a latent; every other latent is a function of it.
    tasks: list[Any] = [
        Sequences("ACGT"[:n], length, "append") for n in (1, 2, 3, 4) for length in range(1, 5)
    ]
    tasks += [BitSequences(("010011",), word) for word in (1, 2, 3)]
    for task in (*tasks, Lines.laplaces(6, 1)):
        dag = enumerate_dag(task)
        assert {len(parents) for parents in dag.in_edges[1:]} == {1}
        assert lifted_states(dag) == len(dag.labels)
    scope(f"{len(tasks)} tasks: up to 4 letters and length 4, 6 bits in words")


@pytest.mark.control("sequences", "trees")
@pytest.mark.parametrize(
    ("task", "states", "lifted"),
    [(Sequences("ab", 3), 15, 17), (Sets.random(5, 3), 26, 36), (Lines.minimal(), 12, 26)],
)
def test_graphs_with_several_ways_to_a_state_have_lifts_that_add(
    task: Any, states: int, lifted: int
) -> None:
    dag = enumerate_dag(task)
    assert (len(dag.labels), lifted_states(dag)) == (states, lifted)
