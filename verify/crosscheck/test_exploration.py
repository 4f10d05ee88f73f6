"""Exploration: the law of every action, its edges, and its end."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from fast.policies.backward import masked_log_softmax
from fast.policies.policy import Sampler
from fast.sampling.actions import (
    ON_POLICY,
    Exploration,
    _invert_by_cumsum,
    _invert_by_loop,
    draw_action,
)
from fast.training.compose import configure
from fast.training.method import exploration
from fast.training.networks import Networks
from fast.training.state import TrainState
from verify.crosscheck.instances import make_instance, random_policy

# Draws in the middle of as many equal parts of the unit interval: frequencies then differ from
# probabilities by at most one part for each action, and float32's rounding moves few draws.
PARTS = 2_000
DRAWS = (np.arange(PARTS) + 0.5) / PARTS
TOLERANCE = 3 / PARTS

INVERSIONS = (_invert_by_loop, _invert_by_cumsum)

Floats = npt.NDArray[np.float64]


def frequencies(actions: Any, count: int) -> Floats:
    shares: Floats = np.bincount(np.asarray(actions), minlength=count) / len(actions)
    return shares


@pytest.mark.catches(
    "Exploration adds epsilon to every legal action instead of mixing in a law.",
    "fast/sampling/actions.py",
    "epsilon * mask / mask.sum(-1, keepdims=True)",
    "epsilon * mask",
)
@pytest.mark.catches(
    "Log-probabilities are multiplied by the temperature instead of divided.",
    "fast/sampling/actions.py",
    "jax.nn.log_softmax(log_p / temperature)",
    "jax.nn.log_softmax(log_p * temperature)",
)
@pytest.mark.crosscheck("fast.sampling.actions.draw_action")
@pytest.mark.parametrize(
    ("epsilon", "temperature"), [(0.0, 1.0), (0.3, 1.0), (0.0, 2.5), (0.7, 0.5), (0.4, 3.0)]
)
def test_actions_are_drawn_from_the_mixture_of_the_definition(
    epsilon: float, temperature: float
) -> None:
    p, mask = np.array([0.0, 0.7, 0.05, 0.0, 0.25]), np.array([False, True, True, False, True])
    log_p = np.where(mask, np.log(np.where(mask, p, 1.0)), -1e9)
    drawn = draw_action(
        jnp.broadcast_to(jnp.asarray(log_p, jnp.float32), (PARTS, 5)),
        jnp.broadcast_to(jnp.asarray(mask), (PARTS, 5)),
        jnp.asarray(DRAWS, jnp.float32),
        Exploration(epsilon, temperature),
    )
    tempered = p ** (1 / temperature) * mask
    expected = (1 - epsilon) * tempered / tempered.sum() + epsilon * mask / mask.sum()
    assert np.abs(frequencies(drawn, 5) - expected).max() <= TOLERANCE


def test_draws_at_the_ends_of_the_unit_interval_take_legal_actions() -> None:
    # The least and the largest that a float32 generator gives; a sum of p may round to below 1.
    draws = jnp.array([0.0, 2.0**-24, 1 - 2.0**-24])
    for mask in ([False, True, True, False], [False, False, True, False], [True, True, True, True]):
        legal = jnp.broadcast_to(jnp.array(mask), (3, 4))
        log_p = jnp.where(legal, jnp.log(jnp.array([1, 2, 3, 4]) / 10), -1e9)
        drawn = np.asarray(draw_action(log_p, legal, draws, ON_POLICY))
        assert all(mask[action] for action in drawn)
        # Nothing is left out: the ends of the interval are the first and the last legal action.
        assert (drawn[0], drawn[-1]) == (mask.index(True), 3 - mask[::-1].index(True))


@pytest.mark.catches(
    "A draw above all partial sums, by rounding, takes an action without probability.",
    "fast/sampling/actions.py",
    "jnp.where(~(p <= 0) & ~(before > level), action, chosen)",
    "jnp.where(~(p < 0) & ~(before > level), action, chosen)",
)
def test_both_ways_to_invert_find_the_action_in_whose_interval_the_level_lies() -> None:
    # Multiples of 1/8, so that no partial sum is rounded; (action, level) pairs by hand.
    p = jnp.array([0.0, 0.25, 0.0, 0.5, 0.125, 0.125, 0.0])
    levels, actions = [0, 0.125, 0.25, 0.5, 0.75, 0.875, 0.99, 1.5], [1, 1, 3, 3, 4, 5, 5, 5]
    rows = jnp.broadcast_to(p, (len(levels), len(p)))
    for invert in INVERSIONS:
        assert invert(rows, jnp.array(levels)).tolist() == actions
        # Control: another order of the same probabilities has other actions.
        assert invert(rows[:, ::-1], jnp.array(levels)).tolist() != actions


@pytest.mark.catches(
    "A draw is compared with weights that do not sum to one.",
    "fast/sampling/actions.py",
    "p, draw * p.sum(-1), cpu",
    "p, draw, cpu",
)
def test_a_policy_that_overflows_takes_legal_actions() -> None:
    mask = jnp.array([[False, True, True, False], [False, False, True, False]])
    for value in (jnp.nan, -1e20):
        log_p = masked_log_softmax(jnp.full((2, 4), value), mask)
        drawn = draw_action(log_p, mask, jnp.array([0.0, 0.9]), ON_POLICY)
        assert all(bool(mask[row, action]) for row, action in enumerate(drawn.tolist()))
    # Where no legal action has any probability left, all are drawn alike.
    legal, nothing = jnp.array([[True, True, False, True]] * 3), jnp.full((3, 4), -1e20)
    drawn = draw_action(nothing, legal, jnp.array([0.1, 0.5, 0.9]), ON_POLICY)
    assert drawn.tolist() == [0, 1, 3]
    p = jnp.where(mask, jnp.nan, 0.0)
    for actions in (invert(p, jnp.nan * p[:, 1]) for invert in INVERSIONS):
        assert all(bool(mask[row, action]) for row, action in enumerate(actions.tolist()))


@pytest.mark.catches(
    "epsilon stays where it began.",
    "fast/training/method.py",
    "jnp.clip(1 - step / (sampling.epsilon_until",
    "jnp.clip(1 - 0 * step / (sampling.epsilon_until",
)
@pytest.mark.crosscheck("fast.training.method.exploration")
def test_exploration_falls_linearly_and_ends_where_the_configuration_says() -> None:
    _, environment, enumeration = make_instance("lines")
    config = configure("lines", dynamics="markov", epsilon=0.8, epsilon_until=0.5, steps=100)
    policy = random_policy(environment, dynamics="markov")
    outputs = policy.network.read((), jnp.asarray(enumeration.observations[0]))
    p = np.exp(np.asarray(policy.log_p_f(outputs, environment.mask(environment.initial()))))
    draws = np.tile(DRAWS.astype(np.float32), (environment.horizon + 1, 1))

    @jax.jit
    def first_actions(step: Any) -> Any:
        state = TrainState(Sampler(policy, jnp.zeros(())), None, None, step)
        batch, _ = Networks(config).draw_batch(environment, state, jnp.asarray(draws))
        return batch.trajectories.actions[:, 0]

    seen = {}
    for step in (0, 25, 50, 99):
        epsilon = max(0.8 * (1 - step / 50), 0.0)
        assert exploration(config.sampling, 100, jnp.int32(step)).epsilon == np.float32(epsilon)
        seen[step] = frequencies(first_actions(jnp.int32(step)), environment.actions)
        expected = (1 - epsilon) * p + epsilon / environment.actions
        assert np.abs(seen[step] - expected).max() <= TOLERANCE
    assert exploration(config.changed(temperature=2.0).sampling, 100, jnp.int32(0)).temperature == 2
    # Control: the steps are told apart.
    assert np.abs(seen[0] - seen[25]).max() > 10 * TOLERANCE
    assert np.abs(seen[25] - seen[50]).max() > 10 * TOLERANCE
