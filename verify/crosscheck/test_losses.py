"""Losses against loops over trajectories and against the reference's residuals."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.flow_matching import fm_residuals
from fast.losses import (
    PENALTIES,
    aggregated_ratio,
    db,
    db_residuals,
    log_ratio,
    log_variance,
    streaming_ratio,
    subtb,
    subtb_residuals,
    tb,
)
from fast.rollout import sample_trajectories, uniforms
from fast.steps import Steps, evaluate
from reference import FLOAT64, BackwardKernel, ForwardPolicy, balance
from verify.crosscheck.instances import make_instance, random_policy
from verify.scopes import crossed

LENGTHS = (4, 1, 3)


@pytest.fixture(scope="module")
def steps() -> Steps:
    """Three trajectories of 4, 1 and 3 steps with arbitrary terms."""
    rng = np.random.default_rng(0)
    active = np.arange(5) < np.array(LENGTHS)[:, None]
    terms = np.where(active, rng.normal(size=(3, 3, 5)), 0.0)
    log_p_f, log_p_b, log_flow = map(jnp.asarray, terms)
    log_reward = jnp.asarray(rng.normal(size=3))
    return Steps(log_p_f, log_p_b, log_flow, jnp.asarray(active), log_reward)


def _pair(steps: Steps, row: int, i: int, j: int) -> float:
    """`log F(s_i) + sum (log p_F - log p_B) - log F(s_j)`, by a loop."""

    def flow(t: int) -> float:
        return float(steps.log_reward[row] if t == LENGTHS[row] else steps.log_flow[row, t])

    path = sum(float(steps.log_p_f[row, t] - steps.log_p_b[row, t]) for t in range(i, j))
    return flow(i) + path - flow(j)


def test_detailed_balance_residuals_are_those_of_the_definition(steps: Steps) -> None:
    found = np.asarray(db_residuals(steps))
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            assert found[row, t] == pytest.approx(_pair(steps, row, t, t + 1), abs=1e-5)
        assert not found[row, length:].any()
    expected = [_pair(steps, row, t, t + 1) ** 2 for row, n in enumerate(LENGTHS) for t in range(n)]
    assert float(db(steps)) == pytest.approx(np.mean(expected), rel=1e-5)


@pytest.mark.parametrize("decay", [1.0, 0.9, 0.3])
def test_subtrajectory_balance_covers_every_pair_with_its_weight(
    steps: Steps, decay: float
) -> None:
    found = np.asarray(subtb_residuals(steps))
    losses = []
    for row, length in enumerate(LENGTHS):
        pairs = [(i, j) for j in range(1, length + 1) for i in range(j)]
        for i, j in pairs:
            assert found[row, i, j - 1] == pytest.approx(_pair(steps, row, i, j), abs=1e-5)
        assert np.count_nonzero(found[row]) == len(pairs)
        weight = np.array([decay ** (j - i) for i, j in pairs])
        residual = np.array([_pair(steps, row, i, j) for i, j in pairs])
        losses.append((weight * residual**2).sum() / weight.sum())
    assert float(subtb(steps, decay)) == pytest.approx(np.mean(losses), rel=1e-5)
    # Control: without the last step of each pair the residuals differ.
    assert found[0, 0, 2] != pytest.approx(_pair(steps, 0, 0, 2), abs=1e-3)


def test_subtrajectory_balance_from_start_to_end_is_trajectory_balance(steps: Steps) -> None:
    found = subtb_residuals(steps)
    for row, length in enumerate(LENGTHS):
        whole = steps.log_flow[row, 0] + log_ratio(steps)[row]
        assert float(found[row, 0, length - 1]) == pytest.approx(float(whole), abs=1e-5)


def test_the_variance_loss_is_twice_trajectory_balance_at_the_best_log_z(steps: Steps) -> None:
    f = log_ratio(steps)
    biased = 2 * float(tb(steps, -jnp.mean(f)))
    # The mean over ordered pairs of distinct trajectories has n (n - 1) terms, not n^2.
    assert float(log_variance(f)) == pytest.approx(biased * 3 / 2, rel=1e-5)


def test_penalties_are_quadratic_near_zero_and_linear_far_away() -> None:
    small, large = jnp.array(1e-2), jnp.array(40.0)
    for name, penalty in PENALTIES.items():
        assert float(penalty(jnp.array(0.0))) == 0
        assert float(penalty(small)) == pytest.approx(1e-4, rel=1e-2)
        assert float(penalty(-large)) == float(penalty(large))
        slope = float(jax.grad(penalty)(large))
        assert slope == pytest.approx(80 if name == "square" else 2, rel=1e-6)


def test_aggregated_and_streaming_ratios_are_constant_exactly_at_their_targets() -> None:
    # Three trajectories, each to its own x: p_F / p_B is then the terminal law up to a constant.
    def sampler(law: list[float]) -> Steps:
        zero = jnp.zeros((3, 1))
        log_p = jnp.log(jnp.array(law))[:, None]
        return Steps(log_p, zero, zero, jnp.ones((3, 1), bool), jnp.log(jnp.array([1.0, 2.0, 4.0])))

    first, second = [0.5, 0.25, 0.25], [0.2, 0.4, 0.4]
    product = [0.1, 0.1, 0.1]
    combined = aggregated_ratio(sampler(product), [sampler(first), sampler(second)])
    assert float(log_variance(combined)) == pytest.approx(0, abs=1e-10)
    wrong = aggregated_ratio(sampler(first), [sampler(first), sampler(second)])
    assert float(log_variance(wrong)) > 0.1
    # R_T = (1, 2, 4) times the previous law (1/2, 1/4, 1/4) is (2, 2, 4) / 8 after scaling.
    streamed = streaming_ratio(sampler([0.25, 0.25, 0.5]), sampler(first))
    assert float(log_variance(streamed)) == pytest.approx(0, abs=1e-10)
    assert float(log_variance(streaming_ratio(sampler(second), sampler(first)))) > 0.1


@pytest.mark.parametrize(
    ("name", "p_b"),
    crossed(["grid", "synthetic, prepend-append", "lines"], ["learned", "uniform"]),
)
def test_flow_residuals_of_a_network_are_those_of_the_reference(name: str, p_b: Any) -> None:
    instance = make_instance(name)
    environment, enumeration = instance.environment, instance.enumeration
    dag = enumeration.dag
    policy = random_policy(environment, dynamics="markov", loss="db", p_b=p_b)
    observations = jnp.asarray(enumeration.observations)
    outputs = policy.network.evaluate((), observations)
    table = np.asarray(policy.log_p_f(outputs, jnp.asarray(enumeration.edge >= 0)), np.float64)
    back = np.asarray(
        policy.log_p_b(None, observations, jnp.asarray(enumeration.parent_masks)), np.float64
    )
    legal = enumeration.edge >= 0
    log_p_f = np.empty(len(dag.edges))
    log_p_f[enumeration.edge[legal]] = table[legal]
    forward = ForwardPolicy.from_weights(dag, FLOAT64, np.exp(log_p_f).tolist())
    heads = [v for _, v in dag.edges]
    kernel = BackwardKernel(dag, FLOAT64, np.exp(back[heads, enumeration.undo]).tolist())
    flow = np.exp(np.asarray(policy.log_flow(outputs), np.float64)).tolist()
    rewards = [float(r) for r in enumeration.rewards]
    exact_db = dict(balance.db_residuals(forward, kernel, flow, rewards))
    exact_fm = dict(balance.fm_residuals(forward, flow, rewards))
    all_flow = dict(enumerate(flow)) | dict(zip(dag.terminals, rewards, strict=True))

    draws = uniforms(jax.random.key(0), environment, 200)
    drawn, _ = eqx.filter_jit(sample_trajectories)(policy, environment, draws)
    steps = eqx.filter_jit(evaluate)(policy, environment, drawn)
    found_db = np.asarray(db_residuals(steps))
    found_fm = np.asarray(eqx.filter_jit(fm_residuals)(policy, environment, drawn))
    actions, active = np.asarray(drawn.actions), np.asarray(drawn.active)
    seen = set()
    for row in range(len(actions)):
        node = 0
        for t in range(active[row].sum()):
            edge = enumeration.edge[node, actions[row, t]]
            node = dag.edges[edge][1]
            seen.add(int(edge))
            # The residual lhs - rhs over its right-hand side, as a difference of logarithms.
            right = all_flow[node] * kernel.values[edge]
            assert found_db[row, t] == pytest.approx(math.log1p(exact_db[edge] / right), abs=2e-4)
            assert found_fm[row, t] == pytest.approx(
                math.log1p(exact_fm[node] / all_flow[node]), abs=2e-4
            )
        assert not found_fm[row, active[row].sum() :].any()
    assert len(seen) > len(dag.edges) / 4
