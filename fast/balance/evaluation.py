"""Balance terms of a batch with their pullback, by the way that fits the policy.

`markovian_rows` and `read_out_rows` skip the padding of ended trajectories, `recurrent_groups`, for
all other policies, bounds the memory. All reuse what sampling cached.
"""

from typing import Any

from fast.balance.recurrent_groups import recurrent_groups
from fast.balance.rows import markovian_rows, read_out_rows
from fast.balance.steps import Pullback, Steps
from fast.dynamics.head import WithHead
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Cached, Trajectories


def evaluate_with_pullback(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    trajectories: Trajectories,
    cached: Cached | None = None,
    *,
    skip_ended: bool = True,
) -> tuple[Steps, Pullback]:
    """The terms that `fast.balance.steps.evaluate` defines, and their pullback.

    Args:
        policy: the policy.
        environment: the state graph.
        trajectories: a batch.
        cached: values cached while sampling.
        skip_ended: whether groups are cut where their trajectories have ended. Inside `vmap` that
            is slower, as all branches are taken there.
    """
    evaluation = recurrent_groups
    if policy.is_markovian:
        evaluation = markovian_rows
    elif isinstance(policy.network, WithHead) and not policy.backward.reads_latent:
        evaluation = read_out_rows
    return evaluation(policy, environment, trajectories, cached, skip_ended=skip_ended)
