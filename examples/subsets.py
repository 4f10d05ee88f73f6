"""An environment of one's own: any subset of n items, built in any order, and its plain twin."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from fast.environments.base import AbstractEnvironment

UTILITIES = (0.5, -1.0, 0.25, 1.5)


class Chosen(NamedTuple):
    """Which items are in, and whether the subset is complete."""

    items: Array
    stopped: Array


class Subsets(AbstractEnvironment[Chosen]):
    """Action i adds item i, the last one stops; log R is the sum of the utilities."""

    utilities: Array
    horizon: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    parents: int = eqx.field(static=True)

    @classmethod
    def from_problem(cls, problem: "SubsetsProblem") -> "Subsets":
        size = len(problem.utilities) + 1
        return cls(jnp.array(problem.utilities), size, size, size)

    def initial(self) -> Chosen:
        return Chosen(jnp.zeros(self.actions - 1, bool), jnp.array(False))

    def step(self, state: Chosen, action: Array) -> Chosen:
        added = jnp.arange(self.actions) == action
        items = jnp.where(state.stopped, state.items, state.items | added[:-1])
        return Chosen(items, state.stopped | added[-1])

    def backward_step(self, state: Chosen, parent: Array) -> Chosen:
        taken = jnp.arange(self.actions) == parent
        return Chosen(state.items & ~taken[:-1], state.stopped & ~taken[-1])

    def undo(self, state: Chosen, action: Array) -> Array:
        return action

    def redo(self, state: Chosen, parent: Array) -> Array:
        return parent

    def mask(self, state: Chosen) -> Array:
        return jnp.append(~state.items, True) | state.stopped

    def parent_mask(self, state: Chosen) -> Array:
        return jnp.append(state.items & ~state.stopped, state.stopped)

    def is_terminal(self, state: Chosen) -> Array:
        return state.stopped

    def random_terminal(self, key: Array) -> Chosen:
        return Chosen(jax.random.bernoulli(key, 0.5, (self.actions - 1,)), jnp.array(True))

    def observe(self, state: Chosen) -> Array:
        return state.items.astype(jnp.float32)

    def log_reward(self, state: Chosen) -> Array:
        return state.items @ self.utilities

    def encode(self, label: Any) -> Chosen:
        items = np.isin(np.arange(self.actions - 1), list(label[0]))
        return Chosen(items, np.array(label[1]))  # type: ignore[arg-type]

    def decode(self, state: Chosen) -> Any:
        return tuple(np.flatnonzero(state.items).tolist()), bool(state.stopped)


class SubsetsProblem:
    """The same in plain Python, for `pdai check` and for exact numbers on small instances."""

    initial: tuple[tuple[int, ...], bool] = ((), False)
    utilities = UTILITIES

    def children(self, state: Any) -> Any:
        """With an item more, or complete."""
        items, stopped = state
        if stopped:
            return []
        left = [i for i in range(len(self.utilities)) if i not in items]
        return [*((tuple(sorted((*items, i))), False) for i in left), (items, True)]

    def log_reward(self, terminal: Any) -> float:
        """The sum of the utilities, in nats."""
        return sum(self.utilities[i] for i in terminal[0])
