"""The terms of balance (eq:conditionsa) along trajectories, as a policy gives them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fast.dynamics.base import Activations
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.trajectories import Cached, Trajectories
from fast.schedule import COMPACT, Schedule

# A function from gradients in `log p_F`, `log p_B` and `log F` to gradients in the parameters.
Pullback = Callable[[Float[Array, "3 batch time"]], Policy]


class Steps(NamedTuple):
    """The arguments of every loss; in nats, 0 where padded.

    Attributes:
        log_p_f: `log p_F(s_{t+1} | s_t, W_t)`.
        log_p_b: `log p_B(s_t | s_{t+1}, W_{t+1})`.
        log_flow: `log F(s_t, W_t)`, of states that are not terminal; zeros if there is no flow.
        active: whether the trajectory has a step t.
        log_reward: `log R(x)`.
        context: the result of `TrajectoryLoss.context`.
    """

    log_p_f: Float[Array, "batch time"]
    log_p_b: Float[Array, "batch time"]
    log_flow: Float[Array, "batch time"]
    active: Bool[Array, "batch time"]
    log_reward: Float[Array, " batch"]
    context: Any = ()


class Evaluation(NamedTuple):
    """A policy that is evaluated along trajectories, for its terms and their derivatives.

    If the schedule skips what has ended, groups of trajectories are cut where all of them have;
    rows of a Markovian policy leave out padding wherever it branches.
    """

    policy: Policy
    environment: AbstractEnvironment
    trajectories: Trajectories
    cached: Cached | None = None
    schedule: Schedule = COMPACT

    @property
    def arrays(self) -> Policy:
        """The policy's parameters, and None in place of the rest."""
        arrays: Policy = eqx.filter(self.policy, eqx.is_inexact_array)
        return arrays

    def with_arrays(self, arrays: Policy) -> Policy:
        """The policy with other parameters."""
        policy: Policy = eqx.combine(arrays, self.policy)
        return policy

    @property
    def activations(self) -> Activations:
        """The activations that sampling cached, if any."""
        return self.cached.activations if self.cached else ()

    @property
    def thins(self) -> bool:
        """True if groups are cut where their trajectories have ended."""
        return self.schedule.skips_ended and not self.environment.is_graded


class Rows(NamedTuple):
    """Steps `s_t -> s_{t+1}` of any trajectories, one per row."""

    before: Any
    action: Int[Array, " rows"]
    after: Any


def rows_of(trajectories: Trajectories) -> Rows:
    """All steps of a batch, trajectory by trajectory."""
    before = jax.tree.map(lambda leaf: _flat(leaf[:, :-1]), trajectories.states)
    after = jax.tree.map(lambda leaf: _flat(leaf[:, 1:]), trajectories.states)
    return Rows(before, _flat(trajectories.actions), after)


def row_terms(
    policy: Policy,
    environment: AbstractEnvironment,
    rows: Rows,
    outputs: Float[Array, "rows outputs"],
    later: Float[Array, "rows outputs"] | None = None,
) -> Float[Array, "3 rows"]:
    """`log p_F`, `log p_B` and `log F` of steps, from the network's outputs before each step.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        rows: the states before and after each step, and the actions.
        outputs: the network's outputs before each step.
        later: those after each step, for a p_B that reads latents.
    """
    log_p_f = policy.log_p_f(outputs, jax.vmap(environment.mask)(rows.before))
    seen = jax.vmap(environment.observe)(rows.after)
    log_p_b = policy.log_p_b(later, seen, jax.vmap(environment.parent_mask)(rows.after))
    parent = jax.vmap(environment.undo)(rows.before, rows.action)
    flow = policy.log_flow(outputs) if policy.has_flow else jnp.zeros_like(outputs[:, 0])
    return jnp.stack([_taken(log_p_f, rows.action), _taken(log_p_b, parent), flow])


def evaluate(
    policy: Policy,
    environment: AbstractEnvironment,
    trajectories: Trajectories,
    activations: Activations = (),
) -> Steps:
    """The terms along given trajectories, differentiable in the policy.

    Activations that sampling cached are for a policy that is not Markovian; not for a lifted `p_B`,
    which reads the latent of the terminal state as well.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        trajectories: the batch, padded to the horizon.
        activations: values that sampling cached.
    """
    batch, time = trajectories.actions.shape
    states = trajectories.states
    if not policy.backward.reads_latent:
        states = jax.tree.map(lambda leaf: leaf[:, :-1], states)
    seen = jax.vmap(jax.vmap(environment.observe))(states)
    outputs = policy.network.recall(seen, tuple(jnp.swapaxes(each, 0, 1) for each in activations))
    terms = row_terms(
        policy,
        environment,
        rows_of(trajectories),
        _flat(outputs[:, :time]),
        _flat(outputs[:, 1:]) if policy.backward.reads_latent else None,
    )
    return as_steps(trajectories, terms.reshape(3, batch, time))


def cached_terms(evaluation: Evaluation) -> Float[Array, "3 batch time"] | None:
    """The terms if sampling cached them: with a uniform `p_B` and no flow; else None."""
    policy, environment, trajectories, cached, _ = evaluation
    if cached is None or not policy.backward.is_uniform or policy.has_flow:
        return None
    log_p_f = cached.log_p_f
    parents = jax.vmap(environment.parent_mask)(rows_of(trajectories).after).sum(-1)
    log_p_b = -jnp.log(jnp.maximum(parents, 1)).astype(log_p_f.dtype).reshape(log_p_f.shape)
    return jnp.stack([log_p_f, log_p_b, jnp.zeros_like(log_p_f)])


def as_steps(trajectories: Trajectories, terms: Float[Array, "3 batch time"]) -> Steps:
    """The terms, with zeros where the trajectories are padded."""
    kept = jnp.where(trajectories.active, terms, 0.0)
    return Steps(kept[0], kept[1], kept[2], trajectories.active, trajectories.log_reward)


def _flat(x: Array) -> Array:
    """An array without the division of its rows into trajectories."""
    return x.reshape(-1, *x.shape[2:])


def _taken(log_p: Float[Array, "rows n"], index: Int[Array, " rows"]) -> Float[Array, " rows"]:
    return jnp.take_along_axis(log_p, index[:, None], -1)[:, 0]
