"""The terminal law of a path-dependent policy from trajectories that `p_B` draws backwards."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.paths import backward_paths
from fast.laws.terminal_law import TerminalLaw
from fast.policies.policy import Policy

# Of fewer trajectories for each terminal the error could not be judged.
FEWEST = 16


def backward_law(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> TerminalLaw | None:
    """`p_T(x) = E p_F(tau) / p_B(tau | x)` over `tau ~ p_B(. | x)`, for each terminal `x`.

    The ratio is `pi(x)` for every `tau` at balance, where this has no variance at all; a histogram
    of as many samples is off by chance whatever the policy is. A trajectory that `p_F` likes and
    `p_B` hardly ever draws is missed, and with it its share of `p_T(x)`: standard errors do not
    show it, but the sum of the estimates does. Estimates are divided by that sum.

    Args:
        policy: the policy; its `p_B` must not read latents.
        environment: its environment.
        enumeration: the enumerated problem.
        samples: trajectories in all.
        seed: of the trajectories.

    Returns:
        None if there are fewer than 16 trajectories for each terminal, or if its error, half of
        what is missing and of the standard errors, is no less than that of a histogram.
    """
    terminals = enumeration.dag.terminals
    each = samples // len(terminals)
    if each < FEWEST:
        return None
    labels = [enumeration.dag.labels[node] for node in terminals]
    final = jax.tree.map(
        lambda *leaves: jnp.asarray(np.repeat(np.stack(leaves), each, axis=0)),
        *map(environment.encode, labels),
    )
    log_ratio = backward_paths(policy, environment, final, seed).log_path_ratio
    ratio = np.exp(log_ratio).reshape(-1, each)
    p, chance = ratio.mean(1), ratio.std(1, ddof=1) / each**0.5
    error = (abs(1.0 - p.sum()) + chance.sum()) / 2
    if not error < histogram_error(p / p.sum(), samples):
        return None
    return TerminalLaw(
        p / p.sum(), f"{each:,} backward trajectories for each terminal", error=float(error)
    )


def histogram_error(p: Floats, samples: int) -> float:
    """What is to be expected of the TV between a law and a histogram of samples from it.

    `1/2 sum sqrt(2 p (1 - p) / (pi n))`, the mean absolute deviation of counts that are normal.
    """
    return float(np.sqrt(2 * p * (1 - p) / (np.pi * samples)).sum() / 2)
