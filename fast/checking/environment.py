"""Whether an environment of your own has the state graph and the rewards of its problem."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import numpy as np

from fast.checking.environment_rules import Facts, check_rules, everywhere
from fast.environments import AbstractEnvironment
from fast.environments.interface import check_types, encode_all
from fast.laws.enumeration import Precision, enumerate_environment, log_reward_tolerance
from reference.errors import InputError, check_choice
from reference.problems import Problem, enumerate_dag


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

    @property
    def verdict(self) -> str:
        """The whole report in a sentence."""
        return f"{self.environment} breaks no rule: it is its problem, {self.problem}"

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
    at, along = jax.tree.map(np.asarray, everywhere(environment, states))
    facts = Facts(name, enumeration, states, at, along)
    check_rules(facts, environment)
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
