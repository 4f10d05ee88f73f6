"""What a run reports, against sums over all trajectories."""

import math
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from fast.bridge import exact_policy
from fast.estimates import (
    backward_paths,
    estimated_fcs,
    exact_terminals,
    forward_paths,
    random_terminals,
    total_variation_of_paths,
)
from fast.evaluation import MEAN_BEST, Report, enumerated_report, mean_best, target_law
from fast.laws import exact_law
from fast.losses import log_ratio
from fast.objectives import Batch, Sampler, loss_and_gradient
from fast.policies import Policy
from fast.rollout import sample_trajectories, uniforms
from fast.steps import evaluate
from fast.tasks import LinesConfig
from fast.training import FIRST_BATCH, make_trainer
from reference import FLOAT64, RATIONAL, BackwardPolicy, ForwardPolicy, optimal_log_z
from reference.problems import Lines
from verify.crosscheck.instances import Instance, make_instance, random_policy

Floats = npt.NDArray[np.float64]

# A mean of independent draws is this many standard errors off with probability 6e-7.
ERRORS = 5


class Exact(NamedTuple):
    """A random policy on Lines, and its laws by enumeration.

    Attributes:
        instance: the problem.
        policy: a path-dependent one.
        p_f: `p_F(tau)`, one per trajectory.
        mu: `pi(x) p_B(tau | x)`.
        p_t: `p_T(x)`, one per terminal.
    """

    instance: Instance
    policy: Policy
    p_f: Floats
    mu: Floats
    p_t: Floats


@cache
def exact() -> Exact:
    instance = make_instance("lines")
    enumeration = instance.enumeration
    policy = random_policy(instance.environment, dynamics="gru")
    lifted, forward = exact_policy(policy, enumeration, 10_000)
    backward = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(lifted)
    pi = dict(zip(lifted.dag.terminals, target_law(enumeration), strict=True))
    taus = list(lifted.dag.trajectories())
    p_f = np.array([float(forward.along(tau)) for tau in taus])
    mu = np.array([pi[lifted.dag.end(tau)] * float(backward.along(tau)) for tau in taus])
    ends = [lifted.dag.terminals.index(lifted.dag.end(tau)) for tau in taus]
    p_t = np.bincount(ends, p_f).astype(np.float64)
    return Exact(instance, policy, p_f, mu, p_t)


def test_the_distance_of_trajectory_laws_is_the_exact_one() -> None:
    (problem, environment, enumeration), policy, p_f, mu, _ = exact()
    assert isinstance(problem, Lines)
    # So many that the control, 0.015 away, is nine standard errors from what is found.
    drawn = exact_terminals(environment, problem, 16_384, 1)
    forward = forward_paths(policy, environment, 16_384, 2)
    backward = backward_paths(policy, environment, drawn, 3)
    found = total_variation_of_paths(enumeration.log_z, forward, backward)
    expected = np.abs(p_f - mu).sum() / 2
    assert abs(found.mean - expected) <= ERRORS * found.standard_error
    # Control: the terminal law alone is nearer to its target.
    nearer = np.abs(exact().p_t - target_law(enumeration)).sum() / 2
    assert abs(found.mean - nearer) > ERRORS * found.standard_error


def test_the_estimated_law_is_the_mean_of_the_ratios() -> None:
    (_, environment, enumeration), policy, _, _, p_t = exact()
    count, backward = 256, 24
    final = random_terminals(environment, count, 4)
    log_rewards = np.asarray(jax.vmap(environment.log_reward)(final), np.float64)
    _, _, log_p = estimated_fcs(policy, environment, final, log_rewards, backward, 5)
    place = np.asarray(final.position)
    assert [enumeration.dag.labels[x] for x in enumeration.dag.terminals] == [
        f"q{i}" for i in range(6)
    ]
    for x, p in enumerate(p_t):
        # Each state was drawn several times, and every estimate is unbiased.
        found = np.exp(log_p[place == x])
        error = found.std(ddof=1) / math.sqrt(len(found))
        assert abs(found.mean() - p) <= ERRORS * error + 1e-5 * p


def test_the_best_states_are_distinct_and_the_best() -> None:
    states = np.array([0, 1, 1, 1, *range(2, MEAN_BEST + 2)])
    rewards = np.array([-9.0, 5.0, 5.0, 5.0, *np.linspace(0.0, 1.0, MEAN_BEST)])
    # The 20 best of 22 distinct ones: 5 once, and all of the range but its least.
    expected = (5 + np.linspace(0.0, 1.0, MEAN_BEST)[1:].sum()) / MEAN_BEST
    assert mean_best(states, rewards) == pytest.approx(expected)


@cache
def report() -> Report:
    (_, environment, enumeration), policy, *_ = exact()
    law = exact_law(policy, enumeration, float64=True)
    return enumerated_report([policy], None, environment, enumeration, [law], 6)


def test_the_figures_of_an_enumerated_run_are_those_of_its_law() -> None:
    (_, _, enumeration), _, p_f, mu, p_t = exact()
    pi, (learned,) = target_law(enumeration), report().learned
    assert learned.tv is not None
    assert learned.tv.mean == pytest.approx(np.abs(p_t - pi).sum() / 2, rel=1e-9)
    assert learned.kl == pytest.approx((pi * np.log(pi / p_t)).sum(), rel=1e-9)
    # The mean of -f is log Z less a divergence.
    expected = enumeration.log_z - (p_f * np.log(p_f / mu)).sum()
    assert abs(learned.log_z.mean - expected) <= ERRORS * learned.log_z.standard_error
    # Control: the divergence the other way round is another number.
    assert learned.kl != pytest.approx((p_t * np.log(p_t / pi)).sum(), rel=1e-3)


def test_the_figures_of_exact_sampling_and_of_the_uniform_policy_are_theirs() -> None:
    enumeration = exact().instance.enumeration
    target = report().exact
    assert target is not None
    assert target.tv is not None
    assert target.tv.mean == pytest.approx(0, abs=1e-15)
    assert target.log_z.mean == enumeration.log_z
    # From p_i, i < 4, the walk stops with probability 1/3, from p_4 with 1/2.
    walk: dict[Any, float] = {0: 1.0}
    p_t = []
    for i in range(6):
        degree = 1 + min(2, 5 - i)
        p_t.append(walk[i] / degree)
        for j in range(i + 1, min(i + 2, 5) + 1):
            walk[j] = walk.get(j, 0.0) + walk[i] / degree
    expected = np.abs(np.array(p_t) - target_law(enumeration)).sum() / 2
    found = report().uniform.tv
    assert found is not None
    assert found.mean == pytest.approx(expected, rel=1e-9)


def test_training_starts_from_the_best_constant_of_the_uniform_policy() -> None:
    config = LinesConfig(length=5, step=2, parameters=5_000, dynamics="gru")
    instance = make_instance("lines")
    environment, enumeration = instance.environment, instance.enumeration
    dag = enumeration.dag
    forward, backward = ForwardPolicy.uniform(dag, FLOAT64), BackwardPolicy.uniform(dag, FLOAT64)
    rewards = [float(r) for r in enumeration.rewards]
    reward = dict(zip(dag.terminals, rewards, strict=True))
    taus = list(dag.trajectories())
    p = np.array([forward.along(tau) for tau in taus])
    minus_f = np.log([reward[dag.end(tau)] * backward.along(tau) for tau in taus]) - np.log(p)
    expected = optimal_log_z(forward, backward, rewards, forward)
    assert expected == pytest.approx((p * minus_f).sum())
    error = math.sqrt((p * (minus_f - expected) ** 2).sum() / FIRST_BATCH)
    found = make_trainer(config, environment).init().sampler.log_z
    assert found.dtype == jnp.float32
    assert abs(float(found[0]) - expected) <= ERRORS * error
    # Control: the sign matters.
    assert abs(float(found[0]) + expected) > ERRORS * error


@pytest.mark.parametrize("loss", ["tb", "log_variance", "db", "fm"])
def test_the_log_z_reported_while_training_is_that_of_the_loss(loss: Any) -> None:
    instance = make_instance("lines")
    environment = instance.environment
    policy = random_policy(environment, dynamics="markov", loss=loss)
    draws = uniforms(jax.random.key(0), environment, 32)
    config, learned = LinesConfig(dynamics="markov", loss=loss), jnp.float32(0.7)

    @jax.jit
    def both(draws: Any) -> Any:
        drawn, log_p_f = sample_trajectories(policy, environment, draws)
        known = None if policy.has_flow else log_p_f
        sampler = Sampler(policy, learned)
        found = loss_and_gradient(config, environment, sampler, Batch(drawn, known))[1]
        return found, evaluate(policy, environment, drawn)

    found, steps = both(draws)
    # Of a flow, its value at s_o, where every trajectory starts; else the best constant.
    expected = {"tb": learned, "log_variance": jnp.mean(-log_ratio(steps))}
    assert float(found) == pytest.approx(
        float(expected.get(loss, steps.log_flow[5, 0])), rel=1e-4, abs=1e-4
    )
