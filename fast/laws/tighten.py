"""A backward policy learned by maximum likelihood on a sampler's own trajectories.

`TV(p_F, mu)` bounds the TV of terminal states for every normalised `p_B`, and equals it for the
reversal of the sampler, `p_F(tau | x)`. (Trajectory likelihood maximisation: Gritsaev et al., 2025;
there `p_B` is trained beside `p_F`, which is left alone here.)
"""

import math
import time
from itertools import takewhile
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from fast.dynamics.perceptron import Perceptron
from fast.environments import AbstractEnvironment
from fast.policies.backward import LearnedBackward
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms

# Trajectories per step; the width of both hidden layers; and the first learning rate of a cosine.
TRAJECTORIES, WIDTH, RATE = 256, 128, 3e-3


def tightened(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    steps: int,
    seed: int,
    seconds: float = math.inf,
) -> Policy:
    """The same `p_F` with a `p_B` that is learned from its trajectories, drawn in float32.

    Args:
        policy: the sampler.
        environment: its environment.
        steps: gradient steps, of 256 trajectories each.
        seed: of these, and of the initial weights.
        seconds: after which it is taken as it is.
    """
    first, *_ = jax.random.split(jax.random.key(seed), 2)
    features = jax.eval_shape(environment.observe, environment.initial()).shape[0]
    sizes = [features, WIDTH, WIDTH, environment.parents]
    backward = LearnedBackward(Perceptron(sizes, key=first))
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, steps))
    state = optimiser.init(eqx.filter(backward, eqx.is_array))

    @eqx.filter_jit
    def move(backward: Any, state: Any, key: jax.Array) -> tuple[Any, Any]:
        draws = uniforms(key, environment, TRAJECTORIES)
        drawn, _ = sample_trajectories(policy, environment, draws)

        def loss(backward: LearnedBackward) -> jax.Array:
            return -log_likelihood(backward, environment, drawn).mean()

        updates, state = optimiser.update(eqx.filter_grad(loss)(backward), state)
        return eqx.apply_updates(backward, updates), state

    end = time.monotonic() + seconds
    for step in takewhile(lambda _: time.monotonic() < end, range(steps)):
        key = jax.random.fold_in(jax.random.key(seed), step)
        backward, state = move(backward, state, key)
    found: Policy = eqx.tree_at(lambda sampler: sampler.backward, policy, backward)
    return found


def log_likelihood(
    backward: LearnedBackward, environment: AbstractEnvironment[Any], drawn: Trajectories
) -> jax.Array:
    """`log p_B(tau | x)` of trajectories, in nats, shape (batch,)."""
    before = jax.tree.map(lambda leaf: leaf[:, :-1], drawn.states)
    after = jax.tree.map(lambda leaf: leaf[:, 1:], drawn.states)

    def every(method: Any, *arguments: Any) -> Any:
        return jax.vmap(jax.vmap(method))(*arguments)

    seen, mask = every(environment.observe, after), every(environment.parent_mask, after)
    parent = every(environment.undo, before, drawn.actions)
    log_p = backward.log_p_b(None, seen, mask)
    taken = jnp.take_along_axis(log_p, parent[..., None], -1)[..., 0]
    return jnp.sum(jnp.where(drawn.active, taken, 0.0), -1)
