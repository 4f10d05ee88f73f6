"""The probability of given trajectories: any network's, without enumeration."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.environments.interface import encode_all
from fast.laws.enumeration import Floats
from fast.policies.policy import AnyPolicy, Policy
from fast.sampling.trajectories import Trajectories
from reference.errors import InputError


class LogProbabilities(NamedTuple):
    """Of trajectories that the caller knows, so that they are not given back; in nats.

    Attributes:
        log_p_f: `log p_F(tau)`.
        log_p_b: `log p_B(tau | x)`.
        log_reward: `log R(x)`.
    """

    log_p_f: Floats
    log_p_b: Floats
    log_reward: Floats


def log_probabilities(
    policy: AnyPolicy,
    environment: AbstractEnvironment[Any],
    trajectories: Sequence[Sequence[Hashable]],
) -> LogProbabilities:
    """The probabilities of complete trajectories `s_o, ..., x`, given by their labels.

    Raises:
        InputError: if one does not begin in the initial state, takes a step that is no edge, or
            does not end in a terminal state; or if the latent is random.
    """
    if not isinstance(policy, Policy):
        raise InputError(
            "the latent is random, so that the probability of a trajectory of states is an "
            "integral over latents: look at the learned law, or samples"
        )
    horizon = environment.horizon
    for tau in trajectories:
        if not 2 <= len(tau) <= horizon + 1:
            raise InputError(
                f"the trajectory {list(tau)!r} has {len(tau)} states, but a complete one has from "
                f"2 to {horizon + 1}, the initial and the terminal one included"
            )
    padded = [[*tau, *[tau[-1]] * (horizon + 1 - len(tau))] for tau in trajectories]
    flat = encode_all(environment, [label for tau in padded for label in tau])
    shape = (len(padded), horizon + 1)
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf).reshape(*shape, *leaf.shape[1:]), flat)
    lengths = np.array([len(tau) - 1 for tau in trajectories])
    active = np.arange(horizon) < lengths[:, None]
    actions, ends, starts = map(np.asarray, _edges(environment, states))
    _check(trajectories, actions, active, ends[np.arange(len(padded)), lengths], starts)
    final = jax.tree.map(lambda leaf: leaf[:, -1], states)
    batch = Trajectories(
        states,
        jnp.asarray(np.maximum(actions, 0), jnp.int32),
        jnp.asarray(active),
        final,
        jax.vmap(environment.log_reward)(final),
    )
    steps = _evaluated(policy, environment, batch)
    return LogProbabilities(
        *(np.asarray(x, np.float64) for x in (*(t.sum(-1) for t in steps[:2]), batch.log_reward))
    )


@eqx.filter_jit
def _edges(environment: AbstractEnvironment[Any], states: Any) -> tuple[Any, Any, Any]:
    """The action of each step or -1, whether each state is terminal, and which begin rightly."""
    every = jnp.arange(environment.actions, dtype=jnp.int32)

    def same(a: Any, b: Any) -> jax.Array:
        leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
        return jnp.all(jnp.stack([jnp.all(x == y) for x, y in leaves]))

    def action(before: Any, after: Any) -> jax.Array:
        children = jax.vmap(environment.step, (None, 0))(before, every)
        leads = jax.vmap(same, (0, None))(children, after) & environment.mask(before)
        return jnp.where(leads.any(), leads.argmax(), -1)

    before = jax.tree.map(lambda leaf: leaf[:, :-1], states)
    after = jax.tree.map(lambda leaf: leaf[:, 1:], states)
    first = jax.tree.map(lambda leaf: leaf[:, 0], states)
    return (
        jax.vmap(jax.vmap(action))(before, after),
        jax.vmap(jax.vmap(environment.is_terminal))(states),
        jax.vmap(same, (0, None))(first, environment.initial()),
    )


@eqx.filter_jit
def _evaluated(policy: Policy, environment: AbstractEnvironment[Any], batch: Trajectories) -> Any:
    return evaluate(policy, environment, batch)


def _check(
    trajectories: Sequence[Sequence[Hashable]], actions: Any, active: Any, ends: Any, starts: Any
) -> None:
    for row, tau in enumerate(trajectories):
        if not starts[row]:
            raise InputError(f"a trajectory begins in {tau[0]!r}, which is not the initial state")
        for t in np.flatnonzero(active[row] & (actions[row] < 0)).tolist():
            raise InputError(f"a trajectory goes {tau[t]!r} -> {tau[t + 1]!r}, which is no edge")
        if not ends[row]:
            raise InputError(f"a trajectory ends in {tau[-1]!r}, which is not terminal")
