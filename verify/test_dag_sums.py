"""dag-sums, dag-marginals: sums over all DAGs by sinks; from them edges, ancestors and layers."""

import math
from functools import cached_property
from itertools import chain
from typing import Any

import pytest

from reference.posterior.dag_sums import DagSums
from verify.lib.all_dags import (
    COUNTS,
    all_dags,
    by_layers,
    enumerated,
    has_edge,
    has_path,
    is_acyclic,
    ones,
    random_weights,
    units,
    weighted,
    without_edge,
)
from verify.lib.scopes import Scope


@pytest.mark.catches(
    "Counts graphs with several sinks again for each set of them.",
    "reference/posterior/dag_sums.py",
    "sums[place] -= term",
    "sums[place] += abs(term)",
)
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


@pytest.mark.claim("dag-marginals")
def test_ancestors_of_every_choice_of_families(scope: Any) -> None:
    for nodes in range(1, 5):
        pairs = [(u, v) for u in range(nodes) for v in range(nodes)]
        for parents, weights in units(nodes):
            ancestors = DagSums(weights).ancestors
            # In a graph with a cycle there is nothing to be found, nor an end to looking for it.
            acyclic = is_acyclic(parents)
            assert all(ancestors[u][v] == (acyclic and has_path(parents, u, v)) for u, v in pairs)
    scope("ancestors for all weights up to 4 nodes")


@pytest.mark.catches(
    "Gives an edge all graphs in which it might be.",
    "reference/posterior/dag_sums.py",
    "derivative * (here - self.within[v][placed ^ 1 << u])",
    "derivative * here",
)
@pytest.mark.claim("dag-marginals")
def test_edges_and_ancestors_are_those_enumerated(scope: Any) -> None:
    for nodes in (2, 3, 4, 5):
        weights = random_weights(nodes, seed=nodes, least=nodes % 2)
        sums = DagSums(weights)
        assert sums.edges == enumerated(weights, has_edge)
        assert sums.ancestors == enumerated(weights, has_path)
    scope("edges and ancestors on random weights, enumerated up to 5")


@pytest.mark.claim("dag-marginals")
def test_beyond_enumeration_edges_are_what_another_recursion_loses_without_them(scope: Any) -> None:
    for nodes in (6, 7):
        weights = random_weights(nodes, seed=nodes)
        sums = DagSums(weights)
        for u, v in ((0, 1), (nodes - 1, 2), (3, nodes - 2)):
            assert sums.edges[u][v] == sums.total - by_layers(without_edge(weights, u, v))
        for u in range(nodes):
            assert sums.ancestors[u][u] == sums.total
            for v in range(nodes):
                assert sums.edges[u][v] <= sums.ancestors[u][v] <= sums.total
    scope("edges against another recursion with 6 and 7")


@pytest.mark.claim("dag-marginals")
def test_what_may_follow_is_shared_among_the_next_layers(scope: Any) -> None:
    for nodes in (3, 4, 5):
        sums = DagSums(random_weights(nodes, seed=nodes))
        full = 2**nodes - 1
        for placed in range(full):
            for last in range(1, placed + 1) if placed else (0,):
                if last & ~placed:
                    continue
                ways = sum(
                    sums.after(placed | layer, layer)
                    * math.prod(
                        sums.attached(v, placed, last) for v in range(nodes) if layer >> v & 1
                    )
                    for layer in range(1, full + 1)
                    if not layer & placed
                )
                assert ways == (sums.after(placed, last) if placed else sums.total)
    scope("all pairs of placed nodes and last layer up to 5")


@pytest.mark.control("dag-marginals")
def test_families_by_themselves_have_other_edges() -> None:
    # Of two nodes, each edge is in one of three graphs, but in half of the families.
    sums = DagSums(ones(2))
    assert (sums.edges[0][1], sums.total) == (1, 3)
    assert sum(DagSums(ones(2)).weights[1]) == 2


@pytest.mark.control("dag-marginals")
def test_what_follows_without_a_parent_in_the_last_layer_is_too_much() -> None:
    weights = random_weights(3, seed=1)
    sums, u = DagSums(weights), 1 << 0
    # All that node 0 reaches may be any set with it, whose complement is U.
    terms = [(x, sums.below[x] * sums.within[0][x]) for x in range(sums.full) if not x & u]
    assert sum(term * sums.after(x | u, u) for x, term in terms) == sums.total
    assert sum(term * sums.above[x | u] for x, term in terms) > sums.total
    assert sums.total == sum(weight for _, weight in weighted(weights))
