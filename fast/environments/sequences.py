"""Sequence design as array code."""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import Encoding
from fast.environments.base import ENVIRONMENTS, AbstractSizedEnvironment
from fast.environments.encodings import encode_numbers, last_letters
from reference.problems import Build, RewardForm, SyntheticSequences, TableSequences


class SequenceState(NamedTuple):
    """A string: letters 1 to A from the left, then zeros."""

    tokens: Int[Array, " length"]
    size: Int[Array, ""]


class AbstractSequenceEnvironment(AbstractSizedEnvironment[SequenceState]):
    """The state graph of strings; rewards and labels are left to the problems.

    Strings grow by appending (actions 0 to A-1) or prepending (actions A to 2A-1) one of A letters.
    Backward action 0 drops the last letter, action 1 the first. If both ends give the same string,
    this is one edge: the prepending action, and its undoing, are masked. Networks see one-hot
    letters, "none yet" being one of them, or their numbers; given `last`, the length and the last
    letters alone.
    """

    is_graded = True

    letters: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    build: Build = eqx.field(static=True)
    encoding: Encoding = eqx.field(static=True)
    last: int | None = eqx.field(static=True)

    @staticmethod
    def sizes(letters: int, length: int, build: Build) -> dict[str, Any]:
        """The static fields that follow from the letters and where they are added.

        Args:
            letters: the size of the alphabet.
            length: the length of a complete string.
            build: where letters are added.
        """
        ends = 1 if build == "append" else 2
        own = {"letters": letters, "length": length, "build": build}
        return own | {"horizon": length, "actions": ends * letters, "parents": ends}

    def initial(self) -> SequenceState:
        return SequenceState(jnp.zeros(self.length, jnp.int32), jnp.int32(0))

    def step(self, state: SequenceState, action: Int[Array, ""]) -> SequenceState:
        letter = action % self.letters + 1
        place = jnp.arange(self.length)
        appended = jnp.where(place == state.size, letter, state.tokens)
        prepended = jnp.where(place == 0, letter, jnp.roll(state.tokens, 1))
        longer = jnp.where(action < self.letters, appended, prepended)
        done = self.is_terminal(state)
        return SequenceState(
            jnp.where(done, state.tokens, longer).astype(jnp.int32), state.size + ~done
        )

    def backward_step(self, state: SequenceState, parent: Int[Array, ""]) -> SequenceState:
        place = jnp.arange(self.length)
        first_dropped = jnp.where(place == self.length - 1, 0, jnp.roll(state.tokens, -1))
        last_dropped = jnp.where(place == state.size - 1, 0, state.tokens)
        tokens = jnp.where(parent == 0, last_dropped, first_dropped)
        return SequenceState(tokens.astype(jnp.int32), state.size - 1)

    def undo(self, state: SequenceState, action: Int[Array, ""]) -> Int[Array, ""]:
        return (action >= self.letters).astype(jnp.int32)

    def redo(self, state: SequenceState, parent: Int[Array, ""]) -> Int[Array, ""]:
        last = jnp.sum(jnp.where(jnp.arange(self.length) == state.size - 1, state.tokens, 0))
        return jnp.where(parent == 0, last - 1, self.letters + state.tokens[0] - 1)

    def mask(self, state: SequenceState) -> Bool[Array, " actions"]:
        letters = jnp.arange(self.letters) + 1
        append = jnp.ones(self.letters, bool)
        if self.build == "append":
            return append
        # a + s == s + a exactly when s is a run of the letter a.
        empty = jnp.arange(self.length) >= state.size
        run = jnp.all(empty | (state.tokens == letters[:, None]), axis=1)
        return jnp.concatenate([append, ~run | self.is_terminal(state)])

    def parent_mask(self, state: SequenceState) -> Bool[Array, " parents"]:
        some = state.size > 0
        if self.build == "append":
            return some[None]
        empty = jnp.arange(self.length) >= state.size
        run = jnp.all(empty | (state.tokens == state.tokens[0]))
        return jnp.stack([some, some & ~run])

    def is_terminal(self, state: SequenceState) -> Bool[Array, ""]:
        return state.size == self.length

    @abstractmethod
    def numbered(self, label: str) -> list[int]:
        """The numbers of the letters of a string, from 1 to A."""

    def encode(self, label: str) -> SequenceState:
        numbers, tokens = self.numbered(label), np.zeros(self.length, np.int32)
        tokens[: len(numbers)] = numbers
        return SequenceState(tokens, np.int32(len(numbers)))  # type: ignore[arg-type]

    def encode_batch(self, labels: Iterable[str]) -> Any:
        numbers = list(map(self.numbered, labels))
        sizes = np.array([len(row) for row in numbers], np.int32)
        tokens = np.zeros((len(numbers), self.length), np.int32)
        tokens[np.arange(self.length) < sizes[:, None]] = list(chain.from_iterable(numbers))
        return SequenceState(tokens, sizes)  # type: ignore[arg-type]

    def random_terminal(self, key: PRNGKeyArray) -> SequenceState:
        tokens = jax.random.randint(key, (self.length,), 1, self.letters + 1, jnp.int32)
        return SequenceState(tokens, jnp.int32(self.length))

    def observe(self, state: SequenceState) -> Float[Array, " features"]:
        seen = last_letters(state.tokens, state.size, self.last)
        if self.encoding != "one-hot":
            return encode_numbers(seen, self.encoding)
        return (seen[:, None] == jnp.arange(self.letters + 1)).astype(jnp.float32).reshape(-1)


class SequenceEnvironment(AbstractSequenceEnvironment):
    """Strings with a reward from a table, or the synthetic one.

    Attributes:
        log_reward_table: `log R` by string number; of size 0 if the reward is synthetic.
        position_utilities: `u` of the synthetic reward, else empty.
        letter_utilities: `v` of the synthetic reward, with a leading 0 for the empty place.
        form: whether the sum of `u v` is `log R` ("product") or, as printed, `R` ("sum").
    """

    log_reward_table: Float[Array, " strings"]
    position_utilities: Float[Array, " positions"]
    letter_utilities: Float[Array, " letters"]
    alphabet: str = eqx.field(static=True)
    form: RewardForm = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls,
        problem: SyntheticSequences | TableSequences,
        encoding: Encoding = "one-hot",
        last: int | None = None,
    ) -> "SequenceEnvironment":
        """The environment with the parameters of `problem`."""
        table, u, v = np.zeros(0), np.zeros(0), np.zeros(0)
        if isinstance(problem, TableSequences):
            # The lowest score has y = 0 and log y = -inf; the floor of R takes over there.
            scores = problem.scores.astype(np.float64)
            with np.errstate(divide="ignore"):
                log_y = np.log((scores - scores.min()) / np.ptp(scores))
            table = np.maximum(np.log(10.0) + problem.exponent * log_y, np.log(1e-3))
        else:
            u, v = np.array(problem.u), np.array((0.0, *problem.v))
        return cls(
            log_reward_table=jnp.array(table, jnp.float32),
            position_utilities=jnp.array(u, jnp.float32),
            letter_utilities=jnp.array(v, jnp.float32),
            alphabet=problem.alphabet,
            form=problem.form if isinstance(problem, SyntheticSequences) else "product",
            encoding=encoding,
            last=last,
            **cls.sizes(len(problem.alphabet), problem.length, problem.build),
        )

    def log_reward(self, state: SequenceState) -> Float[Array, ""]:
        if self.log_reward_table.size:
            powers = self.letters ** jnp.arange(self.length - 1, -1, -1)
            return self.log_reward_table[jnp.sum((state.tokens - 1) * powers)]
        total = jnp.sum(self.position_utilities * self.letter_utilities[state.tokens])
        return total if self.form == "product" else jnp.log(total)

    def numbered(self, label: str) -> list[int]:
        index = self.alphabet.index
        return [index(letter) + 1 for letter in label]

    def decode(self, state: SequenceState) -> str:
        return "".join(self.alphabet[t - 1] for t in np.asarray(state.tokens)[: int(state.size)])


ENVIRONMENTS[SyntheticSequences] = SequenceEnvironment
ENVIRONMENTS[TableSequences] = SequenceEnvironment
