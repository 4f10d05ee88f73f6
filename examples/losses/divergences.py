"""Divergences between trajectories: forward KL with weights, and Renyi's."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, WAYS
from examples.losses.judging import Case, Judged
from examples.renyi import Renyi
from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps


@dataclass(frozen=True)
class ForwardKL(TrajectoryLoss):
    """`-sum of w log p_F(tau)`, `w = R(x) p_B(tau|x)`, of trajectories drawn uniformly."""

    def weights(self, log_w: Any) -> Any:
        """The weights of a batch."""
        return jnp.exp(log_w) / len(log_w)

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        weights = self.weights(steps.log_reward + steps.log_p_b.sum(-1))
        return -jnp.sum(lax.stop_gradient(weights) * steps.log_p_f.sum(-1))


@dataclass(frozen=True)
class SelfNormalised(ForwardKL):
    """The same with weights that sum to one in every batch of two."""

    least_batch = 2

    def weights(self, log_w: Any) -> Any:
        return jax.nn.softmax(log_w)


JUDGED = (
    Judged(
        "forward KL",
        "Silva et al., On divergence measures for training GFlowNets, 2024",
        "-w log p_F(tau), w = R(x) p_B(tau|x) / (behaviour of tau)",
        "right under a condition",
        ForwardKL(),
        RIGHT,
        "weights are not normalised within a batch; in the limit of large batches they may be",
        (Case(SelfNormalised(), GRAPHS[WAYS], "wrong", "self-normalised, pairs", "uniform"),),
        draws="uniform",
    ),
    Judged(
        "Renyi's divergence",
        "Silva et al., On divergence measures for training GFlowNets, 2024",
        "(1/a) log E exp(a f) - E f, f = log p_F(tau) - log p_B(tau|x) - log R(x)",
        "right",
        Renyi(),
        RIGHT,
    ),
)
