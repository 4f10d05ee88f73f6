"""A loss with a teacher: regression of `p_F` on the exact rows of an enumerated problem."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.balance.loss import TrajectoryLoss
from fast.balance.steps import Steps
from fast.environments import AbstractEnvironment, TabularEnvironment
from fast.sampling.trajectories import Trajectories
from reference.errors import InputError


def exact_log_rows(environment: TabularEnvironment) -> Float[Array, "nodes actions"]:
    """`log p_F` of every action under the exact sampler of the uniform `p_B`, in nats.

    One pass per step of a longest trajectory: `log F(s) = log sum of F(s') / parents(s')` over the
    children (col:tb). Minus infinity where there is no child.
    """
    nodes = jnp.arange(len(environment.children))[:, None]
    is_edge = environment.legal & (environment.children != nodes)
    ends = ~is_edge.any(1)
    parents = jnp.maximum(environment.parent_legal.sum(1), 1)
    log_parents = jnp.log(parents).astype(environment.log_rewards.dtype)

    def through(log_flow: Array) -> Array:
        arriving = (log_flow - log_parents)[environment.children]
        return jnp.where(is_edge, arriving, -jnp.inf)

    def sharpen(_: Any, log_flow: Array) -> Array:
        return jnp.where(ends, environment.log_rewards, jax.nn.logsumexp(through(log_flow), 1))

    start = jnp.where(ends, environment.log_rewards, -jnp.inf)
    log_flow: Array = lax.fori_loop(0, environment.horizon, sharpen, start)
    rows: Array = through(log_flow) - log_flow[:, None]
    return rows


@dataclass(frozen=True)
class Teacher(TrajectoryLoss):
    """The mean square of `log p_F - log p_F*` over the steps of a batch, `p_F*` the exact rows.

    For problems of your own, which are tables: `pdai train custom --problem my_module:MyProblem
    --loss pdai.solving.teacher:Teacher`. The balance losses need not be told the answer; this one
    shows what a network can represent, and how fast, apart from credit assignment.
    """

    reads_backward: ClassVar[bool] = False
    source: ClassVar[str] = "regression on exact rows; no paper"

    @property
    def unit(self) -> str:
        """The unit of a square."""
        return "nats²"

    def context(
        self, environment: AbstractEnvironment[Any], trajectories: Trajectories
    ) -> Float[Array, "batch time"]:
        """The exact `log p_F` of every step, 0 where padded.

        Raises InputError if the environment is not made of tables.
        """
        if not isinstance(environment, TabularEnvironment):
            kind = type(environment).__name__
            raise InputError(
                f"the teacher reads the tables of a listed problem, and {kind} has none: train it "
                "as custom, with --problem module:Name, such as reference.problems:Grid.minimal"
            )
        before = trajectories.states.node[:, :-1]
        rows = exact_log_rows(environment)[before, trajectories.actions]
        return jnp.where(trajectories.active, rows, 0.0)

    def value(self, steps: Steps, log_z: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        """The mean square over the steps."""
        return jnp.sum((steps.log_p_f - steps.context) ** 2) / jnp.sum(steps.active)
