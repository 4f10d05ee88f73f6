"""gnn_layer: layers of sets and of multisets against stable colours, on all small graphs."""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, combinations, permutations, product
from typing import Any

import pytest

from reference.problems.graphs import Graph, graph
from verify.lib.forks import all_graphs, same_partition
from verify.lib.gnn import refine
from verify.lib.scopes import Scope

Colours = tuple[Hashable, ...]
Layer = Callable[[Hashable, list[Any]], Hashable]


def of_set(own: Hashable, near: list[Any]) -> Hashable:
    """As printed; the name of a node stands for an injective `mu` and `zeta`."""
    return frozenset(near)


def of_multiset(own: Hashable, near: list[Any]) -> Hashable:
    return tuple(sorted(near))


def of_multiset_and_self(own: Hashable, near: list[Any]) -> Hashable:
    return own, tuple(sorted(near))


def stacked(
    layer: Layer, depth: int, graphs: Sequence[Graph], colours: Sequence[Sequence[int]]
) -> list[list[int]]:
    """The finest output of a stack of layers: equal numbers are equal features, in all graphs."""
    current = [list(row) for row in colours]
    for _ in range(depth):
        numbers: dict[Hashable, int] = {}
        current = [
            [
                numbers.setdefault(layer(row[v], [row[w] for w in neighbours(g, v)]), len(numbers))
                for v in range(len(row))
            ]
            for g, row in zip(graphs, current, strict=True)
        ]
    return current


def neighbours(g: Graph, node: int) -> list[int]:
    return [u + w - node for u, w in g.edges if node in (u, w)]


def featured_graphs(max_nodes: int) -> Iterator[tuple[Graph, tuple[int, ...]]]:
    for n in range(1, max_nodes + 1):
        yield from product(chain(*all_graphs(n)), product((0, 1), repeat=n))


PATH = graph([(0, 1), (1, 2)])


@pytest.mark.catches(
    "Only the smaller end of an edge sees the other: the adjacency is not symmetric.",
    "verify/lib/gnn.py",
    "[u + w - v for u, w in g.edges if v in (u, w)]",
    "[w for u, w in g.edges if v == u]",
)
@pytest.mark.claim("gnn_layer")
def test_multiset_layers_see_the_middle_of_a_path_by_hand() -> None:
    # One layer sees degrees 1, 2, 1; two see that the ends have a neighbour of degree 2.
    for depth in (1, 2, 3):
        ((a, b, c),) = stacked(of_multiset_and_self, depth, [PATH], [(0, 0, 0)])
        assert a == c != b
    assert refine([PATH], [(0, 0, 0)]) == ((0, 1, 0),)


@pytest.mark.catches(
    "A round of 1-WL sees the set of the neighbours' colours, not how often each occurs.",
    "verify/lib/gnn.py",
    "tuple(sorted(row[w] for w in near))",
    "tuple(sorted({row[w] for w in near}))",
)
@pytest.mark.claim("gnn_layer")
def test_layers_of_multiset_and_self_compute_the_stable_colours(scope: Scope) -> None:
    """Also a sum of powers, `mu` a sum and `zeta(x) = n^x`, the node added: degrees are below n."""
    for g, features in scope.over(
        featured_graphs(4),
        "all {:,} graphs up to 4 nodes with features 0 and 1; also an explicit sum layer",
    ):
        n = len(features)

        def powers(own: Any, near: list[Any], n: int = n) -> Hashable:
            return int(own + n * sum(n**x for x in near))

        # Features are below n >= 2; on one node there is nothing to tell apart.
        for layer in (of_multiset_and_self, powers):
            (row,) = stacked(layer, n, [g], [features])
            assert same_partition(row, *refine([g], [features]))


@pytest.mark.claim("gnn_layer")
def test_without_features_the_node_may_be_left_out_and_sets_see_only_which_are_isolated(
    scope: Scope,
) -> None:
    graphs = ((n, g) for n in range(1, 6) for g in chain(*all_graphs(n)))
    for n, g in scope.over(graphs, "all {:,} graphs up to 5 nodes without features"):
        (row,) = stacked(of_multiset, n, [g], [(0,) * n])
        assert same_partition(row, *refine([g], [(0,) * n]))
        isolated = [not neighbours(g, v) for v in range(n)]
        for depth in range(1, n + 1):
            (row,) = stacked(of_set, depth, [g], [(0,) * n])
            assert same_partition(row, isolated)


def isomorphic_neighbourhoods(g: Graph, colours: Colours, u: int, v: int) -> bool:
    """True if some bijection of neighbours keeps their features and the edges among them."""
    left, right = neighbours(g, u), neighbours(g, v)
    return len(left) == len(right) and any(
        all(colours[a] == colours[b] for a, b in zip(left, image, strict=True))
        and all(
            ((min(a, c), max(a, c)) in g.edges) == ((min(b, d), max(b, d)) in g.edges)
            for (a, b), (c, d) in combinations(zip(left, image, strict=True), 2)
        )
        for image in permutations(right)
    )


@pytest.mark.claim("gnn_layer")
def test_a_layer_never_tells_isomorphic_neighbourhoods_apart() -> None:
    alike = 0
    for g, features in featured_graphs(4):
        for layer in (of_set, of_multiset, of_multiset_and_self):
            (row,) = stacked(layer, 1, [g], [features])
            for u, v in combinations(range(len(features)), 2):
                if features[u] == features[v] and isomorphic_neighbourhoods(g, features, u, v):
                    assert row[u] == row[v]
                    alike += 1
    assert alike > 1000
    # Nor edges between them: of a corner of a triangle, and of the middle of a path.
    triangle = graph([(0, 1), (1, 2), (0, 2)])
    corner, middle = stacked(of_multiset_and_self, 1, [triangle, PATH], [(0,) * 3] * 2)
    assert corner[1] == middle[1]


def unfolding(g: Graph, colours: tuple[int, ...], node: int, depth: int) -> tuple[object, ...]:
    """The tree of walks of length `depth` from a node, in a canonical order."""
    if depth == 0:
        return (colours[node],)
    below = sorted((unfolding(g, colours, w, depth - 1) for w in neighbours(g, node)), key=repr)
    return (colours[node], *below)


@pytest.mark.claim("gnn_layer")
def test_stable_colours_are_the_classes_of_unfolding_trees() -> None:
    # r rounds compare trees of depth r, and on 8 nodes in all at most 7 rounds split a class.
    rng = random.Random(0)
    pairs = list(combinations(range(4), 2))
    for _ in range(20):
        graphs = [graph(rng.sample(pairs, rng.randint(0, 5))) for _ in range(2)]
        colours = [tuple(rng.randint(0, 1) for _ in range(4)) for _ in range(2)]
        trees = [
            unfolding(g, row, v, 7)
            for g, row in zip(graphs, colours, strict=True)
            for v in range(4)
        ]
        assert same_partition(chain(*refine(graphs, colours)), trees)


@pytest.mark.claim("gnn_layer")
def test_refinement_sees_degrees_but_not_cycles() -> None:
    hexagon = graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
    triangles = graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    cycle, pair, chain = refine([hexagon, triangles, PATH], [(0,) * 6, (0,) * 6, (0,) * 3])
    assert len({*cycle, *pair}) == 1
    assert chain[0] == chain[2]
    assert len({*chain, *cycle}) == 3
    assert refine([graph([])], [(0, 0, 1)]) == ((0, 0, 1),)


@pytest.mark.control("gnn_layer")
def test_of_a_set_degrees_one_and_two_look_alike() -> None:
    for depth in range(1, 9):
        assert stacked(of_set, depth, [PATH], [(0, 0, 0)]) == [[0, 0, 0]]
    # Fewer nodes do not do: there, all nodes that are not isolated are alike indeed.
    for n in (1, 2):
        for g in chain(*all_graphs(n)):
            (row,) = stacked(of_set, n, [g], [(0,) * n])
            assert same_partition(row, *refine([g], [(0,) * n]))


@pytest.mark.control("gnn_layer")
def test_without_the_node_itself_isolated_nodes_lose_their_features() -> None:
    empty = graph([])
    assert stacked(of_multiset, 1, [empty], [(0, 1)]) == [[0, 0]]
    assert refine([empty], [(0, 1)]) == ((0, 1),)


@pytest.mark.control("gnn_layer")
def test_neighbourhoods_that_are_isomorphic_but_for_features_are_told_apart() -> None:
    ((a, _, b, _),) = stacked(of_multiset_and_self, 1, [graph([(0, 1), (2, 3)])], [(0, 0, 0, 1)])
    assert a != b
