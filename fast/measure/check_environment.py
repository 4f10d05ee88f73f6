"""Whether an environment of your own has the state graph and the rewards of its problem."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fast.environments import AbstractEnvironment
from fast.environments.interface import check_types, encode_all
from fast.measure.enumeration import (
    Enumeration,
    Precision,
    decode_all,
    enumerate_environment,
    log_reward_tolerance,
)
from reference.errors import InputError, check_choice
from reference.problems import Problem, enumerate_dag

# Of random terminals.
DRAWS = 4_096


class CheckReport(NamedTuple):
    """An environment that has passed every check, in numbers.

    Attributes:
        environment: its class.
        problem: the problem's class.
        states: the number of states, all of them compared.
        edges: the number of edges, each one followed, undone and redone.
        terminals: the number of terminal states.
        horizon: the number of steps of a longest trajectory.
        actions: the number of actions.
        parents: the number of backward actions.
        features: the number of features.
        inner_states: the number of states that are not terminal.
        observations: how many different observations these have.
        log_reward_error: the largest difference of `log R` between the two, in nats.
        log_reward_tolerance: how large it may be by rounding.
    """

    environment: str
    problem: str
    states: int
    edges: int
    terminals: int
    horizon: int
    actions: int
    parents: int
    features: int
    inner_states: int
    observations: int
    log_reward_error: float
    log_reward_tolerance: float

    def rows(self) -> dict[str, str]:
        """Name and value of every figure, as text."""
        return {
            "states, all compared": f"{self.states:,}",
            "edges, all followed, undone and redone": f"{self.edges:,}",
            "terminals": f"{self.terminals:,}",
            "horizon (longest trajectory, in edges)": f"{self.horizon:,}",
            "actions": f"{self.actions:,}",
            "backward actions": f"{self.parents:,}",
            "features": f"{self.features:,}",
            "inner states told apart by their features": (
                f"{self.observations:,} of {self.inner_states:,}"
            ),
            "largest error of log R, nats": (
                f"{self.log_reward_error:.2g} (rounding: up to {self.log_reward_tolerance:.2g})"
            ),
        }


class _At(NamedTuple):
    """What an environment says at a state."""

    mask: Any
    parent_mask: Any
    is_terminal: Any
    observation: Any
    log_reward: Any


class _Along(NamedTuple):
    """What it says along an action: the child, and the way back and forth again."""

    child: Any
    undone: Any
    undone_legal: Any
    returned: Any
    redone: Any


class _Facts(NamedTuple):
    """All that an environment says, beside its enumerated problem, in NumPy."""

    name: str
    enumeration: Enumeration
    states: Any
    at: _At
    along: _Along


def check_environment(
    problem: Problem[Any],
    environment: AbstractEnvironment[Any],
    precision: Precision = "float32",
) -> CheckReport:
    """Enumerates a problem and checks every rule of an environment on every state and edge.

    `enumerate_environment` compares states, edges, masks, terminals, rewards and the numbers of
    parents. Here every edge is undone as well: as the backward action leads to the edge's parent
    and is legal, and there are as many legal ones as parents, they lead to exactly the parents.

    Args:
        problem: small enough to enumerate.
        environment: what is checked.
        precision: in which it computes. `log R` may be off by 128 units in the last place, which
            in float64 are 5e8 times smaller; what the environment holds must then be float64.

    Raises:
        TooLargeError: if the problem is too large to enumerate.
        InputError: at the first rule that is broken.
    """
    check_choice("check_environment", "precision", precision, Precision)
    with jax.enable_x64(True) if precision == "float64" else nullcontext():
        return _report(problem, environment, precision)


def _report(
    problem: Problem[Any], environment: AbstractEnvironment[Any], precision: Precision
) -> CheckReport:
    check_types(environment)
    dag, name = enumerate_dag(problem), type(environment).__name__
    states = encode_all(environment, dag.labels)
    if environment.horizon != max(dag.depths):
        raise InputError(
            f"{name}: horizon is {environment.horizon}, but the longest trajectory has "
            f"{max(dag.depths)} steps: set it to that"
        )
    is_graded = {dag.depths[x] for x in dag.terminals} == {environment.horizon} and all(
        dag.depths[v] == dag.depths[u] + 1 for u, v in dag.edges
    )
    if environment.is_graded and not is_graded:
        raise InputError(
            f"{name}: is_graded is True, but not every trajectory has {environment.horizon} steps: "
            "leave it at False"
        )
    enumeration = enumerate_environment(problem, environment, precision=precision)
    at, along = jax.tree.map(np.asarray, _everywhere(environment, states))
    facts = _Facts(name, enumeration, states, at, along)
    _check_terminals(facts)
    _check_observations(facts)
    _check_way_back(facts)
    _check_eagerly(facts, environment)
    _check_random_terminals(facts, environment)
    inner = [node for node, row in enumerate(dag.children) if row]
    log_rewards = at.log_reward[list(dag.terminals)]
    return CheckReport(
        environment=name,
        problem=type(problem).__name__,
        states=len(dag.labels),
        edges=int((enumeration.edge >= 0).sum()),
        terminals=len(dag.terminals),
        horizon=environment.horizon,
        actions=environment.actions,
        parents=environment.parents,
        features=at.observation.shape[1],
        inner_states=len(inner),
        observations=len({at.observation[node].tobytes() for node in inner}),
        log_reward_error=float(np.abs(log_rewards - enumeration.log_rewards).max()),
        log_reward_tolerance=log_reward_tolerance(enumeration.log_rewards, precision),
    )


@jax.jit
def _everywhere(environment: AbstractEnvironment[Any], states: Any) -> tuple[_At, _Along]:
    """All facts, batched over states, and over states and actions."""
    actions = jnp.arange(environment.actions, dtype=jnp.int32)
    along = jax.vmap(jax.vmap(_along, (None, None, 0)), (None, 0, None))
    return jax.vmap(_at, (None, 0))(environment, states), along(environment, states, actions)


def _at(environment: AbstractEnvironment[Any], state: Any) -> _At:
    return _At(
        environment.mask(state),
        environment.parent_mask(state),
        environment.is_terminal(state),
        environment.observe(state),
        environment.log_reward(state),
    )


def _along(environment: AbstractEnvironment[Any], state: Any, action: Any) -> _Along:
    child = environment.step(state, action)
    undone = environment.undo(state, action)
    return _Along(
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


def _check_terminals(facts: _Facts) -> None:
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


def _check_observations(facts: _Facts) -> None:
    """Checks that features are finite."""
    features = facts.at.observation
    for node, feature in np.argwhere(~np.isfinite(features)).tolist():
        raise InputError(
            f"{facts.name}: feature {feature} of {facts.enumeration.dag.labels[node]!r} is "
            f"{features[node, feature]}, but a network needs finite numbers: fix observe()"
        )


def _check_way_back(facts: _Facts) -> None:
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


def _check_random_terminals(facts: _Facts, environment: AbstractEnvironment[Any]) -> None:
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


def _check_eagerly(facts: _Facts, environment: AbstractEnvironment[Any]) -> None:
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
