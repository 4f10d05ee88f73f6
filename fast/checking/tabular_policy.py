"""Tabular policies: a row of numbers for every state of a lift."""

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from fast.balance.loss import Loss
from fast.checking.instances import Instance
from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import AbstractMarkovian
from fast.policies.backward import (
    AbstractBackwardPolicy,
    AbstractStateBackward,
    LiftedBackward,
    UniformBackward,
)
from fast.policies.policy import Policy, Sampler
from reference.fields.field import RATIONAL, log_float
from reference.lifted import LiftedDAG
from reference.policies import BackwardPolicy
from reference.solve import flows, forward_from_backward

BackwardKind = Literal["uniform", "learned", "lifted"]


class MarkovTable(AbstractMarkovian):
    """A row of outputs for every state; features are the one-hot number of a state."""

    needs_head: ClassVar[bool] = False
    table: Float[Array, "states outputs"]
    output: int = eqx.field(static=True)

    def read(
        self, latent: tuple[()], observation: Float[Array, "*batch states"]
    ) -> Float[Array, "*batch outputs"]:
        """The row of the state."""
        return self.table[jnp.argmax(observation, -1)]


class LiftedTable(AbstractDynamics[Int[Array, "*batch"]]):
    """A row of outputs for every lifted state; the latent is its number.

    `following` has, for each lifted state, that on arrival in each state, or itself where there is
    no edge.
    """

    needs_head: ClassVar[bool] = False
    table: Float[Array, "lifted outputs"]
    following: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def initial(self, batch: tuple[int, ...] = ()) -> Int[Array, "*batch"]:
        """The number of `s_o`, which is 0."""
        return jnp.zeros(batch, jnp.int32)

    def advance(
        self, latent: Int[Array, "*batch"], observation: Float[Array, "*batch states"]
    ) -> Int[Array, "*batch"]:
        """The number of the lifted state after a step to a state."""
        return jnp.asarray(np.array(self.following, np.int32))[latent, jnp.argmax(observation, -1)]

    def read(
        self, latent: Int[Array, "*batch"], observation: Float[Array, "*batch states"]
    ) -> Float[Array, "*batch outputs"]:
        """The row of the lifted state."""
        return self.table[latent]

    def unroll(
        self, observations: Float[Array, "*batch time states"]
    ) -> Float[Array, "*batch time outputs"]:
        """The rows along trajectories, state by state."""
        start = self.initial(observations.shape[:-2])
        _, later = lax.scan(
            lambda latent, seen: (self.advance(latent, seen),) * 2,
            start,
            jnp.moveaxis(observations[..., 1:, :], -2, 0),
        )
        return self.table[jnp.moveaxis(jnp.concatenate([start[None], later]), 0, -1)]


class BackwardTable(AbstractStateBackward):
    """A row of logits of the parents of every state."""

    table: Float[Array, "states parents"]

    def logits(self, observation: Float[Array, "*batch states"]) -> Float[Array, "*batch parents"]:
        """The row of the state."""
        return self.table[jnp.argmax(observation, -1)]


def balanced_sampler(loss: Loss, instance: Instance, backward: BackwardKind = "uniform") -> Sampler:
    """The balanced tables for the uniform `p_B`: `p_F(s'|s, W) = p_B(s|s') F(s', W') / F(s, W)`.

    In float64, from exact rationals (inside `jax.enable_x64`). The loss decides whether flows are
    among the outputs, and `log Z` a parameter; the logits of a `p_B` that is a table, of the states
    or of the lifted states, are 0.

    Args:
        loss: the loss.
        instance: the lift, with its rewards.
        backward: the kind of p_B.
    """
    lifted, environment = instance.lifted, instance.environment
    kernel = BackwardPolicy.uniform(lifted.base, RATIONAL).on(lifted)
    forward, z = forward_from_backward(kernel, instance.rewards)
    flow = flows(kernel, instance.rewards)
    actions, parents = environment.actions, environment.parents
    read = parents if backward == "lifted" else 0
    outputs = actions + read + loss.needs_flow
    table = np.zeros((len(lifted.dag.labels), outputs))
    for node, row in enumerate(lifted.dag.out_edges):
        for action, edge in enumerate(row):
            table[node, action] = log_float(forward.values[edge])
        if loss.needs_flow:
            table[node, -1] = log_float(flow[node])
    policy = Policy(
        _network_of(lifted, table, markovian=instance.is_markovian and backward != "lifted"),
        _backward_of(instance, backward),
        actions,
        loss.needs_flow,
    )
    return Sampler(policy, jnp.asarray(log_float(z) if loss.learns_log_z else 0.0, jnp.float64))


def _network_of(lifted: LiftedDAG[Any], table: Any, *, markovian: bool) -> AbstractDynamics[Any]:
    """The network that reads the row of a lifted state from a table, in float64."""
    numbers = jnp.asarray(table, jnp.float64)
    if markovian:
        return MarkovTable(table=numbers, output=table.shape[1])
    following = np.arange(len(lifted.dag.labels))[:, None].repeat(len(lifted.base.labels), 1)
    for u, v in lifted.dag.edges:
        following[u, lifted.projection[v]] = v
    rows = tuple(map(tuple, following.tolist()))
    return LiftedTable(table=numbers, following=rows, output=table.shape[1])


def _backward_of(instance: Instance, kind: BackwardKind) -> AbstractBackwardPolicy:
    parents = instance.environment.parents
    if kind == "lifted":
        return LiftedBackward(parents)
    if kind == "learned":
        return BackwardTable(jnp.zeros((len(instance.lifted.base.labels), parents), jnp.float64))
    return UniformBackward()
