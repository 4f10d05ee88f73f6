"""Residuals of samplers on every trajectory, which bound the TV of a combined sampler.

Claim combined-tv-bound.
"""

from collections.abc import Mapping

import numpy as np

from fast.laws.enumeration import Enumeration, Floats, Ints
from fast.laws.walk import complete_histories
from fast.policies.policy import Policy
from fast.training.compose import TrainConfig
from reference.fields.field import log_float
from reference.problems import exact_reward

MAX_TRAJECTORIES = 1_000_000


def path_ratios(policy: Policy, enumeration: Enumeration) -> tuple[Ints, Floats]:
    """The end of each trajectory, and its `log( p_F(tau) / p_B(tau | x) )` in float64 and nats.

    The order of the trajectories is the same for all samplers, of any dynamics and backward policy.
    """
    blocks = list(complete_histories(policy, enumeration, float64=True, visits_ends=True))
    ends, ratios = ([getattr(block, name) for block in blocks] for name in ("ends", "log_ratio"))
    return np.concatenate(ends), np.concatenate(ratios)


def oscillations(
    runs: Mapping[str, TrainConfig],
    frozen: Mapping[str, tuple[str, ...]],
    ratios: Mapping[str, Floats],
    enumeration: Enumeration,
    ends: Ints,
) -> dict[str, float]:
    """`Delta`, the largest minus the least log residual of each run over all trajectories, in nats.

    The residual of a run is its log ratio `log( p_F / p_B )` minus the log ratios of its frozen
    runs, and minus `log R` of the factors that these do not cover: trajectory balance of a client,
    eq:apx:dist of an aggregate, eq:apx:sm of a step of a stream.

    Args:
        runs: the configuration of each run.
        frozen: the names of the frozen runs of each.
        ratios: the log ratios of each, by `path_ratios`, in nats.
        enumeration: the states of their environment.
        ends: the end of each trajectory.
    """
    dag, spreads = enumeration.dag, {}
    for name, config in runs.items():
        covered = {factor for other in frozen[name] for factor in runs[other].factors.covered}
        residual = ratios[name] - sum(ratios[other] for other in frozen[name])
        if rest := set(config.factors.covered) - covered:
            problem = config.restricted(rest)
            rewards = [exact_reward(problem, dag.labels[x]) for x in dag.terminals]
            log_r = np.array([log_float(reward) for reward in rewards])
            residual = residual - log_r[np.searchsorted(dag.terminals, ends)]
        spreads[name] = float(np.ptp(residual))
    return spreads
