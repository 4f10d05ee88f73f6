"""Sequence design: strings of a fixed length, built letter by letter; the synthetic reward."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from sys import float_info
from typing import Literal, Self

from reference.contract.errors import (
    InputError,
    check_integer,
    check_sequence,
    check_type,
    check_value,
    shown,
)
from reference.problems.base import RewardForm, combined, dyadic
from reference.problems.closed_form import FiniteLaw, Summed, check_count, seeded, seeded_arrays

# The largest length: the numbers of states and trajectories have about this many digits.
MAX_LENGTH = 10_000

Build = Literal["append", "prepend-append"]


class Strings(ABC):
    """Strings that grow by a word at a time, at their end, or at either end."""

    length: int
    build: Build
    initial = ""

    @property
    @abstractmethod
    def words(self) -> Sequence[str]:
        """The words that are added, all of one length."""

    def children(self, state: str) -> tuple[str, ...]:
        """The strings with one word more."""
        if len(state) == self.length:
            return ()
        made = [state + word for word in self.words]
        if self.build == "prepend-append":
            made += [word + state for word in self.words]
        return tuple(dict.fromkeys(made))

    def parents(self, state: str) -> list[str]:
        """The strings with one word less."""
        if not state:
            return []
        size = len(self.words[0])
        ends = [state[:-size], state[size:]][: 1 if self.build == "append" else 2]
        return [*dict.fromkeys(ends)]


@dataclass(frozen=True, eq=False)
class Sequences(Strings):
    """Strings of `length` letters of an alphabet, built one letter at a time.

    With `build="append"` the state graph is a tree (the paper's autoregressive setting), on which
    every lift is trivial. With `build="prepend-append"` a letter is put at either end, and a string
    of n letters is reached by up to `2^(n-1)` trajectories; if both ends give the same string (a
    run of one letter), this is one edge.
    """

    alphabet: str
    length: int
    build: Build = "prepend-append"

    def __post_init__(self) -> None:
        check_type("Sequences", "alphabet", self.alphabet, str)
        if len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet:
            raise InputError(
                f"the alphabet {shown(self.alphabet)} must be one or more distinct letters"
            )
        check_integer("Sequences", "the length", self.length, 1, most=MAX_LENGTH)
        check_value("Sequences", "build", self.build, Build)

    @property
    def words(self) -> str:
        """The letters."""
        return self.alphabet


@dataclass(frozen=True, eq=False)
class SyntheticSequences(Sequences, Summed):
    """Synthetic design: `log R(s) = sum_i u(i) v(s_i)` with utilities `u, v >= 0`.

    `R` is the exact product of the letter weights `exp(u(i) v(a))`, each rounded to 24 bits; `u`
    has one utility per position, `v` one per letter. The paper prints `R(s)` for the sum,
    `form="sum"`: read so, an untrained sampler beats the trained Markovian one of its table
    (`proofs_notes/errata.md`).
    """

    u: tuple[float, ...] = ()
    v: tuple[float, ...] = ()
    form: RewardForm = "product"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, values, size, each in (
            ("u", self.u, self.length, "position"),
            ("v", self.v, len(self.alphabet), "letter"),
        ):
            entries = check_sequence("SyntheticSequences", name, values)
            are_numbers = len(entries) == size and all(isinstance(x, Real) for x in entries)
            # An integer may be too large for a float.
            if not are_numbers or not all(abs(x) <= float_info.max for x in entries):
                raise InputError(
                    f"SyntheticSequences: {name} has {len(entries)} values {shown(entries)}, but "
                    f"must be {size} finite numbers, one per {each}"
                )
        check_value("SyntheticSequences", "form", self.form, RewardForm)
        if self.form == "sum" and not (
            min(map(min, self.terms)) >= 0 and sum(map(min, self.terms)) > 0
        ):
            raise InputError(
                "SyntheticSequences: with form='sum' every u(i) v(a) must be at least 0, and some "
                "u(i) v(a) > 0 for all letters a, or a reward is not positive: give positive "
                "utilities, or form='product'"
            )

    @classmethod
    def random(
        cls,
        length: int = 8,
        letters: int = 6,
        build: Build = "append",
        seed: int = 0,
        form: RewardForm = "product",
        decisive: int | None = None,
    ) -> Self:
        """Utilities uniform on (0, 1), rounded to 24 bits; letters "a", "b", ...

        Args:
            length: S, the number of letters; the paper has 8, 16 and 32.
            letters: V, the size of the alphabet, at most 26.
            build: where letters are added; with append the state graph is a tree, and lifting adds
                nothing.
            seed: seed of the utilities u and v.
            form: whether the sum of u(i) v(s_i) is log R (product) or, as printed, R (sum).
            decisive: the number of letters from the left that the reward depends on, in the same
                way for every length: the utilities u of the others are 0; by default all.
        """
        check_integer("SyntheticSequences.random", "the length", length, 1, most=MAX_LENGTH)
        check_integer("SyntheticSequences.random", "the number of letters", letters, 1)
        if letters > 26:
            raise InputError(f"the number of letters is {letters}, but must lie between 1 and 26")
        decisive = length if decisive is None else decisive
        check_integer("SyntheticSequences.random", "decisive", decisive, 1, most=length)
        rng = seeded_arrays("SyntheticSequences.random", seed)
        u, v = (
            tuple(float(dyadic(value)) for value in rng.uniform(size=n).tolist())
            for n in (decisive, letters)
        )
        u += (0.0,) * (length - decisive)
        return cls("abcdefghijklmnopqrstuvwxyz"[:letters], length, build, u, v, form)

    @classmethod
    def minimal(cls) -> Self:
        """Strings of three letters over an alphabet of two, added at either end."""
        return cls.random(3, 2, "prepend-append")

    @classmethod
    def paper(cls, length: int = 8) -> Self:
        """Six letters; lengths 8, 16 and 32."""
        return cls.random(length)

    @cached_property
    def terms(self) -> tuple[tuple[Fraction, ...], ...]:
        """The factor, or the term, of `R` for each position and letter."""
        if self.form == "sum":
            return tuple(tuple(Fraction(u) * Fraction(v) for v in self.v) for u in self.u)
        return tuple(tuple(dyadic(math.exp(u * v)) for v in self.v) for u in self.u)

    def reward(self, terminal: str) -> Fraction:
        """The product, or the sum, of the letters' terms."""
        pairs = zip(self.terms, terminal, strict=True)
        return combined([row[self.alphabet.index(a)] for row, a in pairs], self.form)

    @property
    def factor_count(self) -> int:
        """The number of factors: one per position."""
        return self.length

    def with_factors(self, kept: Sequence[int]) -> Self:
        """The problem with `u` 0 but at these positions; raises InputError for `form="sum"`."""
        if self.form == "sum":
            raise InputError(
                "SyntheticSequences: with form='sum' the reward is no product of factors: use "
                "form='product'"
            )
        return replace(self, u=tuple(u if i in kept else 0.0 for i, u in enumerate(self.u)))

    def flow(self, prefix: str) -> Fraction:
        """The sum of the rewards of the strings that begin with `prefix`.

        With `build="append"` this is the state flow: the state graph is a tree.
        """
        rest = self.terms[len(prefix) :]
        terms = [row[self.alphabet.index(a)] for row, a in zip(self.terms, prefix, strict=False)]
        if self.form == "product":
            return math.prod([*terms, *(sum(row, Fraction(0)) for row in rest)], start=Fraction(1))
        letters = len(self.alphabet)
        strings: int = letters ** len(rest)
        mean = sum((sum(row, Fraction(0)) / letters for row in rest), Fraction(0))
        return strings * (sum(terms, Fraction(0)) + mean)

    def z(self) -> Fraction:
        """`Z`: the product of the rows' sums, or `A^(L-1)` times the sum of all terms."""
        return self.flow("")

    def sample(self, count: int, seed: int) -> list[str]:
        """Independent samples of the target: letter by letter, or a term of the sum first."""
        rng, count = seeded(seed), check_count(count)
        rows = [[*zip(self.alphabet, row, strict=True)] for row in self.terms]
        if self.form == "product":
            laws = [FiniteLaw.of(dict(row)) for row in rows]
            return ["".join(law.draw(rng) for law in laws) for _ in range(count)]
        law = FiniteLaw.of({(i, a): term for i, row in enumerate(rows) for a, term in row})
        words = []
        for _ in range(count):
            word = rng.choices(self.alphabet, k=self.length)
            i, a = law.draw(rng)
            word[i] = a
            words.append("".join(word))
        return words
