"""Policies fitted by maximum likelihood to trajectories of a sampler, or of the target."""

import math
import time
from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from fast.balance.steps import evaluate
from fast.dynamics.perceptron import Perceptron
from fast.environments import AbstractEnvironment, feature_count
from fast.laws.enumeration import Enumeration
from fast.policies.backward import LearnedBackward
from fast.policies.policy import Policy
from fast.sampling.backward import sample_backward
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from fast.training.options import OptimiserOptions

Fitted = TypeVar("Fitted")
# The trajectories of a step, by its key and its number.
Draw: TypeAlias = Callable[[jax.Array, jax.Array], Trajectories]

# For a learned `p_B`: trajectories per step, width of both hidden layers, first learning rate.
TRAJECTORIES, WIDTH, RATE = 256, 128, 3e-3


def fit_likelihood(
    source: Policy | Enumeration,
    policy: Policy,
    environment: AbstractEnvironment,
    *,
    optimiser: OptimiserOptions,
    batch: int,
    seed: int,
) -> Policy:
    """A policy fitted to trajectories of a sampler, or to those of the target.

    It maximises `E log p_F(tau)`, over `x ~ R(x) / Z` and `tau ~ p_B(. | x)` if the source is the
    target. Every path-dependent policy has a Markov projection with the same terminal law (claim
    markov-projection): at each state it takes actions in proportion to the flow of the policy over
    their edges, summed over all pasts. It is the maximum over all Markovian policies, and the gap
    `KL(p_F || q)` is the price of forgetting. A larger gap after training is due to the network or
    the optimiser.

    Args:
        source: the sampler, or the listed states of the target with their rewards.
        policy: a policy at its initial weights; for a target its `p_B` must read no latent.
        environment: the state graph as array code.
        optimiser: the steps, the rule and its learning rate.
        batch: the trajectories of each step, drawn anew.
        seed: the seed of every draw.
    """
    if isinstance(source, Enumeration):
        draw = _of_target(source, policy, environment, (optimiser.steps, batch), seed)
    else:
        draw = _drawing(source, environment, batch)

    def log_likelihood(policy: Policy, drawn: Trajectories) -> jax.Array:
        return evaluate(policy, environment, drawn).log_p_f.sum(-1)

    return _fit(policy, optimiser.for_network(), log_likelihood, draw, optimiser.steps, seed)


def tightened(
    policy: Policy,
    environment: AbstractEnvironment,
    steps: int,
    seed: int,
    seconds: float = math.inf,
) -> Policy:
    """The policy with a `p_B` that is learned from its own trajectories, drawn in float32.

    `TV(p_F, mu)` bounds the TV of terminal states for every normalised `p_B`, and equals it for the
    reversal of the sampler, `p_F(tau | x)`. (Trajectory likelihood maximisation: Gritsaev et al.,
    2025; there `p_B` is trained together with `p_F`, which does not change here.)

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        steps: gradient steps, each on 256 trajectories.
        seed: the seed of every draw.
        seconds: no step begins later than this.
    """
    first = jax.random.fold_in(jax.random.key(seed), steps)
    sizes = [feature_count(environment), WIDTH, WIDTH, environment.parents]

    def likelihood(backward: LearnedBackward, drawn: Trajectories) -> jax.Array:
        return log_likelihood(backward, environment, drawn)

    backward = LearnedBackward(Perceptron(sizes, key=first))
    rule = optax.adam(optax.cosine_decay_schedule(RATE, steps))
    draw = _drawing(policy, environment, TRAJECTORIES)
    backward = _fit(backward, rule, likelihood, draw, steps, seed, seconds)
    replaced: Policy = eqx.tree_at(lambda sampler: sampler.backward, policy, backward)
    return replaced


def log_likelihood(
    backward: LearnedBackward, environment: AbstractEnvironment, drawn: Trajectories
) -> jax.Array:
    """`log p_B(tau | x)` of trajectories, in nats, shape (batch,).

    Args:
        backward: the learned p_B.
        environment: the state graph as array code.
        drawn: trajectories of the sampler.
    """
    before = jax.tree.map(lambda leaf: leaf[:, :-1], drawn.states)
    after = jax.tree.map(lambda leaf: leaf[:, 1:], drawn.states)

    def every(method: Any, *arguments: Any) -> Any:
        return jax.vmap(jax.vmap(method))(*arguments)

    seen, mask = every(environment.observe, after), every(environment.parent_mask, after)
    parent = every(environment.undo, before, drawn.actions)
    taken = jnp.take_along_axis(backward.log_p_b(None, seen, mask), parent[..., None], -1)[..., 0]
    return jnp.sum(jnp.where(drawn.active, taken, 0.0), -1)


def _drawing(policy: Policy, environment: AbstractEnvironment, batch: int) -> Draw:
    def draw(key: jax.Array, _: jax.Array) -> Trajectories:
        return sample_trajectories(policy, environment, uniforms(key, environment, batch))[0]

    return draw


def _of_target(
    target: Enumeration,
    policy: Policy,
    environment: AbstractEnvironment,
    shape: tuple[int, int],
    seed: int,
) -> Draw:
    weights = np.exp(target.log_rewards - target.log_z)
    drawn = np.random.default_rng(seed).choice(len(weights), shape, p=weights / weights.sum())
    labels = [target.dag.labels[node] for node in target.dag.terminals]
    places, ends = jax.tree.map(jnp.asarray, (drawn, environment.encode_batch(labels)))

    def draw(key: jax.Array, step: jax.Array) -> Trajectories:
        final = jax.tree.map(lambda leaf: leaf[places[step]], ends)
        draws = uniforms(key, environment, shape[1])
        return sample_backward(policy, environment, final, draws)

    return draw


def _fit(
    fitted: Fitted,
    rule: optax.GradientTransformation,
    log_likelihood: Callable[[Any, Trajectories], jax.Array],
    draw: Draw,
    steps: int,
    seed: int,
    seconds: float = math.inf,
) -> Fitted:
    """Ascends the mean log likelihood of trajectories, drawn anew at each step."""
    state = rule.init(eqx.filter(fitted, eqx.is_array))

    @eqx.filter_jit
    def move(fitted: Any, state: Any, step: jax.Array) -> tuple[Any, Any]:
        drawn = draw(jax.random.fold_in(jax.random.key(seed), step), step)

        def loss(fitted: Any) -> jax.Array:
            return -jnp.mean(log_likelihood(fitted, drawn))

        gradient = eqx.filter_grad(loss)(fitted)
        updates, state = rule.update(gradient, state, eqx.filter(fitted, eqx.is_array))
        return eqx.apply_updates(fitted, updates), state

    end = time.monotonic() + seconds
    for step in takewhile(lambda _: time.monotonic() < end, range(steps)):
        fitted, state = move(fitted, state, jnp.asarray(step))
    return fitted
