"""The terminal law of a trained policy, exact wherever it can be had, and its residuals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fast.bridge import Enumeration, Floats, Ints, decode_all, to_float64
from fast.dynamics import Markov
from fast.environments import AbstractEnvironment
from fast.policies import Policy
from fast.rollout import log_forward, sample_trajectories
from reference.errors import TooLargeError
from reference.fields import FLOAT64
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
    if isinstance(policy.dynamics, Markov):
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
        log_p_b: `log p_B(tau | x)` of the uniform backward policy, in nats.
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
    sample = jax.jit(sample_trajectories, static_argnums=2)
    index = enumeration.dag.index
    for start in range(0, samples, BLOCKS[-1]):
        # Always a full block, so that one program is compiled; the rest is cut off.
        size = min(BLOCKS[-1], samples - start)
        key = jax.random.fold_in(jax.random.key(seed), start)
        drawn = sample(policy, environment, BLOCKS[-1], 0.0, key=key)
        terminal = np.array([index[label] for label in decode_all(environment, drawn.final)])[:size]
        log_p_f = np.asarray(jax.jit(log_forward)(policy, drawn), np.float64)[:size]
        yield Histories(terminal, log_p_f, np.asarray(drawn.log_p_b, np.float64)[:size])


class _Frontier(NamedTuple):
    """Histories whose last state is not terminal, waiting to be evaluated."""

    nodes: Ints
    parent_latents: Any
    parent_rows: Ints
    log_p_f: Floats
    log_p_b: Floats


def complete_histories(
    policy: Policy, enumeration: Enumeration, *, float64: bool
) -> Iterator[Histories]:
    """Every complete trajectory of the DAG, depth-first in blocks, with its probabilities."""
    evaluate = jax.jit(_evaluate)
    # The precision is set for each call and not for the loop: a generator that is suspended inside
    # the setting would leave it to its caller.
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        network = to_float64(policy) if float64 else policy
        observations = jnp.asarray(enumeration.observations, dtype)
        masks = jnp.asarray(enumeration.edge >= 0)
    is_terminal = np.array([not row for row in enumeration.dag.children])
    log_p_b = enumeration.log_p_b
    stack = [_Frontier(np.zeros(1, int), None, np.zeros(1, int), np.zeros(1), np.zeros(1))]
    while stack:
        front = stack.pop()
        size = len(front.nodes)
        padding = next(block for block in BLOCKS if block >= size) - size
        with jax.enable_x64(float64):
            latents, log_p = evaluate(
                network,
                front.parent_latents,
                np.pad(front.parent_rows, (0, padding)),
                np.pad(front.nodes, (0, padding)),
                observations,
                masks,
            )
        edges = enumeration.edge[front.nodes]
        rows, actions = np.nonzero(edges >= 0)
        child = enumeration.child[front.nodes[rows], actions]
        child_f = front.log_p_f[rows] + np.asarray(log_p, np.float64)[rows, actions]
        child_b = front.log_p_b[rows] + log_p_b[edges[rows, actions]]
        ended = is_terminal[child]
        if ended.any():
            yield Histories(child[ended], child_f[ended], child_b[ended])
        going = np.flatnonzero(~ended)
        for start in range(0, len(going), BLOCKS[-1]):
            part = going[start : start + BLOCKS[-1]]
            stack.append(_Frontier(child[part], latents, rows[part], child_f[part], child_b[part]))


def _evaluate(
    policy: Policy, parent_latents: Any, rows: Any, nodes: Any, observations: Any, masks: Any
) -> tuple[Any, Any]:
    """Latents on arrival in `nodes`, and `log p_F` of every action there."""
    if parent_latents is None:
        latents = policy.dynamics.initial(nodes.shape)
    else:
        # Leaves without a batch axis (the step number) are shared by the block.
        parents = jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, parent_latents)
        latents = policy.dynamics.advance(parents, observations[nodes])
    return latents, policy.log_probabilities(latents, observations[nodes], masks[nodes])


def _markov_law(policy: Policy, enumeration: Enumeration, *, float64: bool) -> TerminalLaw:
    dag = enumeration.dag
    with jax.enable_x64(float64):
        dtype = jnp.float64 if float64 else jnp.float32
        log_p = jax.jit(Policy.log_probabilities)(
            to_float64(policy) if float64 else policy,
            (),
            jnp.asarray(enumeration.observations, dtype),
            jnp.asarray(enumeration.edge >= 0),
        )
        table = np.asarray(log_p, np.float64)
    taken = enumeration.edge >= 0
    log_p_f = np.empty(len(dag.edges))
    log_p_f[enumeration.edge[taken]] = table[taken]
    policy_64 = ForwardPolicy.from_weights(dag, FLOAT64, np.exp(log_p_f).tolist())
    kernel = BackwardKernel(dag, FLOAT64, np.exp(enumeration.log_p_b).tolist())
    terminals = list(dag.terminals)
    difference = log_p_f - enumeration.log_p_b
    high = longest_path(dag, difference)[terminals] - enumeration.log_rewards
    low = -longest_path(dag, -difference)[terminals] - enumeration.log_rewards
    return TerminalLaw(
        np.array(marginal(policy_64)),
        "exact, dynamic programming over the states",
        backward_mass=np.array(path_sums(kernel))[terminals],
        log_ratio_range=(float(low.min()), float(high.max())),
    )
