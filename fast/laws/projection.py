"""A Markovian network in the place of a path-dependent one: its Markov projection, if it fits.

Every path-dependent policy has a Markov projection with the same terminal law (N1): at each state
the actions in proportion to the flow that the policy sends over its edges, summed over all pasts.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.optimiser import OptimiserOptions


def fit_projection(
    policy: Policy,
    markovian: Policy,
    environment: AbstractEnvironment[Any],
    *,
    optimiser: OptimiserOptions,
    batch: int,
    seed: int,
) -> Policy:
    """A Markovian policy fitted to the trajectories of a path-dependent one.

    By maximum likelihood: `E log q(tau)` over `tau ~ p_F` is largest, over all Markovian `q`, at
    the Markov projection of `p_F`, and its gap `KL(p_F || q)` is the price of forgetting. What is
    left of it after training is the network's, or the optimiser's.

    Args:
        policy: the sampler, left as it is.
        markovian: a Markovian policy at its initial weights.
        environment: the environment of both.
        optimiser: how long, and how fast.
        batch: trajectories per step, drawn anew.
        seed: of the trajectories.
    """
    rule = optimiser.for_network()
    state = rule.init(eqx.filter(markovian, eqx.is_array))

    @eqx.filter_jit
    def move(markovian: Policy, state: Any, key: jax.Array) -> tuple[Policy, Any]:
        drawn, _ = sample_trajectories(policy, environment, uniforms(key, environment, batch))

        def loss(markovian: Policy) -> jax.Array:
            return -jnp.mean(evaluate(markovian, environment, drawn).log_p_f.sum(-1))

        gradient = eqx.filter_grad(loss)(markovian)
        updates, state = rule.update(gradient, state, eqx.filter(markovian, eqx.is_array))
        return eqx.apply_updates(markovian, updates), state

    for step in range(optimiser.steps):
        key = jax.random.fold_in(jax.random.key(seed), step)
        markovian, state = move(markovian, state, key)
    return markovian
