"""The lazy random walk as array code."""

from itertools import product
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding, TimeCode
from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from fast.environments.encodings import encode_numbers, first_of_block
from reference.contract.errors import check_value
from reference.problems import LazyRandomWalk
from reference.problems.random_walk import Walker


class WalkState(NamedTuple):
    """A position, and the number of steps taken."""

    position: Int[Array, " dimension"]
    time: Int[Array, ""]


class WalkEnvironment(AbstractPairedEnvironment[WalkState]):
    """A walk of fixed length on a box. Action 0 stays; 2i + 1 and 2i + 2 move along axis i, by ±1.

    Backward action a undoes action a. It is legal if it leads to a cell of the box that can be
    reached in one step less: `|s|_1 <= t - 1`.

    Attributes:
        log_heights: `log R`, one per cell of the box in lexicographic order.
        radius: `M`.
        encoding: one-hot coordinates and time, or these numbers themselves.
        time_code: the code of the time: that of the coordinates ("same"), or 16 sines and 16
            cosines ("fourier", as in the paper).
        coarse: c; networks see positions in blocks of c along each axis, from -M on.
    """

    is_graded = True

    log_heights: Float[Array, " cells"]
    radius: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True)
    time_code: TimeCode = eqx.field(static=True)
    coarse: int = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls,
        problem: LazyRandomWalk,
        encoding: Encoding = "one-hot",
        time_code: TimeCode = "same",
        coarse: int = 1,
    ) -> "WalkEnvironment":
        """The environment with the parameters of `problem`."""
        check_value("LazyRandomWalk", "the time code", time_code, TimeCode)
        moves = 2 * problem.dimension + 1
        return cls(
            log_heights=jnp.array(_log_heights(problem), jnp.float32),
            radius=problem.radius,
            dimension=problem.dimension,
            encoding=encoding,
            time_code=time_code,
            coarse=coarse,
            horizon=problem.steps,
            actions=moves,
            parents=moves,
        )

    def initial(self) -> WalkState:
        return WalkState(jnp.zeros(self.dimension, jnp.int32), jnp.int32(0))

    def step(self, state: WalkState, action: Int[Array, ""]) -> WalkState:
        move = jnp.sum(self._moves() * (jnp.arange(self.actions) == action)[:, None], axis=0)
        going = ~self.is_terminal(state)
        return WalkState(
            (state.position + move * going).astype(jnp.int32),
            (state.time + going).astype(jnp.int32),
        )

    def backward_step(self, state: WalkState, parent: Int[Array, ""]) -> WalkState:
        move = jnp.sum(self._moves() * (jnp.arange(self.parents) == parent)[:, None], axis=0)
        return WalkState((state.position - move).astype(jnp.int32), state.time - 1)

    def mask(self, state: WalkState) -> Bool[Array, " actions"]:
        inside = jnp.all(jnp.abs(state.position + self._moves()) <= self.radius, axis=1)
        return inside | self.is_terminal(state)

    def parent_mask(self, state: WalkState) -> Bool[Array, " parents"]:
        before = jnp.abs(state.position - self._moves())
        inside = jnp.all(before <= self.radius, axis=1)
        return inside & (before.sum(axis=1) <= state.time - 1)

    def is_terminal(self, state: WalkState) -> Bool[Array, ""]:
        return state.time == self.horizon

    def random_terminal(self, key: PRNGKeyArray) -> WalkState:
        # The problem has checked that every cell of the box can be reached in time.
        cell = jax.random.randint(key, (self.dimension,), -self.radius, self.radius + 1, jnp.int32)
        return WalkState(cell, jnp.int32(self.horizon))

    def observe(self, state: WalkState) -> Float[Array, " features"]:
        if self.time_code == "fourier":
            waves = encode_numbers(state.time[None], "fourier")
            return jnp.concatenate([self._place(state), waves])
        if self.encoding != "one-hot":
            return encode_numbers(jnp.append(self._seen(state), state.time), self.encoding)
        time = state.time == jnp.arange(self.horizon + 1)
        return jnp.concatenate([self._place(state), time]).astype(jnp.float32)

    def log_reward(self, state: WalkState) -> Float[Array, ""]:
        powers = (2 * self.radius + 1) ** jnp.arange(self.dimension - 1, -1, -1)
        return self.log_heights[jnp.sum((state.position + self.radius) * powers)]

    def encode(self, label: Walker) -> WalkState:
        return WalkState(
            np.array(label.position, np.int32),  # type: ignore[arg-type]
            np.int32(label.time),  # type: ignore[arg-type]
        )

    def decode(self, state: WalkState) -> Walker:
        return Walker(tuple(int(x) for x in state.position), int(state.time))

    def _seen(self, state: WalkState) -> Int[Array, " dimension"]:
        """The first position of the block."""
        return first_of_block(state.position + self.radius, self.coarse) - self.radius

    def _place(self, state: WalkState) -> Float[Array, " features"]:
        """The features of the position alone."""
        seen = self._seen(state)
        if self.encoding != "one-hot":
            return encode_numbers(seen, self.encoding)
        cells = seen[:, None] == jnp.arange(-self.radius, self.radius + 1)
        return cells.reshape(-1).astype(jnp.float32)

    def _moves(self) -> Int[Array, "actions dimension"]:
        """The displacement of each action."""
        axis, action = jnp.arange(self.dimension), jnp.arange(self.actions)[:, None]
        return (action == 2 * axis + 1).astype(jnp.int32) - (action == 2 * axis + 2)


ENVIRONMENTS[LazyRandomWalk] = WalkEnvironment


def _log_heights(problem: LazyRandomWalk) -> npt.NDArray[np.float64]:
    """`log R` of every cell, in float64: float32 would misplace the flanks of sharp rings."""
    side = range(-problem.radius, problem.radius + 1)
    cells = np.array(list(product(side, repeat=problem.dimension)), np.float64)
    log_heights: npt.NDArray[np.float64]
    if problem.landscape == "sinusoidal":
        log_heights = np.log1p(np.cos(cells[:, -1]))
    else:
        r = np.linalg.norm(cells, axis=1) / problem.radius
        outer, share, width = (0.9, 0.3, 10) if problem.landscape == "rings" else (0.8, 0.4, 200)
        # The logarithm of a sum of two exponentials that may both underflow.
        log_heights = np.logaddexp(
            np.log(0.6) - width * (r - 0.2) ** 2, np.log(share) - width * (r - outer) ** 2
        )
    return log_heights
