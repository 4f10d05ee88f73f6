"""Backward policies: what is sampled backwards, and the mass of one that reads latents."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from fast.balance.steps import evaluate
from fast.laws.enumeration import decode_all
from fast.laws.paths import as_batch
from fast.laws.terminal_law import exact_law
from fast.laws.walk import base_log_p_b
from fast.parts import REPLAYS
from fast.sampling.backward import sample_backward
from fast.sampling.replay import Buffer, add, choose, empty_buffer
from reference import FLOAT64, BackwardKernel, path_sums
from verify.crosscheck.instances import Instance, make_instance, random_policy
from verify.lib.scopes import crossed

NAMES = ("lines", "grid", "synthetic, prepend-append", "walk", "ising, any order")


@pytest.mark.catches(
    "The head of a learned p_B reads the state before the step instead of the one after.",
    "fast/balance/steps.py",
    "seen = jax.vmap(environment.observe)(rows.after)",
    "seen = jax.vmap(environment.observe)(rows.before)",
    only="lines-learned",
)
@pytest.mark.crosscheck("fast.sampling.backward.sample_backward", "fast.laws.walk.base_log_p_b")
@pytest.mark.parametrize(("name", "p_b"), crossed(NAMES, ("learned", "uniform")))
def test_backward_trajectories_follow_the_backward_policy(name: str, p_b: Any) -> None:
    instance = make_instance(name)
    environment, enumeration = instance.environment, instance.enumeration
    dag = enumeration.dag
    policy = random_policy(environment, dynamics="markov", p_b=p_b)
    log_p_b = base_log_p_b(policy, enumeration, float64=False)
    x = max(dag.terminals, key=lambda node: sum(1 for _ in _paths(instance, node)))
    count = 20_000
    final = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (count, *np.shape(leaf))),
        environment.encode(dag.labels[x]),
    )
    draws = jax.random.uniform(jax.random.key(1), (environment.horizon, count))
    drawn = jax.jit(sample_backward)(policy, environment, final, draws)
    steps = jax.jit(evaluate)(policy, environment, drawn)
    expected = {path: math.exp(sum(log_p_b[e] for e in path)) for path in _paths(instance, x)}
    assert sum(expected.values()) == pytest.approx(1, abs=1e-5)
    found: dict[tuple[int, ...], int] = {}
    actions, active = np.asarray(drawn.actions), np.asarray(drawn.active)
    total = np.asarray(steps.log_p_b.sum(-1))
    for row in range(count):
        node, edges = 0, []
        for t in range(active[row].sum()):
            edges.append(int(enumeration.edge[node, actions[row, t]]))
            node = dag.edges[edges[-1]][1]
        assert node == x
        path = tuple(edges)
        if path not in found:
            assert total[row] == pytest.approx(math.log(expected[path]), abs=2e-4)
        found[path] = found.get(path, 0) + 1
    likely = {path: p for path, p in expected.items() if p * count >= 20}
    rest = 1 - sum(likely.values())
    cells = [(found.get(path, 0), p * count) for path, p in likely.items()]
    if rest * count >= 20:
        cells.append((count - sum(n for n, _ in cells), rest * count))
    if len(cells) > 1:
        statistic = sum((n - e) ** 2 / e for n, e in cells)
        # A right sampler is rejected with probability 1e-6.
        assert statistic <= chi2.ppf(1 - 1e-6, len(cells) - 1)


def _paths(instance: Instance, x: int) -> Any:
    """The edges of every trajectory from `s_o` to a node."""
    dag = instance.enumeration.dag

    def back(node: int) -> Any:
        if node == 0:
            yield ()
        for edge in dag.in_edges[node]:
            for path in back(dag.edges[edge][0]):
                yield (*path, edge)

    return back(x)


@pytest.mark.catches(
    "A trajectory that was drawn backwards is turned round one row too late.",
    "fast/sampling/backward.py",
    "row = length - 1 - jnp.arange(time)[:, None]",
    "row = length - jnp.arange(time)[:, None]",
)
def test_states_on_the_way_back_are_those_on_the_way_forth() -> None:
    instance = make_instance("grid")
    environment = instance.environment
    policy = random_policy(environment, dynamics="markov")
    labels = [instance.enumeration.dag.labels[x] for x in instance.enumeration.dag.terminals]
    final = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(environment.encode, labels))
    draws = jax.random.uniform(jax.random.key(2), (environment.horizon, len(labels)))
    drawn = jax.jit(sample_backward)(policy, environment, final, draws)
    for row in range(len(labels)):
        length = int(drawn.active[row].sum())
        states = [
            jax.tree.map(lambda leaf, t=t, row=row: leaf[row, t], drawn.states)
            for t in range(length + 1)
        ]
        seen = [environment.decode(state) for state in states]
        assert seen[0] == instance.problem.initial
        assert seen[-1] == labels[row]
        for t in range(length):
            assert seen[t + 1] in instance.problem.children(seen[t])
    assert decode_all(environment, drawn.final) == labels


@pytest.mark.parametrize("p_b", ["learned", "lifted"])
def test_the_mass_of_a_learned_backward_policy_is_one_unless_it_reads_latents(p_b: Any) -> None:
    instance = make_instance("synthetic, prepend-append")
    policy = random_policy(instance.environment, dynamics="gru", p_b=p_b)
    law = exact_law(policy, instance.enumeration, float64=True)
    assert law.backward_mass is not None
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    error = np.abs(law.backward_mass - 1).max()
    # Soft-maxed over the base parents, a p_B of the latent is no policy on the lift (claim
    # unnormalised-backward-policy).
    assert error < 1e-12 if p_b == "learned" else error > 1e-3


@pytest.mark.catches(
    "A p_B of the latent reads W_t instead of W_{t+1}.",
    "fast/balance/steps.py",
    "_flat(outputs[:, 1:]) if",
    "_flat(outputs[:, :time]) if",
)
@pytest.mark.catches(
    "A p_B of the latent reads the logits of p_F.",
    "fast/policies/policy.py",
    "outputs[..., self.actions : self.actions + self.backward.outputs]",
    "outputs[..., : self.backward.outputs]",
)
@pytest.mark.catches(
    "In summing trajectories, a p_B of the latent is read for the wrong backward action.",
    "fast/laws/walk.py",
    "undo = enumeration.undo[taken[part]]",
    "undo = 0 * enumeration.undo[taken[part]]",
)
def test_a_lifted_backward_policy_reads_the_latent_of_the_state_that_is_left() -> None:
    instance = make_instance("synthetic, prepend-append")
    environment, enumeration = instance.environment, instance.enumeration
    dag = enumeration.dag
    # With a flow after them, the logits of p_B are not the last outputs.
    policy = random_policy(environment, dynamics="gru", loss="subtb", p_b="lifted")
    taus = np.array(list(dag.trajectories()))
    nodes = np.array([[0, *(dag.edges[edge][1] for edge in tau)] for tau in taus])
    outputs = policy.network.unroll(jnp.asarray(enumeration.observations[nodes]))
    assert outputs.shape[-1] == environment.actions + environment.parents + 1
    # The definition: at (s', W') a soft-max of the outputs after those of the actions, over the
    # parents of s'.
    logits = np.asarray(outputs, np.float64)[:, 1:, environment.actions : -1]
    legal = enumeration.parent_masks[nodes[:, 1:]]
    log_p_b = logits - np.log(np.where(legal, np.exp(logits), 0.0).sum(-1, keepdims=True))
    undone = enumeration.undo[taus][..., None]
    expected = np.take_along_axis(log_p_b, undone, -1)[..., 0]
    # Along known trajectories.
    known = as_batch(environment, [[dag.labels[v] for v in path] for path in nodes])
    steps = jax.jit(evaluate)(policy, environment, known)
    assert np.abs(np.asarray(steps.log_p_b) - expected).max() < 2e-4
    assert np.abs(np.asarray(steps.log_flow) - np.asarray(outputs)[:, :-1, -1]).max() < 2e-4
    # In the sum over all trajectories.
    law = exact_law(policy, enumeration, float64=True)
    mass = np.bincount(nodes[:, -1], np.exp(expected.sum(-1)))[list(dag.terminals)]
    assert law.backward_mass == pytest.approx(mass, rel=2e-4)
    # Control: read one step too early, they are others.
    early = np.asarray(outputs, np.float64)[:, :-1, environment.actions : -1]
    assert np.abs(early - logits).max() > 0.1


@pytest.mark.catches(
    "log p_B of an edge is looked up at its parent instead of its child.",
    "fast/laws/walk.py",
    "heads = [v for _, v in enumeration.dag.edges]",
    "heads = [u for u, _ in enumeration.dag.edges]",
)
def test_the_table_of_a_learned_backward_policy_sums_to_one_over_parents() -> None:
    instance = make_instance("walk")
    policy = random_policy(instance.environment, dynamics="srwm", p_b="learned")
    log_p_b = base_log_p_b(policy, instance.enumeration, float64=True)
    dag = instance.enumeration.dag
    kernel = BackwardKernel(dag, FLOAT64, np.exp(log_p_b).tolist())
    for x in dag.terminals:
        assert path_sums(kernel)[x] == pytest.approx(1, abs=1e-12)
    degree = np.array([len(row) for row in dag.in_edges])[[v for _, v in dag.edges]]
    # Control: it is not the uniform one.
    assert np.abs(log_p_b + np.log(degree)).max() > 0.1


def _filled(rewards: list[float], capacity: int) -> Buffer:
    environment = make_instance("lines").environment
    buffer = empty_buffer(environment, capacity)
    for start in range(0, len(rewards), 2):
        part = jnp.log(jnp.array(rewards[start : start + 2]))
        states = environment.encode("q0")._replace(
            position=jnp.arange(start, start + 2, dtype=jnp.int32),
            stopped=jnp.ones(2, bool),
        )
        buffer = add(buffer, states, part)
    return buffer


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
@pytest.mark.parametrize("kind", [name for name, kind in REPLAYS.items() if kind().capacity])
def test_replay_draws_uniformly_or_in_proportion_to_reward(kind: str) -> None:
    # Six states into four places: the last four are left. A half-full buffer never gives a hole.
    for rewards, capacity, left in (
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4, {2: 3.0, 3: 4.0, 4: 5.0, 5: 6.0}),
        ([1.0, 2.0], 4, {0: 1.0, 1: 2.0}),
    ):
        buffer = _filled(rewards, capacity)
        count = 20_000
        draws = (jnp.arange(count) + 0.5) / count
        chosen = choose(buffer, draws, by_reward=REPLAYS[kind].by_reward)
        drawn = np.bincount(np.asarray(chosen.position), minlength=6) / count
        weights = {k: r if kind == "reward" else 1.0 for k, r in left.items()}
        for k in range(6):
            expected = weights.get(k, 0.0) / sum(weights.values())
            assert drawn[k] == pytest.approx(expected, abs=2e-4)
