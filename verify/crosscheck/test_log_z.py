"""The `log Z` that training starts from, and what is learned of it."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from fast.parts import LOSSES
from fast.policies.policy import Sampler
from fast.training.compose import configure
from fast.training.method import FIRST_BATCH
from fast.training.trainer import make_trainer
from reference import FLOAT64, BackwardPolicy, ForwardPolicy, optimal_log_z
from verify.crosscheck.instances import make_instance, random_policy
from verify.crosscheck.samplers import draw
from verify.lib.laws import path_laws

# A mean of independent draws is this many standard errors off with probability 6e-7.
ERRORS = 5


@pytest.mark.catches(
    "Training starts from the mean of f as log Z instead of minus it.",
    "fast/training/networks.py",
    "log_z = -jnp.mean(log_ratio(",
    "log_z = jnp.mean(log_ratio(",
)
def test_training_starts_from_the_best_constant_of_the_uniform_policy() -> None:
    config = configure("lines", length=5, step=2, parameters=5_000, dynamics="gru")
    _, environment, enumeration = make_instance("lines")
    dag = enumeration.dag
    forward, backward = ForwardPolicy.uniform(dag, FLOAT64), BackwardPolicy.uniform(dag, FLOAT64)
    rewards = [float(r) for r in enumeration.rewards]
    p, weight = map(np.array, path_laws(forward, backward, rewards))
    minus_f = np.log(weight / p)
    expected = optimal_log_z(forward, backward, rewards, forward)
    assert expected == pytest.approx((p * minus_f).sum())
    error = math.sqrt((p * (minus_f - expected) ** 2).sum() / FIRST_BATCH)
    start = make_trainer(config, environment).init().sampler.log_z
    assert start.dtype == jnp.float32
    assert abs(float(start[0]) - expected) <= ERRORS * error
    # Control: the sign matters.
    assert abs(float(start[0]) + expected) > ERRORS * error


@pytest.mark.crosscheck("fast.balance.loss.Loss.learned_log_z")
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_learned_of_log_z_is_the_parameter_or_the_flow_at_the_start(name: str) -> None:
    loss, environment = LOSSES[name](), make_instance("lines").environment
    policy = random_policy(environment, dynamics="markov", loss=name)
    assert policy.has_flow == (name in ("db", "subtb", "fm"))
    learned = loss.learned_log_z(Sampler(policy, jnp.float32(0.7)), environment)
    at_start = float(draw(policy, environment, 2).steps.log_flow[1, 0])
    if name == "log_variance":
        assert learned is None
        return
    assert learned is not None
    assert float(learned) == pytest.approx(0.7 if name == "tb" else at_start, rel=1e-5)
    # Control: the two are not the same number.
    assert abs(at_start - 0.7) > 1e-2
