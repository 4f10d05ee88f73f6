"""Preference learning: rewards by hand, the blockwise sum against enumeration, nested data."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from reference import BALL, enumerate_dag, enumerate_rewards, gamma
from reference.fields.balls import enclose, precision
from reference.problems import preference
from reference.problems.preference import Preference, Weights


def enumerated(problem: Preference) -> Fraction:
    """`Z`, exactly, from `reward` alone."""
    box = product(range(-problem.bound, problem.bound + 1), repeat=problem.dimension)
    return sum((problem.reward(Weights(w)) for w in box), Fraction(0))


def holds(problem: Preference, z: Fraction) -> bool:
    """Whether the enclosure of `log Z` contains `log z`, decided up to 10^-20."""
    with precision(128):
        lower, _ = enclose(BALL.convert(z).log())
    return problem.log_z().contains(lower)


def test_rewards_multiply_one_tabulated_factor_per_comparison() -> None:
    problem = Preference(((1, 0, -1), (1, 1, 0), (1, 0, -1), (-1, 0, 0)), bound=2)
    table = dict(zip(range(-6, 7), problem.likelihood, strict=True))
    assert problem.reward(Weights((2, -1, -2))) == table[4] ** 2 * table[1] * table[-2]
    assert problem.reward(Weights((0, 0, 0))) == Fraction(1, 16)
    assert all(Fraction(float(np.float32(float(p)))) == p for p in problem.likelihood)
    for score, p in table.items():
        assert float(p) == pytest.approx(1 / (1 + math.exp(-score)), rel=2.0**-23)


def test_the_order_decides_the_paths_and_not_the_target() -> None:
    fixed = Preference.random(6, 3, 1)
    either = replace(fixed, order="any")
    trees, graphs = enumerate_dag(fixed), enumerate_dag(either)
    assert graphs.trajectory_count == math.factorial(3) * trees.trajectory_count
    laws = [
        dict(zip((dag.labels[x] for x in dag.terminals), enumerate_rewards(p, dag), strict=True))
        for p, dag in ((fixed, trees), (either, graphs))
    ]
    assert laws[0] == laws[1]


def test_fewer_comparisons_are_a_prefix_of_more() -> None:
    longest = Preference.paper(150)
    for comparisons in (50, 100):
        assert Preference.paper(comparisons).differences == longest.differences[:comparisons]
    assert all(any(row) for row in longest.differences)
    assert Preference.random(150, seed=1) != longest


@pytest.mark.parametrize("block", [5, 25, 10_000])
@pytest.mark.parametrize(
    ("comparisons", "dimension", "bound"), [(1, 1, 2), (40, 2, 2), (25, 4, 2), (9, 6, 1)]
)
def test_log_z_encloses_the_enumerated_one(
    monkeypatch: pytest.MonkeyPatch, comparisons: int, dimension: int, bound: int, block: int
) -> None:
    monkeypatch.setattr(preference, "BLOCK", block)
    problem = Preference.random(comparisons, dimension, bound)
    z = enumerated(problem)
    assert holds(problem, z)
    assert problem.log_z().error < 1e-12
    # Control: a comparison that is turned round is seen.
    first, *others = problem.differences
    turned = Preference((tuple(-x for x in first), *others), bound)
    assert (enumerated(turned) != z) == (not holds(turned, z))
    # Control: so is a billionth of the sum.
    assert not holds(problem, z * (1 + Fraction(1, 10**9)))


def test_every_block_holds_the_rewards_of_its_points() -> None:
    problem = Preference.random(30, 5, 1, seed=3)
    blocks = problem._blocks
    assert (len(blocks.heads), blocks.terms) == (3, 81)
    scale = 2 ** len(problem.differences)
    for block, head in enumerate(blocks.heads.tolist()):
        for tail, weight in zip(blocks.tails.tolist(), blocks.weights(block).tolist(), strict=True):
            exact = problem.reward(Weights((*head, *tail))) * scale
            assert abs(Fraction(weight) - exact) <= Fraction(gamma(29)) * exact


@pytest.mark.parametrize(
    "problem",
    [
        # Repeated, opposite and empty differences.
        Preference(((1, -1, 0), (1, -1, 0), (-1, 1, 0), (0, 0, 0), (0, 0, -1), (0, 0, 1)), 2),
        # 500 comparisons for one item and 12 against: R falls to exp(-20,000), below all floats.
        Preference(((1,),) * 500 + ((-1,),) * 12, 43),
    ],
)
def test_unusual_comparisons_are_summed_like_any_others(problem: Preference) -> None:
    assert holds(problem, enumerated(problem))


def test_log_z_at_the_papers_size_is_a_product_where_comparisons_share_no_components() -> None:
    # Differences with two entries each, on separate components: Z is a product of four sums.
    pairs = ((1, -1), (1, 0), (0, 1), (1, -1), (-1, 0))
    rows = tuple((0,) * (2 * i) + pair + (0,) * (6 - 2 * i) for i in range(4) for pair in pairs)
    problem = Preference(rows, 4)
    factor = sum(
        math.prod(problem.likelihood[32 + a * x + b * y] for x, y in pairs)
        for a, b in product(range(-4, 5), repeat=2)
    )
    assert isinstance(factor, Fraction)
    assert holds(problem, factor**4)


def test_samples_follow_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preference, "BLOCK", 5)
    problem, count = Preference.random(4, 2, 2, seed=1), 40_000
    assert len(problem._blocks.heads) == 5
    counts = Counter(problem.sample(count, seed=0))
    box = [Weights(w) for w in product(range(-2, 3), repeat=2)]
    observed, rewards = [counts[w] for w in box], [problem.reward(w) for w in box]
    assert sum(observed) == count
    target = [float(count * r / sum(rewards)) for r in rewards]
    assert min(target) > 5
    assert chisquare(observed, target).pvalue > 0.001
    # Control: the test rejects the posterior without one of the comparisons, and the prior.
    fewer = Preference(problem.differences[1:], 2)
    posterior = [fewer.reward(w) for w in box]
    wrong = [float(count * r / sum(posterior)) for r in posterior]
    assert chisquare(observed, wrong).pvalue < 1e-6
    assert chisquare(observed).pvalue < 1e-6


def test_samples_of_many_blocks_have_the_marginals_of_their_sums() -> None:
    problem, count = Preference.random(150, 6, 4), 20_000
    blocks = problem._blocks
    samples = problem.sample(count, seed=0)
    assert blocks.heads.shape == (81, 2)
    law = blocks.totals / blocks.totals.sum()
    for component in range(2):
        observed = Counter(x.components[component] for x in samples)
        values = blocks.heads[:, component]
        expected = {w: count * law[values == w].sum() for w in range(-4, 5)}
        common = [w for w in expected if expected[w] > 5]
        cells = [[by[w] for w in common] for by in (observed, expected)]
        assert chisquare(*([*row, count - sum(row)] for row in cells)).pvalue > 1e-3
