"""Trajectories, drawn forwards or backwards or given, with their probabilities."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.loss import log_path_ratio
from fast.balance.steps import Steps, evaluate
from fast.environments import AbstractEnvironment
from fast.environments.interface import encode_all, same_state
from fast.laws.enumeration import Enumeration, Floats, decode_all
from fast.laws.samples import Samples
from fast.policies.policy import AnyPolicy, Policy
from fast.sampling.backward import sample_backward
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.trajectories import rollout_latents
from reference.contract.errors import InputError

# Trajectories per call, always a full block, so that one program is compiled. The draws of a seed
# depend on the size of a block, so neither size may change: the first is for samples and laws, the
# second for estimates.
SAMPLE_BLOCK, ESTIMATE_BLOCK = 4_096, 2_048
# Of programs that only draw integers: there is nothing to round, and little to make fast.
UNOPTIMISED: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}


class Paths(NamedTuple):
    """Complete trajectories by their ends and probabilities, one per row; in nats.

    The ends are a batch of arrays, or nodes of an enumerated problem, or labels. `log_ratio` is
    `log p_F(tau) - log p_B(tau | x)`, summed step by step.
    """

    ends: Any
    log_reward: Floats
    log_p_f: Floats
    log_p_b: Floats
    log_ratio: Floats


def rollout(
    policy: AnyPolicy, environment: AbstractEnvironment, key: jax.Array, batch: int
) -> tuple[Trajectories, Steps]:
    """Trajectories drawn from `p_F`, and the terms of balance along them.

    With a random latent `w` the terms are those of the pairs `(s_t, w_t)`, and `p_B(. | x)` begins
    with the distribution that the target gives the last latent.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        key: a random key of JAX.
        batch: the number of trajectories.
    """
    if isinstance(policy, StochasticPolicy):
        return rollout_latents(policy, environment, key, batch)
    assert isinstance(policy, Policy), policy
    drawn, _ = sample_trajectories(policy, environment, uniforms(key, environment, batch))
    return drawn, evaluate(policy, environment, drawn)


def forward_paths(
    policy: AnyPolicy, environment: AbstractEnvironment, count: int, seed: int
) -> Paths:
    """Trajectories drawn from `p_F`; ends are a batch of arrays.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    return _joined(list(_blocks(policy, environment, count, seed, ESTIMATE_BLOCK)))


def backward_paths(
    policy: Policy, environment: AbstractEnvironment, final: Any, seed: int
) -> Paths:
    """One trajectory `tau ~ p_B(. | x)` for each of a batch of terminal states.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        final: a batch of terminal states.
        seed: the seed of every draw.
    """
    count = jax.tree.leaves(final)[0].shape[0]
    blocks = []
    for start in range(0, count, ESTIMATE_BLOCK):
        rows = np.minimum(np.arange(start, start + ESTIMATE_BLOCK), count - 1)
        part = jax.tree.map(lambda leaf, rows=rows: np.asarray(leaf)[rows], final)
        draws = _uniforms(environment, np.int64(seed), np.int64(start), ESTIMATE_BLOCK)
        blocks.append(_cut(_backward(policy, environment, part, draws), count - start))
    return _joined(blocks)


def labelled_paths(
    policy: AnyPolicy, environment: AbstractEnvironment, count: int, seed: int
) -> Paths:
    """Trajectories drawn from `p_F`; ends are labels, decoded block by block to save memory.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    blocks = _blocks(policy, environment, count, seed, SAMPLE_BLOCK)
    decoded = [block._replace(ends=decode_all(environment, block.ends)) for block in blocks]
    numbers = _joined([block._replace(ends=()) for block in decoded])
    return numbers._replace(ends=[label for block in decoded for label in block.ends])


def drawn_nodes(
    policy: AnyPolicy,
    environment: AbstractEnvironment,
    enumeration: Enumeration,
    count: int,
    seed: int,
) -> Paths:
    """Trajectories drawn from `p_F`; ends are nodes of the DAG, with the exact `log R`.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        enumeration: the listed states, with their features and rewards.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    paths, dag = labelled_paths(policy, environment, count, seed), enumeration.dag
    nodes = np.array([dag.index[label] for label in paths.ends])
    log_reward = enumeration.log_rewards[np.searchsorted(dag.terminals, nodes)]
    return paths._replace(ends=nodes, log_reward=log_reward)


def drawn_terminals(
    policy: AnyPolicy, environment: AbstractEnvironment, count: int, seed: int
) -> Samples:
    """Samples of terminal states, on any problem.

    Raises InputError if a row of logits on the way is not finite, from which nothing can be drawn.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        count: how many are drawn.
        seed: the seed of every draw.
    """
    paths = labelled_paths(policy, environment, count, seed)
    if not np.isfinite(paths.log_p_f).all():
        raise InputError(
            "the network gives a row of logits that is not finite in the precision of the run: "
            "its parameters are too large to draw from; train again with a smaller "
            "--learning-rate"
        )
    return Samples(*paths[:4])


def log_probabilities(
    policy: AnyPolicy, environment: AbstractEnvironment, trajectories: Sequence[Sequence[Hashable]]
) -> Paths:
    """Probabilities of complete trajectories `s_o, ..., x`, given and returned by their labels.

    Raises InputError, as `as_batch` does, or if the latent is random.

    Args:
        policy: the sampler.
        environment: the state graph as array code.
        trajectories: the labels of the states of each, from the initial to a terminal one; at
            least one.
    """
    if not isinstance(policy, Policy):
        raise InputError(
            "the latent is random, so that the probability of a trajectory of states is an "
            "integral over latents: look at the learned law, or samples"
        )
    batch = as_batch(environment, trajectories)
    paths = _cut(_along(policy, environment, batch), len(trajectories))
    return paths._replace(ends=[tau[-1] for tau in trajectories])


def as_batch(
    environment: AbstractEnvironment, trajectories: Sequence[Sequence[Hashable]]
) -> Trajectories:
    """Complete trajectories `s_o, ..., x`, given by the labels of their states, as array code.

    Raises InputError if one does not begin in the initial state, takes a step that is no edge, or
    does not end in a terminal state.
    """
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
    return Trajectories(
        states,
        jnp.asarray(np.maximum(actions, 0), jnp.int32),
        jnp.asarray(active),
        final,
        jax.vmap(environment.log_reward)(final),
    )


def _blocks(
    policy: AnyPolicy, environment: AbstractEnvironment, count: int, seed: int, size: int
) -> Iterator[Paths]:
    for start in range(0, count, size):
        numbers = np.int64(seed), np.int64(start), size
        if isinstance(policy, Policy):
            block = _drawn(policy, environment, _uniforms(environment, *numbers))
        else:
            block = _forward(policy, environment, *numbers)
        yield _cut(block, count - start)


@eqx.filter_jit
def _forward(
    policy: AnyPolicy, environment: AbstractEnvironment, seed: Any, start: Any, batch: int
) -> Any:
    key = jax.random.fold_in(jax.random.key(seed), start)
    return _paths(*rollout(policy, environment, key, batch))


@eqx.filter_jit
def _drawn(policy: Policy, environment: AbstractEnvironment, draws: Any) -> Any:
    drawn, _ = sample_trajectories(policy, environment, draws)
    return _along(policy, environment, drawn)


@eqx.filter_jit
def _backward(policy: Policy, environment: AbstractEnvironment, final: Any, draws: Any) -> Any:
    return _along(policy, environment, sample_backward(policy, environment, final, draws))


@eqx.filter_jit(**UNOPTIMISED)
def _uniforms(environment: AbstractEnvironment, seed: Any, start: Any, batch: int) -> Any:
    """The draws of a block, by a program of their own, as each of the others would compile them."""
    return uniforms(jax.random.fold_in(jax.random.key(seed), start), environment, batch)


@eqx.filter_jit
def _along(policy: Policy, environment: AbstractEnvironment, batch: Trajectories) -> Any:
    return _paths(batch, evaluate(policy, environment, batch))


def _paths(drawn: Trajectories, steps: Steps) -> Any:
    sums = steps.log_p_f.sum(-1), steps.log_p_b.sum(-1), log_path_ratio(steps)
    numbers: Any = (drawn.log_reward, *sums)
    return Paths(drawn.final, *numbers)


def _cut(block: Paths, count: int) -> Paths:
    """At most `count` trajectories of a block as NumPy arrays, their numbers in float64."""
    ends, *columns = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], block)
    return Paths(ends, *(column.astype(np.float64) for column in columns))


def _joined(blocks: list[Paths]) -> Paths:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *blocks)  # type: ignore[no-any-return]


@eqx.filter_jit
def _edges(environment: AbstractEnvironment, states: Any) -> tuple[Any, Any, Any]:
    """The action of each step or -1; whether states are terminal, and the first one initial."""
    every = jnp.arange(environment.actions, dtype=jnp.int32)

    def action(before: Any, after: Any) -> jax.Array:
        children = jax.vmap(environment.step, (None, 0))(before, every)
        leads = jax.vmap(same_state, (0, None))(children, after) & environment.mask(before)
        return jnp.where(leads.any(), leads.argmax(), -1)

    before = jax.tree.map(lambda leaf: leaf[:, :-1], states)
    after = jax.tree.map(lambda leaf: leaf[:, 1:], states)
    first = jax.tree.map(lambda leaf: leaf[:, 0], states)
    return (
        jax.vmap(jax.vmap(action))(before, after),
        jax.vmap(jax.vmap(environment.is_terminal))(states),
        jax.vmap(same_state, (0, None))(first, environment.initial()),
    )


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
