"""Sampled trajectories against the reference: probabilities, losses, frequencies and laws."""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from fast.balance.loss import log_ratio
from fast.balance.losses import log_variance, tb
from fast.balance.steps import Steps, as_steps, evaluate, row_terms, rows_of
from fast.dynamics.head import WithHead
from fast.laws.enumeration import decode_all
from fast.laws.terminal_law import exact_law
from fast.parts import BACKWARD
from fast.policies.backward import LearnedBackward, masked_log_softmax
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, batch_first, between, repeat, uniforms
from reference import RATIONAL, ForwardPolicy, Trajectory, log_tb_residuals, marginal, mass
from verify.crosscheck.compare import excess, perceptron
from verify.crosscheck.instances import PROBLEMS, make_instance, random_policy
from verify.crosscheck.samplers import Drawn, Exact, draw, edges_along, make_exact
from verify.lib.scopes import crossed

# float32 soft-max and sums of up to seven log-probabilities of size up to about 30.
TOLERANCE = 2e-4

# Trajectories per call.
SAMPLES = 4_096


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
    stacked = jnp.stack(outputs, 1)
    rows = rows_of(drawn)
    before, after = (x.reshape(batch * time, -1) for x in (stacked[:, :-1], stacked[:, 1:]))
    terms = row_terms(policy, environment, rows, before, after)
    by_rows = as_steps(drawn, terms.reshape(3, batch, time))
    whole = jax.vmap(jax.vmap(environment.mask)), jax.vmap(jax.vmap(environment.parent_mask))
    parents = jax.vmap(environment.undo)(rows.before, rows.action).reshape(batch, time)
    steps = evaluate(policy, environment, drawn)
    masks, parent_masks = (mask(drawn.states) for mask in whole)
    seen = jnp.swapaxes(seen, 0, 1)
    return OneByOne(drawn, steps, by_rows, stacked, seen, masks, parent_masks, parents)


def log_softmax_at(logits: Any, mask: Any, index: int) -> float:
    """In float64, over what is legal."""
    scores = np.where(mask, np.asarray(logits, np.float64), -np.inf)
    return float(scores[index] - logsumexp(scores))


@pytest.mark.catches(
    "A p_B of the latent reads W_t instead of W_{t+1}.",
    "fast/balance/steps.py",
    "_flat(outputs[:, 1:]) if",
    "_flat(outputs[:, :time]) if",
    only="lifted",
)
@pytest.mark.catches(
    "A p_B of the latent reads the logits of p_F.",
    "fast/policies/policy.py",
    "outputs[..., self.actions : self.actions + self.backward.outputs]",
    "outputs[..., : self.backward.outputs]",
    only="lifted",
)
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
    stepwise = jax.tree.map(np.asarray, one_by_one(policy, instance.environment, draws))
    for row, t in np.argwhere(stepwise.drawn.active):
        outputs, action = stepwise.outputs[row, t], stepwise.drawn.actions[row, t]
        expected = (
            log_softmax_at(outputs[: policy.actions], stepwise.masks[row, t], action),
            outputs[-1],
        )
        mask, parent = stepwise.parent_masks[row, t + 1], stepwise.parents[row, t]
        if p_b == "uniform":
            log_p_b = -np.log(mask.sum())
        elif p_b == "learned":
            # A second look at the state alone.
            assert isinstance(policy.backward, LearnedBackward)
            head = perceptron(policy.backward.head, stepwise.seen[row, t + 1].astype(np.float64))
            log_p_b = log_softmax_at(head, mask, parent)
            logits = np.asarray(policy.backward.logits(stepwise.seen[row, t + 1]))
            assert logits == pytest.approx(head, abs=TOLERANCE)
        else:
            read = slice(policy.actions, policy.actions + instance.environment.parents)
            later = stepwise.outputs[row, t + 1, read]
            log_p_b = log_softmax_at(later, mask, parent)
        for steps in (stepwise.steps, stepwise.by_rows):
            assert steps.log_p_f[row, t] == pytest.approx(expected[0], abs=TOLERANCE)
            assert steps.log_flow[row, t] == pytest.approx(expected[1], abs=TOLERANCE)
            assert steps.log_p_b[row, t] == pytest.approx(log_p_b, abs=TOLERANCE)
    for steps in (stepwise.steps, stepwise.by_rows):
        assert not any(term[~stepwise.drawn.active].any() for term in steps[:3])
    # Control: the terms differ between steps.
    assert stepwise.steps.log_p_f[stepwise.drawn.active].std() > 0.1


@pytest.mark.crosscheck("fast.sampling.trajectories.uniforms")
def test_the_random_numbers_of_a_batch_are_uniform() -> None:
    environment = make_instance("grid").environment
    draws = np.asarray(uniforms(jax.random.key(0), environment, 2_000))
    assert draws.shape == (environment.horizon, 2_000)
    counts = np.bincount((draws * 20).astype(int).ravel(), minlength=20)
    assert excess(counts, np.full(20, draws.size / 20)) <= 1


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


class Sampled(NamedTuple):
    """A random policy, trajectories of it, and each as edges of its lift."""

    exact: Exact
    drawn: Drawn
    trajectories: list[Trajectory]


@pytest.fixture(
    params=crossed(PROBLEMS, ("srwm", "markov")),
    ids=lambda param: f"{param[0]}, {param[1]}",
    scope="module",
)
def sampled(request: pytest.FixtureRequest) -> Sampled:
    name, dynamics = request.param
    exact = make_exact(name, dynamics=dynamics)
    whole = draw(exact.policy, exact.instance.environment, SAMPLES, 0.3, seed=2)
    drawn = jax.tree.map(lambda leaf: leaf[:64], whole)
    edges = edges_along(exact.instance.enumeration, drawn.trajectories)
    return Sampled(exact, drawn, [exact.sampler.lifted.above(tau) for tau in edges])


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
def test_rollouts_are_complete_and_have_the_exact_probabilities_and_rewards(
    sampled: Sampled,
) -> None:
    (instance, _, sampler, _), (drawn, cached, steps) = sampled.exact, sampled.drawn
    dag = sampler.lifted.dag
    ends = [dag.labels[dag.end(tau)] for tau in sampled.trajectories]
    assert ends == decode_all(instance.environment, drawn.final)
    log_p_f = np.log([float(sampler.forward.along(tau)) for tau in sampled.trajectories])
    log_p_b = np.log([float(sampler.backward.along(tau)) for tau in sampled.trajectories])
    for computed, expected in (
        (steps.log_p_f.sum(-1), log_p_f),
        (cached.log_p_f.sum(-1), log_p_f),
        (steps.log_p_b.sum(-1), log_p_b),
        (drawn.log_reward, np.log([float(instance.rewards[x]) for x in ends])),
    ):
        assert np.asarray(computed) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.catches(
    "log p_B is added to log p_F instead of subtracted.",
    "fast/balance/loss.py",
    "jnp.sum(steps.log_p_f - steps.log_p_b, -1)",
    "jnp.sum(steps.log_p_f + steps.log_p_b, -1)",
    only="lines, srwm",
)
def test_losses_equal_those_of_the_exact_residuals(sampled: Sampled) -> None:
    sampler, rewards = sampled.exact.sampler, sampled.exact.instance.enumeration.rewards
    log_z, steps = 0.7, sampled.drawn.steps
    residual = dict(log_tb_residuals(sampler.forward, sampler.backward, rewards, log_z))
    delta = np.array([residual[tau] for tau in sampled.trajectories])
    # Contrastive balance: the mean over ordered pairs of distinct trajectories of the batch.
    pairs, batch = (delta[:, None] - delta[None, :]) ** 2, len(delta)
    variance, f = pairs.sum() / (batch * (batch - 1)), log_ratio(steps)
    assert float(tb(steps, jnp.float32(log_z))) == pytest.approx(np.mean(delta**2), rel=1e-4)
    assert float(log_variance(f)) == pytest.approx(variance, rel=1e-4)
    # Controls: the wrong constant, and the biased variance, are both seen.
    assert float(tb(steps, jnp.float32(log_z + 0.1))) != pytest.approx(np.mean(delta**2), rel=1e-4)
    assert float(log_variance(f)) != pytest.approx(pairs.mean(), rel=1e-4)


def test_sampler_draws_from_its_exact_marginal(sampled: Sampled) -> None:
    instance, policy, _, p_t = sampled.exact
    environment = instance.environment
    # Without exploration, which is an argument: the program of the fixture.
    blocks = [draw(policy, environment, SAMPLES, seed=seed)[0].final for seed in range(5)]
    counts = instance.counts(x for final in blocks for x in decode_all(environment, final))
    assert counts.sum() == 5 * SAMPLES
    assert excess(counts, np.array(p_t, float) * 5 * SAMPLES) <= 1
    # Control: the law of the uniform policy is rejected on the same samples.
    walk = marginal(ForwardPolicy.uniform(instance.enumeration.dag, RATIONAL))
    assert excess(counts, np.array(walk, float) * 5 * SAMPLES) > 1


@pytest.mark.catches(
    "The probabilities of trajectories are accumulated in float32.",
    "fast/laws/terminal_law.py",
    "p_t, log_z_below = np.zeros(nodes), 0.0",
    "p_t, log_z_below = np.zeros(nodes, np.float32), 0.0",
)
@pytest.mark.crosscheck("fast.laws.terminal_law.exact_law", "fast.dynamics.head.WithHead")
def test_law_in_floats_equals_the_exact_one(sampled: Sampled) -> None:
    instance, policy, sampler, p_t = sampled.exact
    kernel = sampler.backward
    assert isinstance(policy.network, WithHead)
    assert sum(p_t) == 1
    assert set(mass(kernel)) == {1}
    # float64: relative rounding of the network; float32 likewise, with logits up to about 30.
    for float64, tolerance in ((True, 1e-12), (False, 2e-4)):
        law = exact_law(policy, instance.enumeration, float64=float64)
        assert law.probabilities == pytest.approx(np.array(p_t, float), rel=tolerance, abs=0)


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
