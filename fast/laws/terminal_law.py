"""The terminal law (eq:marginal) of a policy: exact where it can be summed, else estimated."""

import math
from dataclasses import dataclass
from typing import TypeGuard

import jax
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.paths import backward_paths, drawn_nodes
from fast.laws.walk import base_log_p_b, complete_histories, policy_step, to_float64
from fast.policies.policy import AnyPolicy, Policy
from reference.contract.errors import TooLargeError
from reference.fields.field import log_float

MAX_HISTORIES = 20_000_000
# Trajectories at the end of a run, and for a training curve, where nothing can be summed.
LAW_SAMPLES, CURVE_SAMPLES = 2**18, 2**15
# With fewer backward trajectories for each terminal the error could not be judged.
FEWEST = 16
# Rewards with a larger `|log R|` are scaled first: their sum may exceed the largest float, e^709.
FAR = 600


@dataclass(frozen=True, eq=False)
class TerminalLaw:
    """`p_T` of a policy, and how it was obtained.

    Attributes:
        probabilities: `p_T(x)`, one per `dag.terminals`.
        method: the method, in words.
        samples: the size of the histogram, if it is one; else 0.
        error: the expected error in TV of an estimate by backward trajectories; else 0.
        log_z_below: `E[log R(x) - log( p_F(tau) / p_B(tau|x) )]`, in nats, at most `log Z`; None if
            it is not summed.
    """

    probabilities: Floats
    method: str
    samples: int = 0
    error: float = 0.0
    log_z_below: float | None = None


def target_law(enumeration: Enumeration) -> Floats:
    """`pi(x) = R(x) / Z`, one per terminal, in float64."""
    rewards = enumeration.rewards
    largest = max(rewards)
    if abs(log_float(largest)) > FAR:
        rewards = tuple(reward / largest for reward in rewards)
    weights = np.array([float(reward) for reward in rewards])
    return weights / math.fsum(weights)


def uniform_law(enumeration: Enumeration) -> TerminalLaw:
    """The law of the policy that is uniform among the legal actions and the legal parents."""
    return _summed(enumeration, np.ones(len(enumeration.dag.edges)), enumeration.uniform_log_p_b)


def has_exact_law(policy: AnyPolicy, enumeration: Enumeration) -> TypeGuard[Policy]:
    """True if `exact_law` is feasible."""
    few = enumeration.dag.trajectory_count <= MAX_HISTORIES
    return policy.is_summable and (policy.is_markovian or few)


def law_of(
    policy: AnyPolicy,
    environment: AbstractEnvironment,
    enumeration: Enumeration,
    *,
    final: bool,
    seed: int,
    samples: int = LAW_SAMPLES,
) -> TerminalLaw:
    """The terminal law: exact, or else by backward trajectories, or else as a histogram.

    The final one is computed in float64, or with all the samples; that for a training curve is
    quick.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        enumeration: the listed states, with their features and rewards.
        final: compute in float64, or with all samples; else quickly, for a training curve.
        seed: the seed of every draw.
        samples: trajectories to draw where nothing can be summed.
    """
    if has_exact_law(policy, enumeration):
        is_double = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
        return exact_law(policy, enumeration, float64=final or is_double)
    count = samples if final else min(samples, CURVE_SAMPLES)
    if isinstance(policy, Policy) and not policy.backward.reads_latent:
        estimate = backward_law(policy, environment, enumeration, count, seed)
        if estimate is not None:
            return estimate
    return sampled_law(policy, environment, enumeration, count, seed)


def exact_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    """The exact terminal law, up to the rounding of the network's arithmetic; sums are in float64.

    By dynamic programming for a Markovian policy, else by summing every complete trajectory. Raises
    TooLargeError if a path-dependent policy has more than 20 million trajectories.

    Args:
        policy: the sampler.
        enumeration: the listed states, with their features and rewards.
        float64: evaluate the network in float64, not float32.
    """
    if policy.is_markovian:
        return _markov_law(policy, enumeration, float64=float64)
    count = enumeration.dag.trajectory_count
    if count > MAX_HISTORIES:
        raise TooLargeError(
            f"a path-dependent policy has {count:.3g} trajectories here, and at most "
            f"{MAX_HISTORIES:,} are summed: estimate its law from samples (sampled_law)"
        )
    nodes, terminals = len(enumeration.dag.labels), list(enumeration.dag.terminals)
    p_t, log_z_below = np.zeros(nodes), 0.0
    for block in complete_histories(policy, enumeration, float64=float64):
        p_f = np.exp(block.log_p_f)
        p_t += np.bincount(block.ends, p_f, nodes)
        log_z_below += float((p_f * (block.log_reward - block.log_ratio)).sum())
    method = f"exact, all {count:,} trajectories summed"
    return TerminalLaw(p_t[terminals], method, log_z_below=log_z_below)


def _markov_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    with jax.enable_x64(float64):
        network = to_float64(policy) if float64 else policy
        dtype = np.float64 if float64 else np.float32
        seen = jax.device_put(enumeration.observations.astype(dtype))
        _, _, table = policy_step(network, None, seen, enumeration.edge >= 0)
    taken = enumeration.edge >= 0
    p_f = np.empty(len(enumeration.dag.edges))
    p_f[enumeration.edge[taken]] = np.exp(np.asarray(table, np.float64)[taken])
    log_p_b = None
    if not policy.backward.reads_latent:
        log_p_b = base_log_p_b(policy, enumeration, float64=float64)
    return _summed(enumeration, p_f, log_p_b)


def _summed(enumeration: Enumeration, weights: Floats, log_p_b: Floats | None) -> TerminalLaw:
    """The law of the Markovian policy that is proportional to a weight for each edge."""
    dag, (starts, ends) = enumeration.dag, enumeration.edges
    p_f = weights / np.bincount(starts, weights)[starts]
    visits = np.zeros(len(dag.labels))
    visits[0] = 1.0
    # What leads to a state starts at a smaller depth.
    depths = np.array(dag.depths)[starts]
    order = np.argsort(depths, kind="stable")
    for level in np.split(order, np.flatnonzero(np.diff(depths[order])) + 1):
        np.add.at(visits, ends[level], visits[starts[level]] * p_f[level])
    p_t, log_z_below = visits[list(dag.terminals)], None
    if log_p_b is not None:
        log_p_f = np.log(p_f, where=p_f > 0, out=np.zeros_like(p_f))
        log_ratio = float(visits[starts] * p_f @ (log_p_f - log_p_b))
        log_z_below = float(p_t @ enumeration.log_rewards) - log_ratio
    return TerminalLaw(p_t, "exact, dynamic programming over the states", log_z_below=log_z_below)


def sampled_law(
    policy: AnyPolicy,
    environment: AbstractEnvironment,
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> TerminalLaw:
    """The empirical terminal law of `samples` trajectories.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        enumeration: the listed states, with their features and rewards.
        samples: the number of trajectories.
        seed: the seed of every draw.
    """
    drawn = drawn_nodes(policy, environment, enumeration, samples, seed).ends
    counts = np.bincount(drawn, minlength=len(enumeration.dag.labels))
    return TerminalLaw(
        counts[list(enumeration.dag.terminals)] / samples, f"{samples:,} samples", samples
    )


def backward_law(
    policy: Policy,
    environment: AbstractEnvironment,
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> TerminalLaw | None:
    """`p_T(x) = E p_F(tau) / p_B(tau | x)` over `tau ~ p_B(. | x)`, for each terminal `x`.

    At balance the ratio is `pi(x)` for every `tau`, without variance; a histogram of the same size
    always has sampling error. A trajectory that is likely under `p_F` and rare under `p_B` is
    missed, and its share of `p_T(x)` with it. Standard errors do not show this, but the sum of the
    estimates does. Estimates are divided by that sum. `p_B` must not read latents.

    Args:
        policy: the sampler, whose p_B reads no latent.
        environment: the state graph as array code.
        enumeration: the listed states, with their features and rewards.
        samples: the number of trajectories, for all terminals together.
        seed: the seed of every draw.

    Returns:
        the law; None if there are fewer than 16 of the trajectories for each terminal, or if its
        error is no less than that of a histogram: half of the missing mass and of the standard
        errors.
    """
    terminals = enumeration.dag.terminals
    each = samples // len(terminals)
    if each < FEWEST:
        return None
    labels = [enumeration.dag.labels[node] for node in terminals]
    final = jax.tree.map(
        lambda leaf: np.repeat(leaf, each, axis=0), environment.encode_batch(labels)
    )
    ratio = np.exp(backward_paths(policy, environment, final, seed).log_ratio).reshape(-1, each)
    p, chance = ratio.mean(1), ratio.std(1, ddof=1) / each**0.5
    error = (abs(1.0 - p.sum()) + chance.sum()) / 2
    if not error < histogram_error(p / p.sum(), samples):
        return None
    return TerminalLaw(
        p / p.sum(), f"{each:,} backward trajectories for each terminal", error=float(error)
    )


def histogram_error(p: Floats, samples: int) -> float:
    """The expected TV between a law and a histogram of samples from it.

    `1/2 sum sqrt(2 p (1 - p) / (pi n))`, from the mean absolute deviation of normal counts.
    """
    return float(np.sqrt(2 * p * (1 - p) / (np.pi * samples)).sum() / 2)
