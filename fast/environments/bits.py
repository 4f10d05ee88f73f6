"""Bit sequences as array code."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from fast.encoding import Encoding
from fast.environments.base import ENVIRONMENTS
from fast.environments.sequences import AbstractSequenceEnvironment, SequenceState
from reference.contract.errors import TooLargeError
from reference.problems import BitSequences

# 65,536 words: every step has an action for each.
MAX_WORD = 16


class BitEnvironment(AbstractSequenceEnvironment):
    """Strings over the alphabet of all words of k bits: letter a is the word of the number a - 1.

    Modes are given by their bits, `word` is k, and `exponent` c.
    """

    modes: Bool[Array, "modes bits"]
    word: int = eqx.field(static=True)
    exponent: int = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls, problem: BitSequences, encoding: Encoding = "one-hot", last: int | None = None
    ) -> "BitEnvironment":
        """The environment with the parameters of `problem`.

        Raises TooLargeError if there are too many words for an action each.
        """
        if problem.word > MAX_WORD:
            raise TooLargeError(
                f"BitSequences: words of {problem.word} bits would need 2^{problem.word} actions: "
                f"choose a word length of at most {MAX_WORD}"
            )
        return cls(
            modes=jnp.array([[bit == "1" for bit in mode] for mode in problem.modes]),
            word=problem.word,
            exponent=problem.exponent,
            encoding=encoding,
            last=last,
            **cls.sizes(2**problem.word, problem.length // problem.word, problem.build),
        )

    def log_reward(self, state: SequenceState) -> Float[Array, ""]:
        bits = ((state.tokens[:, None] - 1) >> jnp.arange(self.word - 1, -1, -1)) & 1
        distance = jnp.sum(bits.reshape(-1) != self.modes, axis=1).min()
        return -self.exponent * distance.astype(jnp.float32) / (self.length * self.word)

    def numbered(self, label: str) -> list[int]:
        word = self.word
        return [int(label[i : i + word], 2) + 1 for i in range(0, len(label), word)]

    def decode(self, state: SequenceState) -> str:
        words = np.asarray(state.tokens)[: int(state.size)] - 1
        return "".join(f"{word:0{self.word}b}" for word in words)


ENVIRONMENTS[BitSequences] = BitEnvironment
