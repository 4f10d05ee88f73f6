"""dag-sums: the sum over all DAGs by sinks, on all weights of small graphs, and beyond."""

import math
from functools import cached_property
from itertools import chain
from typing import Any

import pytest

from reference.problems.dag_sums import DagSums
from verify.lib.all_dags import (
    COUNTS,
    all_dags,
    by_layers,
    is_acyclic,
    ones,
    random_weights,
    units,
    weighted,
)
from verify.lib.scopes import Scope


@pytest.mark.claim("dag-sums")
def test_two_nodes_by_hand() -> None:
    # w_0 is 2 without and 5 with the parent 1; w_1 is 3 without and 7 with the parent 0.
    weights = ((2, 0, 5, 0), (3, 7, 0, 0))
    assert DagSums(weights).total == 2 * 3 + 5 * 3 + 2 * 7


@pytest.mark.claim("dag-sums")
def test_both_recursions_tell_every_choice_of_families_with_a_cycle(
    scope: Scope, pytestconfig: pytest.Config
) -> None:
    most = 4 + pytestconfig.getoption("exhaustive")
    choices = chain.from_iterable(map(units, range(1, most + 1)))
    text = f"all {{:,}} choices of families up to {most} nodes, hence all weights"
    for parents, weights in scope.over(choices, text):
        sums = DagSums(weights)
        assert sums.total == sums.above[0] == is_acyclic(parents)


@pytest.mark.claim("dag-sums")
def test_the_sum_is_that_over_all_graphs_with_five_nodes(scope: Any) -> None:
    weights = random_weights(5, seed=5)
    assert len(all_dags(5)) == COUNTS[4]
    assert DagSums(weights).total == sum(weight for _, weight in weighted(weights))
    scope("random weights of all 29,281 graphs with 5")


@pytest.mark.claim("dag-sums")
def test_beyond_the_sum_is_that_over_layers_and_the_known_number_of_graphs(scope: Any) -> None:
    for nodes in (6, 7, 8):
        sums = DagSums(random_weights(nodes, seed=nodes))
        assert sums.total == sums.above[0] == by_layers(random_weights(nodes, seed=nodes))
    assert tuple(DagSums(ones(nodes)).total for nodes in range(1, 8)) == COUNTS
    scope("another recursion up to 8, the number of graphs up to 7")


class Unsigned(DagSums):
    """Adds up all sets of sinks, as if a graph had one of them."""

    @cached_property
    def below(self) -> list[int]:
        """`A(S)` without signs."""
        sums = [1] + [0] * self.full
        for whole in range(1, self.full + 1):
            for sinks in range(1, whole + 1):
                if not sinks & ~whole:
                    rest = whole ^ sinks
                    rows = [self.within[v] for v in range(self.nodes) if sinks >> v & 1]
                    sums[whole] += sums[rest] * math.prod(row[rest] for row in rows)
        return sums


@pytest.mark.control("dag-sums")
def test_without_signs_graphs_with_several_sinks_are_counted_again() -> None:
    assert [Unsigned(ones(nodes)).total for nodes in (1, 2)] == [1, 5]
    assert DagSums(ones(2)).total == 3


@pytest.mark.control("dag-sums")
def test_one_weight_changed_by_one_is_seen_by_both_recursions() -> None:
    weights = random_weights(7, seed=7)
    row = (*weights[2][:9], weights[2][9] + 1, *weights[2][10:])
    other = (*weights[:2], row, *weights[3:])
    assert DagSums(weights).total < DagSums(other).total == by_layers(other)
