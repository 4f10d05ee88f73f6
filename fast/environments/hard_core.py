"""The hard-core model as array code."""

from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding
from fast.environments.assignments import AbstractAssignmentEnvironment, Assignment
from fast.environments.base import ENVIRONMENTS
from fast.environments.graphs import adjacency_matrix
from reference.problems import HardCore
from reference.problems.hard_core import Sites

EMPTY, OCCUPIED = 1, 2


class HardCoreEnvironment(AbstractAssignmentEnvironment):
    """Vertices decided one by one: value 1 is an empty vertex, value 2 an occupied one.

    Attributes:
        log_fugacity: the logarithm of the weight of an occupied vertex.
        adjacency: whether two vertices are neighbours.
        occupied: for uniform terminal states, in row k the probability that vertex k is occupied,
            one per set of occupied vertices before it that matters from k on.
        following: the number of the set in the next row, after an empty and an occupied vertex.
    """

    log_fugacity: Float[Array, ""]
    adjacency: Bool[Array, "places places"]
    occupied: Float[Array, "places sets"]
    following: Int[Array, "places sets 2"]

    @classmethod
    def from_problem(
        cls, problem: HardCore, encoding: Encoding = "one-hot"
    ) -> "HardCoreEnvironment":
        """The environment with the parameters of `problem`."""
        size = problem.vertices
        uniform = replace(problem, fugacity=Fraction(1))
        counts = uniform.completions
        occupied = np.zeros((size, max(map(len, counts))))
        following = np.zeros((*occupied.shape, 2), int)
        for k in range(size):
            number = {mask: i for i, mask in enumerate(counts[k + 1])}
            for i, (mask, count) in enumerate(counts[k].items()):
                for value, after in uniform.moves(k, mask):
                    following[k, i, value] = number[after]
                    occupied[k, i] = value * Fraction(counts[k + 1][after], count)
        return cls(
            log_fugacity=jnp.float32(np.log(float(problem.fugacity))),
            adjacency=jnp.asarray(adjacency_matrix(problem.edges, size)),
            occupied=jnp.asarray(occupied, jnp.float32),
            following=jnp.asarray(following, jnp.int32),
            encoding=encoding,
            **cls.sizes(size, 2, problem.order),
        )

    def mask(self, state: Assignment) -> Bool[Array, " actions"]:
        taken = jnp.any(self.adjacency & (state.values == OCCUPIED), axis=1)
        taken &= ~self.is_terminal(state)
        if self.order == "fixed":
            first = jnp.arange(self.places) == jnp.sum(state.values > 0)
            taken = jnp.any(taken & first)[None]
        return super().mask(state) & jnp.stack([jnp.ones_like(taken), ~taken], axis=-1).reshape(-1)

    def random_terminal(self, key: PRNGKeyArray) -> Assignment:
        def decide(
            number: Int[Array, ""], row: tuple[Array, Array, Array]
        ) -> tuple[Int[Array, ""], Int[Array, ""]]:
            drawn, occupied, following = row
            value = (drawn < occupied[number]).astype(jnp.int32)
            return following[number, value], value + EMPTY

        drawn = jax.random.uniform(key, (self.places,))
        rows = drawn, self.occupied, self.following
        return Assignment(jax.lax.scan(decide, jnp.int32(0), rows)[1])

    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        occupied, empty = state.values == OCCUPIED, state.values == EMPTY
        return occupied.astype(jnp.float32) - empty

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        return self.log_fugacity * jnp.sum(state.values == OCCUPIED)

    def encode(self, label: Sites) -> Assignment:
        return Assignment(np.array(label.values, np.int32) + 1)  # type: ignore[arg-type]

    def decode(self, state: Assignment) -> Sites:
        return Sites(tuple(int(value) - 1 for value in state.values))


ENVIRONMENTS[HardCore] = HardCoreEnvironment
