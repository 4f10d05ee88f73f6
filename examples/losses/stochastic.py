"""Environments with chance: stochastic GFlowNets and EFlowNets."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from examples.losses.graphs import TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db_residuals
from fast.balance.steps import Steps
from fast.checking.instances import Instance, make_instance, written


@dataclass(frozen=True)
class Stochastic(TrajectoryLoss):
    """Detailed balance where chance leads on from `a`, by even odds to which its row is fitted.

    The row stands for the learned dynamics, so that the law is that of policy and chance.
    """

    needs_flow = True

    def context(self, environment: Any, trajectories: Any) -> Any:
        before = trajectories.states.node[:, :-1]
        dag = environment.dag
        below = np.array(environment.log_rewards)[list(dag.children[dag.index["a"]])]
        return before == dag.index["a"], jnp.log(jnp.mean(jnp.exp(below)))

    def residuals(self, steps: Steps) -> Any:
        """The balance of every step."""
        log_p_f = jnp.where(steps.context[0], jnp.log(0.5), steps.log_p_f)
        return db_residuals(steps._replace(log_p_f=log_p_f))

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        fitted = jnp.where(steps.context[0], steps.log_p_f - jnp.log(0.5), 0.0)
        return jnp.mean(jnp.sum(self.residuals(steps) ** 2 + fitted**2, 1))


@dataclass(frozen=True)
class Expected(Stochastic):
    """The same where the flow of `a` is the mean of the flows after it, here of rewards."""

    def residuals(self, steps: Steps) -> Any:
        chance, mean = steps.context
        return jnp.where(chance, steps.log_flow - mean, db_residuals(steps))


REACHED = {
    TREE: make_instance("tree with chance", written("o: a x, a: y z", x=2, y=1, z=1)),
    WAYS: make_instance("triangle with chance", written("o: a x, a: x y", x=2, y=1)),
}
UNEVEN = make_instance("uneven chance", written("o: a x, a: y z", x=2, y=1, z=4))


def mean_after_chance(graph: Instance) -> tuple[Fraction, ...]:
    """`R(x)`, and for either end of the chance half the mean of their rewards."""
    direct, *others = graph.rewards
    return (direct, *[sum(others, start=Fraction(0)) / 4] * 2)


JUDGED = (
    Judged(
        "stochastic GFlowNet",
        "Pan et al., Stochastic generative flow networks, 2023",
        "(log F(s) + log p_F(a|s) + log P(s'|s, a) - log p_B(s, a|s') - log F(s'))^2",
        "right under a condition",
        Stochastic(),
        {TREE: "right", WAYS: "right"},
        "some policy has the law R / Z; if none has, not even the odds of the choices are right",
        (Case(Stochastic(), UNEVEN, "wrong", "R cannot be reached", "uniform"),),
        graphs=REACHED,
    ),
    Judged(
        "EFlowNet",
        "Jiralerspong et al., Expected flow networks, 2024; from the abstract",
        "detailed balance at choices, F(s) the mean of F(s') over P(s'|s) at chance",
        "right for another law",
        Expected(),
        {TREE: "other law"},
        "choices in proportion to the mean of R after them; on trees",
        graphs={TREE: UNEVEN},
        law=mean_after_chance,
    ),
)
