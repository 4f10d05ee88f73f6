"""An enumerated problem with its features and actions, from an environment checked against it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fast.environments import AbstractEnvironment
from reference.contract.errors import InputError
from reference.dag import PointedDAG
from reference.fields.field import log_float
from reference.problems import Problem, enumerate_dag, enumerate_rewards
from reference.problems.base import MAX_NODES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Precision = Literal["float32", "float64"]

# The rounding allowed in log R, in units in the last place of the largest number on the way. A sum
# of n numbers, or a product in logarithms, is off by at most n / 2 of them: this is for 256.
ULPS = 128


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The enumerated DAG of a problem, with the features and action numbers of an environment.

    Nodes, edges and rewards are the reference's; only the features and the numbering of actions
    come from the environment.

    Attributes:
        dag: the pointed DAG.
        rewards: `R(x)`, exactly, one per `dag.terminals`.
        observations: the features of each node, shape (nodes, features).
        child: the node that each action leads to, or -1; shape (nodes, actions).
        edge: the number of that edge, or -1; shape (nodes, actions).
        undo: the backward action that leads back, one per edge.
        parent_masks: the legal backward actions of each node, shape (nodes, parents).
    """

    dag: PointedDAG[Any]
    rewards: tuple[Fraction, ...]
    observations: npt.NDArray[np.float32]
    child: Ints
    edge: Ints
    undo: Ints
    parent_masks: npt.NDArray[np.bool_]

    @cached_property
    def edges(self) -> tuple[Ints, Ints]:
        """The nodes from which edges lead, and those to which, one of each per edge."""
        starts, ends = np.array(self.dag.edges).T
        return starts, ends

    @property
    def uniform_log_p_b(self) -> Floats:
        """`log p_B`, in nats, one per edge, if it is uniform among the parents: in float64."""
        log_p_b: Floats = -np.log(self.parent_masks.sum(1)[self.edges[1]])
        return log_p_b

    @cached_property
    def log_rewards(self) -> Floats:
        """`log R(x)` in nats, one per `dag.terminals`."""
        return np.array([log_float(reward) for reward in self.rewards])

    @cached_property
    def log_z(self) -> float:
        """The true `log Z`, the logarithm of the sum of rewards, in nats."""
        return log_float(sum(self.rewards, start=Fraction(0)))


def enumerate_environment(
    problem: Problem[Any],
    environment: AbstractEnvironment,
    max_states: int = MAX_NODES,
    precision: Precision = "float32",
) -> Enumeration:
    """Enumerates a problem by the reference and checks the environment against it, state by state.

    By induction from the initial state, equal children everywhere mean equal state graphs. `log R`
    may differ by rounding in its precision (`log_reward_tolerance`). Raises TooLargeError if the
    problem has more than `max_states` states, and InputError if the environment's initial state,
    children, numbers of parents, terminal states or rewards differ from the reference's.

    Args:
        problem: the problem in plain Python.
        environment: the same problem as array code.
        max_states: the largest number of states to list.
        precision: the arithmetic of `log R`.
    """
    dag = enumerate_dag(problem, max_states)
    rewards = enumerate_rewards(problem, dag)
    states = environment.encode_batch(dag.labels)
    initial, every = jax.tree.map(np.asarray, _all_facts(environment, states))
    observations, children, masks, undo, parent_masks, terminal, log_reward = every
    node_of = {key: node for node, key in enumerate(_rows(states))}
    if node_of.get(_rows(jax.tree.map(lambda leaf: leaf[None], initial))[0]) != 0:
        raise InputError(
            "the environment's initial state is not the problem's: fix initial() or encode()"
        )
    edges, goes_on = np.array(dag.edges), np.array([bool(row) for row in dag.children])
    _check_nodes(dag, edges, goes_on, terminal, parent_masks.sum(-1))
    # Of an action in a terminal state it does not matter where it leads.
    legal, reached = masks & goes_on[:, None], np.full(masks.shape, -1)
    taken = _rows(jax.tree.map(lambda leaf: leaf[legal], children))
    reached[legal] = [node_of.get(key, -1) for key in taken]
    child, edge = _matched(dag, edges, legal, reached)
    back = np.zeros(len(dag.edges), np.int64)
    back[edge[edge >= 0]] = undo[edge >= 0]
    result = Enumeration(dag, rewards, observations, child, edge, back, parent_masks)
    ends = [dag.labels[x] for x in dag.terminals]
    check_rewards(ends, log_reward[list(dag.terminals)], result.log_rewards, precision)
    return result


def _check_nodes(
    dag: PointedDAG[Any], edges: Ints, goes_on: Any, terminal: Any, parents: Any
) -> None:
    """Checks which states are terminal in the environment, and their numbers of parents."""
    entering = np.bincount(edges[:, 1], minlength=len(dag.labels))
    for node in np.flatnonzero((terminal == goes_on) | (parents != entering)).tolist():
        label = dag.labels[node]
        if terminal[node] == goes_on[node]:
            says = "a" if terminal[node] else "no"
            raise InputError(
                f"the environment says that {label!r} is {says} terminal state, and the problem's "
                "children() the opposite: fix is_terminal()"
            )
        raise InputError(
            f"the environment gives {label!r} {int(parents[node])} parents, the problem "
            f"{entering[node]}: fix parent_mask()"
        )


def _matched(
    dag: PointedDAG[Any], edges: Ints, legal: npt.NDArray[np.bool_], reached: Ints
) -> tuple[Ints, Ints]:
    """The child and the edge of every legal action, -1 elsewhere, one action for each edge.

    `reached` is the node that each action leads to; -1 for a state that is not in the DAG.
    """
    child, edge = np.full(legal.shape, -1), np.full(legal.shape, -1)
    (starts, ends), (nodes, actions) = edges.T, np.nonzero(legal)
    keys, steps = (a * len(legal) + b for a, b in ((starts, ends), (nodes, reached[legal])))
    number, taken = np.argsort(keys), np.argsort(steps)
    if (reached[legal] >= 0).all() and np.array_equal(keys[number], steps[taken]):
        child[legal], edge[nodes[taken], actions[taken]] = reached[legal], number
        return child, edge
    # Not so: at which state?
    for node, label in enumerate(dag.labels):
        left = set(dag.children[node])
        for action in np.flatnonzero(legal[node]).tolist():
            to = int(reached[node, action])
            if to not in left:
                raise InputError(
                    f"the environment's action {action} at {label!r} leads to a state that is not "
                    "one of the problem's children, or is reached by another action: fix step() "
                    "or mask()"
                )
            left.remove(to)
        if left:
            missing = [dag.labels[v] for v in dag.children[node] if v in left]
            raise InputError(
                f"no action of the environment leads from {label!r} to {missing}: fix step() or "
                "mask()"
            )
    raise AssertionError("all states have the problem's children")


def check_rewards(
    terminals: Sequence[Any], computed: Floats, expected: Floats, precision: Precision
) -> None:
    """Checks the environment's `log R` of terminals against that of the problem.

    Args:
        terminals: their labels.
        computed: `log R` of the environment, nats.
        expected: that of the problem, nats.
        precision: the arithmetic of the environment.
    """
    error, tolerance = np.abs(computed - expected), log_reward_tolerance(expected, precision)
    if not error.max(initial=0.0) <= tolerance:
        worst = int(error.argmax())
        raise InputError(
            f"log R({terminals[worst]!r}) is {computed[worst]} in the environment, "
            f"{expected[worst]} in the problem, which rounding to {precision} does "
            f"not explain (up to {tolerance:.1g}): fix log_reward()"
        )


def log_reward_tolerance(log_rewards: Floats, precision: Precision) -> float:
    """The largest change of `log R` by rounding, in nats: 128 units in the last place.

    The unit is that of the largest `|log R|` of any terminal, or of 1. Numbers that cancel at one
    terminal add up at another, so that intermediate results are about as large as the largest one.
    """
    return float(ULPS * np.finfo(precision).eps * np.abs(log_rewards).max(initial=1.0))


def facts(environment: AbstractEnvironment, state: Any) -> tuple[Any, ...]:
    """The features, masks and reward of a state; its children, and the actions that undo them."""
    every_action = jnp.arange(environment.actions)
    return (
        environment.observe(state),
        jax.vmap(environment.step, (None, 0))(state, every_action),
        environment.mask(state),
        jax.vmap(environment.undo, (None, 0))(state, every_action),
        environment.parent_mask(state),
        environment.is_terminal(state),
        environment.log_reward(state),
    )


@eqx.filter_jit
def _all_facts(environment: AbstractEnvironment, states: Any) -> tuple[Any, ...]:
    return environment.initial(), jax.vmap(lambda state: facts(environment, state))(states)


def _rows(states: Any) -> list[bytes]:
    """Each state of a batch as bytes, so that equal arrays are equal keys."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
    flat = [leaf.reshape(len(leaf), math.prod(leaf.shape[1:])) for leaf in leaves]
    # One width for all results of encode() and step(); adding 0 turns -0.0 into 0.0.
    wide = [
        (leaf.astype(np.float64) + 0).view(np.int64)
        if np.issubdtype(leaf.dtype, np.floating)
        else leaf.astype(np.int64)
        for leaf in flat
    ]
    return [row.tobytes() for row in np.concatenate(wide, axis=1)]


def decode_all(environment: AbstractEnvironment, states: Any) -> list[Any]:
    """The reference's labels of a batch of states; each distinct state is decoded once."""
    leaves, structure = jax.tree.flatten(jax.tree.map(np.asarray, states))
    decoded: dict[bytes, Any] = {}
    labels = []
    for i, key in enumerate(_rows(states)):
        if key not in decoded:
            decoded[key] = environment.decode(jax.tree.unflatten(structure, [x[i] for x in leaves]))
        labels.append(decoded[key])
    return labels
