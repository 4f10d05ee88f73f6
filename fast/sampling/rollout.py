"""Trajectories: sampled forwards from a policy, or backwards from terminal states."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.dynamics.networks import Products
from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy

# In how many sizes a batch is evaluated of which some trajectories have ended, and the least rows
# between two: half as many sample grids by a tenth more slowly, twice as many compile for a second
# longer.
PARTS, PART = 16, 4


class Trajectories(NamedTuple):
    """A batch of complete trajectories, padded to the horizon.

    Attributes:
        states: `s_0, ..., s_T`; what follows a terminal state is padding.
        actions: the actions taken at `s_0, ..., s_{T-1}`.
        active: whether `s_t` was not yet terminal; the rest is padding.
        final: the terminal states `x`.
        log_reward: `log R(x)`, in nats.
    """

    states: Any
    actions: Int[Array, "batch time"]
    active: Bool[Array, "batch time"]
    final: Any
    log_reward: Float[Array, " batch"]


class Known(NamedTuple):
    """What sampling found out about the policy on the way.

    Attributes:
        log_p_f: `log p_F` of the actions (not that of an exploratory policy), in nats, 0 where
            padded.
        products: what `AbstractNetwork.record` gave before each step, of a Markovian policy before
            each but the first, time first, if it was asked for.
    """

    log_p_f: Float[Array, "batch time"]
    products: Products = ()


class Exploration(NamedTuple):
    """How actions are drawn: from `(1 - epsilon) softmax(log p_F / temperature) + epsilon uniform`.

    Attributes:
        epsilon: the share of uniformly chosen actions.
        temperature: above 1 flattens the policy, below 1 sharpens it.
    """

    epsilon: float | Float[Array, ""] = 0.0
    temperature: float | Float[Array, ""] = 1.0


ON_POLICY = Exploration()


def uniforms(
    key: PRNGKeyArray, environment: AbstractEnvironment[Any], batch: int
) -> Float[Array, "time batch"]:
    """The random numbers of a batch of trajectories: one per step, uniform on [0, 1)."""
    return jax.random.uniform(key, (environment.horizon, batch))


def sample_trajectories(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    draws: Float[Array, "time batch"],
    exploration: Exploration = ON_POLICY,
    *,
    skip_ended: bool = True,
    record: bool = False,
) -> tuple[Trajectories, Known]:
    """Samples trajectories from `p_F`, or from an exploratory policy.

    Args:
        policy: `p_F`; no gradient flows through the samples.
        environment: the state graph.
        draws: what `uniforms` gives; each action inverts a distribution function at one of them.
        exploration: how actions are drawn; the default draws from `p_F` itself.
        skip_ended: whether a Markovian policy is evaluated only where trajectories go on. Inside
            `vmap` that is slower, as there all branches are taken.
        record: whether to keep the products of the network's layers for the gradient; not of a
            Markovian policy whose trajectories end one by one, as to move its rows costs more than
            to evaluate them again.

    Returns:
        the trajectories, and what is known of the policy on them.
    """
    each = jax.vmap
    thins = policy.is_markovian and not environment.is_graded
    record &= not thins

    def take(carry: Any, outputs: Array, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        state, _, latent, active = carry
        mask = each(environment.mask)(state)
        log_p = policy.log_p_f(outputs, mask)
        action = draw_action(log_p, mask, draw, exploration)
        taken = jnp.take_along_axis(log_p, action[:, None], -1)[:, 0]
        following = each(environment.step)(state, action)
        seen = each(environment.observe)(following)
        # Latents of terminal states are advanced too, and never read.
        latent = policy.network.advance(latent, seen)
        still = active & ~each(environment.is_terminal)(following)
        step = (following, action, active, jnp.where(active, taken, 0.0))
        return (following, seen, latent, still), step

    def move(carry: Any, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        _, observation, latent, active = carry
        products: Products = ()
        if thins and skip_ended:
            outputs = _evaluate_where(active, policy, observation)
        else:
            outputs, products = policy.network.record(latent, observation)
        following, step = take(carry, outputs, draw)
        return following, (step, products if record else ())

    batch = draws.shape[1]
    initial = environment.initial()
    seen = environment.observe(initial)
    start, observation = _repeat((initial, seen), batch)
    carry = (start, observation, policy.network.initial((batch,)), jnp.ones(batch, bool))
    if policy.is_markovian:
        # All are in the same state first: one row says what the policy does there. Others have
        # products of the first step as well, which would have to be copied beside the rest.
        outputs = _repeat(policy.network.evaluate((), seen), batch)
        carry, first = take(carry, outputs, draws[0])
        (final, *_), (rest, products) = _scan(environment, move, carry, draws[1:])
        steps = jax.tree.map(_joined, first, rest)
    else:
        (final, *_), (steps, products) = _scan(environment, move, carry, draws)
    later, actions, active, log_p_f = steps
    states = jax.tree.map(_joined, start, later)
    log_reward = each(environment.log_reward)(final)
    drawn = Trajectories(states, actions, active, final, log_reward)
    return _batch_first(drawn), Known(log_p_f.T, products)


def sample_backward(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    final: Any,
    draws: Float[Array, "time batch"],
) -> Trajectories:
    """Samples trajectories `tau ~ p_B(. | x)` from their ends; not for a `p_B` that reads latents.

    Args:
        policy: `p_B`, uniform or learned; no gradient flows through the samples.
        environment: the state graph.
        final: a batch of terminal states `x`.
        draws: what `uniforms` gives.
    """
    each = jax.vmap

    def move(state: Any, draw: Float[Array, " batch"]) -> tuple[Any, Any]:
        mask = each(environment.parent_mask)(state)
        active = mask.any(-1)
        log_p = policy.log_p_b(None, each(environment.observe)(state), mask)
        parent = draw_action(log_p, mask, draw, ON_POLICY)
        action = each(environment.redo)(state, parent)
        before = each(environment.backward_step)(state, parent)
        kept = jax.tree.map(lambda a, b: _where(active, a, b), before, state)
        return kept, (kept, action, active)

    _, (earlier, actions, active) = lax.scan(move, final, draws)
    # Row k holds what is k + 1 steps before the end. A trajectory of L steps begins at row L - 1.
    time, batch = draws.shape
    length = active.sum(0)
    row = length - 1 - jnp.arange(time)[:, None]
    forward = row >= 0
    take = jnp.maximum(row, 0), jnp.arange(batch)
    states = jax.tree.map(
        lambda a, x: jnp.concatenate([_where(forward, a[take], x[None]), x[None]]), earlier, final
    )
    log_reward = each(environment.log_reward)(final)
    return _batch_first(Trajectories(states, actions[take], forward, final, log_reward))


def draw_action(
    log_p: Float[Array, "batch actions"],
    mask: Bool[Array, "batch actions"],
    draw: Float[Array, " batch"],
    exploration: Exploration,
) -> Int[Array, " batch"]:
    """The action at which the distribution function exceeds the draw; always a legal one."""
    epsilon, temperature = exploration
    if not isinstance(temperature, float) or temperature != 1.0:
        log_p = jax.nn.log_softmax(log_p / temperature)
    p = jnp.exp(log_p)
    if not isinstance(epsilon, float) or epsilon != 0.0:
        p = (1 - epsilon) * p + epsilon * mask / mask.sum(-1, keepdims=True)
    p = jnp.where(mask, p, 0.0)
    # Logits below those of masked actions leave nothing, as when an untrained latent overflows.
    p = jnp.where((p.sum(-1) == 0)[:, None], mask, p)
    # On a CPU a loop over the actions is several times as fast as `cumsum`, elsewhere much slower.
    chosen: Array = lax.platform_dependent(
        p, draw * p.sum(-1), cpu=_invert_by_loop, default=_invert_by_cumsum
    )
    return chosen


def _invert_by_loop(
    p: Float[Array, "batch actions"], level: Float[Array, " batch"]
) -> Int[Array, " batch"]:
    """The last action of positive probability before which the partial sum is at most the level.

    However the sums are rounded, there is one if the level is at least 0. What is not a number
    counts as both, so that also a policy that diverged takes legal actions.
    """

    def move(carry: Any, column: Any) -> tuple[Any, None]:
        before, chosen = carry
        action, p = column
        return (before + p, jnp.where(~(p <= 0) & ~(before > level), action, chosen)), None

    start = (jnp.zeros_like(level), jnp.zeros(level.shape, jnp.int32))
    (_, chosen), _ = lax.scan(move, start, (jnp.arange(p.shape[1], dtype=jnp.int32), p.T))
    return chosen


def _invert_by_cumsum(
    p: Float[Array, "batch actions"], level: Float[Array, " batch"]
) -> Int[Array, " batch"]:
    """The same action, up to the rounding of partial sums, all of them at once."""
    before = jnp.pad(jnp.cumsum(p, -1)[:, :-1], ((0, 0), (1, 0)))
    fits = ~(p <= 0) & ~(before > level[:, None])
    numbers = jnp.arange(1, p.shape[1] + 1, dtype=jnp.int32)
    return lax.argmax(jnp.where(fits, numbers, 0), 1, jnp.int32)


def _evaluate_where(
    active: Bool[Array, " batch"], policy: Policy, observation: Float[Array, "batch features"]
) -> Float[Array, "batch outputs"]:
    """The outputs of a Markovian network on the active rows; zeros, or nonsense, on the others.

    The active rows are moved to the front, and as many as the next of a few sizes are evaluated.
    """
    batch = len(active)
    (order,) = jnp.nonzero(active, size=batch, fill_value=batch)
    front = observation.at[order].get(mode="clip")
    sizes = sorted({*range(0, batch, max(PART, -(-batch // PARTS))), batch} - {0})

    def first(size: int) -> Callable[[Array], Array]:
        def evaluate(x: Array) -> Array:
            found = policy.network.evaluate((), x[:size])
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


def _repeat(state: Any, batch: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), state)


def _batch_first(trajectories: Trajectories) -> Trajectories:
    def swap(leaf: Array) -> Array:
        return jnp.swapaxes(leaf, 0, 1)

    return trajectories._replace(
        states=jax.tree.map(swap, trajectories.states),
        actions=swap(trajectories.actions),
        active=swap(trajectories.active),
    )


def _where(condition: Array, a: Array, b: Array) -> Array:
    """`jnp.where` with the condition's axes first."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim)), a, b)
