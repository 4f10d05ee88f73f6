"""Divergences between trajectories, by their values or as policy gradients."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.losses.graphs import GRAPHS, MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from examples.renyi import Renyi
from fast.balance.loss import RatioLoss, TrajectoryLoss, log_ratio
from fast.balance.losses import db_residuals, subtb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import make_instance, written

EVEN = make_instance("even tree", written("o: a x, a: y z", x=1, y=1, z=1))


def surrogate(cost: Any, steps: Steps) -> Any:
    """A value whose gradient is the mean of `cost` times that of `log p_F`."""
    return jnp.mean(jnp.sum(lax.stop_gradient(cost) * steps.log_p_f, -1))


@dataclass(frozen=True)
class ReverseKL(TrajectoryLoss):
    """REINFORCE with the cost `log p_F(tau) - log p_B(tau|x) - log R(x)`."""

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate(log_ratio(steps)[:, None], steps)


@dataclass(frozen=True)
class WithoutBackward(TrajectoryLoss):
    """The same without `p_B`, as in maximum-entropy reinforcement learning."""

    reads_backward = False

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate((steps.log_p_f.sum(-1) - steps.log_reward)[:, None], steps)


@dataclass(frozen=True)
class PlainPPO(TrajectoryLoss):
    """The return `log R(x)`, and the entropy of each row as a bonus beside it, not within it.

    At its first epoch the clipped objective has this gradient.
    """

    reads_backward = False
    bonus: float = 1.0

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return surrogate(self.bonus * steps.log_p_f - steps.log_reward[:, None], steps)


@dataclass(frozen=True)
class EvaluationBalance(TrajectoryLoss):
    """A flow learned from subtrajectories of the policy is the baseline of its own gradient."""

    needs_flow = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        fixed = steps._replace(log_p_f=lax.stop_gradient(steps.log_p_f))
        critic = jnp.mean(jnp.sum(subtb_residuals(fixed) ** 2, (1, 2)))
        rest = jnp.cumsum(db_residuals(steps)[:, ::-1], 1)[:, ::-1]
        return critic + surrogate(rest, steps)


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
        "REINFORCE of the reverse KL, hierarchical VI",
        "Malkin et al., GFlowNets and variational inference, 2023; Niu et al., 2024",
        "stop(log p_F(tau) - log p_B(tau|x) - log R(x)) log p_F(tau)",
        "right on policy",
        ReverseKL(),
        "trajectories of the policy itself, or importance weights",
        (Case(ReverseKL(), GRAPHS[WAYS], "wrong", "replay without weights", "uniform"),),
        draws="policy",
    ),
    Judged(
        "PPO with the KL to p_B in the reward (Ent-PPO, VPG)",
        "2606.15793; read as the first epoch, where nothing is clipped",
        "the return is log R(x) + sum of (log p_B - log p_F)",
        "right on policy",
        ReverseKL(),
        "p_B is in the reward; without it ends count by the number of their ways",
        (
            Case(ReverseKL(), GRAPHS[WAYS], "wrong", "replay without weights", "uniform"),
            Case(WithoutBackward(), GRAPHS[WAYS], "wrong", "p_B is dropped", "policy"),
        ),
        draws="policy",
    ),
    Judged(
        "Sub-EB",
        "Niu et al., Evaluating GFlowNet from partial episodes, 2026",
        "subtrajectory balance for the flow alone; its residual is the advantage of p_F",
        "right",
        EvaluationBalance(),
        cases=(Case(EvaluationBalance(), GRAPHS[WAYS], "right", "replay", "uniform"),),
        draws="policy",
    ),
    Judged(
        "plain PPO or A2C with an entropy bonus",
        "Schulman et al., Proximal policy optimization, 2017",
        "the return is log R(x); the entropy of each row is added to the loss",
        "wrong",
        PlainPPO(),
        "an inner state is worth the mean of log R below it, not the log of a sum",
        (Case(PlainPPO(), EVEN, "wrong", "a tree of three equal rewards", "policy"),),
        outcomes={TREE: "wrong", WAYS: "wrong", MEMORY: "wrong"},
        draws="policy",
    ),
    Judged(
        "forward KL",
        "Silva et al., On divergence measures for training GFlowNets, 2024",
        "-w log p_F(tau), w = R(x) p_B(tau|x) / (behaviour of tau)",
        "right under a condition",
        ForwardKL(),
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
    ),
    Judged(
        "Tsallis' divergence",
        "Silva et al., On divergence measures for training GFlowNets, 2024",
        "(1/(a - 1)) sum of p_F(tau)^a (p_B(tau|x) R(x))^(1 - a), trajectories from p_F",
        "right on policy",
        Tsallis(),
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
        cases=(Case(FBalance(0.5), GRAPHS[WAYS], "right", "Hellinger"),),
    ),
)
