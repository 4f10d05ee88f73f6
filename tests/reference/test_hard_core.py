"""Independent sets: transfer matrices against enumeration, and against published counts."""

from fractions import Fraction
from itertools import product

import pytest

from reference import TooLargeError, enumerate_dag, enumerate_rewards, normalize
from reference.problems import hard_core
from reference.problems.hard_core import HardCore

# A cycle of five with a chord and a vertex of its own.
GRAPH = HardCore(6, ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)), Fraction(3, 5))


@pytest.mark.catches(
    "A vertex may be occupied beside an occupied one.",
    "reference/problems/hard_core.py",
    "if not any(occupied >> u & 1 for u in self._neighbours[vertex]):",
    "if True:",
)
@pytest.mark.parametrize("problem", [GRAPH, HardCore.strip(2, 4, 1.5), HardCore.strip(7, 1)])
def test_z_and_occupations_are_those_of_all_independent_sets(problem: HardCore) -> None:
    sets = [
        x
        for x in product((0, 1), repeat=problem.vertices)
        if not any(x[u] and x[v] for u, v in problem.edges)
    ]
    weights = [problem.fugacity ** sum(x) for x in sets]
    assert problem.z() == sum(weights)
    for v, probability in enumerate(problem.occupation_probabilities()):
        assert probability == sum(w for x, w in zip(sets, weights, strict=True) if x[v]) / sum(
            weights
        )
    dag = enumerate_dag(problem)
    assert sorted(dag.labels[x].values for x in dag.terminals) == sets
    # Control: with another fugacity the law is another.
    assert problem.z() != HardCore(problem.vertices, problem.edges, Fraction(7)).z()


def test_z_is_that_of_both_orders() -> None:
    for order in ("any", "fixed"):
        problem = HardCore(4, ((0, 2), (2, 3)), Fraction(2, 3), order)
        rewards = enumerate_rewards(problem, enumerate_dag(problem))
        assert problem.z() == sum(rewards)
        assert sum(normalize(rewards)) == 1


def test_independent_sets_of_square_grids_are_as_many_as_published() -> None:
    # OEIS A006506.
    counts = [2, 7, 63, 1234, 55447, 5598861, 1280128950, 660647962955]
    assert [HardCore.strip(n, n).z() for n in range(1, 9)] == counts


def test_a_long_strip_has_the_z_of_the_transfer_matrix_of_its_rows() -> None:
    rows, columns, fugacity = 40, 5, Fraction(5, 4)
    states = [x for x in range(2**columns) if not x & x >> 1]
    weights = {x: fugacity ** x.bit_count() for x in states}
    total = weights
    for _ in range(rows - 1):
        total = {y: weights[y] * sum(total[x] for x in states if not x & y) for y in states}
    assert HardCore.strip(rows, columns, 1.25).z() == sum(total.values())
    # Its two ends are alike, and so are its sides.
    by_vertex = HardCore.strip(rows, columns, 1.25).occupation_probabilities()
    assert by_vertex == by_vertex[::-1]
    assert by_vertex[0] > by_vertex[1]


def test_a_strip_that_is_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_core, "MAX_ENTRIES", 100)
    # Numbers of Pell and Lucas.
    assert HardCore.strip(8, 2).z() == 1393
    with pytest.raises(TooLargeError, match="fewer columns than rows"):
        HardCore.strip(2, 8).z()
