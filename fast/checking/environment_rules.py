"""The rules of an environment on an enumerated problem, each checked on every state and edge."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, decode_all
from fast.tracing import same_program
from reference.errors import InputError

# Of random terminals.
DRAWS = 4_096


class At(NamedTuple):
    """What an environment says at a state."""

    mask: Any
    parent_mask: Any
    is_terminal: Any
    observation: Any
    log_reward: Any


class Along(NamedTuple):
    """What it says along an action: the child, and the way back and forth again."""

    child: Any
    undone: Any
    undone_legal: Any
    returned: Any
    redone: Any


class Facts(NamedTuple):
    """All that an environment says, beside its enumerated problem, in NumPy."""

    name: str
    enumeration: Enumeration
    states: Any
    at: At
    along: Along


@jax.jit
def everywhere(environment: AbstractEnvironment[Any], states: Any) -> tuple[At, Along]:
    """All facts, batched over states, and over states and actions."""
    actions = jnp.arange(environment.actions, dtype=jnp.int32)
    along = jax.vmap(jax.vmap(_along, (None, None, 0)), (None, 0, None))
    return jax.vmap(_at, (None, 0))(environment, states), along(environment, states, actions)


def _at(environment: AbstractEnvironment[Any], state: Any) -> At:
    return At(
        environment.mask(state),
        environment.parent_mask(state),
        environment.is_terminal(state),
        environment.observe(state),
        environment.log_reward(state),
    )


def _along(environment: AbstractEnvironment[Any], state: Any, action: Any) -> Along:
    child = environment.step(state, action)
    undone = environment.undo(state, action)
    return Along(
        child,
        undone,
        environment.parent_mask(child)[undone],
        environment.backward_step(child, undone),
        environment.redo(child, undone),
    )


def _same(found: Any, states: Any) -> npt.NDArray[np.bool_]:
    """Whether what each action gives is the state itself, shape (nodes, actions)."""
    per_leaf = [
        (a == b[:, None]).reshape(*a.shape[:2], -1).all(-1)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(states), strict=True)
    ]
    same: npt.NDArray[np.bool_] = np.logical_and.reduce(per_leaf)
    return same


def check_rules(facts: Facts, environment: AbstractEnvironment[Any]) -> None:
    """Checks all that an environment says, and that it says so again.

    Raises:
        InputError: at the first rule that is broken.
    """
    _check_states_and_edges(facts)
    start = environment.initial()
    same_program(facts.name, _at, environment, start)
    same_program(facts.name, _along, environment, start, jnp.int32(0))
    _check_random_terminals(facts, environment)


def _check_states_and_edges(facts: Facts) -> None:
    """Checks terminal states, features, and that every edge can be undone and redone."""
    (name, enumeration, states, at, along), dag = facts, facts.enumeration.dag
    edges, parents = enumeration.edge >= 0, at.parent_mask.shape[1]
    ends = np.array([not row for row in dag.children])[:, None]
    is_slot = (along.undone >= 0) & (along.undone < parents) & along.undone_legal
    actions = np.arange(edges.shape[1])
    for method, rule, broken in (
        ("mask", "allow every action at a terminal state, for the soft-max", ends & ~at.mask),
        ("step", "stay at a terminal state", ends & ~_same(along.child, states)),
        ("observe", "give finite numbers", ~np.isfinite(at.observation)),
        ("undo", "give a backward action that is legal at the child", edges & ~is_slot),
        ("backward_step", "go back to the parent", edges & ~_same(along.returned, states)),
        ("redo", "give the action that undo() takes back", edges & (along.redone != actions)),
    ):
        for node, number in np.argwhere(broken).tolist():
            which = "feature" if method == "observe" else "action"
            raise InputError(
                f"{name}: {method}() must {rule}, but does not at {dag.labels[node]!r}, {which} "
                f"{number}: fix {method}()"
            )


def _check_random_terminals(facts: Facts, environment: AbstractEnvironment[Any]) -> None:
    """Checks that random terminals are terminals, and of few that each is met."""
    dag = facts.enumeration.dag
    terminals = {dag.labels[x] for x in dag.terminals}
    keys = jax.random.split(jax.random.key(0), DRAWS)
    met = set(decode_all(environment, jax.jit(jax.vmap(environment.random_terminal))(keys)))
    for label in met - terminals:
        raise InputError(
            f"{facts.name}: random_terminal() gives {label!r}, which is no terminal state: draw "
            "uniformly among the terminal states"
        )
    # Uniform draws miss one of n with probability n exp(-DRAWS / n) at most: here below 1e-8.
    if len(terminals) <= DRAWS // 25 and met != terminals:
        raise InputError(
            f"{facts.name}: random_terminal() never gives {min(terminals - met, key=repr)!r} in "
            f"{DRAWS:,} draws: draw uniformly among the terminal states"
        )
