"""A Markovian network fitted to a path-dependent policy, against the exact Markov projection."""

import jax.numpy as jnp
import numpy as np
import pytest

from fast.measure.exact_policy import exact_policy
from fast.measure.laws import exact_law
from fast.measure.projection import fit_projection
from fast.policies.policy import Policy
from fast.training.optimiser import OptimiserOptions
from reference import marginal
from reference.metrics import total_variation
from verify.crosscheck.instances import make_instance, random_policy

INSTANCE = make_instance("synthetic, prepend-append")


def fitted(policy: Policy, steps: int, learning_rate: float = 1e-2) -> Policy:
    plain = random_policy(INSTANCE.environment, seed=1, dynamics="markov")
    return fit_projection(
        policy,
        plain,
        INSTANCE.environment,
        optimiser=OptimiserOptions(steps=steps, learning_rate=learning_rate),
        batch=128,
        seed=0,
    )


@pytest.mark.crosscheck("fast.measure.projection.fit_projection")
def test_it_comes_to_the_terminal_law_of_the_policy() -> None:
    policy = random_policy(INSTANCE.environment, dynamics="srwm")
    _, exact = exact_policy(policy, INSTANCE.enumeration, 100_000)
    p_t = [float(p) for p in marginal(exact)]

    def distance(steps: int, learning_rate: float = 1e-2) -> float:
        law = exact_law(fitted(policy, steps, learning_rate), INSTANCE.enumeration, float64=True)
        return float(total_variation(law.probabilities.tolist(), p_t))

    # 128 samples a step, of which the last ones count: noise of about a hundredth is left.
    assert distance(600) < 0.02
    assert distance(1) > 0.2


def test_it_leaves_the_policy_as_it_is() -> None:
    policy = random_policy(INSTANCE.environment, dynamics="srwm")
    before = exact_law(policy, INSTANCE.enumeration, float64=True).probabilities
    fitted(policy, 3)
    after = exact_law(policy, INSTANCE.enumeration, float64=True).probabilities
    assert np.array_equal(before, after)
    assert not jnp.allclose(jnp.asarray(before), 1 / len(before))
