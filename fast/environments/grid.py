"""The hypergrid as array code."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding
from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from fast.environments.encodings import encode_numbers, first_of_block
from reference.problems import Cell, Grid, Landscape, Order


class GridState(NamedTuple):
    """A cell, terminal once stopped."""

    coordinates: Int[Array, " dimension"]
    stopped: Bool[Array, ""]


class GridEnvironment(AbstractPairedEnvironment[GridState]):
    """The hypergrid. Action i increases coordinate i, the last stops; backward actions undo them.

    Networks see coordinates rounded down to multiples of `coarse`.
    """

    side: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    landscape: Landscape = eqx.field(static=True)
    order: Order = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True)
    coarse: int = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls, problem: Grid, encoding: Encoding = "one-hot", coarse: int = 1
    ) -> "GridEnvironment":
        """The environment with the parameters of `problem`."""
        return cls(
            side=problem.side,
            dimension=problem.dimension,
            landscape=problem.landscape,
            order=problem.order,
            encoding=encoding,
            coarse=coarse,
            horizon=problem.dimension * (problem.side - 1) + 1,
            actions=problem.dimension + 1,
            parents=problem.dimension + 1,
        )

    def initial(self) -> GridState:
        return GridState(jnp.zeros(self.dimension, jnp.int32), jnp.bool_(False))

    def step(self, state: GridState, action: Int[Array, ""]) -> GridState:
        moved = state.coordinates + (jnp.arange(self.dimension) == action)
        return GridState(
            jnp.where(state.stopped, state.coordinates, moved),
            state.stopped | (action == self.dimension),
        )

    def backward_step(self, state: GridState, parent: Int[Array, ""]) -> GridState:
        return GridState(
            state.coordinates - (jnp.arange(self.dimension) == parent), jnp.bool_(False)
        )

    def mask(self, state: GridState) -> Bool[Array, " actions"]:
        inside = state.coordinates + 1 < self.side
        if self.order == "fixed":
            inside &= jnp.arange(self.dimension) >= self._last(state)
        return state.stopped | jnp.append(inside, True)

    def parent_mask(self, state: GridState) -> Bool[Array, " parents"]:
        moved = state.coordinates > 0
        if self.order == "fixed":
            moved &= jnp.arange(self.dimension) == self._last(state)
        moved = jnp.append(moved, False)
        return jnp.where(state.stopped, jnp.arange(self.parents) == self.dimension, moved)

    def _last(self, state: GridState) -> Int[Array, ""]:
        """The last axis with a positive coordinate; 0 at the origin."""
        return jnp.max(jnp.where(state.coordinates > 0, jnp.arange(self.dimension), 0))

    def is_terminal(self, state: GridState) -> Bool[Array, ""]:
        return state.stopped

    def random_terminal(self, key: PRNGKeyArray) -> GridState:
        cell = jax.random.randint(key, (self.dimension,), 0, self.side, jnp.int32)
        return GridState(cell, jnp.bool_(True))

    def observe(self, state: GridState) -> Float[Array, " features"]:
        seen = first_of_block(state.coordinates, self.coarse)
        if self.encoding != "one-hot":
            return encode_numbers(seen, self.encoding)
        return (seen[:, None] == jnp.arange(self.side)).astype(jnp.float32).reshape(-1)

    def log_reward(self, state: GridState) -> Float[Array, ""]:
        # |2x/(H-1) - 1| against 1/2, 3/5 and 4/5, in integers: float32 misplaces the bands.
        x, last = state.coordinates, self.side - 1
        distance = jnp.abs(2 * x - last)
        if self.landscape == "sparse":
            corner = jnp.all((x == 1) | (x == last - 1)) & ~jnp.all(x == 1)
            return jnp.where(corner | jnp.all(x == 2), 0.0, jnp.log(1e-3))
        if self.landscape == "printed":
            outer, band = jnp.all(x >= 1), jnp.all(5 * distance > 4 * last)
        else:
            outer = jnp.all(2 * distance > last)
            band = jnp.all((5 * distance > 3 * last) & (5 * distance < 4 * last))
        return jnp.log(1e-3 + 0.5 * outer + 2.0 * band)

    def encode(self, label: Cell) -> GridState:
        return GridState(
            np.array(label.coordinates, np.int32),  # type: ignore[arg-type]
            np.bool_(label.stopped),  # type: ignore[arg-type]
        )

    def decode(self, state: GridState) -> Cell:
        return Cell(tuple(int(x) for x in state.coordinates), bool(state.stopped))


ENVIRONMENTS[Grid] = GridEnvironment
