"""Quantile matching: flows with a distribution each."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import optax

from examples.losses.graphs import TREE, WAYS
from examples.losses.judging import Case, Judged
from examples.losses.regression import NOISY
from fast.balance.flow_matching import fm_residuals
from fast.balance.loss import PolicyLoss


@dataclass(frozen=True)
class QuantileMatching(PolicyLoss):
    """Flow matching by the Huber loss of one quantile, `|level - 1(d < 0)| H(d)`.

    Rewards above one are measured as each of `factors` times themselves. The median's flow is here
    also the geometric mean over levels, by which the published policy draws.
    """

    needs_flow = True
    needs_markovian = True
    reads_backward = False
    level: float = 0.5
    factors: tuple[float, ...] = (1.0,)

    def penalties(self, policy: Any, environment: Any, trajectories: Any) -> Any:
        log_reward, total = trajectories.log_reward, 0.0
        for factor in self.factors:
            measured = log_reward + jnp.where(log_reward > 0, jnp.log(factor), 0)
            drawn = trajectories._replace(log_reward=measured)
            gap = -fm_residuals(policy, environment, drawn)
            total += jnp.abs(self.level - (gap < 0)) * optax.losses.huber_loss(gap)
        return total


JUDGED = (
    Judged(
        "quantile matching",
        "Zhang et al., Distributional GFlowNets with quantile flows, 2023; and its code",
        "sum over levels b, b' of |b - 1(d < 0)| H(d), d = log outflow at b' - log inflow at b",
        "right under a condition",
        QuantileMatching(),
        {TREE: "right", WAYS: "right"},
        "rewards without noise; with it the law is that of a functional, exp(E log R~) by default",
        (Case(QuantileMatching(factors=(0.4, 1.6)), NOISY, "wrong", "noisy rewards", "uniform"),),
    ),
)
