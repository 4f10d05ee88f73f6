"""Fits by likelihood: a Markovian network to a policy, and a backward policy to its reversal."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

from fast.balance.steps import evaluate
from fast.laws.enumeration import Enumeration
from fast.laws.exact_policy import exact_policy
from fast.laws.likelihood import fit_likelihood, log_likelihood, tightened
from fast.laws.terminal_law import exact_law
from fast.laws.walk import base_log_p_b
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.options import OptimiserOptions
from reference import marginal, path_sums
from reference.metrics import total_variation
from verify.crosscheck.instances import make_instance, random_policy

INSTANCE = make_instance("synthetic, prepend-append")


def fitted(source: Policy | Enumeration, steps: int, learning_rate: float = 1e-2) -> Policy:
    return fit_likelihood(
        source,
        random_policy(INSTANCE.environment, seed=1, dynamics="markov"),
        INSTANCE.environment,
        optimiser=OptimiserOptions(steps=steps, learning_rate=learning_rate),
        batch=128,
        seed=0,
    )


@pytest.mark.catches(
    "exact draws of the target are uniform",
    "fast/laws/likelihood.py",
    "np.exp(target.log_rewards - target.log_z)",
    "np.ones(len(target.rewards))",
)
@pytest.mark.crosscheck("fast.laws.likelihood.fit_likelihood")
def test_it_comes_to_the_terminal_law_of_the_policy_and_to_the_target() -> None:
    policy = random_policy(INSTANCE.environment, dynamics="srwm")
    _, exact = exact_policy(policy, INSTANCE.enumeration, 100_000)
    p_t = [float(p) for p in marginal(exact)]
    total = sum(INSTANCE.enumeration.rewards)
    target = [float(reward / total) for reward in INSTANCE.enumeration.rewards]

    def distance(source: Policy | Enumeration, p: list[float], steps: int) -> float:
        law = exact_law(fitted(source, steps), INSTANCE.enumeration, float64=True)
        return float(total_variation(law.probabilities.tolist(), p))

    for source, p, first in ((policy, p_t, 0.2), (INSTANCE.enumeration, target, 0.1)):
        # 128 samples a step, of which the last ones count: noise of about a hundredth is left.
        assert distance(source, p, 600) < 0.02
        assert distance(source, p, 1) > first


@dataclass(frozen=True)
class Descent(OptimiserOptions):
    """Plain descent, whose step shows the scale of a gradient."""

    def for_network(self, steps: Any = None) -> optax.GradientTransformation:
        """Without Adam, which forgets the scale."""
        return optax.sgd(self.learning_rate)


def test_a_step_is_that_of_the_mean_log_likelihood_and_leaves_the_policy_as_it_is() -> None:
    environment = INSTANCE.environment
    policy, plain = (random_policy(environment, seed, dynamics="markov") for seed in (0, 1))
    rule = Descent(steps=1, learning_rate=1.0)
    moved = fit_likelihood(policy, plain, environment, optimiser=rule, batch=8, seed=0)

    @eqx.filter_jit
    def expected(policy: Policy, plain: Policy) -> Policy:
        draws = uniforms(jax.random.fold_in(jax.random.key(0), 0), environment, 8)
        drawn, _ = sample_trajectories(policy, environment, draws)

        def likelihood(plain: Policy) -> jax.Array:
            return evaluate(plain, environment, drawn).log_p_f.sum() / 8

        moved: Policy = eqx.apply_updates(plain, eqx.filter_grad(likelihood)(plain))
        return moved

    for ours, theirs in zip(*map(jax.tree.leaves, (moved, expected(policy, plain))), strict=True):
        assert np.asarray(ours) == pytest.approx(np.asarray(theirs), abs=1e-5)
    assert eqx.tree_equal(policy, random_policy(environment, dynamics="markov"))
    assert not eqx.tree_equal(moved, plain)


@pytest.mark.long
@pytest.mark.crosscheck("fast.laws.likelihood.tightened", "fast.laws.likelihood.log_likelihood")
def test_the_learned_backward_policy_is_nearly_the_reversal() -> None:
    """The backward rows of a Markovian sampler are `u(s) p_F(s'|s) / u(s')`; `p_F` stays."""
    instance = make_instance("grid")
    policy = random_policy(instance.environment, dynamics="markov")
    learned = tightened(policy, instance.environment, 150, seed=0)
    assert eqx.tree_equal(learned.network, policy.network)
    _, forward = exact_policy(policy, instance.enumeration, 10_000)
    visits = path_sums(forward)
    dag = forward.dag
    reversal = [
        visits[u] * p / visits[v] for (u, v), p in zip(dag.edges, forward.values, strict=True)
    ]
    p_b = np.exp(base_log_p_b(learned, instance.enumeration, float64=True))
    often = np.array([float(visits[v]) for _, v in dag.edges]) > 0.05
    assert p_b[often] == pytest.approx(np.array(reversal, float)[often], abs=0.1)
    uniform = np.exp(base_log_p_b(policy, instance.enumeration, float64=True))
    assert np.abs(uniform - np.array(reversal, float))[often].max() > 0.2

    draws = uniforms(jax.random.key(1), instance.environment, 50)

    @eqx.filter_jit
    def both(learned: Any, environment: Any, draws: Any) -> Any:
        drawn, _ = sample_trajectories(learned, environment, draws)
        expected = evaluate(learned, environment, drawn).log_p_b.sum(-1)
        return log_likelihood(learned.backward, environment, drawn), expected

    own, expected = both(learned, instance.environment, draws)
    assert np.asarray(own) == pytest.approx(np.asarray(expected), abs=1e-5)
