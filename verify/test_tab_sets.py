"""tab:sets: binomials, and all sets of up to six items."""

from math import comb
from typing import Any

import pytest

from reference import enumerate_dag
from reference.problems import Sets


@pytest.mark.claim("tab:sets")
def test_the_sizes_of_the_text_are_those_of_its_sets() -> None:
    sizes = {k: comb(64, k) for k in (16, 32)}
    assert sizes == {16: 488526937079580, 32: 1832624140942590534}
    assert [len(str(size)) - 1 for size in sizes.values()] == [14, 18]


@pytest.mark.catches(
    "Adds items in one order only, so that sets that lack the last ones end early.",
    "reference/problems/sets.py",
    "if i not in state.members",
    "if i > max(state.members, default=-1)",
)
@pytest.mark.claim("tab:sets")
def test_every_set_of_the_size_is_terminal(scope: Any) -> None:
    for items in range(1, 7):
        for size in range(1, items + 1):
            dag = enumerate_dag(Sets.random(items, size))
            assert len(dag.terminals) == comb(items, size)
            assert len(dag.labels) == sum(comb(items, k) for k in range(size + 1))
    scope("21 tasks with up to 6 items, and binomials for 64")


@pytest.mark.control("tab:sets")
def test_the_size_of_the_table_is_neither() -> None:
    assert comb(64, 24) == 250649105469666120
    assert len(str(comb(64, 24))) - 1 == 17
