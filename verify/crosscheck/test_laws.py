"""Laws of networks: the streamed sums in floats against exact rationals on the lifted DAG."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.steps import evaluate
from fast.dynamics.head import WithHead
from fast.environments.interface import encode_all
from fast.laws.exact_policy import exact_policy
from fast.laws.history_sums import Share, sum_histories
from fast.laws.terminal_law import exact_law
from fast.laws.trajectory_probability import log_probabilities
from fast.laws.walk import (
    complete_histories,
    evaluate_histories,
    rows_of_latents,
)
from fast.parts import BACKWARD
from fast.sampling.trajectories import Trajectories
from reference import RATIONAL, BackwardPolicy, log_tb_residuals, marginal, mass
from reference.errors import InputError, TooLargeError
from verify.crosscheck.instances import PROBLEMS, make_instance, random_policy
from verify.lib.scopes import crossed


@pytest.mark.crosscheck("fast.laws.terminal_law.exact_law", "fast.dynamics.head.WithHead")
@pytest.mark.parametrize(("name", "dynamics"), crossed(PROBLEMS, ("markov", "srwm")))
def test_law_in_floats_equals_the_exact_one(name: str, dynamics: str) -> None:
    instance = make_instance(name)
    policy = random_policy(instance.environment, dynamics=dynamics)
    assert isinstance(policy.network, WithHead)
    lifted, exact = exact_policy(policy, instance.enumeration, 100_000)
    p_t = marginal(exact)
    assert sum(p_t) == 1
    expected = np.array([float(p) for p in p_t])
    kernel = BackwardPolicy.uniform(instance.enumeration.dag, RATIONAL).on(lifted)
    assert set(mass(kernel)) == {1}
    residuals = [
        delta for _, delta in log_tb_residuals(exact, kernel, instance.enumeration.rewards, 0.0)
    ]
    # float64: relative rounding of the network; float32 likewise, with logits up to about 30.
    for float64, tolerance in ((True, 1e-12), (False, 2e-4)):
        law = exact_law(policy, instance.enumeration, float64=float64)
        assert law.probabilities == pytest.approx(expected, rel=tolerance, abs=0)
        assert law.backward_mass == pytest.approx(1, abs=1e-12)
        assert law.log_ratio_range is not None
        assert law.log_ratio_range == pytest.approx(
            (min(residuals), max(residuals)), abs=tolerance * 50
        )


@pytest.mark.crosscheck(
    "fast.laws.walk.complete_histories",
    "fast.laws.walk.evaluate_histories",
    "fast.laws.walk.rows_of_latents",
)
@pytest.mark.parametrize("p_b", BACKWARD)
def test_every_history_is_there_with_its_probabilities(p_b: str) -> None:
    instance = make_instance("synthetic, prepend-append")
    policy = random_policy(instance.environment, dynamics="linear", p_b=p_b)
    dag, enumeration = instance.enumeration.dag, instance.enumeration
    paths = list(dag.trajectories())
    nodes = np.array([[0, *(dag.edges[edge][1] for edge in tau)] for tau in paths])
    states = encode_all(instance.environment, dag.labels)
    action_of = {int(enumeration.edge[u, a]): a for u, a in np.argwhere(enumeration.edge >= 0)}
    actions = np.array([[action_of[edge] for edge in tau] for tau in paths])
    final = jax.tree.map(lambda leaf: leaf[nodes[:, -1]], states)
    drawn = Trajectories(
        jax.tree.map(lambda leaf: leaf[nodes], states),
        jnp.asarray(actions),
        jnp.ones(actions.shape, bool),
        final,
        jnp.zeros(len(paths)),
    )
    steps = eqx.filter_jit(evaluate)(policy, instance.environment, drawn)
    expected = np.stack([nodes[:, -1], steps.log_p_f.sum(1), steps.log_p_b.sum(1)])
    start = np.zeros(2, np.int64)
    tables = (
        jnp.asarray(enumeration.observations, jnp.float32),
        jnp.asarray(enumeration.edge >= 0),
        jnp.asarray(enumeration.parent_masks),
    )
    latents, log_p, _ = evaluate_histories(policy, None, start, start, tables)
    by_step = np.asarray(steps.log_p_f)
    assert np.asarray(log_p)[0, actions[:, 0]] == pytest.approx(by_step[:, 0], abs=2e-4)
    parents = rows_of_latents(latents, start)
    _, log_p, _ = evaluate_histories(policy, parents, nodes[:2, 1], start, tables)
    second = np.asarray(log_p)[[0, 1], actions[:2, 1]]
    assert second == pytest.approx(by_step[:2, 1], abs=2e-4)
    blocks = list(complete_histories(policy, enumeration, float64=False))
    found = np.concatenate([np.stack(block) for block in blocks], axis=1)
    assert found.shape == (3, dag.trajectory_count)
    # The numbers of no two trajectories to one terminal are within rounding of each other.
    ours, theirs = (rows[:, np.lexsort((rows[1], rows[0]))] for rows in (found, expected))
    assert ours == pytest.approx(theirs, abs=2e-4)


@pytest.mark.long
@pytest.mark.crosscheck("fast.laws.history_sums.sum_histories")
@pytest.mark.parametrize("p_b", BACKWARD)
@pytest.mark.parametrize("name", ["grid", "synthetic, prepend-append"])
def test_sums_on_the_device_are_those_of_the_histories(name: str, p_b: str) -> None:
    enumeration = make_instance(name).enumeration
    policy = random_policy(make_instance(name).environment, dynamics="gru", p_b=p_b)
    histories = list(complete_histories(policy, enumeration, float64=True))
    ends, log_p_f, log_p_b = map(np.concatenate, zip(*histories, strict=True))
    nodes = len(enumeration.dag.labels)
    log_reward = np.full(nodes, np.nan)
    log_reward[list(enumeration.dag.terminals)] = enumeration.log_rewards
    f = log_p_f - log_p_b - log_reward[ends]
    expected = (
        *(np.bincount(ends, np.exp(x), nodes) for x in (log_p_f, log_p_b)),
        f.min(),
        f.max(),
    )
    # Few trajectories in each call, so that many blocks are padded, cut and put back.
    for blocks in ((2, 3, 5), (64, 4096)):
        found = sum_histories(policy, enumeration, float64=True, blocks=blocks)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-300)
    # Three processes have as much together, each less than all.
    shares = [
        sum_histories(policy, enumeration, float64=True, blocks=(64, 4096), share=Share(i, 3, 2))
        for i in range(3)
    ]
    together = (
        *(sum(getattr(part, name) for part in shares) for name in ("p_t", "mass")),
        min(part.low for part in shares),
        max(part.high for part in shares),
    )
    for ours, theirs in zip(together, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-300)
    assert all(part.p_t.sum() < 0.99 for part in shares)
    law = exact_law(policy, enumeration, float64=True, on_device=True)
    assert law.probabilities == pytest.approx(found.p_t[list(enumeration.dag.terminals)], rel=1e-11)
    # Control: of another policy they are others.
    other = random_policy(make_instance(name).environment, 1, dynamics="gru", p_b=p_b)
    found = sum_histories(other, enumeration, float64=True, blocks=(64, 4096))
    assert np.abs(found.p_t - expected[0]).max() > 1e-3
    assert found.high != pytest.approx(expected[3], rel=1e-3)


@pytest.mark.crosscheck("fast.laws.trajectory_probability.log_probabilities")
@pytest.mark.parametrize("name", ["grid", "synthetic, prepend-append"])
def test_trajectories_given_by_their_labels_have_the_exact_probabilities(name: str) -> None:
    instance = make_instance(name)
    policy, dag = random_policy(instance.environment), instance.enumeration.dag
    lifted, exact = exact_policy(policy, instance.enumeration, 100_000)
    kernel = BackwardPolicy.uniform(dag, RATIONAL).on(lifted)
    reward = dict(zip(dag.terminals, instance.enumeration.rewards, strict=True))
    chosen = list(lifted.dag.trajectories())[::7]
    nodes = [
        [lifted.projection[v] for v in (0, *(lifted.dag.edges[edge][1] for edge in tau))]
        for tau in chosen
    ]
    labels = [[dag.labels[v] for v in path] for path in nodes]
    found = log_probabilities(policy, instance.environment, labels)
    for row, (tau, path) in enumerate(zip(chosen, nodes, strict=True)):
        assert found.log_p_f[row] == pytest.approx(np.log(float(exact.along(tau))), abs=2e-4)
        assert found.log_p_b[row] == pytest.approx(np.log(float(kernel.along(tau))), abs=2e-4)
        assert found.log_reward[row] == pytest.approx(np.log(float(reward[path[-1]])), abs=2e-4)
    # Control: they differ, and what is no complete trajectory is refused.
    assert found.log_p_f.std() > 0.1
    first = labels[0]
    for wrong in (first[1:], first[:-1], first[:1] + first[:1] + first[1:]):
        with pytest.raises(InputError, match="trajectory"):
            log_probabilities(policy, instance.environment, [wrong])


def test_control_another_policy_has_another_law() -> None:
    instance = make_instance("grid")
    laws = [
        exact_law(random_policy(instance.environment, seed), instance.enumeration, float64=True)
        for seed in (0, 1)
    ]
    assert np.abs(laws[0].probabilities - laws[1].probabilities).max() > 1e-3


def test_a_path_dependent_policy_differs_between_histories_of_one_state() -> None:
    instance = make_instance("table, prepend-append")
    lifted, exact = exact_policy(random_policy(instance.environment), instance.enumeration, 100_000)
    rows: dict[int, set[tuple[object, ...]]] = {}
    for node, edges in enumerate(lifted.dag.out_edges):
        if edges:
            row = tuple(exact.values[e] for e in edges)
            rows.setdefault(lifted.projection[node], set()).add(row)
    assert any(len(found) > 1 for found in rows.values())


def test_summing_in_float64_leaves_the_precision_of_its_caller_alone() -> None:
    instance = make_instance("lines")
    policy = random_policy(instance.environment)
    for _ in complete_histories(policy, instance.enumeration, float64=True):
        assert jnp.zeros(1).dtype == jnp.float32


def test_too_large_a_lift_is_refused_with_its_size() -> None:
    instance = make_instance("grid")
    with pytest.raises(TooLargeError, match="more than 20 states"):
        exact_policy(random_policy(instance.environment), instance.enumeration, 20)
