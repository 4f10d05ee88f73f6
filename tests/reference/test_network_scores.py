"""Local scores and marginal likelihoods, against the laws that they are of, one row at a time."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_t

from reference.problems import HyperGPrior, StructureLearning, VariableSelection, ZellnerPrior
from reference.problems.dyadic_weights import dyadic_exponentials, dyadic_weights
from reference.problems.network_scores import bdeu_scores, bge_scores
from reference.problems.random_networks import GraphLaw, random_network
from reference.problems.regression_priors import residual_sums
from reference.problems.selections import Selection
from verify.lib.all_dags import families, is_acyclic

# Sums of some hundred terms of order one, in float64.
CLOSE = 1e-9


def normal_wishart(data: Any, alpha_mu: float, alpha_w: float, t: float) -> float:
    """The log marginal likelihood of Gaussian rows, by the predictive t law of each after those
    before it; `alpha_w` is that of these columns alone."""
    size = data.shape[1]
    kappa, nu, mean, scale = alpha_mu, alpha_w, np.zeros(size), t * np.eye(size)
    total = 0.0
    for row in data:
        df = nu - size + 1
        law = multivariate_t(mean, scale * (kappa + 1) / (kappa * df), df)
        total += float(law.logpdf(row))
        off = row - mean
        scale = scale + kappa / (kappa + 1) * np.outer(off, off)
        mean = mean + off / (kappa + 1)
        kappa, nu = kappa + 1, nu + 1
    return total


def every_family(nodes: int) -> Iterator[tuple[int, int, list[int]]]:
    """A node, a set of others as a bit mask, and as a list."""
    for v in range(nodes):
        for mask in families(nodes, v):
            yield v, mask, [u for u in range(nodes) if mask >> u & 1]


@pytest.mark.parametrize(("alpha_mu", "alpha_w"), [(1.0, None), (0.5, 9.0)])
def test_bge_is_the_ratio_of_marginal_likelihoods_row_by_row(alpha_mu: float, alpha_w: Any) -> None:
    data = np.random.default_rng(1).normal(size=(12, 4)) @ np.triu(np.ones((4, 4)))
    scores, n = bge_scores(data, 3, alpha_mu, alpha_w), 4
    whole = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (whole - n - 1) / (alpha_mu + 1)

    def of(members: list[int]) -> float:
        if not members:
            return 0.0
        return normal_wishart(data[:, members], alpha_mu, whole - n + len(members), t)

    for v, mask, parents in every_family(n):
        expected = of([*parents, v]) - of(parents)
        assert scores[v, mask] == pytest.approx(expected, rel=CLOSE)
    # Control: with another prior they are others.
    other = bge_scores(data, 3, 2 * alpha_mu, whole + 1)
    assert not np.allclose(other[~np.isnan(scores)], scores[~np.isnan(scores)], rtol=CLOSE)


def test_bdeu_is_the_product_of_predictions_row_by_row() -> None:
    levels, n, sample_size = (2, 3, 2), 3, 1.5
    codes = np.random.default_rng(2).integers(0, levels, size=(20, n))
    scores = bdeu_scores(codes, 2, sample_size)
    for v, mask, parents in every_family(n):
        each = sample_size / (math.prod(levels[u] for u in parents) * levels[v])
        seen: Counter[tuple[int, ...]] = Counter()
        expected = 0.0
        for row in codes.tolist():
            family = tuple(row[u] for u in parents)
            whole = sum(seen[*family, k] + each for k in range(levels[v]))
            expected += math.log((seen[*family, row[v]] + each) / whole)
            seen[*family, row[v]] += 1
        assert scores[v, mask] == pytest.approx(expected, rel=CLOSE)


def test_only_families_within_the_limit_are_scored() -> None:
    data = np.random.default_rng(3).normal(size=(9, 4))
    all_of, few = bge_scores(data, 3), bge_scores(data, 1)
    sizes = np.bitwise_count(np.arange(16))
    assert np.array_equal(np.isnan(few), np.isnan(all_of) | (sizes > 1))
    assert np.nanmax(abs(few - all_of)) == 0


def test_g_prior_is_the_marginal_likelihood_of_the_regression() -> None:
    rng = np.random.default_rng(4)
    rows, p, g = 15, 3, 7.0
    data = rng.normal(size=(rows, p)) @ np.triu(np.ones((p, p)))
    y = data[:, 0] + rng.normal(size=rows) + 3
    problem = VariableSelection.regression(data, y, prior=ZellnerPrior(g))
    # A flat intercept leaves the centred outcome; with `beta = N(0, g s (X'X)^-1)` and the prior
    # `1 / s` of the variance, the density of its direction is `|V|^-1/2 (y' V^-1 y)^(-(N-1)/2)`,
    # `V = 1 + g H` on the space that is orthogonal to the constant, H the projection on X.
    centred, target = data - data.mean(axis=0), y - y.mean()
    logs = []
    for mask in range(2**p):
        x = centred[:, [j for j in range(p) if mask >> j & 1]]
        v = np.eye(rows) + g * (x @ np.linalg.pinv(x))
        inverse = np.linalg.inv(v)
        log_det = np.linalg.slogdet(v)[1]
        logs.append(-log_det / 2 - (rows - 1) / 2 * math.log(target @ inverse @ target))
    rewards = [float(m * Fraction(2) ** e) for m, e in zip(problem.mantissas, problem.exponents)]  # noqa: B905
    expected = np.exp(np.array(logs) - max(logs))
    assert rewards == pytest.approx(expected.tolist(), rel=2.0**-23)
    assert problem.offset == pytest.approx(max(logs) - logs[0], rel=CLOSE)


@pytest.mark.catches(
    "The hyper-g factor of variables that explain nothing has the exponent of one more.",
    "reference/problems/regression_priors.py",
    "np.log(sizes + self.a - 2)",
    "np.log(sizes + self.a - 1)",
)
def test_hyper_g_is_the_mean_of_zellners_factor_over_the_law_of_g() -> None:
    a, rows = 3.5, 20
    data = np.random.default_rng(7).normal(size=(rows, 3))
    outcome = data[:, 0] + np.random.default_rng(8).normal(size=rows)
    sizes = np.array([0, 1, 1, 2, 3, 1, 1, 3])
    unexplained = np.array([1.0, 0.3, 0.999, 0.05, 0.6, 1 - 1e-11, 1.0, 1.0])
    logs = HyperGPrior(a).log_factors(rows, sizes, unexplained)
    # Where variables explain nothing, the mean of (1 + g)^(-k/2) is (a - 2) / (a - 2 + k).
    nothing = sizes[unexplained == 1]
    assert logs[unexplained == 1] == pytest.approx(np.log((a - 2) / (a - 2 + nothing)), rel=1e-14)
    # By the trapezoidal rule in log g, where the terms vanish at both ends.
    g = np.exp(np.arange(-40, 60, 0.05))
    density = 0.05 * g * (a - 2) / 2 * (1 + g) ** (-a / 2)
    for size, left, value in zip(sizes, unexplained, logs, strict=True):
        factor = (1 + g) ** ((rows - 1 - size) / 2) * (1 + g * left) ** (-(rows - 1) / 2)
        assert value == pytest.approx(math.log(float(factor @ density)), abs=1e-9)
    assert logs[0] == 0.0
    # Control: another law of g is another factor.
    assert abs(HyperGPrior(3.0).log_factors(rows, sizes, unexplained)[1] - logs[1]) > 1e-2
    problems = [
        VariableSelection.regression(data, outcome, prior=prior)
        for prior in (HyperGPrior(), ZellnerPrior())
    ]
    assert problems[0].inclusion_probabilities() != problems[1].inclusion_probabilities()


@pytest.mark.parametrize("apart", [1.0, 1e-6])
def test_residual_sums_of_squares_are_those_of_each_regression(apart: float) -> None:
    data = np.random.default_rng(5).normal(size=(20, 5))
    data[:, 1] = data[:, 0] + apart * data[:, 1]
    sums = residual_sums(data)
    for mask in range(16):
        x = data[:, [j for j in range(4) if mask >> j & 1]]
        rest = data[:, 4] - x @ np.linalg.lstsq(x, data[:, 4], rcond=None)[0]
        assert sums[mask] == pytest.approx(rest @ rest, rel=CLOSE)


def test_inclusion_probabilities_and_mode_are_those_enumerated() -> None:
    problem = VariableSelection.random(4, rows=25)
    rewards = {s: problem.reward(Selection(s, True)) for s in product((False, True), repeat=4)}
    for i, probability in enumerate(problem.inclusion_probabilities()):
        held = sum(reward for chosen, reward in rewards.items() if chosen[i])
        assert probability == held / problem.z()
    assert problem.reward(problem.mode()) == max(rewards.values()) == 1


def test_variables_that_matter_are_found_and_drawn_as_often() -> None:
    problem = VariableSelection.random(12, rows=400)
    chosen = [float(p) for p in problem.inclusion_probabilities()]
    # Those that matter, one in three, are found.
    assert min(chosen[::3]) > 0.9 > max(chosen[1::3])
    draws = problem.sample(4000, seed=0)
    for i, probability in enumerate(chosen):
        share = sum(x.chosen[i] for x in draws) / len(draws)
        assert abs(share - probability) <= 5 * math.sqrt(0.25 / len(draws))


def test_dyadic_weights_are_within_a_unit_whatever_their_size() -> None:
    logs = np.array([0.0, -1.0, 1.0, -5000.0, -0.5 * math.log(2), 3000.25])
    rounded = dyadic_exponentials(logs)
    for log, m, e in zip(logs, *map(np.ndarray.tolist, rounded), strict=True):
        assert 2**23 <= m < 2**24
        assert math.log(m) + e * math.log(2) == pytest.approx(log, abs=2.0**-23)
    (first, none, last), shift = dyadic_weights(np.array([0.0, -math.inf, -2000.0]))
    assert none == 0
    assert first == 2**shift
    assert last > 0


@pytest.mark.parametrize("graphs", ["erdos-renyi", "scale-free"])
def test_random_networks_are_acyclic_and_their_data_follow_them(graphs: GraphLaw) -> None:
    edges = []
    for seed in range(200):
        parents = random_network(6, 2, seed, graphs).parents
        assert is_acyclic(parents)
        edges.append(sum(mask.bit_count() for mask in parents))
    # Six edges, or five where the first node has nobody to follow.
    assert abs(np.mean(edges) - (6 if graphs == "erdos-renyi" else 5)) < 0.5
    one, two = (random_network(6, 2, 7, graphs) for _ in range(2))
    assert one.parents == two.parents
    assert np.array_equal(one.data, two.data)


def test_the_graph_of_much_data_is_found_up_to_its_equivalence_class() -> None:
    network = random_network(5, 3000, 1)
    problem = StructureLearning.gaussian(network.data)

    def skeleton(parents: tuple[int, ...]) -> set[frozenset[int]]:
        return {
            frozenset((u, v)) for v, mask in enumerate(parents) for u in range(5) if mask >> u & 1
        }

    assert skeleton(problem.mode().parents) == skeleton(network.parents)
    # Many observations, and still what float32 resolves.
    assert 0 <= problem.log_z().value < 20
    assert problem.offset < -10_000


def test_equivalent_graphs_have_equal_rewards() -> None:
    problem = StructureLearning.random(3, rows=50, seed=4)
    chain, fork, collider = (problem.initial._replace(parents=p, stopped=True) for p in (
        (0, 0b001, 0b010), (0b010, 0, 0b010), (0, 0b101, 0)))  # fmt: skip
    same = problem.reward(chain) / problem.reward(fork)
    assert float(same) == pytest.approx(1, rel=6 * 2.0**-24)
    assert not 0.999 < float(problem.reward(chain) / problem.reward(collider)) < 1.001
