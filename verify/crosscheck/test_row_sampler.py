"""Trajectories drawn from rows of a network: each is enumerated too, with its probabilities."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from fast.laws.row_sampler import BATCH, RowSampler
from fast.laws.walk import complete_histories
from reference.certificates.betting import Interval
from reference.certificates.regimes import Budget, Draws, with_log_z, with_target
from reference.contract.errors import InputError
from reference.problems import exact_reward
from reference.rows.sums import ExactPath
from verify.crosscheck.instances import make_instance, random_policy

# Trajectories of one length, of many; trees, and states with several parents.
CASES = (
    ("grid", "markov", "uniform"),
    ("grid", "gru", "learned"),
    ("synthetic, prepend-append", "srwm", "uniform"),
    ("graphs", "markov", "learned"),
)


def made(name: str, dynamics: str, p_b: str) -> tuple[Any, Any, RowSampler]:
    instance = make_instance(name)
    policy = random_policy(instance.environment, dynamics=dynamics, p_b=p_b)
    return (
        instance,
        policy,
        RowSampler(policy, instance.environment, instance.problem, "float32", 0),
    )


@pytest.mark.long
@pytest.mark.parametrize(("name", "dynamics", "p_b"), CASES)
def test_what_is_drawn_is_enumerated_too_and_tv_lies_inside(
    name: str, dynamics: str, p_b: str
) -> None:
    instance, policy, sampler = made(name, dynamics, p_b)
    enumeration = instance.enumeration
    blocks = list(complete_histories(policy, enumeration, float64=True))
    ends, _, log_p_f, log_p_b, _ = (np.concatenate(column) for column in zip(*blocks, strict=True))
    labels = enumeration.dag.labels
    log_reward = dict(zip(instance.ends, enumeration.log_rewards, strict=True))
    rewards = np.array([log_reward[labels[x]] for x in ends])
    tv = np.maximum(np.exp(log_p_f) - np.exp(rewards + log_p_b - enumeration.log_z), 0).sum()
    place: dict[Any, list[int]] = {}
    for number, x in enumerate(ends):
        place.setdefault(labels[x], []).append(number)
    sampler.exact_paths = exact = list[ExactPath]()
    drawn = sampler.draw(600)
    for path, x, f, b in zip(exact, *drawn[:3], strict=True):
        assert path.terminal == x
        assert np.log(float(math.prod(path.forward))) == pytest.approx(f, abs=1e-11)
        assert np.log(float(math.prod(path.backward))) == pytest.approx(b, abs=1e-11)
    sampler.exact_paths = None
    terminals = instance.problem.sample(600, 0) if hasattr(instance.problem, "sample") else None
    for walks in (drawn, sampler.draw_backward(terminals or sampler.draw(9).terminals)):
        for x, f, b, r in zip(*walks[:4], strict=True):
            off = np.abs(log_p_f[place[x]] - f) + np.abs(log_p_b[place[x]] - b)
            assert off.min() < 1e-9
            assert r == pytest.approx(log_reward[x], abs=1e-12)
        assert walks.error.max() < 1e-11
    log_z = Interval(enumeration.log_z - 1e-12, enumeration.log_z + 1e-12)
    budget = Budget(width=0.0, samples=2 * BATCH)
    certified = with_log_z(sampler, log_z, 1e-6, budget, Draws())
    assert certified.interval.low <= tv <= certified.interval.high
    assert certified.interval.width < 0.2
    if terminals is not None:
        certified = with_target(terminals, sampler, 1e-6, budget, Draws())
        assert certified.interval.low <= tv <= certified.interval.high


def test_trajectories_backwards_are_drawn_from_a_learned_policy() -> None:
    instance, policy, sampler = made("grid", "markov", "learned")
    blocks = list(complete_histories(policy, instance.enumeration, float64=True))
    ends, _, _, log_p_b, _ = (np.concatenate(column) for column in zip(*blocks, strict=True))
    end = np.bincount(ends).argmax()
    of_end = log_p_b[ends == end]
    log_p = sampler.draw_backward([instance.enumeration.dag.labels[end]] * BATCH).log_p_b
    mean = np.exp(of_end) @ of_end
    error = (np.exp(of_end) @ (of_end - mean) ** 2 / BATCH) ** 0.5
    assert abs(log_p.mean() - mean) < 5 * error
    # Control: uniform ones have another mean.
    assert abs(of_end.mean() - mean) > 50 * error


def test_a_backward_policy_that_reads_latents_is_refused() -> None:
    with pytest.raises(InputError, match="its mass is not one"):
        made("grid", "gru", "lifted")


def test_a_reward_that_disagrees_with_the_problem_is_refused() -> None:
    instance, policy, _ = made("grid", "markov", "uniform")

    class Other(type(instance.problem)):  # type: ignore[misc]
        def reward(self, terminal: Any) -> Fraction:
            return exact_reward(instance.problem, terminal) * 2

    other = Other(instance.problem.side, instance.problem.dimension)
    sampler = RowSampler(policy, instance.environment, other, "float32", 0)
    with pytest.raises(InputError, match="certify against the reward that was trained on"):
        sampler.draw(4)


def test_an_environment_that_breaks_a_rule_is_refused_where_it_is_met() -> None:
    instance, policy, _ = made("grid", "markov", "uniform")
    usual = instance.environment
    short = dataclasses.replace(usual, horizon=usual.horizon - 1)
    with pytest.raises(InputError, match=f"has not ended after {short.horizon} steps"):
        RowSampler(policy, short, instance.problem, "float32", 0).draw(100)
    fields = {field.name: getattr(usual, field.name) for field in dataclasses.fields(usual)}
    for redo, words in (
        (lambda self, x, parent: parent // 2, r"fix redo\(\), which names its actions"),
        (lambda self, x, parent: jnp.where(parent < 2, 1 - parent, 2), r"way back from .* lead to"),
    ):
        turned = type("Turned", (type(usual),), {"redo": redo})(**fields)
        with pytest.raises(InputError, match=words):
            RowSampler(policy, turned, instance.problem, "float32", 0).draw_backward(instance.ends)
