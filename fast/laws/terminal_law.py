"""The terminal law (eq:marginal) of a trained policy, exact where it can be had; residuals."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.exact_policy import to_float64
from fast.laws.history_sums import HistorySums, sum_histories
from fast.laws.samples import sample_terminals
from fast.laws.walk import base_log_p_b, complete_histories
from fast.policies.policy import AnyPolicy, Policy
from reference.errors import TooLargeError
from reference.fields.field import FLOAT64
from reference.marginals import longest_path, marginal, path_sums
from reference.policies import BackwardKernel, ForwardPolicy

MAX_HISTORIES = 20_000_000


@dataclass(frozen=True, eq=False)
class TerminalLaw:
    """`p_T` of a policy, and how it was obtained.

    Attributes:
        probabilities: `p_T(x)`, one per `dag.terminals`.
        method: in words.
        samples: the size of the histogram that it is; 0 if it is none.
        error: what is to be expected of its error in TV, where it is estimated by backward
            trajectories; else 0.
        backward_mass: `sum over tau of p_B(tau | x)` per terminal, or None if not summed.
        log_ratio_range: the least and the largest `log( p_F(tau) / (p_B(tau|x) R(x)) )` over all
            complete trajectories, in nats, or None if not known.
    """

    probabilities: Floats
    method: str
    samples: int = 0
    error: float = 0.0
    backward_mass: Floats | None = None
    log_ratio_range: tuple[float, float] | None = None


def exact_law(
    policy: Policy, enumeration: Enumeration, *, float64: bool, on_device: bool | None = None
) -> TerminalLaw:
    """The exact terminal law, up to the rounding of the network's arithmetic.

    By dynamic programming for a Markovian policy, else by summing every complete trajectory.

    Args:
        policy: the policy.
        enumeration: the problem.
        float64: whether the network is evaluated in float64; sums always are.
        on_device: whether trajectories are summed where the network is evaluated, or on the host.
            By default on any device but a CPU, where the host is a fifth faster.

    Raises:
        TooLargeError: if a path-dependent policy has more than 20 million trajectories.
    """
    if policy.is_markovian:
        return _markov_law(policy, enumeration, float64=float64)
    count = enumeration.dag.trajectory_count
    if count > MAX_HISTORIES:
        raise TooLargeError(
            f"a path-dependent policy has {count:.3g} trajectories here, and at most "
            f"{MAX_HISTORIES:,} are summed: estimate its law from samples (sampled_law)"
        )
    if on_device is None:
        on_device = jax.default_backend() != "cpu"
    sums = (sum_histories if on_device else _sum_on_host)(policy, enumeration, float64=float64)
    terminals = list(enumeration.dag.terminals)
    return TerminalLaw(
        sums.p_t[terminals],
        f"exact, all {count:,} trajectories summed",
        backward_mass=sums.mass[terminals],
        log_ratio_range=(float(sums.low), float(sums.high)),
    )


def _sum_on_host(policy: Policy, enumeration: Enumeration, *, float64: bool) -> HistorySums:
    nodes = len(enumeration.dag.labels)
    p_t, mass = np.zeros(nodes), np.zeros(nodes)
    log_reward = np.full(nodes, np.nan)
    log_reward[list(enumeration.dag.terminals)] = enumeration.log_rewards
    low, high = np.inf, -np.inf
    for block in complete_histories(policy, enumeration, float64=float64):
        p_t += np.bincount(block.terminal, np.exp(block.log_p_f), nodes)
        mass += np.bincount(block.terminal, np.exp(block.log_p_b), nodes)
        f = block.log_p_f - block.log_p_b - log_reward[block.terminal]
        low, high = min(low, f.min()), max(high, f.max())
    return HistorySums(p_t, mass, low, high)


def sampled_law(
    policy: AnyPolicy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> TerminalLaw:
    """The empirical terminal law of `samples` trajectories."""
    drawn = np.concatenate(
        [
            block.terminal
            for block in sample_terminals(policy, environment, enumeration, samples, seed)
        ]
    )
    counts = np.bincount(drawn, minlength=len(enumeration.dag.labels))
    return TerminalLaw(
        counts[list(enumeration.dag.terminals)] / samples, f"{samples:,} samples", samples
    )


def _markov_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    dag = enumeration.dag
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        log_p = jax.jit(_markov_log_p_f)(
            to_float64(policy) if float64 else policy,
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
        )
        table = np.asarray(log_p, np.float64)
    log_p_b = base_log_p_b(policy, enumeration, float64=float64)
    taken = enumeration.edge >= 0
    log_p_f = np.empty(len(dag.edges))
    log_p_f[enumeration.edge[taken]] = table[taken]
    policy_64 = ForwardPolicy.from_weights(dag, FLOAT64, np.exp(log_p_f).tolist())
    kernel = BackwardKernel(dag, FLOAT64, np.exp(log_p_b).tolist())
    terminals = list(dag.terminals)
    difference = log_p_f - log_p_b
    high = longest_path(dag, difference)[terminals] - enumeration.log_rewards
    low = -longest_path(dag, -difference)[terminals] - enumeration.log_rewards
    return TerminalLaw(
        np.array(marginal(policy_64)),
        "exact, dynamic programming over the states",
        backward_mass=np.array(path_sums(kernel))[terminals],
        log_ratio_range=(float(low.min()), float(high.max())),
    )


def _markov_log_p_f(policy: Policy, observations: jax.Array, masks: jax.Array) -> jax.Array:
    return policy.log_p_f(policy.network.read((), observations), masks)
