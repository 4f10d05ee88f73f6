"""Complete trajectories sampled from a policy, on any problem."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats, decode_all
from fast.laws.walk import Histories
from fast.policies.policy import AnyPolicy, Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.trajectories import rollout_latents
from reference.errors import InputError

# Trajectories per call.
BLOCK = 4_096


class Samples(NamedTuple):
    """Sampled terminal states, by their labels, and what is known of how they were drawn.

    Attributes:
        states: their labels.
        log_reward: `log R(x)`, in nats.
        log_p_f: `log p_F` of the trajectories that led there, in nats.
        log_p_b: `log p_B` of these trajectories given their ends, in nats.
    """

    states: list[Any]
    log_reward: Floats
    log_p_f: Floats
    log_p_b: Floats


def rollout(
    policy: AnyPolicy, environment: AbstractEnvironment[Any], key: jax.Array, batch: int
) -> tuple[Trajectories, Steps]:
    """Trajectories drawn from `p_F`, and the terms of balance along them.

    Of a random latent `w` the terms are those of the pairs `(s_t, w_t)`, in which `p_B(. | x)`
    begins with the law that the target gives the last latent.
    """
    if isinstance(policy, StochasticPolicy):
        return rollout_latents(policy, environment, key, batch)
    assert isinstance(policy, Policy), policy
    drawn, _ = sample_trajectories(policy, environment, uniforms(key, environment, batch))
    return drawn, evaluate(policy, environment, drawn)


def sample_terminals(
    policy: AnyPolicy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> Iterator[Histories]:
    """Samples complete trajectories from `p_F`, in blocks."""
    index = enumeration.dag.index
    for start in range(0, samples, BLOCK):
        # Always a full block, so that one program is compiled; the rest is cut off.
        size = min(BLOCK, samples - start)
        key = jax.random.fold_in(jax.random.key(seed), start)
        final, _, log_p_f, log_p_b = _sample_block(policy, environment, key)
        terminal = np.array([index[label] for label in decode_all(environment, final)])[:size]
        yield Histories(
            terminal, np.asarray(log_p_f, np.float64)[:size], np.asarray(log_p_b, np.float64)[:size]
        )


def drawn_terminals(
    policy: AnyPolicy, environment: AbstractEnvironment[Any], count: int, seed: int
) -> Samples:
    """Samples terminal states, on any problem.

    Raises:
        InputError: if a row of logits on the way is not finite, from which nothing can be drawn.
    """
    labels: list[Any] = []
    columns: list[Floats] = []
    for start in range(0, count, BLOCK):
        key = jax.random.fold_in(jax.random.key(seed), start)
        final, *numbers = _sample_block(policy, environment, key)
        size = min(BLOCK, count - start)
        labels += decode_all(environment, jax.tree.map(lambda leaf, n=size: leaf[:n], final))
        columns.append(np.stack([np.asarray(x, np.float64)[:size] for x in numbers]))
        if not np.isfinite(columns[-1][1]).all():
            raise InputError(
                "the network gives a row of logits that is not finite in the precision of the run: "
                "its parameters are too large to draw from; train again with a smaller "
                "--learning-rate"
            )
    log_reward, log_p_f, log_p_b = np.concatenate(columns, axis=1)
    return Samples(labels, log_reward, log_p_f, log_p_b)


@eqx.filter_jit
def _sample_block(
    policy: AnyPolicy, environment: AbstractEnvironment[Any], key: jax.Array
) -> tuple[Any, jax.Array, jax.Array, jax.Array]:
    """The final states, `log R` of them, and `log p_F` and `log p_B` of the trajectories."""
    drawn, steps = rollout(policy, environment, key, BLOCK)
    return drawn.final, drawn.log_reward, steps.log_p_f.sum(-1), steps.log_p_b.sum(-1)
