"""tab:preferencesa: the weights that are enumerated, and their likelihoods."""

import math
from itertools import product
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


@pytest.mark.control("tab:preferencesa")
def test_without_the_power_there_are_nine_weights_and_no_product_with_features() -> None:
    problem = Preference.paper()
    assert len(range(-problem.bound, problem.bound + 1)) == 9
    assert {len(x) for x in problem.differences} == {8}
    with pytest.raises(ValueError, match="argument"):
        # One component against eight features.
        sum(a * b for a, b in zip((4,), problem.differences[0], strict=True))
