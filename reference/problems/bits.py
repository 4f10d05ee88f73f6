"""Bit sequences: strings of bits near a hidden set of modes."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np
import numpy.typing as npt

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_integer,
    check_sequence,
    check_value,
    shown,
)
from reference.problems.base import dyadic
from reference.problems.closed_form import Summed, seeded
from reference.problems.sequences import Build, Strings

Ints = npt.NDArray[np.int64]

# The words that make up modes (Malkin et al., 2022).
WORDS = ("00000000", "11111111", "11110000", "00001111", "00111100")
# Largest number of sums of distances, a few seconds.
MOST = 4 * 10**9
# Largest number of entries in one table of distances.
LARGEST = 10**7


@dataclass(frozen=True)
class BitSequences(Strings, Summed):
    """Strings of n bits, built k bits at a time: `log R(x) = -c min over modes y of d(x, y) / n`.

    `d` is the Hamming distance; rewards are rounded to 24 bits. `Z` is a sum over the distances,
    weighted by the number of strings at each, which can be counted where the modes share words, as
    in the paper.

    Attributes:
        modes: strings of n zeros and ones.
        word: k, the bits added per step; it divides n.
        build: where words are added.
        exponent: c, at least 1; 3 in gfnx, 20 in Particle GFlowNets.
    """

    modes: tuple[str, ...]
    word: int = 1
    build: Build = "append"
    exponent: int = 3

    def __post_init__(self) -> None:
        modes = check_sequence("BitSequences", "modes", self.modes)
        if not modes:
            raise InputError("BitSequences: there is no mode: give at least one string of bits")
        for mode in modes:
            if not isinstance(mode, str) or not mode or set(mode) - {"0", "1"}:
                raise InputError(
                    f"BitSequences: the mode {shown(mode)} must be a string of zeros and ones"
                )
            if len(mode) != len(modes[0]):
                raise InputError(
                    f"BitSequences: the mode {shown(mode)} has {len(mode)} bits, but the first has "
                    f"{len(modes[0])}: give all the same length"
                )
        check_integer("BitSequences", "the word length", self.word, 1)
        check_integer("BitSequences", "the exponent", self.exponent, 1)
        if self.length % self.word:
            raise InputError(
                f"BitSequences: words of {self.word} bits do not make up {self.length}: choose a "
                "divisor"
            )
        check_value("BitSequences", "build", self.build, Build)

    @classmethod
    def random(
        cls,
        length: int = 16,
        word: int = 1,
        build: Build = "append",
        exponent: int = 3,
        draws: int = 60,
        seed: int = 0,
    ) -> Self:
        """An instance with random modes of `length / 8` words each, repeated draws left out.

        Args:
            length: n, a multiple of 8; the paper has 16, 32 and 64.
            word: k, bits per step.
            build: where words are added; with append the state graph is a tree, and lifting adds
                nothing.
            exponent: c; 20 is the hard setting.
            draws: the number of modes that are drawn.
            seed: seed of the modes.

        Raises:
            InputError: if `length` is not a multiple of 8.
        """
        check_integer("BitSequences.random", "the length", length, 8)
        check_integer("BitSequences.random", "draws", draws, 1)
        if length % 8:
            raise InputError(f"the length is {length}, but modes are made of words of 8 bits")
        rng = seeded(seed)
        drawn = ["".join(rng.choices(WORDS, k=length // 8)) for _ in range(draws)]
        return cls(tuple(dict.fromkeys(drawn)), word, build, exponent)

    @classmethod
    def minimal(cls) -> Self:
        """Four bits, added at either end, and two modes."""
        return cls(("0000", "0110"), 1, "prepend-append")

    @classmethod
    def paper(cls, length: int = 16) -> Self:
        """Strings of 16, 32 or 64 bits, built by appending."""
        return cls.random(length)

    @property
    def length(self) -> int:  # type: ignore[override]
        """n, the number of bits."""
        return len(self.modes[0])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The `2^k` words, in increasing order."""
        return tuple("".join(bits) for bits in product("01", repeat=self.word))

    def distance(self, terminal: str) -> int:
        """The Hamming distance to the nearest mode."""
        number = int(terminal, 2)
        return min((number ^ mode).bit_count() for mode in self._numbers)

    def reward(self, terminal: str) -> Fraction:
        """`exp(-c d / n)`, rounded to 24 bits."""
        return self._rewards[self.distance(terminal)]

    def z(self) -> Fraction:
        """`Z`, the sum of all rewards; TooLargeError if modes have too few common words."""
        terms = zip(self._rewards, distance_counts(self.modes), strict=True)
        return sum((count * reward for reward, count in terms), Fraction(0))

    @cached_property
    def _numbers(self) -> list[int]:
        return [int(mode, 2) for mode in self.modes]

    @cached_property
    def _rewards(self) -> list[Fraction]:
        """The reward at each distance."""
        n = self.length
        return [dyadic(math.exp(-self.exponent * d / n)) for d in range(n + 1)]


def distance_counts(modes: Sequence[str]) -> list[int]:
    """The number of strings at distance 0, 1, ..., n from the nearest mode, of n zeros and ones.

    Positions at which the modes agree or differ alike are exchangeable: consider a class of m such
    positions. `C(m, k)` strings differ from the first mode at k of them; each mode is then at
    distance k if it agrees with the first mode there, else m - k. The classes are divided into two
    halves, and all pairs of their distances to all modes are added. Raises TooLargeError if there
    are too many, as for modes without common words.
    """
    columns = [tuple(mode[i] != modes[0][i] for mode in modes) for i in range(len(modes[0]))]
    sizes = sorted(Counter(columns).items(), key=lambda item: -item[1])
    halves = [_distances(sizes[start::2], len(modes)) for start in (0, 1)]
    pairs = math.prod(len(times) for _, times in halves) * len(modes)
    if pairs > MOST or sum(size for _, size in sizes[1::2]) > 53:
        raise TooLargeError(
            f"the strings of {len(columns)} bits are too many, or of too many kinds, to be counted "
            f"by their distance from {len(modes)} modes ({pairs:,} sums, at most {MOST:,}): give "
            "log Z"
        )
    (first, first_times), (second, second_times) = halves
    counts = [0] * (len(columns) + 1)
    # A distance fits into 16 bits; floats count the strings of the shorter half exactly.
    narrow = np.ascontiguousarray(second.T.astype(np.int16))
    for row, times in zip(first.astype(np.int16), first_times, strict=True):
        nearest = (narrow + row[:, None]).min(0)
        at_distance = np.bincount(nearest, weights=second_times.astype(float))
        for distance in np.flatnonzero(at_distance).tolist():
            counts[distance] += int(times) * int(at_distance[distance])
    return counts


def _distances(classes: Sequence[tuple[tuple[bool, ...], int]], modes: int) -> tuple[Ints, Ints]:
    """The distances to all modes on some classes of positions, each with its number of strings."""
    # Up to 62 positions a count fits into 64 bits, beyond it is an integer of Python.
    kind = np.int64 if sum(size for _, size in classes) < 63 else object
    rows, times = np.zeros((1, modes), np.int64), np.ones(1, kind)
    for column, size in classes:
        if len(rows) * (size + 1) * modes > LARGEST:
            raise TooLargeError(
                f"half of the strings have more than {len(rows):,} kinds of distances from {modes} "
                "modes, too many to be counted: give log Z"
            )
        differing = np.arange(size + 1)[:, None]
        more = np.where(np.array(column), size - differing, differing)
        rows = (rows[:, None] + more).reshape(-1, modes)
        times = np.outer(times, [math.comb(size, k) for k in range(size + 1)]).reshape(-1)
        rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        merged = np.zeros(len(rows), kind)
        np.add.at(merged, inverse.reshape(-1), times)
        times = merged
    return rows, times
