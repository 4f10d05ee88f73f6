"""Sampled trajectories against the reference: probabilities, losses and frequencies."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from fast.bridge import decode_all, exact_policy
from fast.laws import sample_terminals
from fast.losses import log_ratio, log_variance, tb
from fast.policies import Policy
from fast.rollout import Exploration, Trajectories, sample_trajectories, uniforms
from fast.steps import Steps, evaluate
from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    LiftedDAG,
    Trajectory,
    log_tb_residuals,
    marginal,
)
from verify.crosscheck.instances import PROBLEMS, Instance, make_instance, random_policy
from verify.scopes import crossed

# float32 soft-max and sums of up to seven log-probabilities of size up to about 30.
TOLERANCE = 2e-4

# A goodness-of-fit test rejects a right sampler with this probability, and no more often.
ERROR_PROBABILITY = 1e-6


class Sampled(NamedTuple):
    """A random policy as network and as exact object, and trajectories of it."""

    instance: Instance
    policy: Policy
    lifted: LiftedDAG[Any]
    exact: ForwardPolicy[Any]
    drawn: Trajectories
    on_the_way: Any
    steps: Steps
    trajectories: list[Trajectory]


@eqx.filter_jit
def draw(
    policy: Policy, environment: Any, batch: int, epsilon: float, seed: int
) -> tuple[Trajectories, Any, Steps]:
    """A batch of trajectories, `log p_F` on the way, and their terms evaluated afterwards."""
    draws = uniforms(jax.random.key(seed), environment, batch)
    drawn, log_p_f = sample_trajectories(policy, environment, draws, Exploration(epsilon))
    return drawn, log_p_f, evaluate(policy, environment, drawn)


@pytest.fixture(
    params=crossed(PROBLEMS, ("srwm", "markov")),
    ids=lambda param: f"{param[0]}, {param[1]}",
    scope="module",
)
def sampled(request: pytest.FixtureRequest) -> Sampled:
    name, dynamics = request.param
    instance = make_instance(name)
    policy = random_policy(instance.environment, dynamics=dynamics)
    lifted, exact = exact_policy(policy, instance.enumeration, 100_000)
    drawn, on_the_way, steps = draw(policy, instance.environment, 64, 0.3, 2)
    trajectories = _on_the_lift(instance, lifted, drawn)
    return Sampled(instance, policy, lifted, exact, drawn, on_the_way, steps, trajectories)


def _on_the_lift(
    instance: Instance, lifted: LiftedDAG[Any], drawn: Trajectories
) -> list[Trajectory]:
    """The sampled actions, followed on the reference's lifted DAG."""
    found = []
    actions, active = np.asarray(drawn.actions), np.asarray(drawn.active)
    for row in range(len(actions)):
        node, path = 0, []
        for action in actions[row, active[row]]:
            base_edge = instance.enumeration.edge[lifted.projection[node], action]
            edge = next(e for e in lifted.dag.out_edges[node] if lifted.base_edge[e] == base_edge)
            path.append(edge)
            node = lifted.dag.edges[edge][1]
        found.append(tuple(path))
    return found


def test_sampled_trajectories_are_complete_and_end_where_the_environment_says(
    sampled: Sampled,
) -> None:
    dag = sampled.lifted.dag
    ends = [dag.labels[dag.end(tau)] for tau in sampled.trajectories]
    assert ends == decode_all(sampled.instance.environment, sampled.drawn.final)
    assert all(not dag.children[dag.end(tau)] for tau in sampled.trajectories)


def test_rollout_probabilities_and_rewards_equal_the_exact_ones(sampled: Sampled) -> None:
    dag, enumeration = sampled.lifted.dag, sampled.instance.enumeration
    kernel = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(sampled.lifted)
    reward = dict(zip(dag.terminals, enumeration.rewards, strict=True))
    log_p_f, log_p_b = (np.asarray(x.sum(-1)) for x in sampled.steps[:2])
    on_the_way = np.asarray(sampled.on_the_way.sum(-1))
    for row, tau in enumerate(sampled.trajectories):
        exact = np.log(float(sampled.exact.along(tau)))
        assert log_p_f[row] == pytest.approx(exact, abs=TOLERANCE)
        assert on_the_way[row] == pytest.approx(exact, abs=TOLERANCE)
        assert log_p_b[row] == pytest.approx(np.log(float(kernel.along(tau))), abs=TOLERANCE)
        assert sampled.drawn.log_reward[row] == pytest.approx(
            np.log(float(reward[dag.end(tau)])), abs=TOLERANCE
        )


def test_losses_equal_those_of_the_exact_residuals(sampled: Sampled) -> None:
    enumeration = sampled.instance.enumeration
    kernel = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(sampled.lifted)
    log_z = 0.7
    residual = dict(log_tb_residuals(sampled.exact, kernel, enumeration.rewards, log_z))
    delta = np.array([residual[tau] for tau in sampled.trajectories])
    steps, f = sampled.steps, log_ratio(sampled.steps)
    assert float(tb(steps, jnp.float32(log_z))) == pytest.approx(np.mean(delta**2), rel=1e-4)
    # Contrastive balance: the mean over ordered pairs of distinct trajectories of the batch.
    pairs = (delta[:, None] - delta[None, :]) ** 2
    batch = len(delta)
    assert float(log_variance(f)) == pytest.approx(pairs.sum() / (batch * (batch - 1)), rel=1e-4)
    # Controls: the wrong constant, and the biased variance, are both seen.
    assert float(tb(steps, jnp.float32(log_z + 0.1))) != pytest.approx(np.mean(delta**2), rel=1e-4)
    assert float(log_variance(f)) != pytest.approx(pairs.mean(), rel=1e-4)


def _chi_square(counts: Any, expected: Any) -> float:
    """Pearson's statistic over its critical value, small cells pooled; above 1 is a rejection."""
    order = np.argsort(expected)
    counts, expected = counts[order].astype(float), expected[order]
    # Pool cells until each expects at least 20, where the chi-square law is accurate.
    groups, total = np.zeros(len(expected), int), 0.0
    for i in range(1, len(expected)):
        total += expected[i - 1]
        groups[i] = groups[i - 1] + (total >= 20)
        total = 0.0 if total >= 20 else total
    c, e = np.bincount(groups, counts), np.bincount(groups, expected)
    if e[-1] < 20 and len(e) > 1:
        c, e = np.append(c[:-2], c[-2:].sum()), np.append(e[:-2], e[-2:].sum())
    if len(e) == 1:
        return 0.0
    critical = chi2.ppf(1 - ERROR_PROBABILITY, len(e) - 1)
    return float(((c - e) ** 2 / e).sum() / critical)


def test_sampler_draws_from_its_exact_marginal(sampled: Sampled) -> None:
    enumeration, samples = sampled.instance.enumeration, 20_000
    law = np.array([float(p) for p in marginal(sampled.exact)])
    terminals = np.array(enumeration.dag.terminals)
    blocks = list(
        sample_terminals(sampled.policy, sampled.instance.environment, enumeration, samples, 7)
    )
    drawn = np.concatenate([block.terminal for block in blocks])
    counts = np.bincount(drawn, minlength=len(enumeration.dag.labels))[terminals]
    assert counts.sum() == samples
    assert _chi_square(counts, law * samples) <= 1
    # Control: the law of another random policy is rejected on the same samples.
    other = random_policy(sampled.instance.environment, seed=1)
    _, other_exact = exact_policy(other, enumeration, 100_000)
    wrong = np.array([float(p) for p in marginal(other_exact)])
    assert _chi_square(counts, wrong * samples) > 1


def test_exploration_mixes_in_uniform_actions() -> None:
    instance = make_instance("grid")
    policy = random_policy(instance.environment)
    drawn, _, _ = draw(policy, instance.environment, 20_000, 1.0, 3)
    first = np.bincount(np.asarray(drawn.actions)[:, 0], minlength=3)
    uniform = np.full(3, 20_000 / 3)
    assert _chi_square(first, uniform) <= 1
    # Control: without exploration the same policy is far from uniform.
    drawn, _, _ = draw(policy, instance.environment, 20_000, 0.0, 3)
    assert _chi_square(np.bincount(np.asarray(drawn.actions)[:, 0], minlength=3), uniform) > 1


def test_masked_actions_have_probability_zero_for_logits_of_any_sign() -> None:
    policy = random_policy(make_instance("grid").environment)
    mask = jnp.array([True, False, True])
    for logits in ([2.0, -1.0, 0.0], [-5.0, -1.0, -3.0], [0.0, 0.0, 0.0]):
        p = jnp.exp(policy.log_p_f(jnp.array(logits), mask))
        assert float(p[1]) == 0.0
        assert float(p.sum()) == pytest.approx(1, abs=1e-6)
    # Control: the multiplicative mask of eq:policya turns a negative logit into +inf, 0 into NaN.
    assert -1.0 * -math.inf == math.inf
    assert math.isnan(0.0 * -math.inf)
