"""Sampled trajectories against the reference: probabilities, losses and frequencies."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from fast.balance.loss import log_ratio
from fast.balance.losses import log_variance, tb
from fast.balance.steps import Steps, as_steps, evaluate, row_terms, rows_of
from fast.laws.enumeration import decode_all
from fast.laws.exact_policy import exact_policy
from fast.parts import BACKWARD
from fast.policies.backward import LearnedBackward, masked_log_softmax
from fast.policies.policy import Policy
from fast.sampling.actions import Exploration, draw_action
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, batch_first, between, repeat, uniforms
from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    LiftedDAG,
    Trajectory,
    log_tb_residuals,
    marginal,
)
from verify.crosscheck.compare import perceptron
from verify.crosscheck.instances import PROBLEMS, Instance, make_instance, random_policy
from verify.lib.scopes import crossed

# float32 soft-max and sums of up to seven log-probabilities of size up to about 30.
TOLERANCE = 2e-4

# Trajectories per call.
SAMPLES = 4_096

# A goodness-of-fit test rejects a right sampler with this probability, and no more often.
ERROR_PROBABILITY = 1e-6


class Sampled(NamedTuple):
    """A random policy as network and as exact object, and trajectories of it."""

    instance: Instance
    policy: Policy
    lifted: LiftedDAG[Any]
    exact: ForwardPolicy[Any]
    drawn: Trajectories
    on_the_way: Any
    steps: Steps
    trajectories: list[Trajectory]


@eqx.filter_jit
def draw(
    policy: Policy, environment: Any, batch: int, epsilon: Any, seed: Any
) -> tuple[Trajectories, Any, Steps]:
    """Trajectories, `log p_F` on the way, and their terms evaluated afterwards.

    Whatever the share of uniform actions, it is one program.
    """
    draws = uniforms(jax.random.key(seed), environment, batch)
    drawn, cached = sample_trajectories(policy, environment, draws, Exploration(epsilon))
    return drawn, cached.log_p_f, evaluate(policy, environment, drawn)


class OneByOne(NamedTuple):
    """Trajectories, their terms, and a network's outputs on the way, one step at a time."""

    drawn: Trajectories
    steps: Steps
    by_rows: Steps
    outputs: Any
    seen: Any
    masks: Any
    parent_masks: Any
    parents: Any


@eqx.filter_jit
def one_by_one(policy: Policy, environment: Any, draws: Any) -> OneByOne:
    drawn, _ = sample_trajectories(policy, environment, draws)
    time, batch = draws.shape
    each = jax.vmap(jax.vmap(environment.observe))
    seen = jnp.swapaxes(each(drawn.states), 0, 1)
    latent, network = policy.network.initial((batch,)), policy.network
    outputs = [network.read(latent, seen[0])]
    for observation in seen[1:]:
        latent = network.advance(latent, observation)
        outputs.append(network.read(latent, observation))
    found = jnp.stack(outputs, 1)
    rows = rows_of(drawn)
    before, after = (x.reshape(batch * time, -1) for x in (found[:, :-1], found[:, 1:]))
    terms = row_terms(policy, environment, rows, before, after)
    by_rows = as_steps(drawn, terms.reshape(3, batch, time))
    whole = jax.vmap(jax.vmap(environment.mask)), jax.vmap(jax.vmap(environment.parent_mask))
    parents = jax.vmap(environment.undo)(rows.before, rows.action).reshape(batch, time)
    steps = evaluate(policy, environment, drawn)
    masks, parent_masks = (mask(drawn.states) for mask in whole)
    seen = jnp.swapaxes(seen, 0, 1)
    return OneByOne(drawn, steps, by_rows, found, seen, masks, parent_masks, parents)


def log_softmax_at(logits: Any, mask: Any, index: int) -> float:
    """In float64, over what is legal."""
    scores = np.where(mask, np.asarray(logits, np.float64), -np.inf)
    return float(scores[index] - logsumexp(scores))


@pytest.mark.crosscheck(
    "fast.balance.steps.evaluate",
    "fast.balance.steps.row_terms",
    "fast.balance.steps.rows_of",
    "fast.balance.steps.as_steps",
    "fast.policies.policy.Policy.log_p_b",
    "fast.policies.backward.UniformBackward.log_p_b",
    "fast.policies.backward.LearnedBackward.logits",
    "fast.policies.backward.LiftedBackward.log_p_b",
    "fast.dynamics.perceptron.Perceptron.__call__",
)
@pytest.mark.parametrize("p_b", BACKWARD)
def test_terms_are_those_of_the_network_step_by_step(p_b: str) -> None:
    instance = make_instance("walk" if p_b == "uniform" else "grid")
    policy = random_policy(instance.environment, dynamics="gru", loss="subtb", p_b=p_b)
    draws = uniforms(jax.random.key(4), instance.environment, 8)
    found = jax.tree.map(np.asarray, one_by_one(policy, instance.environment, draws))
    for row, t in np.argwhere(found.drawn.active):
        outputs, action = found.outputs[row, t], found.drawn.actions[row, t]
        expected = (
            log_softmax_at(outputs[: policy.actions], found.masks[row, t], action),
            outputs[-1],
        )
        mask, parent = found.parent_masks[row, t + 1], found.parents[row, t]
        if p_b == "uniform":
            log_p_b = -np.log(mask.sum())
        elif p_b == "learned":
            # A second look at the state alone.
            assert isinstance(policy.backward, LearnedBackward)
            head = perceptron(policy.backward.head, found.seen[row, t + 1].astype(np.float64))
            log_p_b = log_softmax_at(head, mask, parent)
            logits = np.asarray(policy.backward.logits(found.seen[row, t + 1]))
            assert logits == pytest.approx(head, abs=TOLERANCE)
        else:
            read = slice(policy.actions, policy.actions + instance.environment.parents)
            later = found.outputs[row, t + 1, read]
            log_p_b = log_softmax_at(later, mask, parent)
        for steps in (found.steps, found.by_rows):
            assert steps.log_p_f[row, t] == pytest.approx(expected[0], abs=TOLERANCE)
            assert steps.log_flow[row, t] == pytest.approx(expected[1], abs=TOLERANCE)
            assert steps.log_p_b[row, t] == pytest.approx(log_p_b, abs=TOLERANCE)
    for steps in (found.steps, found.by_rows):
        assert not any(term[~found.drawn.active].any() for term in steps[:3])
    # Control: the terms differ between steps.
    assert found.steps.log_p_f[found.drawn.active].std() > 0.1


@pytest.mark.crosscheck("fast.sampling.trajectories.uniforms")
def test_the_random_numbers_of_a_batch_are_uniform() -> None:
    environment = make_instance("grid").environment
    draws = np.asarray(uniforms(jax.random.key(0), environment, 2_000))
    assert draws.shape == (environment.horizon, 2_000)
    counts = np.bincount((draws * 20).astype(int).ravel(), minlength=20)
    assert _chi_square(counts, np.full(20, draws.size / 20)) <= 1


@pytest.mark.crosscheck(
    "fast.sampling.trajectories.batch_first",
    "fast.sampling.trajectories.between",
    "fast.sampling.trajectories.repeat",
)
def test_parts_of_trajectories_are_where_they_were() -> None:
    rng = np.random.default_rng(0)
    # Time first: states of two leaves, of 6 times and 3 trajectories.
    states = {"a": rng.integers(9, size=(6, 3, 2)), "b": np.arange(18).reshape(6, 3)}
    actions, active = rng.integers(4, size=(5, 3)), rng.integers(2, size=(5, 3)) > 0
    final, log_reward = jax.tree.map(lambda leaf: leaf[-1], states), rng.integers(9, size=3)
    whole: tuple[Any, ...] = (states, actions, active, final, log_reward)
    turned = batch_first(Trajectories(*whole))
    part = between(turned, 1, 4)
    for row in range(3):
        for name, leaf in states.items():
            assert np.array_equal(turned.states[name][row], leaf[:, row])
            # Three steps have four states.
            assert np.array_equal(part.states[name][row], leaf[1:5, row])
        assert np.array_equal(turned.actions[row], actions[:, row])
        assert np.array_equal(turned.active[row], active[:, row])
        assert np.array_equal(part.actions[row], actions[1:4, row])
        assert np.array_equal(part.active[row], active[1:4, row])
    for same in (turned, part):
        assert jax.tree.all(jax.tree.map(np.array_equal, same.final, final))
        assert np.array_equal(same.log_reward, log_reward)
    for name, leaf in repeat(final, 4).items():
        assert np.array_equal(leaf, np.stack([final[name]] * 4))


@pytest.fixture(
    params=crossed(PROBLEMS, ("srwm", "markov")),
    ids=lambda param: f"{param[0]}, {param[1]}",
    scope="module",
)
def sampled(request: pytest.FixtureRequest) -> Sampled:
    name, dynamics = request.param
    instance = make_instance(name)
    policy = random_policy(instance.environment, dynamics=dynamics)
    lifted, exact = exact_policy(policy, instance.enumeration, 100_000)
    environment = instance.environment
    drawn, on_the_way, steps = jax.tree.map(
        lambda leaf: leaf[:64], draw(policy, environment, SAMPLES, jnp.float32(0.3), jnp.int32(2))
    )
    trajectories = _on_the_lift(instance, lifted, drawn)
    return Sampled(instance, policy, lifted, exact, drawn, on_the_way, steps, trajectories)


def _on_the_lift(
    instance: Instance, lifted: LiftedDAG[Any], drawn: Trajectories
) -> list[Trajectory]:
    """The sampled actions, followed on the reference's lifted DAG."""
    found = []
    actions, active = np.asarray(drawn.actions), np.asarray(drawn.active)
    for row in range(len(actions)):
        node, path = 0, []
        for action in actions[row, active[row]]:
            base_edge = instance.enumeration.edge[lifted.projection[node], action]
            edge = next(e for e in lifted.dag.out_edges[node] if lifted.base_edge[e] == base_edge)
            path.append(edge)
            node = lifted.dag.edges[edge][1]
        found.append(tuple(path))
    return found


def test_sampled_trajectories_are_complete_and_end_where_the_environment_says(
    sampled: Sampled,
) -> None:
    dag = sampled.lifted.dag
    ends = [dag.labels[dag.end(tau)] for tau in sampled.trajectories]
    assert ends == decode_all(sampled.instance.environment, sampled.drawn.final)
    assert all(not dag.children[dag.end(tau)] for tau in sampled.trajectories)


@pytest.mark.catches(
    "p_B is normalised over the parents of the state before the step, not of the one after.",
    "fast/balance/steps.py",
    "log_p_b = policy.log_p_b(later, seen, jax.vmap(environment.parent_mask)(rows.after))",
    "log_p_b = policy.log_p_b(later, seen, jax.vmap(environment.parent_mask)(rows.before))",
    only="lines, srwm",
)
@pytest.mark.catches(
    "A uniform p_B divides by the number of backward actions, legal or not.",
    "fast/policies/backward.py",
    "-jnp.log(jnp.maximum(mask.sum(-1, keepdims=True), 1))",
    "-jnp.log(jnp.float32(mask.shape[-1]))",
    only="lines, srwm",
)
@pytest.mark.catches(
    "In sampling, network and latent see the state that is left instead of the one reached.",
    "fast/sampling/forward.py",
    "seen = jax.vmap(environment.observe)(following)",
    "seen = jax.vmap(environment.observe)(state)",
    only="lines, srwm",
)
@pytest.mark.catches(
    "In sampling, W is updated once more before the outputs are read from it.",
    "fast/sampling/forward.py",
    "read_out = network.dynamics.read(latent, observation)",
    "read_out = network.dynamics.read(network.advance(latent, observation), observation)",
    only="lines, srwm",
)
@pytest.mark.catches(
    "log p_F of padded steps is kept.",
    "fast/sampling/forward.py",
    "step = (following, action, active, jnp.where(active, taken, 0.0))",
    "step = (following, action, active, taken)",
    only="lines, srwm",
)
@pytest.mark.crosscheck("fast.sampling.forward.sample_trajectories")
def test_rollout_probabilities_and_rewards_equal_the_exact_ones(sampled: Sampled) -> None:
    dag, enumeration = sampled.lifted.dag, sampled.instance.enumeration
    kernel = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(sampled.lifted)
    reward = dict(zip(dag.terminals, enumeration.rewards, strict=True))
    log_p_f, log_p_b = (np.asarray(x.sum(-1)) for x in sampled.steps[:2])
    on_the_way = np.asarray(sampled.on_the_way.sum(-1))
    for row, tau in enumerate(sampled.trajectories):
        exact = np.log(float(sampled.exact.along(tau)))
        assert log_p_f[row] == pytest.approx(exact, abs=TOLERANCE)
        assert on_the_way[row] == pytest.approx(exact, abs=TOLERANCE)
        assert log_p_b[row] == pytest.approx(np.log(float(kernel.along(tau))), abs=TOLERANCE)
        assert sampled.drawn.log_reward[row] == pytest.approx(
            np.log(float(reward[dag.end(tau)])), abs=TOLERANCE
        )


@pytest.mark.catches(
    "log p_B is added to log p_F instead of subtracted.",
    "fast/balance/loss.py",
    "jnp.sum(steps.log_p_f - steps.log_p_b, -1)",
    "jnp.sum(steps.log_p_f + steps.log_p_b, -1)",
    only="lines, srwm",
)
def test_losses_equal_those_of_the_exact_residuals(sampled: Sampled) -> None:
    enumeration = sampled.instance.enumeration
    kernel = BackwardPolicy.uniform(enumeration.dag, RATIONAL).on(sampled.lifted)
    log_z = 0.7
    residual = dict(log_tb_residuals(sampled.exact, kernel, enumeration.rewards, log_z))
    delta = np.array([residual[tau] for tau in sampled.trajectories])
    steps, f = sampled.steps, log_ratio(sampled.steps)
    assert float(tb(steps, jnp.float32(log_z))) == pytest.approx(np.mean(delta**2), rel=1e-4)
    # Contrastive balance: the mean over ordered pairs of distinct trajectories of the batch.
    pairs = (delta[:, None] - delta[None, :]) ** 2
    batch = len(delta)
    assert float(log_variance(f)) == pytest.approx(pairs.sum() / (batch * (batch - 1)), rel=1e-4)
    # Controls: the wrong constant, and the biased variance, are both seen.
    assert float(tb(steps, jnp.float32(log_z + 0.1))) != pytest.approx(np.mean(delta**2), rel=1e-4)
    assert float(log_variance(f)) != pytest.approx(pairs.mean(), rel=1e-4)


def _chi_square(counts: Any, expected: Any) -> float:
    """Pearson's statistic over its critical value, small cells pooled; above 1 is a rejection."""
    order = np.argsort(expected)
    counts, expected = counts[order].astype(float), expected[order]
    # Pool cells until each expects at least 20, where the chi-square law is accurate.
    groups, total = np.zeros(len(expected), int), 0.0
    for i in range(1, len(expected)):
        total += expected[i - 1]
        groups[i] = groups[i - 1] + (total >= 20)
        total = 0.0 if total >= 20 else total
    c, e = np.bincount(groups, counts), np.bincount(groups, expected)
    if e[-1] < 20 and len(e) > 1:
        c, e = np.append(c[:-2], c[-2:].sum()), np.append(e[:-2], e[-2:].sum())
    if len(e) == 1:
        return 0.0
    critical = chi2.ppf(1 - ERROR_PROBABILITY, len(e) - 1)
    return float(((c - e) ** 2 / e).sum() / critical)


def test_sampler_draws_from_its_exact_marginal(sampled: Sampled) -> None:
    environment, enumeration = sampled.instance.environment, sampled.instance.enumeration
    law = np.array([float(p) for p in marginal(sampled.exact)])
    dag, samples, drawn = enumeration.dag, 5 * SAMPLES, []
    for seed in range(5):
        # Without exploration, which is an argument: the program of the fixture.
        final = draw(sampled.policy, environment, SAMPLES, jnp.float32(0), jnp.int32(seed))[0].final
        drawn += [dag.index[label] for label in decode_all(environment, final)]
    counts = np.bincount(drawn, minlength=len(dag.labels))[np.array(dag.terminals)]
    assert counts.sum() == samples
    assert _chi_square(counts, law * samples) <= 1
    # Control: the law of another random policy is rejected on the same samples.
    dynamics = "markov" if sampled.policy.is_markovian else "srwm"
    other = random_policy(environment, seed=1, dynamics=dynamics)
    _, other_exact = exact_policy(other, enumeration, 100_000)
    wrong = np.array([float(p) for p in marginal(other_exact)])
    assert _chi_square(counts, wrong * samples) > 1


@pytest.mark.crosscheck("fast.sampling.actions.draw_action")
def test_actions_are_drawn_by_inverting_the_distribution_function() -> None:
    rng = np.random.default_rng(0)
    logits, mask = rng.normal(size=(3, 4)), np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]]) > 0
    for epsilon, temperature in ((0.0, 1.0), (0.4, 1.0), (0.0, 2.5), (0.7, 0.5)):
        scores = np.where(mask, logits / temperature, -np.inf)
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        p = (1 - epsilon) * p + epsilon * mask / mask.sum(1, keepdims=True)
        draws = (np.arange(1000) + 0.5) / 1000
        log_p = np.where(mask, logits, -1e9).astype(np.float32)
        drawn = jax.jit(jax.vmap(draw_action, (None, None, 0, None)))(
            log_p, mask, np.repeat(draws[:, None], 3, 1).astype(np.float32),
            Exploration(jnp.float32(epsilon), jnp.float32(temperature)),
        )  # fmt: skip
        for row in range(3):
            counts = np.bincount(np.asarray(drawn)[:, row], minlength=4)
            # An interval of length p holds p * 1000 of equidistant points, up to one.
            assert np.abs(counts - 1000 * p[row]).max() <= 1.5
            assert not counts[~mask[row]].any()


def test_exploration_mixes_in_uniform_actions() -> None:
    instance = make_instance("grid")
    policy, uniform = random_policy(instance.environment), np.full(3, SAMPLES / 3)

    def first_actions(epsilon: float) -> Any:
        share, seed = jnp.float32(epsilon), jnp.int32(3)
        drawn, _, _ = draw(policy, instance.environment, SAMPLES, share, seed)
        return np.bincount(np.asarray(drawn.actions)[:, 0], minlength=3)

    assert _chi_square(first_actions(1), uniform) <= 1
    # Control: without exploration the same policy is far from uniform.
    assert _chi_square(first_actions(0), uniform) > 1


@pytest.mark.catches(
    "The mask multiplies logits instead of replacing them.",
    "fast/policies/backward.py",
    "jax.nn.log_softmax(jnp.where(mask, logits, MASKED))",
    "jax.nn.log_softmax(jnp.where(mask, logits, logits * -MASKED))",
)
@pytest.mark.crosscheck(
    "fast.policies.policy.Policy.log_p_f", "fast.policies.backward.masked_log_softmax"
)
def test_masked_actions_have_probability_zero_for_logits_of_any_sign() -> None:
    policy = random_policy(make_instance("grid").environment)
    mask = jnp.array([True, False, True])
    for logits in ([2.0, -1.0, 0.0], [-5.0, -1.0, -3.0], [0.0, 0.0, 0.0]):
        p = jnp.exp(policy.log_p_f(jnp.array(logits), mask))
        assert np.allclose(p, np.exp(masked_log_softmax(jnp.array(logits), mask)), rtol=1e-6)
        expected = np.exp(logits)[[0, 2]] / np.exp(logits)[[0, 2]].sum()
        assert p[np.array([0, 2])] == pytest.approx(expected, rel=1e-6)
        assert float(p[1]) == 0.0
        assert float(p.sum()) == pytest.approx(1, abs=1e-6)
    # Control: the multiplicative mask of eq:policya turns a negative logit into +inf, 0 into NaN.
    assert -1.0 * -math.inf == math.inf
    assert math.isnan(0.0 * -math.inf)
