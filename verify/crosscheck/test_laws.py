"""Laws of networks: the streamed sums in floats against exact rationals on the lifted DAG."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.steps import evaluate
from fast.dynamics.head import WithHead
from fast.laws.exact_policy import exact_policy
from fast.laws.paths import as_batch, log_probabilities
from fast.laws.terminal_law import exact_law
from fast.laws.walk import complete_histories, policy_step
from fast.parts import BACKWARD
from reference import RATIONAL, BackwardPolicy, log_tb_residuals, marginal, mass
from reference.errors import InputError, TooLargeError
from verify.crosscheck.instances import PROBLEMS, make_instance, random_policy
from verify.lib.scopes import crossed


@pytest.mark.catches(
    "The probabilities of trajectories are accumulated in float32.",
    "fast/laws/terminal_law.py",
    "p_t, mass = np.zeros(nodes), np.zeros(nodes)",
    "p_t, mass = np.zeros(nodes, np.float32), np.zeros(nodes, np.float32)",
)
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
    "fast.laws.walk.policy_step",
    "fast.laws.paths.as_batch",
)
@pytest.mark.parametrize("p_b", BACKWARD)
def test_every_history_is_there_with_its_probabilities(p_b: str) -> None:
    instance = make_instance("synthetic, prepend-append")
    policy = random_policy(instance.environment, dynamics="linear", p_b=p_b)
    dag, enumeration = instance.enumeration.dag, instance.enumeration
    paths = list(dag.trajectories())
    nodes = np.array([[0, *(dag.edges[edge][1] for edge in tau)] for tau in paths])
    action_of = {int(enumeration.edge[u, a]): a for u, a in np.argwhere(enumeration.edge >= 0)}
    actions = np.array([[action_of[edge] for edge in tau] for tau in paths])
    drawn = as_batch(instance.environment, [[dag.labels[v] for v in path] for path in nodes])
    assert np.array_equal(drawn.actions, actions)
    assert drawn.active.all()
    steps = eqx.filter_jit(evaluate)(policy, instance.environment, drawn)
    expected = np.stack([nodes[:, -1], steps.log_p_f.sum(1), steps.log_p_b.sum(1)])
    latent = None
    for time, at in enumerate(nodes[:, :2].T):
        seen = jnp.asarray(enumeration.observations[at], jnp.float32)
        latent, _, log_p = policy_step(policy, latent, seen, enumeration.edge[at] >= 0)
        taken = np.asarray(log_p)[np.arange(len(paths)), actions[:, time]]
        assert taken == pytest.approx(np.asarray(steps.log_p_f)[:, time], abs=2e-4)
    blocks = list(complete_histories(policy, enumeration, float64=False))
    found = np.concatenate([np.stack([x.ends, x.log_p_f, x.log_p_b]) for x in blocks], axis=1)
    assert found.shape == (3, dag.trajectory_count)
    # The numbers of no two trajectories to one terminal are within rounding of each other.
    ours, theirs = (rows[:, np.lexsort((rows[1], rows[0]))] for rows in (found, expected))
    assert ours == pytest.approx(theirs, abs=2e-4)


@pytest.mark.crosscheck("fast.laws.paths.log_probabilities")
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
