"""Sequence design: strings of a fixed length, with synthetic or measured rewards."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from reference.errors import InputError
from reference.problems.base import dyadic

Build = Literal["append", "prepend-append"]

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Sequences:
    """Strings of `length` letters, built one letter at a time.

    With `build="append"` the state graph is a tree (the paper's autoregressive setting), on which
    every lift is trivial. With `build="prepend-append"` a letter is put at either end, and a
    string of n letters is reached by up to `2^(n-1)` trajectories; where both ends give the same
    string (a run of one letter) that is one edge.

    Attributes:
        alphabet: the letters.
        length: the number of letters of a terminal string.
        build: where letters are added.
    """

    alphabet: str
    length: int
    build: Build = "prepend-append"

    def __post_init__(self) -> None:
        if len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet:
            raise InputError(f"the alphabet {self.alphabet!r} must be one or more distinct letters")
        if self.length < 1:
            raise InputError(f"the length is {self.length}, but must be at least 1")
        if self.build not in ("append", "prepend-append"):
            raise InputError(f"build is {self.build!r}, but must be 'append' or 'prepend-append'")

    @property
    def initial(self) -> str:
        """The empty string."""
        return ""

    def children(self, state: str) -> tuple[str, ...]:
        """The strings with one letter more."""
        if len(state) == self.length:
            return ()
        longer = [state + a for a in self.alphabet]
        if self.build == "prepend-append":
            longer += [a + state for a in self.alphabet]
        return tuple(dict.fromkeys(longer))


@dataclass(frozen=True, eq=False)
class SyntheticSequences(Sequences):
    """Synthetic design: `log R(s) = sum_i u(i) v(s_i)` with utilities `u, v >= 0`.

    The paper prints `R(s)` for this sum; read so, an untrained sampler beats the trained Markovian
    one of its table (`proofs_notes/errata.md`). Rewards are rounded to 24 bits.

    Attributes:
        u: one utility per position.
        v: one utility per letter.
    """

    u: tuple[float, ...] = ()
    v: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, values, size in (
            ("u", self.u, self.length),
            ("v", self.v, len(self.alphabet)),
        ):
            if len(values) != size or not all(math.isfinite(value) for value in values):
                raise InputError(
                    f"SyntheticSequences: {name} has {len(values)} values {values}, but must be "
                    f"{size} finite numbers, one per {'position' if name == 'u' else 'letter'}"
                )

    @classmethod
    def random(
        cls, length: int = 8, letters: int = 6, build: Build = "append", seed: int = 0
    ) -> Self:
        """Utilities uniform on (0, 1), rounded to 24 bits; letters "a", "b", ..."""
        if not 1 <= letters <= 26:
            raise InputError(f"the number of letters is {letters}, but must lie between 1 and 26")
        rng = np.random.default_rng(seed)
        u, v = (
            tuple(float(dyadic(value)) for value in rng.uniform(size=n).tolist())
            for n in (max(length, 0), letters)
        )
        return cls("abcdefghijklmnopqrstuvwxyz"[:letters], length, build, u, v)

    def reward(self, terminal: str) -> Fraction:
        """`exp(sum_i u(i) v(s_i))`, rounded to 24 bits."""
        log_reward = math.fsum(
            u * self.v[self.alphabet.index(a)] for u, a in zip(self.u, terminal, strict=True)
        )
        return dyadic(math.exp(log_reward))


@dataclass(frozen=True, eq=False)
class TableSequences(Sequences):
    """Design against a table of measurements: `R(s) = max(10 y(s)^exponent, 1/1000)`, exactly.

    `y` is the score, scaled to [0, 1] by its least and its largest value.

    Attributes:
        scores: float32, one per string; string number i has the base-A digits of i as letters,
            most significant first. Higher is better.
        exponent: how sharply the target prefers high scores.
    """

    scores: npt.NDArray[np.float32] = None  # type: ignore[assignment]
    exponent: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scores(self.scores, self.alphabet, self.length)
        if self.exponent < 1 or int(self.exponent) != self.exponent:
            raise InputError(f"the exponent is {self.exponent}, but must be a positive integer")

    @classmethod
    def load(cls, path: Path, build: Build = "prepend-append", exponent: int = 3) -> Self:
        """A table from a NumPy archive with the arrays `score`, `alphabet` and `length`.

        Raises:
            InputError: if the file cannot be read, lacks an array, or has the wrong dtype or size.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                alphabet, length = str(archive["alphabet"]), int(archive["length"])
                scores = archive["score"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"the table {str(path)!r} cannot be read ({error}): give a NumPy .npz archive with "
                "the arrays score (float32), alphabet (a string) and length (an integer)"
            ) from None
        return cls(alphabet, length, build, scores, exponent)

    @classmethod
    def six6(cls, build: Build = "prepend-append", exponent: int = 3) -> Self:
        """SIX6: binding to all 65,536 DNA 8-mers (Barrera et al., 2016; see data/NOTICE.md)."""
        return cls.load(DATA / "six6_8mer.npz", build, exponent)

    def number(self, terminal: str) -> int:
        """The row of a string in the table."""
        row = 0
        for a in terminal:
            row = row * len(self.alphabet) + self.alphabet.index(a)
        return row

    @cached_property
    def _range(self) -> tuple[Fraction, Fraction]:
        return Fraction(float(self.scores.min())), Fraction(float(self.scores.max()))

    def reward(self, terminal: str) -> Fraction:
        """`max(10 y^exponent, 1/1000)`."""
        least, largest = self._range
        y = (Fraction(float(self.scores[self.number(terminal)])) - least) / (largest - least)
        return max(10 * y**self.exponent, Fraction(1, 1000))


def check_scores(scores: npt.NDArray[np.float32], alphabet: str, length: int) -> None:
    """Checks a score table.

    Raises:
        InputError: wrong dtype, wrong length, values that are not finite or all equal.
    """
    if not isinstance(scores, np.ndarray) or scores.dtype != np.float32:
        found = getattr(scores, "dtype", type(scores).__name__)
        raise InputError(
            f"the table's scores have dtype {found}, but must be float32: convert them with "
            "astype('float32')"
        )
    rows = len(alphabet) ** length
    if scores.shape != (rows,):
        raise InputError(
            f"the table's scores have shape {scores.shape}, but {length} letters of the alphabet "
            f"{alphabet!r} need ({rows},): give one score per string, in the order of its digits"
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(
            f"the table's score number {row} is {scores[row]}, but all must be finite: remove or "
            "replace it"
        )
    if scores.min() == scores.max():
        raise InputError(
            f"the table's scores are all {scores[0]}, so they cannot be scaled to [0, 1]: check "
            "the table"
        )
