"""The generators produce what they say, counted in ways that do not use them."""

from collections import defaultdict
from collections.abc import Callable
from itertools import product

import pytest

from reference import Additive, LiftedDAG, lift, pointed_dag
from verify.small_scope import isomorphism_classes, lifts, pointed_dags, set_partitions


@pytest.mark.parametrize(("nodes", "count"), [(2, 1), (3, 3), (4, 21), (5, 315)])
def test_naturally_labelled_dags_are_counted_by_a_product(nodes: int, count: int) -> None:
    assert len(list(pointed_dags(nodes))) == count


@pytest.mark.parametrize(
    # Labelled digraphs with one source without cycles: OEIS A003025. Classes: OEIS A350415.
    ("nodes", "labelled", "classes"),
    [(2, 2, 1), (3, 15, 3), (4, 316, 16), (5, 16_885, 164)],
)
def test_labellings_of_all_classes_add_up_to_the_labelled_count(
    nodes: int, labelled: int, classes: int
) -> None:
    found = isomorphism_classes(nodes)
    assert len(found) == classes
    assert sum(labellings for _, labellings in found) == labelled


@pytest.mark.parametrize(("nodes", "count"), [(2, 1), (3, 3), (4, 20), (5, 548)])
def test_lifts_of_all_classes_are_as_many_as_an_independent_count_found(
    nodes: int, count: int
) -> None:
    assert sum(len(list(lifts(dag))) for dag, _ in isomorphism_classes(nodes)) == count


@pytest.mark.parametrize(("size", "bell"), [(0, 1), (1, 1), (2, 2), (3, 5), (4, 15), (5, 52)])
def test_set_partitions_are_counted_by_bell_numbers(size: int, bell: int) -> None:
    found = [
        tuple(sorted(tuple(sorted(block)) for block in blocks))
        for blocks in set_partitions(range(size))
    ]
    assert len(found) == len(set(found)) == bell


def test_generated_dags_pass_the_validation_they_bypass() -> None:
    for nodes in (2, 3, 4, 5):
        for dag in pointed_dags(nodes):
            checked = pointed_dag({u: dag.children[u] for u in dag.labels}, initial=0)
            assert set(checked.labels) == set(dag.labels)


def merging(lifted: LiftedDAG[int]) -> frozenset[frozenset[tuple[int, ...]]]:
    """Which histories share a lifted state: the lift, without the names of its latents."""
    histories: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list, {0: [(0,)]})
    for u, v in lifted.dag.edges:
        histories[v] += [(*history, lifted.projection[v]) for history in histories[u]]
    return frozenset(map(frozenset, histories.values()))


def increment(arrival: dict[tuple[int, int], int]) -> Callable[[int, int], int]:
    """The phi whose `W + phi(s, W)` are the given arrivals."""
    return lambda state, latent: arrival[state, latent] - latent


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_the_lifts_are_exactly_those_of_all_maps_phi_on_three_latents(nodes: int) -> None:
    # With up to four nodes no state that is lifted has more than two histories.
    for dag in pointed_dags(nodes):
        inner = [v for v in range(1, nodes) if dag.children[v]]
        arguments = list(product(inner, range(3)))
        found = {
            merging(lift(dag, Additive(increment(dict(zip(arguments, values, strict=True))))))
            for values in product(range(3), repeat=len(arguments))
        }
        listed = [merging(lifted) for lifted in lifts(dag)]
        assert len(listed) == len(set(listed))
        assert found == set(listed)


def test_all_lifts_of_a_diamond() -> None:
    diamond = next(
        dag for dag in pointed_dags(5) if dag.edges == ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4))
    )
    assert sorted(len(lifted.dag.labels) for lifted in lifts(diamond)) == [5, 6]
