"""The check of a user's environment: its state graph, its rules and its rewards on a problem."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment
from fast.environments.interface import check_types, encode_all, same_state
from fast.laws.enumeration import (
    Enumeration,
    Precision,
    decode_all,
    enumerate_environment,
    facts,
    log_reward_tolerance,
)
from fast.tracing import same_program
from reference.errors import InputError, check_choice
from reference.problems import Problem, enumerate_dag

# The number of random terminal states that are drawn.
DRAWS = 4_096


class CheckReport(NamedTuple):
    """Figures of an environment that has passed every check.

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
        observations: the number of different observations of inner states.
        log_reward_error: the largest difference of `log R` between the two, in nats.
        log_reward_tolerance: the largest difference allowed, by rounding.
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
    problem: Problem[Any],
    environment: AbstractEnvironment[Any],
    precision: Precision = "float32",
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
    _check_states_and_edges(name, enumeration, environment, states)
    start = environment.initial()
    same_program(name, facts, environment, start)
    same_program(name, _along, environment, start, jnp.int32(0))
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


def _along(environment: AbstractEnvironment[Any], state: Any, action: Any) -> tuple[Any, ...]:
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


def _check_states_and_edges(
    name: str, enumeration: Enumeration, environment: AbstractEnvironment[Any], states: Any
) -> None:
    """Checks terminal states and features, and that every edge can be undone and redone."""
    dag, actions = enumeration.dag, np.arange(environment.actions, dtype=np.int32)
    mask = np.asarray(jax.vmap(environment.mask)(states))
    every = jax.vmap(jax.vmap(_along, (None, None, 0)), (None, 0, None))
    stays, undone, returned, redone = map(np.asarray, jax.jit(every)(environment, states, actions))
    edges, ends = enumeration.edge >= 0, np.array([not row for row in dag.children])[:, None]
    for method, rule, broken in (
        ("mask", "allow every action at a terminal state, for the soft-max", ends & ~mask),
        ("step", "stay at a terminal state", ends & ~stays),
        ("observe", "give finite numbers", ~np.isfinite(enumeration.observations)),
        ("undo", "give a backward action that is legal at the child", edges & ~undone),
        ("backward_step", "go back to the parent", edges & ~returned),
        ("redo", "give the action that undo() takes back", edges & (redone != actions)),
    ):
        for node, number in np.argwhere(broken).tolist():
            which = "feature" if method == "observe" else "action"
            raise InputError(
                f"{name}: {method}() must {rule}, but does not at {dag.labels[node]!r}, {which} "
                f"{number}: fix {method}()"
            )


def _check_random_terminals(
    name: str, enumeration: Enumeration, environment: AbstractEnvironment[Any]
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
