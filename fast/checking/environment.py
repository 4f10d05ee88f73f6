"""The check of a user's environment: its state graph, its rules and its rewards on a problem."""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.environments.interface import check_types, encode_all, same_state
from fast.laws.enumeration import (
    Enumeration,
    Precision,
    check_rewards,
    decode_all,
    enumerate_environment,
    facts,
    log_reward_tolerance,
)
from fast.sampling.trajectories import repeat
from fast.tracing import same_program
from reference.contract.errors import InputError, check_hashable, check_value, shown
from reference.dag import check_distinct
from reference.fields.field import log_float
from reference.problems import Problem
from reference.problems.base import MAX_NODES
from reference.problems.enumeration import AskedProblem

# The number of random terminal states that are drawn.
DRAWS = 4_096
# Random trajectories of an environment whose states are too many to list; and how many of their
# states, and of the moves from them, are checked.
TRAJECTORIES, STATES, MOVES = 64, 256, 20_000


class CheckReport(NamedTuple):
    """Figures of an environment that has passed every check; `rows` says what each of them is."""

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

    @property
    def verdict(self) -> str:
        """The report in a sentence."""
        return f"{self.environment} breaks no rule: it is its problem, {self.problem}"

    def rows(self) -> dict[str, str]:
        """Names and values of the figures, as text."""
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


def check_environment(
    problem: Problem[Any], environment: AbstractEnvironment, precision: Precision = "float32"
) -> CheckReport:
    """Enumerates a problem and checks an environment against it on every state and edge.

    `enumerate_environment` compares states, edges, masks, terminals, rewards and the numbers of
    parents. Here every edge is undone and redone as well. Its backward action is legal and leads to
    its parent; with one legal backward action per parent, they lead to exactly the parents.

    Args:
        problem: a problem small enough to enumerate.
        environment: the environment.
        precision: the precision of its arithmetic. `log R` may be off by 128 units in the last
            place, which in float64 are 5e8 times smaller; the arrays of the environment must then
            be float64.

    Raises:
        TooLargeError: if the problem is too large to enumerate.
        InputError: at the first rule that is broken.
    """
    check_value("check_environment", "precision", precision, Precision)
    with jax.enable_x64(True) if precision == "float64" else nullcontext():
        return _report(problem, environment, precision)


def _report(
    problem: Problem[Any], environment: AbstractEnvironment, precision: Precision
) -> CheckReport:
    check_types(environment)
    enumeration, states = _enumerated(problem, environment, MAX_NODES, precision)
    dag, name = enumeration.dag, type(environment).__name__
    _check_random_terminals(name, enumeration, environment)
    inner = [node for node, row in enumerate(dag.children) if row]
    log_rewards = np.asarray(jax.vmap(environment.log_reward)(states))[list(dag.terminals)]
    return CheckReport(
        environment=name,
        problem=type(problem).__name__,
        states=len(dag.labels),
        edges=int((enumeration.edge >= 0).sum()),
        terminals=len(dag.terminals),
        horizon=environment.horizon,
        actions=environment.actions,
        parents=environment.parents,
        features=enumeration.observations.shape[1],
        inner_states=len(inner),
        observations=len({enumeration.observations[node].tobytes() for node in inner}),
        log_reward_error=float(np.abs(log_rewards - enumeration.log_rewards).max()),
        log_reward_tolerance=log_reward_tolerance(enumeration.log_rewards, precision),
    )


def check_enumerated(
    problem: Problem[Any], environment: AbstractEnvironment, max_states: int
) -> Enumeration:
    """Enumerates a problem and checks an environment against it on every state and edge.

    Raises TooLargeError if the problem has more than `max_states` states, and InputError at the
    first rule that is broken, but for those of random terminals.

    Args:
        problem: the problem in plain Python.
        environment: the environment.
        max_states: the largest number of states to list.
    """
    return _enumerated(problem, environment, max_states, "float32")[0]


def _enumerated(
    problem: Problem[Any], environment: AbstractEnvironment, max_states: int, precision: Precision
) -> tuple[Enumeration, Any]:
    """The enumeration of a problem, and its states, for an environment that breaks no rule."""
    enumeration = enumerate_environment(problem, environment, max_states, precision)
    dag, name = enumeration.dag, type(environment).__name__
    states = encode_all(environment, dag.labels)
    if environment.horizon != max(dag.depths):
        raise InputError(
            f"{name}: horizon is {environment.horizon}, but the longest trajectory has "
            f"{max(dag.depths)} steps: set it to that"
        )
    is_graded = {dag.depths[x] for x in dag.terminals} == {environment.horizon} and all(
        dag.depths[v] == dag.depths[u] + 1 for u, v in dag.edges
    )
    _check_graded(environment, is_graded)
    ends = np.array([not row for row in dag.children])
    _check_moves(environment, dag.labels, states, ends, enumeration.edge >= 0)
    return enumeration, states


def check_trajectories(problem: Problem[Any] | None, environment: AbstractEnvironment) -> None:
    """Checks an environment whose states are too many to list, along random trajectories.

    At up to 256 of their states labels survive, every move is undone and redone, forwards and
    backwards, no two lead to one state, and children and rewards are the problem's, if there is
    one. Raises InputError at the first rule that is broken.
    """
    check_types(environment)
    name, asked = (
        type(environment).__name__,
        None if problem is None else AskedProblem[Any](problem),
    )
    every, is_new, ended = eqx.filter_jit(_random_walks)(environment, jax.random.key(0))
    if not np.asarray(ended).all():
        raise InputError(
            f"{name}: horizon is {environment.horizon}, but a random trajectory has not ended "
            "after as many steps: set it to the steps of the longest, or fix mask() or "
            "is_terminal()"
        )
    _check_graded(environment, bool(np.asarray(is_new)[1:].all()))
    new = np.argwhere(is_new)
    size = min(STATES, len(new), max(2, MOVES // max(environment.actions, environment.parents)))
    # The first is the initial state.
    chosen = new[np.r_[0, np.random.default_rng(0).choice(len(new), size, replace=False)]].T
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[tuple(chosen)], every)
    labels = decode_all(environment, states)
    check_hashable(f"{name}: a label that decode() gives", labels[0])
    again = jax.tree.leaves(encode_all(environment, labels))
    if not all(map(np.array_equal, again, jax.tree.leaves(states))):
        raise InputError(
            f"{name}: a state, decoded and encoded, is another one: fix encode() or decode()"
        )
    ends, mask, back = map(np.asarray, _flags(environment, states))
    edges = mask & ~ends[:, None]
    if back[0].any():
        raise InputError(f"{name}: parent_mask() must be False at the initial state: fix it")
    _check_moves(environment, labels, states, ends, edges)
    slots = np.arange(environment.parents, dtype=np.int32)
    legal = jax.jit(jax.vmap(jax.vmap(_is_parent, (None, None, 0)), (None, 0, None)))
    for node, slot in np.argwhere(back & ~np.asarray(legal(environment, states, slots))).tolist():
        raise InputError(
            f"{name}: parent_mask() allows the backward action {slot} at {shown(labels[node])}, "
            "but the action that redo() gives does not lead back: fix parent_mask() or redo()"
        )
    children = _moved(environment, "step", states, edges)
    parents = _moved(environment, "backward_step", states, back)
    for label, below, above in zip(labels, children, parents, strict=True):
        check_distinct(label, below)
        check_distinct(label, above, "parent")
        expected = below if asked is None else asked.children(label)
        if {*below} != {*expected}:
            raise InputError(
                f"{name}: the environment leads from {shown(label)} to {shown(below)}, and the "
                f"problem to {shown(expected)}: fix step() or mask()"
            )
    if asked is not None:
        terminals = [label for label, is_end in zip(labels, ends, strict=True) if is_end]
        log_rewards = np.array([log_float(asked.reward(label)) for label in terminals])
        computed = np.asarray(jax.vmap(environment.log_reward)(states))[ends]
        check_rewards(terminals, computed, log_rewards, "float32")


def _check_graded(environment: AbstractEnvironment, is_graded: bool) -> None:
    if environment.is_graded and not is_graded:
        raise InputError(
            f"{type(environment).__name__}: is_graded is True, but not every trajectory has "
            f"{environment.horizon} steps: leave it at False"
        )


def _random_walks(environment: AbstractEnvironment, key: PRNGKeyArray) -> tuple[Any, ...]:
    """All states of uniform trajectories, whether each is new, and whether the last is an end."""
    start = repeat(environment.initial(), TRAJECTORIES)

    def move(state: Any, key: PRNGKeyArray) -> tuple[Any, Any]:
        mask, ended = (jax.vmap(f)(state) for f in (environment.mask, environment.is_terminal))
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        following = jax.vmap(environment.step)(state, action)
        return following, (following, ~ended)

    last, (later, is_new) = lax.scan(move, start, jax.random.split(key, environment.horizon))
    every = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, later)
    first = jnp.arange(TRAJECTORIES)[None] == 0
    return every, jnp.concatenate([first, is_new]), jax.vmap(environment.is_terminal)(last)


@eqx.filter_jit
def _flags(environment: AbstractEnvironment, states: Any) -> tuple[Any, ...]:
    methods = (environment.is_terminal, environment.mask, environment.parent_mask)
    return tuple(jax.vmap(method)(states) for method in methods)


def _is_parent(environment: AbstractEnvironment, state: Any, parent: Any) -> Any:
    """True if the action that a backward action takes back leads to the state again."""
    before, action = environment.backward_step(state, parent), environment.redo(state, parent)
    is_action = (action >= 0) & (action < environment.actions) & environment.mask(before)[action]
    returns = same_state(environment.step(before, action), state)
    return is_action & returns & (environment.undo(before, action) == parent)


def _moved(
    environment: AbstractEnvironment, move: str, states: Any, allowed: Any
) -> list[list[Any]]:
    """The labels of the states that allowed moves lead to, a list for each state."""
    numbers = np.arange(allowed.shape[1], dtype=np.int32)
    every = jax.jit(jax.vmap(jax.vmap(getattr(environment, move), (None, 0)), (0, None)))
    at = np.nonzero(allowed)
    moved = jax.tree.map(lambda leaf: np.asarray(leaf)[at], every(states, numbers))
    labels = iter(decode_all(environment, moved) if len(at[0]) else ())
    return [list(islice(labels, int(count))) for count in allowed.sum(1)]


def _along(environment: AbstractEnvironment, state: Any, action: Any) -> tuple[Any, ...]:
    """Flags of an action (stays, is undone legally, leads back), and the redone action."""
    child = environment.step(state, action)
    undone = environment.undo(state, action)
    is_slot = (undone >= 0) & (undone < environment.parents)
    return (
        same_state(child, state),
        is_slot & environment.parent_mask(child)[undone],
        same_state(environment.backward_step(child, undone), state),
        environment.redo(child, undone),
    )


def _check_moves(
    environment: AbstractEnvironment,
    labels: Sequence[Any],
    states: Any,
    ends: npt.NDArray[np.bool_],
    edges: npt.NDArray[np.bool_],
) -> None:
    """Checks terminal states and features, that edges can be undone, and that nothing is random.

    `ends` says which states are terminal, and `edges`, shape (states, actions), which actions are
    edges.
    """
    name, actions = type(environment).__name__, np.arange(environment.actions, dtype=np.int32)
    mask, seen = (np.asarray(jax.vmap(f)(states)) for f in (environment.mask, environment.observe))
    every = jax.vmap(jax.vmap(_along, (None, None, 0)), (None, 0, None))
    stays, undone, returned, redone = map(np.asarray, jax.jit(every)(environment, states, actions))
    for method, rule, broken in (
        ("mask", "allow every action at a terminal state, for the soft-max", ends[:, None] & ~mask),
        ("step", "stay at a terminal state", ends[:, None] & ~stays),
        ("observe", "give finite numbers", ~np.isfinite(seen)),
        ("undo", "give a backward action that is legal at the child", edges & ~undone),
        ("backward_step", "go back to the parent", edges & ~returned),
        ("redo", "give the action that undo() takes back", edges & (redone != actions)),
    ):
        for node, number in np.argwhere(broken).tolist():
            which = "feature" if method == "observe" else "action"
            raise InputError(
                f"{name}: {method}() must {rule}, but does not at {labels[node]!r}, {which} "
                f"{number}: fix {method}()"
            )
    start = environment.initial()
    same_program(name, facts, environment, start)
    same_program(name, _along, environment, start, jnp.int32(0))


def _check_random_terminals(
    name: str, enumeration: Enumeration, environment: AbstractEnvironment
) -> None:
    """Checks that random terminals are terminals, and that each is met if there are few."""
    dag = enumeration.dag
    terminals = {dag.labels[x] for x in dag.terminals}
    keys = jax.random.split(jax.random.key(0), DRAWS)
    met = set(decode_all(environment, jax.jit(jax.vmap(environment.random_terminal))(keys)))
    for label in met - terminals:
        raise InputError(
            f"{name}: random_terminal() gives {label!r}, which is no terminal state: draw "
            "uniformly among the terminal states"
        )
    # Uniform draws miss one of n with probability n exp(-DRAWS / n) at most: here below 1e-8.
    if len(terminals) <= DRAWS // 25 and met != terminals:
        raise InputError(
            f"{name}: random_terminal() never gives {min(terminals - met, key=repr)!r} in "
            f"{DRAWS:,} draws: draw uniformly among the terminal states"
        )
