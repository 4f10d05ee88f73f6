"""Losses for another law, which they declare: priors, boosting, reference flows, chance."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.losses.graphs import MEMORY, TREE, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import db_residuals, tb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import Instance, make_instance, written
from reference import RATIONAL, ForwardPolicy, marginal


@dataclass(frozen=True)
class RelativeBalance(TrajectoryLoss):
    """Trajectory balance relative to a prior policy, here the uniform one."""

    learns_log_z = True
    reads_backward = False

    def context(self, environment: Any, trajectories: Any) -> Any:
        children = jax.vmap(jax.vmap(environment.mask))(trajectories.states).sum(-1)
        return -jnp.log(children[:, :-1])

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        prior = jnp.where(steps.active, steps.context, 0.0)
        return jnp.mean((log_z + jnp.sum(steps.log_p_f - prior, -1) - steps.log_reward) ** 2)


@dataclass(frozen=True)
class Boosted(RelativeBalance):
    """Trajectory balance of a mixture: a first sampler, here the uniform one, with flow `first`."""

    reads_backward = True
    first: float = 0.25

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        before = jnp.where(steps.active, steps.context, 0.0).sum(-1) + jnp.log(self.first)
        both = jnp.logaddexp(before, log_z + steps.log_p_f.sum(-1))
        return jnp.mean((both - steps.log_p_b.sum(-1) - steps.log_reward) ** 2)


@dataclass(frozen=True)
class ReferenceFlow(RelativeBalance):
    """Trajectory balance with the flow `strength q(tau)` beside the reward's, `q` uniform here."""

    reads_backward = True
    strength: float = 0.5

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        reference = jnp.where(steps.active, steps.context, 0.0).sum(-1) + jnp.log(self.strength)
        target = jnp.logaddexp(steps.log_p_b.sum(-1) + steps.log_reward, reference)
        return jnp.mean((log_z + steps.log_p_f.sum(-1) - target) ** 2)


@dataclass(frozen=True)
class Explorer(TrajectoryLoss):
    """Trajectory balance of `R^2`, where the sampler has too little everywhere."""

    learns_log_z = True

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        squared = steps._replace(log_reward=2 * steps.log_reward)
        return jnp.mean(tb_residuals(squared, log_z) ** 2)


def declared(weight: Callable[[Fraction, Fraction], Fraction]) -> Any:
    """The law in proportion to a function of `R(x)` and the law `p(x)` of the uniform policy."""

    def law(graph: Instance) -> tuple[Fraction, ...]:
        uniform = marginal(ForwardPolicy.uniform(graph.lifted.dag, RATIONAL))
        return tuple(map(weight, graph.rewards, uniform))

    return law


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
        "relative trajectory balance",
        "Venkatraman et al., Amortizing intractable inference in diffusion models, 2024",
        "(log Z + log p_F(tau) - log prior(tau) - log R(x))^2",
        "right for another law",
        RelativeBalance(),
        "prior(x) R(x)",
        outcomes={TREE: "other law", WAYS: "other law", MEMORY: "other law"},
        law=declared(lambda reward, p: p * reward),
    ),
    Judged(
        "boosted samplers",
        "2511.09677; as read",
        "(log(Z_1 p_1(tau) + Z_2 p_F(tau)) - log p_B(tau|x) - log R(x))^2, p_1 fixed",
        "right for another law",
        Boosted(),
        "R(x) - Z_1 p_1(x), so that both together have R; no zero unless Z_1 p_1 <= R p_B",
        outcomes={TREE: "other law", WAYS: "other law", MEMORY: "other law"},
        law=declared(lambda reward, p: reward - p / 4),
    ),
    Judged(
        "reference flows",
        "Lei et al., Stable GFlowNets with probabilistic guarantees, 2026; from the abstract",
        "(log Z + log p_F(tau) - log(p_B(tau|x) R(x) + lambda q(tau)))^2, q a fixed policy",
        "right for another law",
        ReferenceFlow(),
        "R(x) + lambda q(x), so lambda/(Z + lambda) of the distance of q from R / Z",
        outcomes={TREE: "other law", WAYS: "other law", MEMORY: "other law"},
        law=declared(lambda reward, p: reward + p / 2),
    ),
    Judged(
        "DTB, the explorer of ACE",
        "Dall'Antonia et al., Divergent trajectory balance, 2026; from the abstract and a summary",
        "(log Z + log p_F - log p_B - beta log R(x))^2 where the sampler has too little",
        "right for another law",
        Explorer(),
        "R(x)^beta on the ends of which the sampler has too little",
        outcomes={TREE: "other law", WAYS: "other law"},
        law=declared(lambda reward, p: reward**2),
    ),
    Judged(
        "stochastic GFlowNet",
        "Pan et al., Stochastic generative flow networks, 2023",
        "(log F(s) + log p_F(a|s) + log P(s'|s, a) - log p_B(s, a|s') - log F(s'))^2",
        "right under a condition",
        Stochastic(),
        "some policy has the law R / Z; if none has, not even the odds of the choices are right",
        (Case(Stochastic(), UNEVEN, "wrong", "R cannot be reached", "uniform"),),
        outcomes={TREE: "right", WAYS: "right"},
        graphs=REACHED,
    ),
    Judged(
        "EFlowNet",
        "Jiralerspong et al., Expected flow networks, 2024; from the abstract",
        "detailed balance at choices, F(s) the mean of F(s') over P(s'|s) at chance",
        "right for another law",
        Expected(),
        "choices in proportion to the mean of R after them; on trees",
        outcomes={TREE: "other law"},
        graphs={TREE: UNEVEN},
        law=mean_after_chance,
    ),
)
