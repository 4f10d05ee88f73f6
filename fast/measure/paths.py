"""What trajectories drawn both ways say of a sampler, where states cannot be enumerated."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.losses import log_path_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Floats
from fast.measure.samples import rollout
from fast.measure.weights import mean_of
from fast.policies.policy import Policy
from fast.sampling.backward import sample_backward
from fast.sampling.trajectories import uniforms
from reference.metrics import Estimate, fcs_estimate

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


def total_variation_of_paths(log_z: float, forward: Paths, backward: Paths) -> Estimate:
    """`TV(p_F, mu)` of the laws of trajectories, `mu(tau) = pi(x) p_B(tau | x)`, without bias.

    With `f = log(p_F / mu)` it is the mean of `tanh(|f| / 2)` under `(p_F + mu) / 2`. It is at
    least the distance of the terminal laws, and equals it where each `x` has one trajectory.
    (N5''.)

    Args:
        log_z: the true `log Z`.
        forward: drawn from `p_F`.
        backward: drawn from `mu`, as many.
    """
    parts = [
        np.tanh(np.abs(paths.log_path_ratio - paths.log_reward + log_z) / 2)
        for paths in (forward, backward)
    ]
    return mean_of((parts[0] + parts[1]) / 2)


def estimated_fcs(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    final: Any,
    log_rewards: Floats,
    size: int,
    backward: int,
    seed: int,
) -> tuple[Estimate, float, Floats]:
    """FCS (eq:fcsa) on given batches, with `p_T(x)` estimated from backward trajectories.

    `p_T(x) = E p_F(tau) / p_B(tau | x)` over `tau ~ p_B(. | x)`; its noise makes FCS too large.

    Args:
        policy: the sampler; its `p_B` must not read latents.
        environment: the environment.
        final: terminal states, batch by batch.
        log_rewards: of them.
        size: of a batch.
        backward: trajectories per state; one is exact where each state has one trajectory.
        seed: of the trajectories.

    Returns:
        the estimate; by how much it falls from half the trajectories to all, which shows the size
        of the bias; and the estimates of `log p_T`, in nats.
    """
    ratios = np.stack(
        [
            backward_paths(policy, environment, final, seed + i).log_path_ratio
            for i in range(backward)
        ]
    )
    batches = np.arange(len(log_rewards)).reshape(-1, size)
    target = scaled(log_rewards)

    def fcs(rows: Floats) -> tuple[Estimate, Floats]:
        largest = rows.max(0)
        log_p = largest + np.log(np.exp(rows - largest).mean(0))
        return fcs_estimate(scaled(log_p), target, batches), log_p

    whole, log_p = fcs(ratios)
    half = fcs(ratios[: backward // 2])[0].mean if backward > 1 else whole.mean
    return whole, half - whole.mean, log_p


def scaled(logs: Floats) -> Floats:
    """What they are the logarithms of, over the largest."""
    found: Floats = np.exp(logs - logs.max())
    return found


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
