"""Assignments: places set to values one by one, in a fixed order or in any."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding
from fast.environments.base import AbstractSizedEnvironment
from fast.environments.encodings import encode_numbers
from reference.problems import Order


class Assignment(NamedTuple):
    """The value of each place: 1 to V, or 0 where it is open."""

    values: Int[Array, " places"]


class AbstractAssignmentEnvironment(AbstractSizedEnvironment[Assignment]):
    """The state graph of assignments; rewards and labels are left to the problems.

    In any order, action V i + k gives place i its value k + 1, one of V, and backward action i
    opens place i. In the fixed order, action k gives the first open place its value k + 1, and the
    only backward action opens the last place that is set. Networks see one-hot values, one of them
    "open", or the code of `numbers`.
    """

    is_graded = True

    places: int = eqx.field(static=True)
    choices: int = eqx.field(static=True)
    order: Order = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True)

    @staticmethod
    def sizes(places: int, choices: int, order: Order) -> dict[str, Any]:
        """The static fields that follow from the number of places and of their values.

        Args:
            places: the number of places to fill.
            choices: the number of values of a place.
            order: whether places are filled from the first on, or in any order.
        """
        in_any = order == "any"
        return {
            "places": places,
            "choices": choices,
            "order": order,
            "horizon": places,
            "actions": places * choices if in_any else choices,
            "parents": places if in_any else 1,
        }

    @abstractmethod
    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        """The natural features of an assignment."""

    def initial(self) -> Assignment:
        return Assignment(jnp.zeros(self.places, jnp.int32))

    def step(self, state: Assignment, action: Int[Array, ""]) -> Assignment:
        place = action // self.choices if self.order == "any" else jnp.sum(state.values > 0)
        # Only open places are written to, so that a complete assignment stays.
        here = (jnp.arange(self.places) == place) & (state.values == 0)
        return Assignment(
            jnp.where(here, action % self.choices + 1, state.values).astype(jnp.int32)
        )

    def backward_step(self, state: Assignment, parent: Int[Array, ""]) -> Assignment:
        return Assignment(jnp.where(self._opened(state, parent), 0, state.values))

    def undo(self, state: Assignment, action: Int[Array, ""]) -> Int[Array, ""]:
        return action // self.choices if self.order == "any" else jnp.zeros_like(action)

    def redo(self, state: Assignment, parent: Int[Array, ""]) -> Int[Array, ""]:
        value = jnp.sum(jnp.where(self._opened(state, parent), state.values, 0)) - 1
        return self.choices * parent + value if self.order == "any" else value

    def mask(self, state: Assignment) -> Bool[Array, " actions"]:
        if self.order == "fixed":
            return jnp.ones(self.choices, bool)
        is_open = (state.values == 0) | self.is_terminal(state)
        return jnp.repeat(is_open, self.choices)

    def parent_mask(self, state: Assignment) -> Bool[Array, " parents"]:
        return state.values > 0 if self.order == "any" else state.values[:1] > 0

    def is_terminal(self, state: Assignment) -> Bool[Array, ""]:
        return jnp.all(state.values > 0)

    def random_terminal(self, key: PRNGKeyArray) -> Assignment:
        return Assignment(jax.random.randint(key, (self.places,), 1, self.choices + 1, jnp.int32))

    def observe(self, state: Assignment) -> Float[Array, " features"]:
        if self.encoding != "one-hot":
            return encode_numbers(self.numbers(state), self.encoding)
        one_hot = state.values[:, None] == jnp.arange(self.choices + 1)
        return one_hot.astype(jnp.float32).reshape(-1)

    def _opened(self, state: Assignment, parent: Int[Array, ""]) -> Bool[Array, " places"]:
        """The indicator of the place that a backward action opens."""
        last = jnp.sum(state.values > 0) - 1
        return jnp.arange(self.places) == (parent if self.order == "any" else last)
