"""What trajectories drawn both ways say of a sampler, where states cannot be enumerated."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.loss import log_path_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Floats
from fast.laws.samples import rollout
from fast.policies.policy import Policy
from fast.sampling.backward import sample_backward
from fast.sampling.trajectories import uniforms

# Trajectories per call.
BLOCK = 2_048


class Paths(NamedTuple):
    """Trajectories by their ratio alone, as arrays of states: nothing is enumerated or decoded.

    Attributes:
        log_path_ratio: `log( p_F(tau) / p_B(tau | x) )`, in nats.
        log_reward: `log R(x)`, in nats.
        final: the terminal states.
    """

    log_path_ratio: Floats
    log_reward: Floats
    final: Any


def forward_paths(
    policy: Policy, environment: AbstractEnvironment[Any], count: int, seed: int
) -> Paths:
    """Trajectories drawn from `p_F`."""
    blocks = [
        _forward(policy, environment, jax.random.fold_in(jax.random.key(seed), start))
        for start in range(0, count, BLOCK)
    ]
    return _joined(blocks, count)


def backward_paths(
    policy: Policy, environment: AbstractEnvironment[Any], final: Any, seed: int
) -> Paths:
    """One trajectory `tau ~ p_B(. | x)` for each of a batch of terminal states."""
    count = jax.tree.leaves(final)[0].shape[0]
    blocks = []
    for start in range(0, count, BLOCK):
        part = jax.tree.map(lambda leaf, at=start: _filled(leaf[at : at + BLOCK]), final)
        key = jax.random.fold_in(jax.random.key(seed), start)
        blocks.append(_backward(policy, environment, part, key))
    return _joined(blocks, count)


@eqx.filter_jit
def _forward(
    policy: Policy, environment: AbstractEnvironment[Any], key: jax.Array
) -> tuple[Any, ...]:
    drawn, steps = rollout(policy, environment, key, BLOCK)
    return log_path_ratio(steps), drawn.log_reward, drawn.final


@eqx.filter_jit
def _backward(
    policy: Policy, environment: AbstractEnvironment[Any], final: Any, key: jax.Array
) -> tuple[Any, ...]:
    draws = uniforms(key, environment, BLOCK)
    drawn = sample_backward(policy, environment, final, draws)
    steps = evaluate(policy, environment, drawn)
    return log_path_ratio(steps), drawn.log_reward, final


def _filled(leaf: Any) -> Any:
    """A block of full size, its last row repeated: one program is compiled."""
    missing = BLOCK - len(leaf)
    return jnp.asarray(np.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1), mode="edge"))


def _joined(blocks: list[Any], count: int) -> Paths:
    ratio, reward, final = jax.tree.map(
        lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves])[:count], *blocks
    )
    return Paths(ratio.astype(np.float64), reward.astype(np.float64), final)
