"""The Ising model on a torus without a field: `log Z` by Kaufman's formula, at any size."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np

from reference.contract.errors import InputError, check_fields, check_integer
from reference.problems.base import MAX_LOG_REWARD, Order
from reference.problems.closed_form import Enclosure
from reference.problems.ising import OneByOne, Spins

if TYPE_CHECKING:
    from flint import arb

# A state is a tuple of all spins.
MOST = 512
# The relative error of a reward given by its logarithm (`base.exponential`), and to spare.
ROUNDING = Fraction(1, 2**50)


@dataclass(frozen=True)
class Torus(OneByOne):
    """`log R(x) = K sum of x_i x_j` over the edges of a square lattice on a torus.

    Spin `(i, j)` has number `columns i + j`, and edges to `(i + 1, j)` and `(i, j + 1)`, modulo
    rows and columns; on a side of 2 both neighbours are one spin, and its edge counts twice. The
    model is critical at `K = log(1 + sqrt 2) / 2 = 0.4407`.

    Attributes:
        rows: m, the number of rows.
        columns: n, the number of columns.
        coupling: K, the inverse temperature: at 0.4407 the model is critical.
        order: set the spins in any order, or row by row (a tree).
    """

    rows: int = 6
    columns: int = 6
    coupling: float = 0.4
    order: Order = "any"

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        for name in ("rows", "columns"):
            check_integer("Torus", f"the number of {name}", getattr(self, name), 2, most=MOST)
        largest = 2 * self.spins * self.coupling
        if not 0 < largest <= MAX_LOG_REWARD:
            raise InputError(
                f"Torus: the coupling is {self.coupling}, but must be positive, and with "
                f"{self.spins:,} spins at most {MAX_LOG_REWARD / 2 / self.spins:.6g}"
            )

    @classmethod
    def minimal(cls) -> Self:
        """Four spins, in any order."""
        return cls(2, 2)

    @property
    def spins(self) -> int:
        """`m n`."""
        return self.rows * self.columns

    def log_reward(self, terminal: Spins) -> Fraction:
        """`K` times the edges with equal spins minus those with different ones, exactly."""
        x = np.reshape(terminal.values, (self.rows, self.columns))
        aligned = int(np.sum(x * (np.roll(x, -1, 0) + np.roll(x, -1, 1))))
        return aligned * Fraction(self.coupling)

    def log_z(self) -> Enclosure:
        """`log Z`, in nats, with a proved error (Kaufman, 1949, in balls).

        With `cosh g_k = cosh^2(2K) / sinh(2K) - cos(pi k / n)` and `g_0 = 2K + log tanh K`, which
        is negative below the critical coupling,
        `2 Z = (2 sinh 2K)^(mn/2) (prod 2 cosh(m g_k / 2) + prod 2 sinh(m g_k / 2))`, where both
        products are taken over the odd `k < 2n`, and over the even, and all four are added. The
        error allows for rewards that are within `2^-51` of their exponentials.
        """
        from reference.fields.balls import BALL, enclose, precision

        # A product of n factors loses a bit for each doubling of n, and g_k of m.
        with precision(160):
            lower, upper = enclose(self._kaufman(BALL.convert(Fraction(self.coupling))))
        return Enclosure.between(lower, upper, ROUNDING)

    def _kaufman(self, coupling: "arb") -> "arb":
        """`log Z` at the current precision."""
        from reference.fields.balls import BALL

        m, n = self.rows, self.columns
        ratio = (2 * coupling).cosh() ** 2 / (2 * coupling).sinh()
        halves = [
            m * (ratio - (BALL.one.pi() * k / n).cos()).acosh() / 2 if k else BALL.zero
            for k in range(2 * n)
        ]
        halves[0] = m * (2 * coupling + coupling.tanh().log()) / 2
        total = BALL.zero
        for parity in (halves[1::2], halves[::2]):
            cosines, sines = BALL.one, BALL.one
            for half in parity:
                cosines *= 2 * half.cosh()
                sines *= 2 * half.sinh()
            total += cosines + sines
        return (total / 2).log() + m * n * (2 * (2 * coupling).sinh()).log() / 2
