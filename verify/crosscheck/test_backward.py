"""Backward sampling, and the replay of terminal states."""

import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.steps import evaluate
from fast.environments.interface import encode_all
from fast.laws.enumeration import decode_all
from fast.laws.walk import base_log_p_b
from fast.parts import REPLAYS
from fast.sampling.backward import sample_backward
from fast.sampling.replay import Buffer, add, choose, empty_buffer
from fast.sampling.trajectories import repeat
from verify.crosscheck.compare import excess
from verify.crosscheck.instances import make_instance, random_policy
from verify.crosscheck.samplers import edges_along
from verify.lib.scopes import crossed

NAMES = ("lines", "grid", "synthetic, prepend-append", "walk", "ising, any order")


@pytest.mark.catches(
    "The head of a learned p_B reads the state before the step instead of the one after.",
    "fast/balance/steps.py",
    "seen = jax.vmap(environment.observe)(rows.after)",
    "seen = jax.vmap(environment.observe)(rows.before)",
    only="lines-learned",
)
@pytest.mark.catches(
    "log p_B of an edge is looked up at its parent instead of its child.",
    "fast/laws/walk.py",
    "_, heads = enumeration.edges",
    "heads, _ = enumeration.edges",
    only="lines-learned",
)
@pytest.mark.crosscheck("fast.sampling.backward.sample_backward", "fast.laws.walk.base_log_p_b")
@pytest.mark.parametrize(("name", "p_b"), crossed(NAMES, ("learned", "uniform")))
def test_backward_trajectories_follow_the_backward_policy(name: str, p_b: Any) -> None:
    _, environment, enumeration = make_instance(name)
    dag = enumeration.dag
    policy = random_policy(environment, dynamics="markov", p_b=p_b)
    of_edge = base_log_p_b(policy, enumeration, float64=False)
    paths = defaultdict(list)
    for tau in dag.trajectories():
        paths[dag.end(tau)].append(tau)
    x, count = max(paths, key=lambda node: len(paths[node])), 20_000
    log_p = {tau: sum(of_edge[edge] for edge in tau) for tau in paths[x]}
    assert sum(map(math.exp, log_p.values())) == pytest.approx(1, abs=1e-5)
    final = repeat(environment.encode(dag.labels[x]), count)
    draws = jax.random.uniform(jax.random.key(1), (environment.horizon, count))
    drawn = jax.jit(sample_backward)(policy, environment, final, draws)
    steps = jax.jit(evaluate)(policy, environment, drawn)
    counts = Counter(taus := edges_along(enumeration, drawn))
    assert set(counts) <= set(log_p)
    assert steps.log_p_b.sum(-1) == pytest.approx(np.array([log_p[tau] for tau in taus]), abs=2e-4)
    assert excess([counts[tau] for tau in log_p], count * np.exp(list(log_p.values()))) <= 1


@pytest.mark.catches(
    "A trajectory that was drawn backwards is turned round one row too late.",
    "fast/sampling/backward.py",
    "row = active.sum(0) - 1 - jnp.arange(time)[:, None]",
    "row = active.sum(0) - jnp.arange(time)[:, None]",
)
def test_states_on_the_way_back_are_those_on_the_way_forth() -> None:
    instance = make_instance("grid")
    environment = instance.environment
    policy = random_policy(environment, dynamics="markov")
    labels = instance.ends
    final = encode_all(environment, labels)
    draws = jax.random.uniform(jax.random.key(2), (environment.horizon, len(labels)))
    drawn = jax.jit(sample_backward)(policy, environment, final, draws)
    for row in range(len(labels)):
        length = int(drawn.active[row].sum())
        seen = decode_all(environment, jax.tree.map(lambda leaf, r=row: leaf[r], drawn.states))
        assert seen[0] == instance.problem.initial
        assert seen[length] == labels[row]
        for before, after in pairwise(seen[: length + 1]):
            assert after in instance.problem.children(before)
    assert decode_all(environment, drawn.final) == labels


def _filled(batches: list[tuple[float, list[float]]], capacity: int, *, weighed: bool) -> Buffer:
    """A buffer with batches of rewards, each drawn at its beta; states are numbered in turn."""
    environment = make_instance("lines").environment
    buffer, start = empty_buffer(environment, capacity, with_densities=weighed), 0
    for beta, rewards in batches:
        states = environment.encode("q0")._replace(
            position=jnp.arange(start, start + len(rewards), dtype=jnp.int32),
            stopped=jnp.ones(len(rewards), bool),
        )
        buffer = add(buffer, states, jnp.log(jnp.array(rewards)), beta)
        start += len(rewards)
    return buffer


def _drawn(buffer: Buffer, beta: float, *, by_reward: bool) -> Any:
    """The share of the draws that each of twenty numbers has."""
    count = 20_000
    draws = (jnp.arange(count) + 0.5) / count
    chosen = choose(buffer, draws, beta, by_reward=by_reward)
    return np.bincount(np.asarray(chosen.position), minlength=20) / count


@pytest.mark.catches(
    "A batch is always stored at the start of the buffer.",
    "fast/sampling/replay.py",
    "place = (buffer.added + jnp.arange(log_rewards.shape[0])) % capacity",
    "place = jnp.arange(log_rewards.shape[0]) % capacity",
    only="uniform",
)
@pytest.mark.catches(
    "Places of the buffer that are still empty are drawn too.",
    "fast/sampling/replay.py",
    "jnp.where(filled, buffer.log_rewards, -jnp.inf)",
    "buffer.log_rewards",
    only="reward",
)
@pytest.mark.crosscheck(
    "fast.sampling.replay.empty_buffer", "fast.sampling.replay.add", "fast.sampling.replay.choose"
)
@pytest.mark.parametrize("kind", ["uniform", "reward"])
def test_replay_draws_uniformly_or_in_proportion_to_reward(kind: str) -> None:
    # Of more states than places the last are left. A half-full buffer never gives a hole.
    for rewards, capacity, left in (
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4, {2: 3.0, 3: 4.0, 4: 5.0, 5: 6.0}),
        ([1.0, 2.0], 4, {0: 1.0, 1: 2.0}),
        ([1.0] * 10, 4, dict.fromkeys(range(6, 10), 1.0)),
    ):
        pairs = [(1.0, rewards[start : start + 2]) for start in range(0, len(rewards), 2)]
        buffer = _filled(pairs, capacity, weighed=False)
        # However many were added, their number stays small.
        assert buffer.added < 2 * capacity
        drawn = _drawn(buffer, 1.0, by_reward=REPLAYS[kind].by_reward)
        weights = {k: r if kind == "reward" else 1.0 for k, r in left.items()}
        for k in range(10):
            expected = weights.get(k, 0.0) / sum(weights.values())
            assert drawn[k] == pytest.approx(expected, abs=2e-4)


@pytest.mark.catches(
    "Remembered states are weighted by the target of now, and not by that of their time as well.",
    "fast/sampling/replay.py",
    "beta * buffer.log_rewards - buffer.log_densities",
    "beta * buffer.log_rewards",
)
@pytest.mark.catches(
    "States of different times are weighted without the ratio of their normalising constants.",
    "fast/sampling/replay.py",
    "jnp.where(log_z > -jnp.inf, log_z, 0.0)",
    "0.0",
)
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_annealed_replay_draws_by_the_target_of_now_whatever_it_was_then(beta: float) -> None:
    # As often as the targets R^0.5 and R^1 have them: 1, 2, 3 and 1, 4, 9 times.
    rewards = [1.0, 4.0, 9.0]
    times = [[reward for reward in rewards for _ in range(round(reward**b))] for b in (0.5, 1.0)]
    held = [reward for part in times for reward in part]
    # A state without reward is met first: it is never drawn, and leaves the others as they are.
    buffer = _filled([(0.3, [0.0]), (0.5, times[0]), (1.0, times[1])], 64, weighed=True)
    drawn = _drawn(buffer, beta, by_reward=False)
    assert drawn[0] == 0
    law = [sum(drawn[1:][[r == reward for r in held]]) for reward in rewards]
    total = sum(reward**beta for reward in rewards)
    assert law == pytest.approx([reward**beta / total for reward in rewards], abs=1e-3)
    # By the ratio of Z, each time has the share of the states that it added.
    shares = sum(drawn[:7]), sum(drawn[7:])
    assert shares == pytest.approx((7 / 21, 14 / 21), abs=1e-3)
    # A full buffer has as many states as places.
    full = _drawn(_filled([(1.0, [4.0] * 8)] * 4, 16, weighed=True), beta, by_reward=False)
    assert full[16:].tolist() == pytest.approx([1 / 16] * 16, abs=1e-3)
