"""Trajectories sampled forwards from a policy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from fast.dynamics.base import Activations
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.actions import ON_POLICY, Exploration, draw_action
from fast.sampling.trajectories import Cached, Trajectories, batch_first, repeat

# In how many sizes a batch is evaluated whose trajectories end one by one, and the least difference
# of two: half as many sample grids by a tenth more slowly, twice as many compile for a second
# longer.
SIZES, LEAST_STEP = 16, 4


class _Walk(NamedTuple):
    """What moves a batch by a step.

    Attributes:
        policy: `p_F`.
        environment: the state graph.
        exploration: how actions are drawn.
        only_active: whether the policy is evaluated only where trajectories go on.
        cache: whether activations are kept for the gradient.
    """

    policy: Policy
    environment: AbstractEnvironment[Any]
    exploration: Exploration
    only_active: bool
    cache: bool

    def take(self, carry: Any, outputs: Array, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        """The next states, of the network's outputs at the current ones, and what was done."""
        policy, environment = self.policy, self.environment
        state, _, latent, active = carry
        mask = jax.vmap(environment.mask)(state)
        log_p = policy.log_p_f(outputs, mask)
        action = draw_action(log_p, mask, draw, self.exploration)
        taken = jnp.take_along_axis(log_p, action[:, None], -1)[:, 0]
        following = jax.vmap(environment.step)(state, action)
        seen = jax.vmap(environment.observe)(following)
        # Latents of terminal states are advanced too, and never read.
        latent = policy.network.advance(latent, seen)
        still = active & ~jax.vmap(environment.is_terminal)(following)
        step = (following, action, active, jnp.where(active, taken, 0.0))
        return (following, seen, latent, still), step

    def move(self, carry: Any, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        """A step of a scan: the network is evaluated, and an action taken."""
        _, observation, latent, active = carry
        activations: Activations = ()
        if self.only_active:
            outputs = _evaluate_where(active, self.policy, observation)
        else:
            outputs, activations = self.policy.network.record(latent, observation)
        following, step = self.take(carry, outputs, draw)
        return following, (step, activations if self.cache else ())


def sample_trajectories(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    draws: Float[Array, "time batch"],
    exploration: Exploration = ON_POLICY,
    *,
    skip_ended: bool = True,
    cache: bool = False,
) -> tuple[Trajectories, Cached]:
    """Samples trajectories from `p_F`, or from an exploratory policy.

    Args:
        policy: `p_F`; no gradient flows through the samples.
        environment: the state graph.
        draws: what `uniforms` gives; each action inverts a distribution function at one of them.
        exploration: how actions are drawn; the default draws from `p_F` itself.
        skip_ended: whether a Markovian policy is evaluated only where trajectories go on. Inside
            `vmap` that is slower, as there all branches are taken.
        cache: whether to keep the activations of the network for the gradient; not of a Markovian
            policy whose trajectories end one by one, as to move its rows costs more than to
            evaluate them again.

    Returns:
        the trajectories, and what sampling found out about the policy on them.
    """
    thins = policy.is_markovian and not environment.is_graded
    walk = _Walk(policy, environment, exploration, thins and skip_ended, cache and not thins)
    batch = draws.shape[1]
    initial = environment.initial()
    seen = environment.observe(initial)
    start, observation = repeat((initial, seen), batch)
    carry = (start, observation, policy.network.initial((batch,)), jnp.ones(batch, bool))
    if policy.is_markovian:
        # All are in the same state first: one row says what the policy does there. Others have
        # activations of the first step as well, which would have to be copied beside the rest.
        outputs = repeat(policy.network.read((), seen), batch)
        carry, first = walk.take(carry, outputs, draws[0])
        (final, *_), (rest, activations) = _scan(environment, walk.move, carry, draws[1:])
        steps = jax.tree.map(_joined, first, rest)
    else:
        (final, *_), (steps, activations) = _scan(environment, walk.move, carry, draws)
    later, actions, active, log_p_f = steps
    states = jax.tree.map(_joined, start, later)
    log_reward = jax.vmap(environment.log_reward)(final)
    drawn = Trajectories(states, actions, active, final, log_reward)
    return batch_first(drawn), Cached(log_p_f.T, activations)


def _evaluate_where(
    active: Bool[Array, " batch"], policy: Policy, observation: Float[Array, "batch features"]
) -> Float[Array, "batch outputs"]:
    """The outputs of a Markovian network on the active rows; zeros, or nonsense, on the others.

    The active rows are moved to the front, and as many as the next of a few sizes are evaluated.
    """
    batch = len(active)
    (order,) = jnp.nonzero(active, size=batch, fill_value=batch)
    front = observation.at[order].get(mode="clip")
    sizes = sorted({*range(0, batch, max(LEAST_STEP, -(-batch // SIZES))), batch} - {0})

    def first(size: int) -> Callable[[Array], Array]:
        def evaluate(x: Array) -> Array:
            found = policy.network.read((), x[:size])
            return jnp.pad(found, ((0, batch - size), (0, 0)))

        return evaluate

    branch = jnp.searchsorted(jnp.array(sizes), active.sum())
    outputs: Array = lax.switch(branch, [first(size) for size in sizes], front)
    return jnp.zeros_like(outputs).at[order].set(outputs, mode="drop")


def _scan(environment: AbstractEnvironment[Any], move: Any, carry: Any, draws: Any) -> Any:
    """`lax.scan`, which leaves the rest out once all trajectories of a batch have ended."""
    if environment.is_graded:
        return lax.scan(move, carry, draws)
    one = jnp.zeros_like(draws, shape=draws.shape[1:])
    padding = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(move, carry, one)[1]
    )

    def move_or_rest(carry: Any, draw: Any) -> Any:
        return lax.cond(carry[-1].any(), move, lambda carry, _: (carry, padding), carry, draw)

    return lax.scan(move_or_rest, carry, draws)


def _joined(first: Array, rest: Array) -> Array:
    return jnp.concatenate([first[None], rest])
