"""What experiments measure while training, beyond the distance to the target."""

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from fast.bridge import exact_policy
from fast.estimates import forward_paths
from fast.evaluation import MEAN_BEST
from fast.experiments.base import ProbeName
from fast.meter import Probe
from fast.objectives import TrainState
from fast.policies import Policy, uniform_policy
from fast.run_setup import Setup
from reference.memory import aliasing_kl, memory_kl

MAX_LIFTED = 200_000


def aliasing(setup: Setup, state: TrainState, step: int) -> dict[str, Any]:
    """Eq:max_kl between `p_3` and `p_2` of Lines, in nats, of the first seed."""
    assert setup.enumeration is not None
    lifted, forward = exact_policy(setup.policies(state)[0], setup.enumeration, MAX_LIFTED)
    actions: dict[tuple[Hashable, Hashable], Hashable] = {
        (f"p{i}", child): int(child[1:]) - i if child[0] == "p" else "stop"
        for i in (2, 3)
        for child in lifted.base.labels
        if child == f"q{i}" or child in {f"p{i + j}" for j in range(1, setup.environment.actions)}
    }
    return {"kl": aliasing_kl(lifted, forward, "p2", "p3", actions)}


def memory(setup: Setup, state: TrainState, step: int) -> dict[str, Any]:
    """KL(s) of fig:setsa, in nats, averaged over `p_1, ..., p_N`; of the first seed."""
    assert setup.enumeration is not None
    lifted, forward = exact_policy(setup.policies(state)[0], setup.enumeration, MAX_LIFTED)
    kl = memory_kl(lifted, forward)
    return {"kl": float(np.mean([value for label, value in kl.items() if label != "p0"]))}


def best(setup: Setup, state: TrainState, step: int) -> dict[str, Any]:
    """The best states among as many samples as were trained on since the last evaluation.

    Pairs of label and log reward, of the learned policy and of the uniform one. The samples are
    drawn anew from the policy as it is now: those of training are not kept.
    """
    config = setup.config
    count = config.batch * max(1, round(config.steps / config.evaluations))
    policy = setup.policies(state)[0]

    def top(policy: Policy) -> list[list[Any]]:
        paths = forward_paths(policy, setup.environment, count, step)
        first: dict[Any, float] = {}
        for i in np.argsort(-paths.log_reward, kind="stable"):
            label = setup.environment.decode(jax.tree.map(lambda leaf, i=i: leaf[i], paths.final))
            first[str(label)] = float(paths.log_reward[i])
            if len(first) == MEAN_BEST:
                break
        return [[label, value] for label, value in first.items()]

    return {"learned": top(policy), "uniform": top(uniform_policy(policy))}


PROBES: dict[ProbeName, Probe] = {"aliasing": aliasing, "memory": memory, "best": best}
