"""Trajectories sampled forwards from a policy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from fast.dynamics.base import AbstractDynamics, Activations
from fast.dynamics.head import WithHead
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy
from fast.sampling.actions import ON_POLICY, Exploration, draw_action
from fast.sampling.trajectories import Cached, Trajectories, batch_first, repeat
from fast.schedule import Schedule, schedule_for

# Number of compiled batch sizes for batches with ended trajectories, and the minimum gap between
# sizes: with half the number of sizes, grids are sampled a tenth more slowly; with twice the
# number, compilation takes a second longer.
SIZES, LEAST_STEP = 16, 4


class _Walk(NamedTuple):
    """Moves a batch by a step.

    The policy may be evaluated `only_active`, on trajectories that have not ended, and its
    activations kept for the gradient.
    """

    policy: Policy
    environment: AbstractEnvironment
    exploration: Exploration
    only_active: bool
    cache: bool

    def take(self, carry: Any, outputs: Array, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        """The next states, from the network's outputs at the current ones, and the step."""
        policy, environment = self.policy, self.environment
        state, _, latent, active = carry
        mask = jax.vmap(environment.mask)(state)
        log_p = policy.log_p_f(outputs, mask)
        action = draw_action(log_p, mask, draw, self.exploration)
        taken = jnp.take_along_axis(log_p, action[:, None], -1)[:, 0]
        following = jax.vmap(environment.step)(state, action)
        seen = jax.vmap(environment.observe)(following)
        still = active & ~jax.vmap(environment.is_terminal)(following)
        step = (following, action, active, jnp.where(active, taken, 0.0))
        return (following, seen, latent, still), step

    def move(self, carry: Any, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        """A step of a scan: the latent arrives, the network is evaluated, and an action taken."""
        state, observation, latent, active = carry
        network = self.policy.network
        if self.only_active:
            latent, outputs, activations = _arrive_where(active, network, latent, observation)
        else:
            latent = network.advance(latent, observation)
            outputs, activations = network.record(latent, observation)
        following, step = self.take((state, observation, latent, active), outputs, draw)
        return following, (step, self.kept(activations))

    def kept(self, activations: Activations) -> Activations:
        """The activations that are kept: where trajectories end one by one, only read-outs.

        Moving the rows of products costs more than evaluating them again.
        """
        network = self.policy.network
        if not self.cache:
            return ()
        if self.environment.is_graded or not isinstance(network, WithHead):
            return activations
        return () if network.is_markovian else activations[:1]


def sample_trajectories(
    policy: Policy,
    environment: AbstractEnvironment,
    draws: Float[Array, "time batch"],
    exploration: Exploration = ON_POLICY,
    *,
    schedule: Schedule | None = None,
    cache: bool = False,
) -> tuple[Trajectories, Cached]:
    """Samples trajectories from `p_F`, or by an exploration; returns values cached on the way too.

    No gradient flows through the samples. Each action inverts a distribution function at one of the
    `draws` of `uniforms`. The layout is by default that of this process's platform; if it skips
    what has ended, a policy that is Markovian, or has a head, is evaluated on the other
    trajectories alone. `cache` keeps activations of the network for the gradient.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        draws: those of `uniforms`.
        exploration: how actions differ from p_F.
        schedule: the layout of the evaluations; None for that of this platform.
        cache: keep activations of the network for the gradient.
    """
    schedule = schedule or schedule_for()
    network = policy.network
    has_rows = network.is_markovian or isinstance(network, WithHead)
    thins = has_rows and not environment.is_graded
    walk = _Walk(policy, environment, exploration, thins and schedule.skips_ended, cache)
    batch = draws.shape[1]
    initial = environment.initial()
    seen = environment.observe(initial)
    start, observation = repeat((initial, seen), batch)
    carry = (start, observation, network.initial((batch,)), jnp.ones(batch, bool))
    # All begin in the same state: one row is evaluated for it.
    carry, first = walk.take(carry, repeat(network.read(network.initial(), seen), batch), draws[0])
    (final, *_), (rest, activations) = _scan(environment, schedule, walk.move, carry, draws[1:])
    later, actions, active, log_p_f = jax.tree.map(_joined, first, rest)
    states = jax.tree.map(_joined, start, later)
    drawn = Trajectories(states, actions, active, final, jax.vmap(environment.log_reward)(final))
    return batch_first(drawn), Cached(log_p_f.T, activations)


def _arrive_where(
    active: Bool[Array, " batch"],
    network: AbstractDynamics[Any],
    latent: Any,
    observation: Float[Array, "batch features"],
) -> tuple[Any, Float[Array, "batch outputs"], Activations]:
    """The latents, the outputs, and the read-outs, on the active rows.

    A latent that is too large to be moved is advanced on all rows, and only the head skips some.
    """

    def arrive(latent: Any, observation: Array) -> tuple[Any, Array]:
        latent = network.advance(latent, observation)
        return latent, network.read(latent, observation)

    if network.has_small_latent:
        latent, outputs = _evaluate_where(active, arrive, latent, observation)
        if network.is_markovian:
            return latent, outputs, ()
        assert isinstance(network, WithHead), network
        return latent, outputs, (network.dynamics.read(latent, observation),)
    assert isinstance(network, WithHead), network
    latent = network.advance(latent, observation)
    read_out = network.dynamics.read(latent, observation)
    return latent, _evaluate_where(active, network.after, read_out, observation), (read_out,)


def _evaluate_where(
    active: Bool[Array, " batch"], function: Callable[..., Any], *arguments: Any
) -> Any:
    """A function of the active rows; zeros, or arbitrary values, on the others.

    The active rows are moved to the front and evaluated, in the least of a few sizes that holds
    them.
    """
    batch = len(active)
    (order,) = jnp.nonzero(active, size=batch, fill_value=batch)
    front = jax.tree.map(lambda leaf: leaf.at[order].get(mode="clip"), arguments)
    sizes = sorted({*range(0, batch, max(LEAST_STEP, -(-batch // SIZES))), batch} - {0})

    def first(size: int) -> Callable[..., Any]:
        def evaluate(*rows: Any) -> Any:
            results = function(*jax.tree.map(lambda leaf: leaf[:size], rows))
            return jax.tree.map(
                lambda x: jnp.pad(x, ((0, batch - size), *((0, 0) for _ in x.shape[1:]))), results
            )

        return evaluate

    branch = jnp.searchsorted(jnp.array(sizes), active.sum())
    rows = lax.switch(branch, [first(size) for size in sizes], *front)
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf).at[order].set(leaf, mode="drop"), rows)


def _scan(
    environment: AbstractEnvironment, schedule: Schedule, move: Any, carry: Any, draws: Any
) -> Any:
    """`lax.scan` that may do nothing once all trajectories of a batch have ended."""
    if environment.is_graded or not schedule.branches:
        return lax.scan(move, carry, draws, unroll=schedule.steps_at_once)
    one = jnp.zeros_like(draws, shape=draws.shape[1:])
    padding = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(move, carry, one)[1]
    )

    def move_or_rest(carry: Any, draw: Any) -> Any:
        return lax.cond(carry[-1].any(), move, lambda carry, _: (carry, padding), carry, draw)

    return lax.scan(move_or_rest, carry, draws)


def _joined(first: Array, rest: Array) -> Array:
    return jnp.concatenate([first[None], rest])
