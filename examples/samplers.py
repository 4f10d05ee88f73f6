"""Tests of samplers: each with a right one, and with a wrong one that is refused.

`assert_law` draws until the law is shown or refuted, and no seed is fixed: a right sampler is
refused with a probability of at most 1e-9. Run it with

    pytest examples/samplers.py
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any

import networkx
import numpy as np
import pytest

import pdai
from pdai.testing import assert_law

rng = np.random.default_rng()


def times(draw: Callable[[], Any]) -> Callable[[int], list[Any]]:
    """Many draws of a sampler that gives one."""
    return lambda count: [draw() for _ in range(count)]


# Permutations.


def shuffled() -> tuple[int, ...]:
    """A permutation by Python's shuffle."""
    items = [0, 1, 2, 3]
    random.shuffle(items)
    return tuple(items)


def swapped_with_any() -> tuple[int, ...]:
    """The usual mistake: each item changes places with any other, not with a later one."""
    items = [0, 1, 2, 3]
    for i in range(4):
        j = random.randrange(4)
        items[i], items[j] = items[j], items[i]
    return tuple(items)


def test_shuffle() -> None:
    """All orders are equally likely."""
    orders = [*permutations(range(4))]
    assert_law(times(shuffled), "uniform", support=orders, within=0.1)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(times(swapped_with_any), "uniform", support=orders, within=0.01)


# Counts.

CHANCES = (0.2, 0.3, 0.5)


def without_renewal(count: int) -> list[tuple[int, ...]]:
    """One binomial after the other, with chances that are not divided by what is left."""
    first = rng.binomial(5, 0.2, count)
    second = rng.binomial(5 - first, 0.3)
    return [*zip(first.tolist(), second.tolist(), (5 - first - second).tolist(), strict=True)]


def test_multinomial() -> None:
    """Counts of five draws."""
    law = {
        counts: math.factorial(5)
        * math.prod(p**k / math.factorial(k) for p, k in zip(CHANCES, counts, strict=True))
        for counts in product(range(6), repeat=3)
        if sum(counts) == 5
    }
    assert_law(lambda count: [*map(tuple, rng.multinomial(5, CHANCES, count).tolist())], law)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(without_renewal, law)


# Spanning trees.

Tree = frozenset[tuple[int, int]]
# A grid of two rows with three nodes each.
EDGES = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
NEIGHBOURS = {node: [sum(edge) - node for edge in EDGES if node in edge] for node in range(6)}


def is_tree(edges: tuple[tuple[int, int], ...]) -> bool:
    """True if five edges join all six nodes."""
    joined = {0}
    for _ in edges:
        joined |= {node for edge in edges if joined & {*edge} for node in edge}
    return len(joined) == 6


def wilson() -> Tree:
    """A tree of paths, each a random walk to the tree without its loops (Wilson, 1996)."""
    after, inside = dict[int, int](), {0}
    for start in NEIGHBOURS:
        node = start
        while node not in inside:
            after[node] = random.choice(NEIGHBOURS[node])
            node = after[node]
        node = start
        while node not in inside:
            inside.add(node)
            node = after[node]
    return frozenset((min(edge), max(edge)) for edge in after.items())


def depth_first() -> Tree:
    """A walk to new nodes alone, back where there is none: its trees have long paths."""
    path, tree, seen = [0], set[tuple[int, int]](), {0}
    while path:
        node = path[-1]
        new = [other for other in NEIGHBOURS[node] if other not in seen]
        if not new:
            path.pop()
            continue
        other = random.choice(new)
        tree.add((min(node, other), max(node, other)))
        seen.add(other)
        path.append(other)
    return frozenset(tree)


def by_networkx() -> Tree:
    """A tree by `networkx.random_spanning_tree`."""
    tree = networkx.random_spanning_tree(networkx.Graph(EDGES))
    return frozenset((min(edge), max(edge)) for edge in tree.edges)


def least_weights() -> Tree:
    """The tree of least weight, of random weights: some trees are the least more often."""
    graph = networkx.Graph()
    graph.add_weighted_edges_from((*edge, random.random()) for edge in EDGES)
    tree = networkx.minimum_spanning_tree(graph)
    return frozenset((min(edge), max(edge)) for edge in tree.edges)


TREES = [frozenset(edges) for edges in combinations(EDGES, 5) if is_tree(edges)]


def test_spanning_trees() -> None:
    """All 15 trees are equally likely."""
    assert len(TREES) == 15
    assert_law(times(wilson), "uniform", support=TREES, within=0.1)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(times(depth_first), "uniform", support=TREES, within=0.1)


def test_spanning_trees_of_networkx() -> None:
    """Its trees take milliseconds each, so that fewer are drawn; the wrong law is 0.046 away."""
    assert_law(times(by_networkx), "uniform", support=TREES, within=0.3)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(times(least_weights), "uniform", support=TREES, within=0.02)


# Speculative decoding: a large model's token, proposed by a small model.

LARGE, SMALL = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.3, 0.3, 0.3, 0.1])


def decoded(count: int, otherwise: Any) -> Any:
    """Tokens of the small model, kept with the chance `large / small`, else drawn otherwise."""
    tokens = rng.choice(4, count, p=SMALL)
    kept = rng.random(count) < (LARGE / SMALL)[tokens]
    return np.where(kept, tokens, rng.choice(4, count, p=otherwise))


def test_speculative_decoding() -> None:
    """Tokens that are not kept come from the mass that the small model lacks."""
    lacking = np.maximum(LARGE - SMALL, 0)
    law = dict(enumerate(LARGE.tolist()))
    assert_law(lambda count: decoded(count, lacking / lacking.sum()), law)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(lambda count: decoded(count, LARGE), law)


# A constraint solver, for `0 <= y <= x < 52`.

LEGAL = [(x, y) for x in range(52) for y in range(x + 1)]


def by_rejection(count: int) -> list[tuple[int, int]]:
    """Pairs drawn until they are legal."""
    kept: list[tuple[int, int]] = []
    while len(kept) < count:
        pairs = rng.integers(0, 52, (count, 2))
        kept += map(tuple, pairs[pairs[:, 1] <= pairs[:, 0]].tolist())
    return kept[:count]


def one_after_the_other(count: int) -> list[tuple[int, int]]:
    """First x, then y below it: (0, 0) is 52 times as likely as (51, 0)."""
    x = rng.integers(0, 52, count)
    return [*zip(x.tolist(), rng.integers(0, x + 1).tolist(), strict=True)]


def test_constraint_solver() -> None:
    """All 1,378 solutions are equally likely."""
    assert_law(by_rejection, "uniform", support=LEGAL, within=0.1)
    with pytest.raises(AssertionError, match="another law"):
        assert_law(one_after_the_other, "uniform", support=LEGAL)


# A histogram: legal values of a constraint, and how often a solver gave each, as in Verilator's
# issue 8024, whose values are spread 52-fold. Its counts are not printed there; these are built.

VALUES = range(15_625)
# Seven of them are 52 times as likely as the others: TV is 0.022.
SPREAD = np.where(np.arange(len(VALUES)) < 7, 52.0, 1.0)


def histogram(weights: Any, count: int = 100_000) -> Counter[int]:
    """A sample as a histogram; in a file it has the columns `terminal` and `count`."""
    counts = rng.multinomial(count, weights / weights.sum())
    return Counter(dict(zip(VALUES, counts.tolist(), strict=True)))


def test_histogram() -> None:
    """The order of the draws is not needed."""
    fair = pdai.certify(histogram(np.ones(len(VALUES))), law="uniform", support=VALUES)
    assert fair.interval.low == 0
    assert fair.interval.high < 0.1
    unfair = pdai.certify(histogram(SPREAD), law="uniform", support=VALUES)
    assert 0.015 < unfair.interval.low < 0.0223 < unfair.interval.high
    assert "values that stand out in one half, of 15,626" in unfair.report
