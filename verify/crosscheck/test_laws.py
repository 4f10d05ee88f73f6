"""Laws of networks: the streamed sums in floats against exact rationals on the lifted DAG."""

from collections import defaultdict

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.steps import evaluate
from fast.laws.exact_policy import exact_policy
from fast.laws.paths import as_batch, log_probabilities
from fast.laws.walk import complete_histories, policy_step
from fast.parts import BACKWARD
from reference.contract.errors import InputError, TooLargeError
from verify.crosscheck.instances import make_instance, random_policy
from verify.crosscheck.samplers import edges_along, make_exact, nodes_along


@pytest.mark.catches(
    "In summing trajectories, a p_B of the latent is read for the wrong backward action.",
    "fast/laws/walk.py",
    "undo = enumeration.undo[taken[part]]",
    "undo = 0 * enumeration.undo[taken[part]]",
    only="lifted",
)
@pytest.mark.crosscheck(
    "fast.laws.walk.complete_histories", "fast.laws.walk.policy_step", "fast.laws.paths.as_batch"
)
@pytest.mark.parametrize("p_b", BACKWARD)
def test_every_history_is_there_with_its_probabilities(p_b: str) -> None:
    instance = make_instance("synthetic, prepend-append")
    policy = random_policy(instance.environment, dynamics="linear", p_b=p_b)
    dag, enumeration = instance.enumeration.dag, instance.enumeration
    paths = list(dag.trajectories())
    nodes = np.array([nodes_along(dag, tau) for tau in paths])
    drawn = as_batch(instance.environment, [dag.states(tau) for tau in paths])
    assert edges_along(enumeration, drawn) == paths
    steps = eqx.filter_jit(evaluate)(policy, instance.environment, drawn)
    expected = np.stack([nodes[:, -1], steps.log_p_f.sum(1), steps.log_p_b.sum(1)])
    latent = None
    for time, at in enumerate(nodes[:, :2].T):
        seen = jnp.asarray(enumeration.observations[at], jnp.float32)
        latent, _, log_p = policy_step(policy, latent, seen, enumeration.edge[at] >= 0)
        taken = np.asarray(log_p)[np.arange(len(paths)), drawn.actions[:, time]]
        assert taken == pytest.approx(np.asarray(steps.log_p_f)[:, time], abs=2e-4)
    blocks = list(complete_histories(policy, enumeration, float64=False))
    histories = np.concatenate([np.stack([x.ends, x.log_p_f, x.log_p_b]) for x in blocks], axis=1)
    assert histories.shape == (3, dag.trajectory_count)
    # The numbers of no two trajectories to one terminal are within rounding of each other.
    ours, theirs = (rows[:, np.lexsort((rows[1], rows[0]))] for rows in (histories, expected))
    assert ours == pytest.approx(theirs, abs=2e-4)
    by_end = np.bincount(nodes[:, -1], np.exp(expected[2]))[list(dag.terminals)]
    # Soft-maxed over the base parents, a p_B of the latent is no policy on the lift (claim
    # unnormalised-backward-policy).
    error = np.abs(by_end - 1).max()
    assert error > 1e-3 if p_b == "lifted" else error < 1e-4


@pytest.mark.crosscheck("fast.laws.paths.log_probabilities")
@pytest.mark.parametrize("name", ["grid", "synthetic, prepend-append"])
def test_trajectories_given_by_their_labels_have_the_exact_probabilities(name: str) -> None:
    instance, policy, sampler, _ = make_exact(name)
    dag, environment = instance.enumeration.dag, instance.environment
    reward = dict(zip(dag.terminals, instance.enumeration.rewards, strict=True))
    chosen = list(dag.trajectories())[::7]
    labels = [dag.states(tau) for tau in chosen]
    computed = log_probabilities(policy, environment, labels)
    rows = zip(computed.log_p_f, computed.log_p_b, computed.log_reward, strict=True)
    for numbers, tau in zip(rows, chosen, strict=True):
        exact = [float(p) for p in (*sampler.along(tau), reward[dag.end(tau)])]
        assert numbers == pytest.approx(np.log(exact), abs=2e-4)
    # Control: they differ, and what is no complete trajectory is refused.
    assert computed.log_p_f.std() > 0.1
    first = labels[0]
    for wrong in (first[1:], first[:-1], first[:1] + first[:1] + first[1:]):
        with pytest.raises(InputError, match="trajectory"):
            log_probabilities(policy, environment, [wrong])


def test_a_path_dependent_policy_differs_between_histories_of_one_state() -> None:
    sampler = make_exact("grid").sampler
    lifted, rows = sampler.lifted, defaultdict(set)
    for node, edges in enumerate(lifted.dag.out_edges):
        rows[lifted.projection[node]].add(tuple(sampler.forward.values[e] for e in edges))
    assert any(len(laws) > 1 for laws in rows.values())


def test_summing_in_float64_leaves_the_precision_of_its_caller_alone() -> None:
    instance = make_instance("grid")
    for _ in complete_histories(make_exact("grid").policy, instance.enumeration, float64=True):
        assert jnp.zeros(1).dtype == jnp.float32


def test_too_large_a_lift_is_refused_with_its_size() -> None:
    with pytest.raises(TooLargeError, match="more than 20 states"):
        exact_policy(make_exact("grid").policy, make_instance("grid").enumeration, 20)
