"""Sequence design with a table of measurements: SIX6 and PHO4."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, check_integer, check_type, shown
from reference.contract.files import load_arrays
from reference.problems.closed_form import FiniteLaw, Listed
from reference.problems.sequences import Build, Sequences

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class TableSequences(Sequences, Listed[str]):
    """Sequence design with measurements: `R(s) = max(10 y(s)^exponent, 1/1000)`, exactly.

    `y` is the score, scaled to [0, 1] by its least and its largest value; a larger exponent prefers
    high scores more sharply. String number i has the base-A digits of i as letters, most
    significant first, and a score in float32.
    """

    scores: npt.NDArray[np.float32] = None  # type: ignore[assignment]
    exponent: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_scores()
        check_integer("TableSequences", "the exponent", self.exponent, 1, most=1_000)

    def _check_scores(self) -> None:
        """Checks that scores are float32, one per string, finite, and not all equal."""
        scores, rows = self.scores, len(self.alphabet) ** self.length
        if not isinstance(scores, np.ndarray) or scores.dtype != np.float32:
            dtype = getattr(scores, "dtype", type(scores).__name__)
            raise InputError(
                f"the table's scores have dtype {dtype}, but must be float32: convert them with "
                "astype('float32')"
            )
        if scores.shape != (rows,):
            raise InputError(
                f"the table's scores have shape {scores.shape}, but {self.length} letters of the "
                f"alphabet {shown(self.alphabet)} need ({rows},): give one score per string, in "
                "the order of its digits"
            )
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise InputError(
                f"the table's score number {row} is {scores[row]}, but all must be finite: remove "
                "or replace it"
            )
        if scores.min() == scores.max():
            raise InputError(
                f"the table's scores are all {scores[0]}, so they cannot be scaled to [0, 1]: "
                "check the table"
            )

    @classmethod
    def load(cls, path: Path, build: Build = "prepend-append", exponent: int = 3) -> Self:
        """A table from a NumPy archive with the arrays `score`, `alphabet` and `length`.

        Args:
            path: the archive.
            build: where letters are added.
            exponent: the exponent; a larger one prefers high scores more sharply.

        Raises:
            InputError: if the file cannot be read, lacks an array, or has the wrong dtype or size.
        """
        check_type("TableSequences", "the path", path, (str, Path))
        try:
            letters, number, scores = load_arrays(
                Path(path), "alphabet", "length", "score", follow=True
            )
            if letters.dtype.kind != "U" or number.shape != () or number.dtype.kind not in "iu":
                raise ValueError("its alphabet is no string, or its length no integer")
            alphabet, length = "".join(letters.ravel().tolist()), int(number)
        except ValueError as error:
            raise InputError(
                f"the table {str(path)!r} cannot be read ({error}): "
                "give a NumPy .npz archive with the arrays score (float32), alphabet (a string, "
                "such as 'ACGT', or an array of its letters) and length (an integer)"
            ) from None
        return cls(alphabet, length, build, scores, exponent)

    @classmethod
    def minimal(cls) -> Self:
        """A table of random scores for the eight strings of three letters."""
        scores = np.random.default_rng(0).normal(size=8).astype(np.float32)
        return cls("AC", 3, "prepend-append", scores)

    @classmethod
    def six6(cls, build: Build = "prepend-append", exponent: int = 3) -> Self:
        """SIX6: binding to all 65,536 DNA 8-mers (Barrera et al., 2016; see data/NOTICE.md).

        Args:
            build: where letters are added; with append the state graph is a tree, and lifting adds
                nothing.
            exponent: the reward is max(10 y^exponent, 1/1000), y the score scaled to [0, 1].
        """
        return cls.load(DATA / "six6_8mer.npz", build, exponent)

    @classmethod
    def pho4(cls, path: Path, build: Build = "append", exponent: int = 3) -> Self:
        """PHO4: predicted binding free energies of all 1,048,576 DNA 10-mers (Le et al., 2018).

        The table is not redistributed here, for want of a licence. Lower energy is stronger
        binding, so its sign is reversed.

        Args:
            path: NumPy archive with `score`, the free energies (float32) of all 1,048,576 10-mers
                in the order of their digits in base 4, `alphabet`, its letters in the order of the
                digits (one string, or an array of letters), and `length`.
            build: where letters are added; with append the state graph is a tree, and lifting adds
                nothing.
            exponent: the reward is max(10 y^exponent, 1/1000), y the affinity scaled to [0, 1].
        """
        energies = cls.load(path, build, exponent)
        return cls(energies.alphabet, energies.length, build, -energies.scores, exponent)

    def number(self, terminal: str) -> int:
        """The row of a string in the table."""
        row = 0
        for a in terminal:
            row = row * len(self.alphabet) + self.alphabet.index(a)
        return row

    @cached_property
    def _gains(self) -> tuple[list[int], int]:
        """The scores less the least one, over one denominator, and the power of the largest."""
        # Scores are float32, so that they are integers after multiplication by a power of two.
        exponents = np.frexp(self.scores[self.scores != 0])[1]
        scaled = np.ldexp(self.scores.astype(np.float64), 24 - int(exponents.min())).tolist()
        integers = [int(score) for score in scaled]
        least = min(integers)
        return [n - least for n in integers], (max(integers) - least) ** self.exponent

    def reward(self, terminal: str) -> Fraction:
        """`max(10 y^exponent, 1/1000)`."""
        gains, floor = self._gains
        numerator = max(10_000 * gains[self.number(terminal)] ** self.exponent, floor)
        return Fraction(numerator, 1000 * floor)

    def law(self) -> FiniteLaw[str]:
        """The target: the rewards of the whole table, over one denominator."""
        gains, floor = self._gains
        numerators = (max(10_000 * gain**self.exponent, floor) for gain in gains)
        return FiniteLaw(_Strings(self), numerators, 1000 * floor)


class _Strings(Sequence[str]):
    """All strings of a table, in its order, without storing them."""

    def __init__(self, table: TableSequences) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table.scores)

    def __getitem__(self, number: Any) -> Any:
        digits = np.unravel_index(number, (len(self.table.alphabet),) * self.table.length)
        return "".join(self.table.alphabet[digit] for digit in digits)
