"""Bit strings filled in any order: the task of both peers, as an environment."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fast.environments.assignments import AbstractAssignmentEnvironment, Assignment


class AnyOrderBits(AbstractAssignmentEnvironment):
    """Strings of words: the reward is `log R = -exponent d / bits`.

    Here `d` is the smallest Hamming distance to a mode, in bits.
    """

    modes: Int[Array, "modes words bits"]
    exponent: float = eqx.field(static=True)

    @classmethod
    def from_modes(
        cls, words: int, bits: int, modes: tuple[tuple[int, ...], ...], exponent: float
    ) -> "AnyOrderBits":
        """The environment whose modes are given bit by bit, the highest of each word first."""
        return cls(
            modes=jnp.array(modes, jnp.int32).reshape(len(modes), words, bits),
            exponent=exponent,
            encoding="one-hot",
            **cls.sizes(words, 2**bits, "any"),
        )

    def numbers(self, state: Assignment) -> Float[Array, " features"]:
        return state.values.astype(jnp.float32)

    def log_reward(self, state: Assignment) -> Float[Array, ""]:
        places = jnp.arange(self.modes.shape[2] - 1, -1, -1)
        bits = (state.values[:, None] - 1) >> places & 1
        distance = jnp.sum(bits != self.modes, (1, 2)).min()
        return -self.exponent * distance.astype(jnp.float32) / self.modes[0].size

    def encode(self, label: tuple[int, ...]) -> Assignment:
        return Assignment(np.array(label, np.int32) + 1)  # type: ignore[arg-type]

    def decode(self, state: Assignment) -> tuple[int, ...]:
        return tuple(int(value) - 1 for value in state.values)
