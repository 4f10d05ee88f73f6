"""Lines as array code."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding
from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from fast.environments.encodings import encode_numbers
from reference.problems import Lines


class LinesState(NamedTuple):
    """`p_i`, or `q_i` once stopped."""

    position: Int[Array, ""]
    stopped: Bool[Array, ""]


class LinesEnvironment(AbstractPairedEnvironment[LinesState]):
    """Lines (fig:lines). Action 0 stops, action j moves j forward; parent 0 un-stops."""

    log_rewards: Float[Array, " positions"]
    length: int = eqx.field(static=True)
    step_size: int = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True)

    @classmethod
    def from_problem(cls, problem: Lines, encoding: Encoding = "one-hot") -> "LinesEnvironment":
        """The environment with the parameters of `problem`."""
        return cls(
            # The logarithm of a float32 would be -inf far from the peaks of a long line.
            log_rewards=jnp.array(np.log([float(r) for r in problem.rewards]), jnp.float32),
            length=problem.length,
            step_size=problem.step,
            encoding=encoding,
            horizon=problem.length + 1,
            actions=problem.step + 1,
            parents=problem.step + 1,
        )

    def initial(self) -> LinesState:
        return LinesState(jnp.int32(0), jnp.bool_(False))

    def step(self, state: LinesState, action: Int[Array, ""]) -> LinesState:
        return LinesState(
            jnp.where(state.stopped, state.position, state.position + action).astype(jnp.int32),
            state.stopped | (action == 0),
        )

    def backward_step(self, state: LinesState, parent: Int[Array, ""]) -> LinesState:
        return LinesState((state.position - parent).astype(jnp.int32), jnp.bool_(False))

    def mask(self, state: LinesState) -> Bool[Array, " actions"]:
        return state.stopped | (state.position + jnp.arange(self.actions) <= self.length)

    def parent_mask(self, state: LinesState) -> Bool[Array, " parents"]:
        back = jnp.arange(self.parents)
        return jnp.where(state.stopped, back == 0, (back > 0) & (back <= state.position))

    def is_terminal(self, state: LinesState) -> Bool[Array, ""]:
        return state.stopped

    def random_terminal(self, key: PRNGKeyArray) -> LinesState:
        place = jax.random.randint(key, (), 0, self.length + 1, jnp.int32)
        return LinesState(place, jnp.bool_(True))

    def observe(self, state: LinesState) -> Float[Array, " features"]:
        if self.encoding != "one-hot":
            return encode_numbers(state.position[None], self.encoding)
        return (jnp.arange(self.length + 1) == state.position).astype(jnp.float32)

    def log_reward(self, state: LinesState) -> Float[Array, ""]:
        return self.log_rewards[state.position]

    def encode(self, label: str) -> LinesState:
        return LinesState(np.int32(label[1:]), np.bool_(label[0] == "q"))  # type: ignore[arg-type]

    def decode(self, state: LinesState) -> str:
        return f"{'q' if state.stopped else 'p'}{int(state.position)}"


ENVIRONMENTS[Lines] = LinesEnvironment
