"""Bit strings filled in any order: the task of both peers, as an environment."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments import AbstractEnvironment


class BitState(NamedTuple):
    """One number per position: 0 where it is empty, else 1 plus the word."""

    tokens: Int[Array, " words"]


class AnyOrderBits(AbstractEnvironment[BitState]):
    """Strings of words; action `position * values + word` fills an empty position.

    Backward action `position` empties it again. The reward is `log R = -exponent d / bits`, with
    `d` the smallest Hamming distance to a mode, in bits.
    """

    is_graded = True

    modes: Int[Array, "modes words bits"]
    exponent: float = eqx.field(static=True)
    words: int = eqx.field(static=True)
    values: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    parents: int = eqx.field(static=True)

    @classmethod
    def from_modes(
        cls, words: int, bits: int, modes: tuple[tuple[int, ...], ...], exponent: float
    ) -> "AnyOrderBits":
        """The environment whose modes are given bit by bit, the highest of each word first."""
        return cls(
            modes=jnp.array(modes, jnp.int32).reshape(len(modes), words, bits),
            exponent=exponent,
            words=words,
            values=2**bits,
            horizon=words,
            actions=words * 2**bits,
            parents=words,
        )

    def initial(self) -> BitState:
        return BitState(jnp.zeros(self.words, jnp.int32))

    def step(self, state: BitState, action: Int[Array, ""]) -> BitState:
        here = jnp.arange(self.words) == action // self.values
        # On a full string no place is empty, so a terminal state stays as it is.
        fill = here & (state.tokens == 0)
        return BitState(jnp.where(fill, action % self.values + 1, state.tokens))

    def backward_step(self, state: BitState, parent: Int[Array, ""]) -> BitState:
        return BitState(jnp.where(jnp.arange(self.words) == parent, 0, state.tokens))

    def undo(self, state: BitState, action: Int[Array, ""]) -> Int[Array, ""]:
        return action // self.values

    def redo(self, state: BitState, parent: Int[Array, ""]) -> Int[Array, ""]:
        token = jnp.sum(jnp.where(jnp.arange(self.words) == parent, state.tokens, 0))
        return parent * self.values + token - 1

    def mask(self, state: BitState) -> Bool[Array, " actions"]:
        return jnp.repeat((state.tokens == 0) | self.is_terminal(state), self.values)

    def parent_mask(self, state: BitState) -> Bool[Array, " parents"]:
        return state.tokens > 0

    def is_terminal(self, state: BitState) -> Bool[Array, ""]:
        return jnp.all(state.tokens > 0)

    def random_terminal(self, key: PRNGKeyArray) -> BitState:
        """A terminal state, uniform."""
        return BitState(jax.random.randint(key, (self.words,), 1, self.values + 1, jnp.int32))

    def observe(self, state: BitState) -> Float[Array, " features"]:
        one_hot = state.tokens[:, None] == jnp.arange(self.values + 1)
        return one_hot.astype(jnp.float32).reshape(-1)

    def log_reward(self, state: BitState) -> Float[Array, ""]:
        places = jnp.arange(self.modes.shape[2] - 1, -1, -1)
        bits = (state.tokens[:, None] - 1) >> places & 1
        distance = jnp.sum(bits != self.modes, (1, 2)).min()
        return -self.exponent * distance.astype(jnp.float32) / (self.modes[0].size)

    def encode(self, label: tuple[int, ...]) -> BitState:
        return BitState(np.array(label, np.int32) + 1)  # type: ignore[arg-type]

    def decode(self, state: BitState) -> tuple[int, ...]:
        return tuple(int(token) - 1 for token in state.tokens)
