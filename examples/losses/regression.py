"""Regression losses other than the square, quantiles, and noisy rewards."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import optax

from examples.losses.graphs import TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.flow_matching import fm_residuals
from fast.balance.loss import PolicyLoss, TrajectoryLoss
from fast.balance.losses import tb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import Instance, make_instance, written


@dataclass(frozen=True)
class Regression(TrajectoryLoss):
    """`g(delta)` of the residual of trajectory balance, `g` convex with its least value at 0."""

    learns_log_z = True
    kind: str = "Linex"

    def of(self, gap: Any) -> Any:
        """`g`."""
        return {
            "square": gap**2,
            "Linex": jnp.exp(gap) - gap - 1,
            "reversed Linex": jnp.exp(-gap) + gap - 1,
            "half Linex": 4 * jnp.exp(gap / 2) - 2 * gap - 4,
            "shifted cosh": jnp.exp(gap) + jnp.exp(-gap) - 2,
        }[self.kind]

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        return jnp.mean(self.of(tb_residuals(steps, log_z)))


@dataclass(frozen=True)
class Noisy(Regression):
    """The same where rewards above one are measured as 2/5 or 8/5 of themselves."""

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        drawn = [
            super(Noisy, self).value(steps._replace(log_reward=measured), log_z, key)
            for factor in (0.4, 1.6)
            for measured in (
                steps.log_reward + jnp.where(steps.log_reward > 0, jnp.log(factor), 0),
            )
        ]
        return sum(drawn) / len(drawn)


# R(y) is 5 on average, and measured as 2 or 8; the geometric mean is 4, the harmonic one 16/5.
NOISY = make_instance("noisy", written("o: x y", x=1, y=5))


def weighed(*weights: Fraction | int) -> Any:
    """A declared law of `NOISY`."""

    def law(graph: Instance) -> tuple[Fraction, ...]:
        return tuple(map(Fraction, weights))

    return law


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
        "Linex(1)",
        "Hu et al., Beyond squared error, 2025",
        "exp(delta) - delta - 1, delta the residual of trajectory balance",
        "right",
        Regression("Linex"),
    ),
    Judged(
        "Linex(1/2)",
        "Hu et al., Beyond squared error, 2025",
        "4 exp(delta/2) - 2 delta - 4",
        "right",
        Regression("half Linex"),
    ),
    Judged(
        "shifted cosh",
        "Hu et al., Beyond squared error, 2025",
        "exp(delta) + exp(-delta) - 2",
        "right",
        Regression("shifted cosh"),
    ),
    Judged(
        "trajectory balance of noisy rewards",
        "read off trajectory balance",
        "(log Z + log p_F - log p_B - log R~(x))^2, R~ measured with noise of mean R",
        "right for another law",
        Noisy("square"),
        "exp(E log R~); a Linex loss has E R~ or the harmonic mean, by its sign",
        (
            Case(Noisy("reversed Linex"), NOISY, "right", "reversed Linex", "uniform"),
            Case(
                Noisy("Linex"),
                NOISY,
                "other law",
                "Linex",
                "uniform",
                law=weighed(1, Fraction(16, 5)),
            ),
        ),
        outcomes={"noise": "other law"},
        graphs={"noise": NOISY},
        draws="uniform",
        law=weighed(1, 4),
    ),
    Judged(
        "quantile matching",
        "Zhang et al., Distributional GFlowNets with quantile flows, 2023; and its code",
        "sum over levels b, b' of |b - 1(d < 0)| H(d), d = log outflow at b' - log inflow at b",
        "right under a condition",
        QuantileMatching(),
        "rewards without noise; with it the law is that of a functional, exp(E log R~) by default",
        (Case(QuantileMatching(factors=(0.4, 1.6)), NOISY, "wrong", "noisy rewards", "uniform"),),
        outcomes={TREE: "right", WAYS: "right"},
    ),
)
