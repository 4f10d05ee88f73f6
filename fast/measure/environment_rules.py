"""The rules of an environment on an enumerated problem, each checked on every state and edge."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fast.environments import AbstractEnvironment
from fast.measure.enumeration import Enumeration, decode_all
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
    """Checks all that an environment says, and that it says so compiled or not.

    Raises:
        InputError: at the first rule that is broken.
    """
    _check_terminals(facts)
    _check_observations(facts)
    _check_way_back(facts)
    _check_eagerly(facts, environment)
    _check_random_terminals(facts, environment)


def _check_terminals(facts: Facts) -> None:
    """Checks that terminal states allow every action, and stay."""
    dag, stays = facts.enumeration.dag, _same(facts.along.child, facts.states)
    for x in dag.terminals:
        for action in np.flatnonzero(~facts.at.mask[x]).tolist():
            raise InputError(
                f"{facts.name}: mask() forbids action {action} at the terminal state "
                f"{dag.labels[x]!r}, but a soft-max there needs every action: allow all"
            )
        for action in np.flatnonzero(~stays[x]).tolist():
            raise InputError(
                f"{facts.name}: step() leaves the terminal state {dag.labels[x]!r} by action "
                f"{action}, but a batch goes on until its last trajectory ends: return the state "
                "as it is"
            )


def _check_observations(facts: Facts) -> None:
    """Checks that features are finite."""
    features = facts.at.observation
    for node, feature in np.argwhere(~np.isfinite(features)).tolist():
        raise InputError(
            f"{facts.name}: feature {feature} of {facts.enumeration.dag.labels[node]!r} is "
            f"{features[node, feature]}, but a network needs finite numbers: fix observe()"
        )


def _check_way_back(facts: Facts) -> None:
    """Checks that every edge can be undone, and redone."""
    (_, enumeration, states, at, along), labels = facts, facts.enumeration.dag.labels
    returns, parents = _same(along.returned, states), at.parent_mask.shape[1]
    for node, action in np.argwhere(enumeration.edge >= 0).tolist():
        slot, redone = int(along.undone[node, action]), int(along.redone[node, action])
        edge = f"{labels[node]!r} -> {labels[enumeration.child[node, action]]!r}"
        if not (0 <= slot < parents and along.undone_legal[node, action]):
            raise InputError(
                f"{facts.name}: undo() takes back action {action} along {edge} by the backward "
                f"action {slot}, which is not legal at the child: fix undo() or parent_mask()"
            )
        if not returns[node, action]:
            raise InputError(
                f"{facts.name}: undo() takes back action {action} along {edge} by the backward "
                f"action {slot}, which does not lead to the parent: fix undo() or backward_step()"
            )
        if redone != action:
            raise InputError(
                f"{facts.name}: redo() gives action {redone} for the backward action {slot} along "
                f"{edge}, but action {action} leads there: fix redo()"
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


def _check_eagerly(facts: Facts, environment: AbstractEnvironment[Any]) -> None:
    """Checks on three states that compiled code and the same code line by line agree."""
    dag, edge = facts.enumeration.dag, facts.enumeration.edge
    nodes = len(dag.labels)
    for node in sorted({0, nodes // 2, nodes - 1}):
        state = jax.tree.map(lambda leaf, node=node: jnp.asarray(leaf[node]), facts.states)
        eager, compiled = _at(environment, state)._asdict(), facts.at._asdict()
        if dag.children[node]:
            # The reward of an inner state has no meaning, and need not be a number.
            del eager["log_reward"]
        pairs = [(what, value, compiled[what][node]) for what, value in eager.items()]
        for action in np.flatnonzero(edge[node] >= 0)[:1].tolist():
            along = _along(environment, state, jnp.int32(action))._asdict()
            for what, value in along.items():
                batch = getattr(facts.along, what)
                there = jax.tree.map(lambda leaf, i=(node, action): leaf[i], batch)
                pairs.append((f"{what} by action {action}", value, there))
        for what, value, expected in pairs:
            leaves = zip(jax.tree.leaves(value), jax.tree.leaves(expected), strict=True)
            if not all(np.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in leaves):
                raise InputError(
                    f"{facts.name}: at {dag.labels[node]!r}, {what} is {expected} when compiled by "
                    f"jax.jit, and {value} when not: methods must be pure functions of the state"
                )
