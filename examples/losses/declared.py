"""Losses for another law, which they declare: relative trajectory balance, and sums of samplers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp

from examples.losses.graphs import MEMORY, TREE, WAYS
from examples.losses.judging import Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps
from fast.checking.instances import Instance
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


def prior_times_reward(graph: Instance) -> tuple[Fraction, ...]:
    """`p(x) R(x)`, p the law of the uniform policy."""
    prior = marginal(ForwardPolicy.uniform(graph.lifted.dag, RATIONAL))
    return tuple(p * reward for p, reward in zip(prior, graph.rewards, strict=True))


JUDGED = (
    Judged(
        "relative trajectory balance",
        "Venkatraman et al., Amortizing intractable inference in diffusion models, 2024",
        "(log Z + log p_F(tau) - log prior(tau) - log R(x))^2",
        "right for another law",
        RelativeBalance(),
        {TREE: "other law", WAYS: "other law", MEMORY: "other law"},
        "prior(x) R(x)",
        law=prior_times_reward,
    ),
)
