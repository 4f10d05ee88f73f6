"""Variable selection as array code."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from reference.posterior import Selection, VariableSelection


class SelectionState(NamedTuple):
    """A set of variables, as its indicator vector, and whether it is finished."""

    chosen: Bool[Array, " variables"]
    stopped: Bool[Array, ""]


class SelectionEnvironment(AbstractPairedEnvironment[SelectionState]):
    """Sets of variables. Action i adds variable i, the last one stops; backward actions undo them.

    The table has `log R` of every set, by its bit mask.
    """

    table: Float[Array, " masks"]

    @classmethod
    def from_problem(cls, problem: VariableSelection) -> "SelectionEnvironment":
        """The environment with the parameters of `problem`."""
        size = len(problem.names) + 1
        logs = np.log(np.array(problem.mantissas)) + math.log(2) * np.array(problem.exponents)
        table = jnp.asarray(logs, jnp.float32)
        return cls(table=table, horizon=size, actions=size, parents=size)

    def initial(self) -> SelectionState:
        return SelectionState(jnp.zeros(self.actions - 1, bool), jnp.bool_(False))

    def step(self, state: SelectionState, action: Int[Array, ""]) -> SelectionState:
        added = (jnp.arange(self.actions - 1) == action) & ~state.stopped
        return SelectionState(state.chosen | added, state.stopped | (action == self.actions - 1))

    def backward_step(self, state: SelectionState, parent: Int[Array, ""]) -> SelectionState:
        kept = jnp.arange(self.parents - 1) != parent
        return SelectionState(state.chosen & kept, jnp.bool_(False))

    def mask(self, state: SelectionState) -> Bool[Array, " actions"]:
        return jnp.append(~state.chosen, True) | state.stopped

    def parent_mask(self, state: SelectionState) -> Bool[Array, " parents"]:
        return jnp.append(state.chosen & ~state.stopped, state.stopped)

    def is_terminal(self, state: SelectionState) -> Bool[Array, ""]:
        return state.stopped

    def random_terminal(self, key: PRNGKeyArray) -> SelectionState:
        chosen = jax.random.bernoulli(key, shape=(self.actions - 1,))
        return SelectionState(chosen, jnp.bool_(True))

    def observe(self, state: SelectionState) -> Float[Array, " features"]:
        return jnp.append(state.chosen, state.stopped).astype(jnp.float32)

    def log_reward(self, state: SelectionState) -> Float[Array, ""]:
        powers = jnp.asarray(2 ** np.arange(self.actions - 1), jnp.int32)
        return self.table[jnp.sum(state.chosen * powers)]

    def encode(self, label: Selection) -> SelectionState:
        return SelectionState(np.array(label.chosen), np.bool_(label.stopped))  # type: ignore[arg-type]

    def decode(self, state: SelectionState) -> Selection:
        return Selection(tuple(np.asarray(state.chosen).tolist()), bool(state.stopped))


ENVIRONMENTS[VariableSelection] = SelectionEnvironment
