"""The terminal law (eq:marginal) of a trained policy, exact where it can be had; residuals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Enumeration, Floats, Ints, decode_all, to_float64
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from reference.errors import TooLargeError
from reference.fields.field import FLOAT64
from reference.marginals import longest_path, marginal, path_sums
from reference.policies import BackwardKernel, ForwardPolicy

MAX_HISTORIES = 20_000_000

# Histories per network call: one of few sizes, so that few programs are compiled.
BLOCKS = (64, 512, 4096)


@dataclass(frozen=True, eq=False)
class TerminalLaw:
    """`p_T` of a policy, and how it was obtained.

    Attributes:
        probabilities: `p_T(x)`, one per `dag.terminals`.
        method: in words.
        samples: the number of samples it was estimated from; 0 if it is exact.
        backward_mass: `sum over tau of p_B(tau | x)` per terminal, or None if not summed.
        log_ratio_range: the least and the largest `log( p_F(tau) / (p_B(tau|x) R(x)) )` over all
            complete trajectories, in nats, or None if not known.
    """

    probabilities: Floats
    method: str
    samples: int = 0
    backward_mass: Floats | None = None
    log_ratio_range: tuple[float, float] | None = None


def exact_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    """The exact terminal law, up to the rounding of the network's arithmetic.

    By dynamic programming for a Markovian policy, else by summing every complete trajectory.

    Raises:
        TooLargeError: if a path-dependent policy has more than 20 million trajectories.
    """
    if policy.is_markovian:
        return _markov_law(policy, enumeration, float64=float64)
    count = enumeration.dag.trajectory_count
    if count > MAX_HISTORIES:
        raise TooLargeError(
            f"a path-dependent policy has {count:.3g} trajectories here, and at most "
            f"{MAX_HISTORIES:,} are summed: estimate its law from samples (sampled_law)"
        )
    nodes = len(enumeration.dag.labels)
    p_t, mass = np.zeros(nodes), np.zeros(nodes)
    log_reward = np.full(nodes, np.nan)
    log_reward[list(enumeration.dag.terminals)] = enumeration.log_rewards
    low, high = np.inf, -np.inf
    for block in complete_histories(policy, enumeration, float64=float64):
        p_t += np.bincount(block.terminal, np.exp(block.log_p_f), nodes)
        mass += np.bincount(block.terminal, np.exp(block.log_p_b), nodes)
        f = block.log_p_f - block.log_p_b - log_reward[block.terminal]
        low, high = min(low, f.min()), max(high, f.max())
    terminals = list(enumeration.dag.terminals)
    return TerminalLaw(
        p_t[terminals],
        f"exact, all {count:,} trajectories summed",
        backward_mass=mass[terminals],
        log_ratio_range=(float(low), float(high)),
    )


def sampled_law(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> TerminalLaw:
    """The empirical terminal law of `samples` trajectories."""
    drawn = np.concatenate(
        [
            block.terminal
            for block in sample_terminals(policy, environment, enumeration, samples, seed)
        ]
    )
    counts = np.bincount(drawn, minlength=len(enumeration.dag.labels))
    return TerminalLaw(
        counts[list(enumeration.dag.terminals)] / samples, f"{samples:,} samples", samples
    )


class Histories(NamedTuple):
    """A block of complete trajectories.

    Attributes:
        terminal: the terminal nodes.
        log_p_f: `log p_F(tau)`, in nats.
        log_p_b: `log p_B(tau | x)`, in nats.
    """

    terminal: Ints
    log_p_f: Floats
    log_p_b: Floats


def sample_terminals(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    samples: int,
    seed: int,
) -> Iterator[Histories]:
    """Samples complete trajectories from `p_F`, in blocks."""
    index = enumeration.dag.index
    for start in range(0, samples, BLOCKS[-1]):
        # Always a full block, so that one program is compiled; the rest is cut off.
        size = min(BLOCKS[-1], samples - start)
        key = jax.random.fold_in(jax.random.key(seed), start)
        final, log_p_f, log_p_b = _sample_block(policy, environment, key)
        terminal = np.array([index[label] for label in decode_all(environment, final)])[:size]
        yield Histories(
            terminal, np.asarray(log_p_f, np.float64)[:size], np.asarray(log_p_b, np.float64)[:size]
        )


def drawn_terminals(
    policy: Policy, environment: AbstractEnvironment[Any], count: int, seed: int
) -> tuple[list[Any], Floats, Floats, Floats]:
    """Sampled terminal states: labels, `log R`, and `log p_F`, `log p_B` of the trajectories."""
    labels: list[Any] = []
    columns: list[Floats] = []
    for start in range(0, count, BLOCKS[-1]):
        key = jax.random.fold_in(jax.random.key(seed), start)
        final, *numbers = _sample_block(policy, environment, key)
        size = min(BLOCKS[-1], count - start)
        labels += decode_all(environment, jax.tree.map(lambda leaf, n=size: leaf[:n], final))
        log_reward = jax.vmap(environment.log_reward)(final)
        columns.append(np.stack([np.asarray(x, np.float64)[:size] for x in (log_reward, *numbers)]))
    log_reward, log_p_f, log_p_b = np.concatenate(columns, axis=1)
    return labels, log_reward, log_p_f, log_p_b


@eqx.filter_jit
def _sample_block(
    policy: Policy, environment: AbstractEnvironment[Any], key: jax.Array
) -> tuple[Any, jax.Array, jax.Array]:
    draws = uniforms(key, environment, BLOCKS[-1])
    drawn, _ = sample_trajectories(policy, environment, draws)
    steps = evaluate(policy, environment, drawn)
    return drawn.final, steps.log_p_f.sum(-1), steps.log_p_b.sum(-1)


class _Frontier(NamedTuple):
    """Histories that wait for the network to be evaluated at their last state.

    Attributes:
        nodes: the last states.
        back: the backward actions that undo the last steps.
        latents: of the histories that these extend by a step; None at the start.
        rows: which of them.
        log_p_f: `log p_F` of the history.
        log_p_b: `log p_B` of the history; a lifted `p_B` is added to it on evaluation.
    """

    nodes: Ints
    back: Ints
    latents: Any
    rows: Ints
    log_p_f: Floats
    log_p_b: Floats


def complete_histories(
    policy: Policy, enumeration: Enumeration, *, float64: bool
) -> Iterator[Histories]:
    """Every complete trajectory of the DAG, depth-first in blocks, with its probabilities."""
    # The precision is set for each call and not for the loop: a generator that is suspended inside
    # the setting would leave it to its caller.
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        network = to_float64(policy) if float64 else policy
        tables = (
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
            jnp.asarray(enumeration.parent_masks),
        )
    is_lifted = policy.backward.reads_latent
    log_p_b = (
        np.zeros(len(enumeration.dag.edges))
        if is_lifted
        else base_log_p_b(policy, enumeration, float64=float64)
    )
    is_terminal = np.array([not row for row in enumeration.dag.children])
    one = np.zeros(1, np.int64)
    stack = [_Frontier(one, one, None, one, np.zeros(1), np.zeros(1))]
    while stack:
        front = stack.pop()
        size = len(front.nodes)
        padding = next(block for block in BLOCKS if block >= size) - size
        rows, nodes, back = (np.pad(x, (0, padding)) for x in (front.rows, front.nodes, front.back))
        with jax.enable_x64(float64):
            latents, log_p, log_back = _evaluate(network, front.latents, rows, nodes, back, tables)
        arrived_b = front.log_p_b
        if is_lifted and front.latents is not None:
            arrived_b = arrived_b + np.asarray(log_back, np.float64)[:size]
            ends = is_terminal[front.nodes]
            if ends.any():
                yield Histories(front.nodes[ends], front.log_p_f[ends], arrived_b[ends])
        edges = np.where(is_terminal[front.nodes][:, None], -1, enumeration.edge[front.nodes])
        rows, actions = np.nonzero(edges >= 0)
        taken = edges[rows, actions]
        child = enumeration.child[front.nodes[rows], actions]
        child_f = front.log_p_f[rows] + np.asarray(log_p, np.float64)[rows, actions]
        child_b = arrived_b[rows] + log_p_b[taken]
        ended = is_terminal[child] & (not is_lifted)
        if ended.any():
            yield Histories(child[ended], child_f[ended], child_b[ended])
        going = np.flatnonzero(~ended)
        for start in range(0, len(going), BLOCKS[-1]):
            part = going[start : start + BLOCKS[-1]]
            undo = enumeration.undo[taken[part]]
            stack.append(
                _Frontier(child[part], undo, latents, rows[part], child_f[part], child_b[part])
            )


@jax.jit
def _evaluate(
    policy: Policy, parent_latents: Any, rows: Any, nodes: Any, back: Any, tables: Any
) -> tuple[Any, Any, Any]:
    """Latents on arrival in `nodes`, `log p_F` of every action, `log p_B` of the step there."""
    observations, masks, parent_masks = (table[nodes] for table in tables)
    if parent_latents is None:
        latents = policy.network.initial(nodes.shape)
    else:
        # Leaves without a batch axis (the step number) are shared by the block.
        parents = jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, parent_latents)
        latents = policy.network.advance(parents, observations)
    outputs = policy.network.read(latents, observations)
    log_p_b = policy.log_p_b(outputs, observations, parent_masks)
    return (
        latents,
        policy.log_p_f(outputs, masks),
        jnp.take_along_axis(log_p_b, back[:, None], -1)[:, 0],
    )


def base_log_p_b(policy: Policy, enumeration: Enumeration, *, float64: bool) -> Floats:
    """`log p_B`, in nats, one per edge of the base DAG; for a `p_B` that reads no latents."""
    heads = [v for _, v in enumeration.dag.edges]
    if policy.backward.is_uniform:
        # In float64 whatever the network is in, so that its mass is 1 to float64's rounding.
        uniform: Floats = -np.log(enumeration.parent_masks.sum(1)[heads])
        return uniform
    with jax.enable_x64(float64):
        observations = jnp.asarray(enumeration.observations, jnp.float64 if float64 else None)
        table = np.asarray(
            jax.jit(Policy.log_p_b)(
                to_float64(policy) if float64 else policy,
                None,
                observations,
                jnp.asarray(enumeration.parent_masks),
            ),
            np.float64,
        )
    log_p_b: Floats = table[heads, enumeration.undo]
    return log_p_b


def _markov_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    dag = enumeration.dag
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        log_p = jax.jit(_markov_log_p_f)(
            to_float64(policy) if float64 else policy,
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
        )
        table = np.asarray(log_p, np.float64)
    log_p_b = base_log_p_b(policy, enumeration, float64=float64)
    taken = enumeration.edge >= 0
    log_p_f = np.empty(len(dag.edges))
    log_p_f[enumeration.edge[taken]] = table[taken]
    policy_64 = ForwardPolicy.from_weights(dag, FLOAT64, np.exp(log_p_f).tolist())
    kernel = BackwardKernel(dag, FLOAT64, np.exp(log_p_b).tolist())
    terminals = list(dag.terminals)
    difference = log_p_f - log_p_b
    high = longest_path(dag, difference)[terminals] - enumeration.log_rewards
    low = -longest_path(dag, -difference)[terminals] - enumeration.log_rewards
    return TerminalLaw(
        np.array(marginal(policy_64)),
        "exact, dynamic programming over the states",
        backward_mass=np.array(path_sums(kernel))[terminals],
        log_ratio_range=(float(low.min()), float(high.max())),
    )


def _markov_log_p_f(policy: Policy, observations: jax.Array, masks: jax.Array) -> jax.Array:
    return policy.log_p_f(policy.network.read((), observations), masks)
