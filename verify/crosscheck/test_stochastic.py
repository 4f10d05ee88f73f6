"""Samplers with a Gaussian latent in `fast`, against quadrature and densities written by hand."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax, logsumexp

from fast.balance.losses import tb_residuals
from fast.environments import AbstractEnvironment, feature_count, make_environment
from fast.laws.enumeration import Enumeration, Floats, enumerate_environment
from fast.laws.paths import rollout
from fast.laws.terminal_law import sampled_law
from fast.policies.policy import Sampler
from fast.sampling.actions import Exploration
from fast.stochastic.densities import Mixture, Normal, covariance_factor, log_normal, mean_vector
from fast.stochastic.options import GradientKind
from fast.stochastic.policy import LOG_RANGE, StochasticPolicy, features_of
from fast.stochastic.training import stochastic_loss
from fast.stochastic.trajectories import (
    LatentTrajectories,
    draw_noise,
    evaluate,
    log_choices,
    rollout_latents,
    sample_latent_trajectories,
    trace,
)
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from reference.problems import Lines
from verify.crosscheck.compare import TOLERANCE, distance, excess, perceptron
from verify.crosscheck.instances import filled
from verify.crosscheck.samplers import edges_along, nodes_along
from verify.lib.stochastic.gaussian import (
    Component,
    GaussianForward,
    GaussianTarget,
    Moments,
    log_tb_residual,
    terminal_law,
)

# Dyadic, as the variance's root: float32 holds them.
MEAN, VARIANCE, LOG_Z = 0.5, 2.25, 0.3


class Instance(NamedTuple):
    """Lines, and what a network needs on it."""

    environment: AbstractEnvironment
    enumeration: Enumeration
    seen: Floats


@functools.cache
def lines(length: int, step: int) -> Instance:
    problem = Lines.laplaces(length, step)
    environment = make_environment(problem)
    enumeration = enumerate_environment(problem, environment)
    of = jax.jit(lambda state: features_of(environment, state))
    seen = [of(environment.encode(label)) for label in enumeration.dag.labels]
    return Instance(environment, enumeration, np.array(seen, np.float64))


def random_policy(
    instance: Instance, seed: int, size: int = 1, spread: float = 0.3, **options: Any
) -> StochasticPolicy:
    """Random networks, of which every output depends on the latent."""
    shapes = eqx.filter_eval_shape(
        lambda key: StochasticPolicy(
            instance.seen.shape[1],
            instance.environment.actions,
            size,
            **{"sigma": 0.7, "hidden": (8,), "components": 2, "key": key, **options},
        ),
        jax.random.key(0),
    )
    rng = np.random.default_rng(seed)
    random: StochasticPolicy = filled(shapes, lambda shape: spread * rng.normal(size=shape))
    return random


def in_float64(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf, np.float64)), tree)


def moments_by_hand(policy: StochasticPolicy, network: Any, seen: Floats, w: Floats) -> Moments:
    """Mean and scale of the latent after `w`, by a network that sees that beside it."""
    shift, free = np.split(perceptron(network, np.concatenate([seen, w], -1)), 2, -1)
    memory = np.sqrt(max(0, 1 - policy.sigma**2))
    return memory * w + shift, policy.sigma * np.exp(LOG_RANGE * np.tanh(free / LOG_RANGE))


def as_reference(
    policy: StochasticPolicy, instance: Instance
) -> tuple[GaussianForward, Callable[[int, int, Floats], Moments]]:
    """The kernels of a policy with a latent in R, its networks evaluated by hand in NumPy."""
    enumeration, seen = instance.enumeration, instance.seen
    action_of = {
        (u, int(v)): a
        for u, row in enumerate(enumeration.child)
        for a, v in enumerate(row)
        if v >= 0
    }

    def at(w: Floats, *nodes: int) -> Floats:
        features = np.concatenate([seen[v] for v in nodes])
        return np.broadcast_to(features, (*w.shape, len(features)))

    def choice(u: int, w: Floats) -> Floats:
        outputs = perceptron(policy.head, np.concatenate([at(w, u), w[..., None]], -1))
        logits = outputs[..., [action_of[u, v] for v in enumeration.dag.children[u]]]
        return np.moveaxis(np.exp(log_softmax(logits, axis=-1)), -1, 0)

    def moments(network: Any, w: Floats, *nodes: int) -> Moments:
        mean, scale = moments_by_hand(policy, network, at(w, *nodes), w[..., None])
        return mean[..., 0], scale[..., 0]

    def step(v: int, w: Floats) -> Moments:
        return moments(policy.transition, w, v)

    def reverse(u: int, v: int, w: Floats) -> Moments:
        return moments(policy.reverse, w, u, v)

    logits = np.asarray(policy.start.logits, np.float64)
    components = zip(
        np.exp(logits - logsumexp(logits)),
        np.asarray(policy.start.means, np.float64)[:, 0],
        np.exp(np.asarray(policy.start.log_scales, np.float64)[:, 0]),
        strict=True,
    )
    start = tuple(Component(*map(float, part)) for part in components)
    return GaussianForward(enumeration.dag, start, choice, step), reverse


def target_of(instance: Instance) -> tuple[Normal, GaussianTarget]:
    """The same target twice; the rewards as the environment rounds their logarithms."""
    dag = instance.enumeration.dag
    ends = [instance.environment.encode(dag.labels[x]) for x in dag.terminals]
    rewards = tuple(float(np.exp(float(instance.environment.log_reward(x)))) for x in ends)
    return Normal.of((MEAN,), (VARIANCE,), 1), GaussianTarget(rewards, MEAN, VARIANCE)


@eqx.filter_jit
def _sample(
    policy: StochasticPolicy, environment: AbstractEnvironment, key: Any, batch: int, eps: Any
) -> LatentTrajectories:
    noise = draw_noise(key, environment, batch, policy.start.means.shape[1])
    return sample_latent_trajectories(policy, environment, noise, Exploration(eps))


def sample(
    policy: StochasticPolicy, instance: Instance, seed: int, batch: int, epsilon: float = 0.0
) -> LatentTrajectories:
    return _sample(policy, instance.environment, jax.random.key(seed), batch, epsilon)


def nodes_of(drawn: LatentTrajectories, enumeration: Enumeration) -> list[tuple[int, ...]]:
    """The nodes of each trajectory, without padding."""
    edges = edges_along(enumeration, drawn.base)
    return [tuple(nodes_along(enumeration.dag, tau)) for tau in edges]


def latents_along(forward: GaussianForward, first: Floats, tau: Sequence[int], noise: Any) -> Any:
    """The latents at the nodes of a trajectory, from the first one and the noise of each step."""
    path = [first]
    for v, z in zip(tau[1:], noise, strict=True):
        mean, scale = forward.step(v, path[-1])
        path.append(mean + scale * z)
    return path


def choices_along(forward: GaussianForward, tau: Sequence[int], path: Sequence[Floats]) -> Floats:
    """The probabilities of the choices on a trajectory with these latents, multiplied."""
    factors = [
        forward.choice(u, w)[forward.dag.children[u].index(v)]
        for (u, v), w in zip(pairwise(tau), path, strict=False)
    ]
    return np.asarray(math.prod(factors))


@pytest.mark.catches(
    "A normal density is given the log scale where it divides by the scale.",
    "fast/stochastic/densities.py",
    "standard = (latent - mean) * jnp.exp(-log_scale)",
    "standard = (latent - mean) / log_scale",
)
@pytest.mark.crosscheck(
    "fast.stochastic.densities.mean_vector",
    "fast.stochastic.densities.covariance_factor",
    "fast.stochastic.densities.log_normal",
    "fast.stochastic.densities.Normal",
    "fast.stochastic.densities.Mixture",
)
def test_densities_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(4, 5, 3))
    mean, root = rng.normal(size=3), rng.normal(size=(3, 3))
    covariance = root @ root.T + np.eye(3)
    covariance = (covariance + covariance.T) / 2
    factor = covariance_factor(tuple(covariance.ravel()), 3)
    assert distance(factor @ factor.T, covariance) < TOLERANCE["float64"]
    assert np.array_equal(covariance_factor((4.0, 9.0), 2), np.diag([2.0, 3.0]))
    assert np.array_equal(covariance_factor((), 2), np.eye(2))
    assert np.array_equal(mean_vector((), 2), [0, 0])
    assert np.array_equal(mean_vector((1.0, 2.0), 2), [1, 2])
    with jax.enable_x64(True):
        normal = Normal(jnp.asarray(mean), jnp.asarray(factor))
        expected = stats.multivariate_normal(mean, covariance).logpdf(w)
        assert distance(normal.log_density(jnp.asarray(w)), expected) < TOLERANCE["float64"]
        log_scale = rng.normal(size=3)
        densities = log_normal(jnp.asarray(w), jnp.asarray(mean), jnp.asarray(log_scale))
        each = stats.norm(mean, np.exp(log_scale)).logpdf(w)
        assert distance(densities, each.sum(-1)) < TOLERANCE["float64"]
        mixture = in_float64(Mixture(4, 3, key=jax.random.key(0)))
        mixture = eqx.tree_at(
            lambda m: (m.logits, m.log_scales),
            mixture,
            (jnp.asarray(rng.normal(size=4)), jnp.asarray(rng.normal(size=(4, 3)))),
        )
        log_weights = log_softmax(np.asarray(mixture.logits))
        assert distance(mixture.log_weights(), log_weights) < TOLERANCE["float64"]
        parts = stats.norm(np.asarray(mixture.means), np.exp(np.asarray(mixture.log_scales)))
        terms = parts.logpdf(w[..., None, :]).sum(-1) + log_weights
        densities = mixture.log_density(jnp.asarray(w))
        assert distance(densities, logsumexp(terms, axis=-1)) < TOLERANCE["float64"]
        placed = mixture.place(jnp.array([2, 0]), jnp.asarray(w[0, :2]))
        scales = np.exp(np.asarray(mixture.log_scales))[[2, 0]]
        by_hand = np.asarray(mixture.means)[[2, 0]] + scales * w[0, :2]
        assert distance(placed, by_hand) < TOLERANCE["float64"]
    for precision, tolerance in TOLERANCE.items():
        with jax.enable_x64(precision == "float64"):
            of = Normal.of(tuple(mean), tuple(covariance.ravel()), 3)
        assert distance(of.mean, mean) < tolerance
        assert distance(of.factor, factor) < tolerance


@pytest.mark.crosscheck(
    "fast.stochastic.policy.StochasticPolicy", "fast.stochastic.policy.features_of"
)
def test_a_policy_is_the_one_written_by_hand() -> None:
    instance = lines(3, 2)
    policy = random_policy(instance, 0, size=3)
    rng = np.random.default_rng(0)
    w, at = rng.normal(size=(6, 3)), rng.integers(len(instance.seen), size=(2, 6))
    seen, following = instance.seen[at]
    mask = rng.random((6, instance.environment.actions)) < 0.7
    mask[:, 0] = True
    with jax.enable_x64(True):
        wide = in_float64(policy)
        arguments = [jnp.asarray(x) for x in (seen, following, w)]

        @eqx.filter_jit
        def kernels(policy: StochasticPolicy, seen: Any, following: Any, w: Any) -> Any:
            choice = policy.log_p_f(seen, w, jnp.asarray(mask))
            return choice, policy.forward(following, w), policy.backward(seen, following, w)

        log_p_f, forward, backward = kernels(wide, *arguments)
    logits = perceptron(policy.head, np.concatenate([seen, w], -1))
    expected = log_softmax(np.where(mask, logits, -np.inf), axis=-1)
    assert distance(np.asarray(log_p_f)[mask], expected[mask]) < TOLERANCE["float64"]
    assert (np.asarray(log_p_f)[~mask] < -1e8).all()
    for network, inputs, (mean, log_scale) in (
        (policy.transition, following, forward),
        (policy.reverse, np.concatenate([seen, following], -1), backward),
    ):
        by_hand = moments_by_hand(policy, network, inputs, w)
        assert distance(mean, by_hand[0]) < TOLERANCE["float64"]
        assert distance(np.exp(log_scale), by_hand[1]) < TOLERANCE["float64"]
    # Terminal states have the features of others, but for the last one.
    labels = instance.enumeration.dag.labels
    ended = [label[0] == "q" for label in labels]
    assert np.array_equal(instance.seen[:, -1], ended)
    assert np.array_equal(instance.seen[:, :-1], instance.enumeration.observations)
    assert feature_count(instance.environment) + 1 == instance.seen.shape[1]
    # Of 419 numbers are networks with a hidden layer of 8.
    config = configure("lines", length=3, dynamics="gaussian", latent_size=3, components=2,
                       sigma=0.7, parameters=405)  # fmt: skip
    made = make_trainer(config, instance.environment).init().sampler.policy
    assert [x.shape[1:] for x in jax.tree.leaves(made)] == [
        x.shape for x in jax.tree.leaves(policy)
    ]
    assert (made.sigma, made.memory) == (policy.sigma, policy.memory)


@pytest.mark.catches(
    "The latent's step is conditioned on the state before the move, not on the one after.",
    "fast/stochastic/trajectories.py",
    "log_normal(after, *policy.forward(seen[:, 1:], before))",
    "log_normal(after, *policy.forward(seen[:, :-1], before))",
)
@pytest.mark.catches(
    "The target is R(x) alone, without the law of the latent there.",
    "fast/stochastic/trajectories.py",
    "log_reward = log_reward + target.log_density(latents[:, -1])",
    "log_reward = log_reward + 0.0 * target.log_density(latents[:, -1])",
)
@pytest.mark.crosscheck("fast.stochastic.trajectories", "fast.stochastic.training.stochastic_loss")
def test_latents_and_residuals_are_those_of_the_reference() -> None:
    instance = lines(3, 2)
    target, by_hand = target_of(instance)
    with jax.enable_x64(True):
        policy = in_float64(random_policy(instance, 1))
        wide_target = in_float64(target)
        drawn = sample(policy, instance, seed=0, batch=64, epsilon=0.5)
        sampler = Sampler(policy, jnp.float64(LOG_Z))
        kinds: tuple[GradientKind, ...] = ("fixed", "reparameterised")

        @eqx.filter_jit
        def everything(sampler: Sampler, target: Normal, drawn: Any) -> Any:
            policy, environment = sampler.policy, instance.environment
            steps = evaluate(policy, environment, target, drawn, drawn.latents)
            return (
                trace(policy, environment, drawn),
                tb_residuals(steps, sampler.log_z),
                log_choices(policy, environment, drawn, drawn.latents),
                [stochastic_loss(sampler, environment, target, drawn, kind) for kind in kinds],
            )

        evaluated = everything(sampler, wide_target, drawn)
        traced, residuals, chosen, losses = jax.tree.map(np.asarray, evaluated)
    assert distance(traced, drawn.latents) < TOLERANCE["float64"]
    forward, reverse = as_reference(policy, instance)
    latents, noise = np.asarray(drawn.latents)[..., 0], np.asarray(drawn.normal)[..., 0]
    # Controls: of another scale, and of another target.
    other = as_reference(random_policy(instance, 1, sigma=0.6), instance)
    elsewhere = replace(by_hand, variance=1.1 * VARIANCE)
    lengths, apart = set(), []
    for i, tau in enumerate(nodes_of(drawn, instance.enumeration)):
        part = forward.start[int(drawn.component[i])]
        first = np.array(part.mean + part.scale * noise[i, 0])
        path = latents_along(forward, first, tau, noise[i, 1 : len(tau)])
        drawn_with = part.weight * choices_along(forward, tau, path)
        assert distance(latents[i, : len(tau)], path) < TOLERANCE["float64"]
        assert (latents[i, len(tau) :] == latents[i, len(tau) - 1]).all()
        expected = log_tb_residual(forward, reverse, by_hand, LOG_Z, tau, path)
        assert abs(residuals[i] - expected) < 1e-10
        assert abs(chosen[i] - np.log(drawn_with)) < 1e-10
        lengths.add(len(tau))
        others = (*other, by_hand), (forward, reverse, elsewhere)
        apart.append([log_tb_residual(*wrong, LOG_Z, tau, path) - expected for wrong in others])
    assert len(lengths) > 2
    assert np.abs(apart).max(0).min() > 0.02
    mean_square = (residuals**2).mean()
    assert distance(np.array(losses), np.full((2, 2), mean_square)) < TOLERANCE["float64"]


def quadrature(policy: StochasticPolicy, instance: Instance) -> Floats:
    """The law of the terminal, of a policy with a latent in R."""
    # Scales may be as small as sigma e^-3, which the points must resolve.
    law = terminal_law(as_reference(policy, instance)[0], 12.0, 2_001)
    assert law.error < 1e-3
    return np.array(law.probabilities) / sum(law.probabilities)


@pytest.mark.crosscheck(
    "fast.stochastic.trajectories.sample_latent_trajectories",
    "fast.stochastic.trajectories.draw_noise",
)
def test_the_sampled_marginal_is_that_of_quadrature() -> None:
    instance = lines(3, 2)
    policy = random_policy(instance, 1)
    expected = quadrature(policy, instance)
    law = sampled_law(policy, instance.environment, instance.enumeration, 2**15, seed=0)
    counts = law.probabilities * law.samples
    assert excess(counts, law.samples * expected) <= 1
    # Control: other policies have other laws.
    for other in (random_policy(instance, 2), random_policy(instance, 1, spread=0.2)):
        assert excess(counts, law.samples * quadrature(other, instance)) > 1


@pytest.mark.crosscheck("fast.laws.paths.rollout", "fast.stochastic.trajectories.rollout_latents")
def test_a_rollout_has_the_residuals_of_its_pairs_and_the_reward_of_its_states() -> None:
    instance, key = lines(3, 2), jax.random.key(0)
    policy = random_policy(instance, 1, mu=(MEAN,), covariance=(VARIANCE,))
    drawn, steps = eqx.filter_jit(rollout)(policy, instance.environment, key, 64)
    again = sample(policy, instance, seed=0, batch=64)
    assert np.array_equal(drawn.actions, again.base.actions)
    assert np.array_equal(steps.log_reward, drawn.log_reward)
    target, _ = target_of(instance)
    pairs = eqx.filter_jit(evaluate)(policy, instance.environment, target, again, again.latents)
    residuals = [tb_residuals(terms, jnp.float32(0)) for terms in (steps, pairs)]
    assert distance(*residuals) < TOLERANCE["float32"]
    # Control: of a target with another law of the latent.
    elsewhere = random_policy(instance, 1)
    _, other = eqx.filter_jit(rollout_latents)(elsewhere, instance.environment, key, 64)
    assert distance(tb_residuals(other, jnp.float32(0)), residuals[1]) > TOLERANCE["float32"]


def without_kinks(policy: StochasticPolicy) -> StochasticPolicy:
    """With hidden units that stay on one side of their kinks: quadrature then converges fast."""
    signs = 3.0 * (-1.0) ** np.arange(8)

    def parts(p: StochasticPolicy) -> list[Any]:
        networks = (p.head, p.transition, p.reverse)
        return [n.biases[0] for n in networks] + [n.weights[1] for n in networks]

    small = [0.3 * weight for weight in parts(policy)[3:]]
    smooth: StochasticPolicy = eqx.tree_at(parts, policy, [jnp.asarray(signs)] * 3 + small)
    return smooth


def expected_loss(
    drawn: StochasticPolicy, evaluated: StochasticPolicy, instance: Instance, nodes: int
) -> float:
    """`E (log Z + f(tau))^2` for `tau` from one policy and `f` of another, by Gauss-Hermite."""
    x, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    forward, _ = as_reference(drawn, instance)
    other, reverse = as_reference(evaluated, instance)
    _, target = target_of(instance)
    total, dag = 0.0, instance.enumeration.dag
    for part, edges in product(forward.start, dag.trajectories()):
        tau = tuple(nodes_along(dag, edges))
        first, *noise = np.meshgrid(*[x] * len(tau), indexing="ij")
        mass = part.weight * np.prod(np.meshgrid(*[weights] * len(tau), indexing="ij"), axis=0)
        path = latents_along(forward, part.mean + part.scale * first, tau, noise)
        residual = log_tb_residual(other, reverse, target, LOG_Z, tau, path)
        total += float((mass * choices_along(forward, tau, path) * residual**2).sum())
    return total


def slope(
    policy: StochasticPolicy, direction: Floats, instance: Instance, kind: str, nodes: int
) -> float:
    """The derivative of the expected loss along a direction, by central differences."""
    flat, back = jax.flatten_util.ravel_pytree(policy)
    width = 1e-4

    def at(sign: int) -> float:
        moved = back(flat + sign * width * direction)
        return expected_loss(policy if kind == "fixed" else moved, moved, instance, nodes)

    return (at(1) - at(-1)) / (2 * width)


BATCH, BATCHES = 256, 128


@pytest.mark.catches(
    "The reparameterised gradient forgets that actions are drawn from what is trained.",
    "fast/stochastic/training.py",
    "return mean + jnp.mean(weighted), mean",
    "return mean + 0.0 * jnp.mean(weighted), mean",
)
@pytest.mark.catches(
    "Trajectory balance is differentiated through sampled latents too.",
    "fast/stochastic/training.py",
    'if gradient == "fixed" and policy.is_stochastic:',
    'if gradient == "none" and policy.is_stochastic:',
)
@pytest.mark.long
@pytest.mark.crosscheck("fast.stochastic.training.stochastic_loss")
def test_both_gradients_are_unbiased_for_what_they_are_gradients_of() -> None:
    instance = lines(1, 1)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        policy = in_float64(without_kinks(random_policy(instance, 13, spread=0.2, sigma=0.9)))
        target = in_float64(target_of(instance)[0])
        size = sum(leaf.size for leaf in jax.tree.leaves(policy))
        directions = rng.normal(size=(4, size)) / np.sqrt(size)

        def sampled(key: Any, kind: GradientKind, part: int) -> Any:
            noise = draw_noise(key, instance.environment, BATCH, 1)
            drawn = sample_latent_trajectories(policy, instance.environment, noise)

            def loss(policy: StochasticPolicy) -> Any:
                sampler = Sampler(policy, jnp.float64(LOG_Z))
                return stochastic_loss(sampler, instance.environment, target, drawn, kind)[part]

            gradient = jax.grad(loss)(policy)
            return directions @ jax.flatten_util.ravel_pytree(gradient)[0]

        keys = jax.random.split(jax.random.key(7), BATCHES)

        def batches(kind: GradientKind, part: int = 0) -> Floats:
            run = jax.jit(lambda keys: jax.lax.map(lambda key: sampled(key, kind, part), keys))
            return np.asarray(run(keys))

        exact, estimates = {}, {}
        kinds: tuple[GradientKind, ...] = ("fixed", "reparameterised")
        for kind in kinds:
            estimates[kind] = batches(kind)
            coarse, exact[kind] = (
                np.array([slope(policy, row, instance, kind, nodes) for row in directions])
                for nodes in (16, 24)
            )
            error = estimates[kind].std(0, ddof=1) / np.sqrt(BATCHES)
            assert (np.abs(coarse - exact[kind]) < error / 10).all()
            # Four normal scores exceed 5 with probability below 3e-6.
            assert np.abs((estimates[kind].mean(0) - exact[kind]) / error).max() < 5
        without_score = batches("reparameterised", 1)
    # Controls: each is told apart from the other, and from one that is not given the score.
    for wrong, kind in zip(
        (*estimates.values(), without_score), (*kinds[::-1], kinds[1]), strict=True
    ):
        error = wrong.std(0, ddof=1) / np.sqrt(BATCHES)
        assert np.abs((wrong.mean(0) - exact[kind]) / error).max() > 10


def test_without_noise_every_latent_is_at_its_mean() -> None:
    instance = lines(3, 2)
    dag = instance.enumeration.dag
    still = random_policy(instance, 15, spread=0.4, components=1, is_stochastic=False)
    forward, _ = as_reference(still, instance)
    law = np.zeros(len(dag.labels))
    stack = [(0, np.array(forward.start[0].mean), 1.0)]
    while stack:
        u, w, mass = stack.pop()
        law[u] += mass
        if not dag.children[u]:
            continue
        for v, p in zip(dag.children[u], forward.choice(u, w), strict=True):
            stack.append((v, forward.step(v, w)[0], mass * float(p)))
    ends = list(dag.terminals)
    drawn, noisy = (
        sample(policy, instance, seed=0, batch=2**13)
        for policy in (still, random_policy(instance, 15, spread=0.4, components=1))
    )
    taus = nodes_of(drawn, instance.enumeration)
    counts = np.bincount([tau[-1] for tau in taus], minlength=len(law))[ends]
    assert excess(counts, counts.sum() * law[ends]) <= 1
    for i, tau in enumerate(taus[:64]):
        path = latents_along(forward, np.array(forward.start[0].mean), tau, [0.0] * (len(tau) - 1))
        assert distance(drawn.latents[i, : len(tau), 0], path) < TOLERANCE["float32"]
    # Control: with noise they begin elsewhere.
    assert distance(noisy.latents[:64, 0, 0], path[0]) > 0.1


@pytest.mark.long
def test_training_brings_the_quadrature_of_the_law_to_the_target() -> None:
    config = configure("lines", length=3, dynamics="gaussian", latent_size=1, parameters=700,
                       steps=600, learning_rate=5e-3, batch=64)  # fmt: skip
    instance = lines(3, 2)
    trainer = make_trainer(config, instance.environment)
    rewards = np.array([float(reward) for reward in instance.enumeration.rewards])

    def off_target(state: Any) -> float:
        law = quadrature(state.policy(0), instance)
        return float(np.abs(law - rewards / rewards.sum()).sum() / 2)

    start = trainer.init()
    before = off_target(start)
    after = off_target(trainer.advance(start, config.optimiser.steps)[0])
    assert before > 0.1
    assert after < 0.02
