"""Gradients of sampled losses against the gradients of the exact expected losses."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.gradients import BLOCK, evaluate_with_pullback
from fast.objectives import Batch, Sampler, loss_and_gradient
from fast.policies import Policy
from fast.rollout import Exploration, sample_trajectories, uniforms
from fast.steps import evaluate
from fast.tasks import LinesConfig
from reference import (
    FLOAT64,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    cb_objective,
    lift,
    tb_objective,
)
from verify.crosscheck.instances import Instance, make_instance, random_policy

LOG_Z, EPSILON, BATCH, BATCHES = 0.3, 0.4, 8, 400


def _exact_gradient(instance: Instance, policy: Policy, loss: str) -> Policy:
    """The gradient of the expected loss by the parameters, from the reference's by the logits."""
    enumeration = instance.enumeration
    base = enumeration.dag
    lifted = lift(base, Forgetful() if policy.is_markovian else History(), 10_000)
    inner = [node for node, row in enumerate(lifted.dag.children) if row]
    paths = [
        [lifted.projection[node]]
        if policy.is_markovian
        else [0, *(base.index[state] for state in lifted.dag.labels[node][1])]
        for node in inner
    ]
    last = np.array([len(path) - 1 for path in paths])
    padded = np.stack([path + path[-1:] * (last.max() + 1 - len(path)) for path in paths])
    observations = jnp.asarray(enumeration.observations[padded])
    masks = jnp.asarray(enumeration.edge[padded[np.arange(len(inner)), last]] >= 0)
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def logits(arrays: Policy) -> Any:
        whole = eqx.combine(arrays, static)
        return whole.network.unroll(observations)[np.arange(len(inner)), last, : whole.actions]

    table, pull = jax.vjp(logits, arrays)
    p = np.asarray(jax.nn.softmax(jnp.where(masks, table, -jnp.inf)), np.float64)
    row_of = {node: row for row, node in enumerate(inner)}
    action_of = {
        int(edge): action
        for node in range(len(base.labels))
        for action, edge in enumerate(enumeration.edge[node])
        if edge >= 0
    }
    place = [
        (row_of[u], action_of[lifted.base_edge[edge]])
        for edge, (u, _) in enumerate(lifted.dag.edges)
    ]
    forward = ForwardPolicy.from_weights(lifted.dag, FLOAT64, [p[at] for at in place])
    degree = [len(row) for row in lifted.dag.children]
    exploring = ForwardPolicy.from_weights(
        lifted.dag,
        FLOAT64,
        [
            (1 - EPSILON) * value + EPSILON / degree[u]
            for value, (u, _) in zip(forward.values, lifted.dag.edges, strict=True)
        ],
    )
    backward = BackwardPolicy.uniform(base, FLOAT64).on(lifted)
    rewards = [float(r) for r in enumeration.rewards]
    objective = (
        tb_objective(forward, backward, rewards, LOG_Z, exploring)
        if loss == "tb"
        else cb_objective(forward, backward, rewards, exploring)
    )
    by_logits = np.zeros(p.shape, np.float32)
    for at, value in zip(place, objective.logits_gradient, strict=True):
        by_logits[at] += value
    gradient: Policy = pull(jnp.asarray(by_logits))[0]
    return gradient


def _flat(tree: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)])


@pytest.mark.parametrize("loss", ["tb", "log_variance"])
@pytest.mark.parametrize("dynamics", ["markov", "srwm"])
def test_gradients_of_sampled_losses_are_unbiased(dynamics: Any, loss: Any) -> None:
    instance = make_instance("lines")
    policy = random_policy(instance.environment, dynamics=dynamics)
    config = LinesConfig(loss=loss, dynamics=dynamics)
    sampler = Sampler(policy, jnp.float32(LOG_Z))

    def gradient(key: Any) -> Any:
        draws = uniforms(key, instance.environment, BATCH)
        drawn, log_p_f = sample_trajectories(
            policy, instance.environment, draws, Exploration(EPSILON)
        )
        batch = Batch(drawn, log_p_f)
        found = loss_and_gradient(config, instance.environment, sampler, batch)[2].policy
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(found)])

    exact = _flat(_exact_gradient(instance, policy, loss))
    # Projections on fixed directions, so that each has a standard error of its own.
    directions = np.random.default_rng(1).normal(size=(6, exact.size))
    directions[0] = exact
    keys = jax.random.split(jax.random.key(5), BATCHES)
    sampled = jax.jit(lambda keys: jax.lax.map(gradient, keys))(keys)
    found = np.asarray(sampled, np.float64) @ directions.T
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    score = (found.mean(0) - directions @ exact) / error
    # Six normal scores exceed 5 with probability below 4e-6.
    assert np.abs(score).max() < 5
    # Along the exact gradient the error is small enough that a factor of 7/8, the bias of the
    # other variance at this batch size, would be seen.
    if loss == "log_variance":
        assert np.abs(found.mean(0) * 7 / 8 - directions @ exact)[0] > 2 * error[0]


@pytest.mark.parametrize("loss", ["tb", "subtb"])
@pytest.mark.parametrize("p_b", ["uniform", "learned"])
def test_blocks_of_rows_give_the_gradient_of_the_whole(loss: Any, p_b: Any) -> None:
    instance = make_instance("grid")
    environment = instance.environment
    policy = random_policy(environment, dynamics="markov", loss=loss, p_b=p_b)
    # More steps than fit into one block, and a last block that is not full.
    draws = uniforms(jax.random.key(0), environment, 150)
    drawn, log_p_f = eqx.filter_jit(sample_trajectories)(
        policy, environment, draws, Exploration(0.2)
    )
    assert drawn.active.sum() % BLOCK
    assert drawn.active.size > BLOCK
    weights = jax.random.normal(jax.random.key(1), (3, *drawn.actions.shape))
    arrays, static = eqx.partition(policy, eqx.is_inexact_array)

    def weighted(arrays: Policy) -> Any:
        steps = evaluate(eqx.combine(arrays, static), environment, drawn)
        return jnp.sum(weights * jnp.stack(steps[:3]))

    @eqx.filter_jit
    def in_blocks(known: Any, *weights: Any) -> Any:
        steps, pullback = evaluate_with_pullback(policy, environment, drawn, known)
        return steps[:3], [pullback(w) for w in weights]

    plain = _flat(jax.jit(jax.grad(weighted))(arrays))
    whole = eqx.filter_jit(evaluate)(policy, environment, drawn)
    # Control: weights on padding change nothing, weights on steps do.
    off = jnp.where(drawn.active, 0.0, weights)
    for known in (None, log_p_f):
        steps, (of_weights, of_padding) = in_blocks(known, weights, off)
        for a, b in zip(steps, whole[:3], strict=True):
            assert np.abs(np.asarray(a - b)).max() < 1e-5
        assert np.abs(_flat(of_weights) - plain).max() < 1e-4 * np.abs(plain).max()
        assert not _flat(of_padding).any()
