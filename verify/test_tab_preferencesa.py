"""tab:preferencesa: the weights that are enumerated, and their likelihoods."""

import math
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from reference import enumerate_dag
from reference.problems import Preference
from reference.problems.preference import Weights


@pytest.mark.claim("tab:preferencesa")
def test_the_posterior_lives_on_a_box_of_d_dimensions(scope: Any) -> None:
    for dimension, bound in product((1, 2, 3), (1, 2)):
        dag = enumerate_dag(Preference.random(2, dimension, bound))
        weights = {dag.labels[x].components for x in dag.terminals}
        assert weights == set(product(range(-bound, bound + 1), repeat=dimension))
    problem = Preference.paper()
    assert (2 * problem.bound + 1) ** problem.dimension == 43_046_721
    scope("6 boxes enumerated, 9^8 counted")


@pytest.mark.claim("tab:preferencesa")
def test_the_reward_is_the_likelihood_of_the_comparisons(scope: Any) -> None:
    problem = Preference.random(3, 2, 2, seed=1)
    for w in product(range(-2, 3), repeat=2):
        scores = [sum(a * b for a, b in zip(w, x, strict=True)) for x in problem.differences]
        # Each sigmoid is rounded to 24 bits.
        likelihood = math.prod(1 / (1 + math.exp(-score)) for score in scores)
        assert float(problem.reward(Weights(w))) == pytest.approx(likelihood, rel=3.1 * 2.0**-24)
    scope("25 rewards")


@pytest.mark.claim("tab:preferencesa")
@pytest.mark.control("tab:preferencesa")
@pytest.mark.catches(
    "prefers the item of lower utility",
    "reference/problems/preference.py",
    "sign = 1 if",
    "sign = -1 if",
)
def test_the_weights_that_made_many_comparisons_are_the_likeliest() -> None:
    problem, stream = Preference.random(400, 3, 1, seed=5), Random(5)
    hidden = tuple(stream.randint(-1, 1) for _ in range(3))
    box = [*product(range(-1, 2), repeat=3)]
    posterior = {w: problem.reward(Weights(w)) for w in box}
    assert posterior[hidden] / sum(posterior.values()) > Fraction(9, 10)
    # Control: comparisons turned round have the opposite weights.
    turned = Preference(tuple(tuple(-x for x in row) for row in problem.differences), 1)
    opposite = tuple(-w for w in hidden)
    assert max(box, key=lambda w: turned.reward(Weights(w))) == opposite != hidden


@pytest.mark.control("tab:preferencesa")
def test_without_the_power_there_are_nine_weights_and_no_product_with_features() -> None:
    problem = Preference.paper()
    assert len(range(-problem.bound, problem.bound + 1)) == 9
    assert {len(x) for x in problem.differences} == {8}
    with pytest.raises(ValueError, match="argument"):
        # One component against eight features.
        sum(a * b for a, b in zip((4,), problem.differences[0], strict=True))
