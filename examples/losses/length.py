"""Trajectory balance divided by length, limits of length, prefixes, and alpha-GFN."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from examples.losses.balance import Behaviour
from examples.losses.graphs import GRAPHS, MEMORY, TREE, TWO_LENGTHS, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.flow_matching import FlowMatching
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import tb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import CROSSING, Instance, make_instance, written


@dataclass(frozen=True)
class PerStep(TrajectoryLoss):
    """The residual of trajectory balance divided by the number of steps."""

    learns_log_z = True
    corrected: bool = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        gap = tb_residuals(steps, log_z)
        if not self.corrected:
            gap = gap + steps.log_p_b.sum(-1)
        return jnp.mean((gap / steps.active.sum(1)) ** 2)


@dataclass(frozen=True)
class Forced(TrajectoryLoss):
    """Trajectory balance where the last step at the cap is forced, and the loss takes it as chosen.

    It counts the probability that the network would have given it, which is below one.
    """

    learns_log_z = True
    needs_flow = True
    cap: int = 2

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        at_cap = steps.active & (jnp.arange(steps.active.shape[1]) == self.cap - 1)
        chosen = jnp.where(at_cap, jax.nn.log_sigmoid(steps.log_flow), 0.0).sum(-1)
        return jnp.mean((tb_residuals(steps, log_z) + chosen) ** 2)


@dataclass(frozen=True)
class Alpha(TrajectoryLoss):
    """Trajectory balance of `alpha p_F` and `(1 - alpha) p_B`."""

    learns_log_z = True
    alpha: float = 1 / 3

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        mixed = jnp.log(self.alpha / (1 - self.alpha)) * steps.active.sum(1)
        return jnp.mean((tb_residuals(steps, log_z) + mixed) ** 2)


@dataclass(frozen=True)
class Leak(FlowMatching):
    """Flow matching whose end `c`, a truncated one, has the reward `floor` in place of its own.

    It is the head that draws; the other head, which has all flow, does not enter the law.
    """

    floor: float = 0.5

    def penalties(self, policy: Any, environment: Any, trajectories: Any) -> Any:
        cut = trajectories.states.node[:, -1] == environment.dag.index["c"]
        log_reward = jnp.where(cut, jnp.log(self.floor), trajectories.log_reward)
        changed = trajectories._replace(log_reward=log_reward)
        return super().penalties(policy, environment, changed)


@dataclass(frozen=True)
class RootedPrefixes(TrajectoryLoss):
    """Trajectory balance, and `weight` times a residual of the prefix `o` beside the way to `q`.

    The target of `o` is the best reward after it, which is that of `q`; the gradient does not go
    through the probability to stop.
    """

    learns_log_z = True
    weight: float = 1.5

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        stop = lax.stop_gradient(jnp.log1p(-jnp.exp(steps.log_p_f[:, 0])))
        rooted = jnp.where(steps.active.all(1), stop - steps.log_p_f.sum(1), 0.0)
        return jnp.mean(tb_residuals(steps, log_z) ** 2 + self.weight * rooted**2)


TRUNCATED = {
    TREE: make_instance("truncated tree", written("o: a x, a: y c", x=1, y=2, c=3)),
    WAYS: make_instance("truncated triangle", written("o: a x, a: x c", x=1, c=2)),
}
CHAIN = make_instance("chain of stops", written("o: p a, a: q", p=1, q=4))


def floored(graph: Instance) -> tuple[Fraction, ...]:
    """`R(x)`, but one half at the end that is listed last."""
    return (*graph.rewards[:-1], Fraction(1, 2))


JUDGED = (
    Judged(
        "trajectory balance divided by length",
        "recursionpharma/gflownet, pull request 105; Hu et al., GFlowNet-EM, 2023",
        "((log Z + log p_F(tau) - log p_B(tau|x) - log R(x)) / T)^2",
        "right under a condition",
        PerStep(),
        "p_B is kept",
        (Case(PerStep(False), GRAPHS[WAYS], "wrong", "without p_B"),),
    ),
    Judged(
        "a forced end at a cap of length",
        "practice: torchgfn and recursionpharma/gflownet have such caps",
        "trajectory balance, the forced step with the probability that p_F would give it",
        "wrong",
        Forced(),
        "right for R on what is left if the mask is also that of p_F",
        (
            Case(Forced(9), TWO_LENGTHS, "right", "the mask is that of p_F"),
            Case(Behaviour(1.0, cap=1), TWO_LENGTHS, "wrong", "longer ones are dropped"),
        ),
        outcomes={"two lengths": "wrong"},
        graphs={"two lengths": TWO_LENGTHS},
    ),
    Judged(
        "weights alpha and 1 - alpha (alpha-GFN)",
        "Chen et al., Controlling exploration-exploitation in GFlowNets, 2026; as read",
        "(log Z + sum of (log alpha p_F - log (1 - alpha) p_B) - log R(x))^2",
        "right under a condition",
        Alpha(),
        "alpha = 1/2, or all trajectories have one length: T steps weigh ((1 - alpha)/alpha)^T",
        (Case(Alpha(0.5), GRAPHS[WAYS], "right", "alpha = 1/2"),),
        outcomes={TREE: "wrong", WAYS: "wrong", MEMORY: "wrong", "one length": "right"},
        graphs={**GRAPHS, "one length": make_instance("crossing", CROSSING)},
    ),
    Judged(
        "LeakGFN",
        "Kim et al., Robust molecular generation via flow decomposition, 2026; by its code",
        "flow matching of F(s, s') lambda(s, s'), which draws; truncated ends have a small reward",
        "right for another law",
        Leak(),
        "R(x) on the ends that are valid, the small reward on those that are truncated",
        outcomes={TREE: "other law", WAYS: "other law"},
        graphs=TRUNCATED,
        law=floored,
    ),
    Judged(
        "RapTB",
        "Wang et al., Rooted absorbed prefix trajectory balance, 2026; as its authors explain it",
        "trajectory balance + eta (log p_F(prefix, stop) - u - log p_F(tau) + log R(x))^2",
        "wrong",
        RootedPrefixes(),
        "any eta > 0 where a prefix has not the best reward after it, u; its authors agree",
        (Case(RootedPrefixes(0.0), CHAIN, "right", "eta = 0", "uniform"),),
        outcomes={"chain of stops": "wrong"},
        graphs={"chain of stops": CHAIN},
        draws="uniform",
    ),
)
