"""Divergences between trajectories: forward KL with weights, Renyi's, Tsallis', and f-TB."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.losses.balance import RIGHT
from examples.losses.graphs import GRAPHS, WAYS
from examples.losses.judging import Case, Judged
from examples.losses.policy_gradient import surrogate
from examples.renyi import Renyi
from fast.balance.loss import RatioLoss, TrajectoryLoss, log_ratio
from fast.balance.steps import Steps
from fast.checking.instances import make_instance, written


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


@dataclass(frozen=True)
class Tsallis(TrajectoryLoss):
    """The sum of `p_F(tau)^a (p_B R)^(1 - a) / (a - 1)`, by its gradient on policy."""

    order: float = 0.5

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        power = jnp.exp((self.order - 1) * log_ratio(steps))
        return surrogate(self.order / (self.order - 1) * power[:, None], steps)


@dataclass(frozen=True)
class FBalance(RatioLoss):
    """The mean of `L(delta)`, `L' = f'(exp) - f'(1)`, with the `Z` that is best for the batch.

    Here `f'(u) = (1 - u^-a) / a`: forward KL for `a = 1`, Hellinger's for `a = 1/2`.
    """

    order: float = 1.0

    def of_ratios(self, ratios: Any, key: Any) -> Any:
        a = self.order
        log_z = (jax.nn.logsumexp(-a * ratios) - jnp.log(len(ratios))) / a
        delta = ratios + lax.stop_gradient(log_z)
        return jnp.mean(delta + (jnp.exp(-a * delta) - 1) / a) / a


# Without weights, replay learns the cube root of the reward.
CUBES = make_instance("cubes", written("o: x y", x=1, y=8))

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
    Judged(
        "Tsallis' divergence",
        "Silva et al., On divergence measures for training GFlowNets, 2024",
        "(1/(a - 1)) sum of p_F(tau)^a (p_B(tau|x) R(x))^(1 - a), trajectories from p_F",
        "right on policy",
        Tsallis(),
        RIGHT,
        "trajectories of the policy itself, or importance weights",
        (Case(Tsallis(), CUBES, "wrong", "replay without weights", "uniform"),),
        draws="policy",
    ),
    Judged(
        "f-TB",
        "Fawkes and Hartford, f-trajectory balance, 2026",
        "L(delta), L' = f'(exp) - f'(1), delta with log Z of least loss in the batch",
        "right",
        FBalance(),
        RIGHT,
        cases=(Case(FBalance(0.5), GRAPHS[WAYS], "right", "Hellinger"),),
    ),
)
