"""Fields of FLINT that only claims compute in: rational numbers and polynomials.

The claims rest on `Fraction`, which is plain Python. Where lifts come in hundreds of thousands
(`--exhaustive`), the same algorithms compute in the rationals of FLINT, as exact and ten times as
fast.
"""

from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpz_mpoly, fmpz_mpoly_ctx

from reference.fields.field import ExactField, Field
from reference.fields.symbolic import FunctionField


class _Flint(ExactField[fmpq]):
    name = "flint"
    element = "a rational number"
    _zero, _one = fmpq(0), fmpq(1)

    @property
    def zero(self) -> fmpq:
        return self._zero

    @property
    def one(self) -> fmpq:
        return self._one

    def convert(self, value: int | Fraction | float) -> fmpq:
        if isinstance(value, int):
            return fmpq(value)
        ratio = Fraction(value)
        return fmpq(ratio.numerator, ratio.denominator)

    def contains(self, value: object) -> bool:
        return isinstance(value, fmpq)

    def positive(self, value: fmpq) -> bool:
        return bool(value > 0)

    def nonnegative(self, value: fmpq) -> bool:
        return bool(value >= 0)


FLINT: Field[fmpq] = _Flint()


class Polynomials(FunctionField[Any]):
    """Polynomials with integer coefficients in named parameters, separated by blanks.

    A ring: sums and products are exact, a quotient only exists where it has no remainder. Where
    nothing is divided, 30 times as fast as rational functions.
    """

    name = "polynomials"
    element = "a polynomial"

    def __init__(self, names: str) -> None:
        self._ring = fmpz_mpoly_ctx.get(names.split(), Ordering.lex)
        self.symbols: tuple[Any, ...] = self._ring.gens()

    def convert(self, value: int | Fraction | float) -> Any:
        """A constant, an integer; elements of this ring are passed through."""
        if self.contains(value):
            return value
        return self._ring.constant(int(value))

    def contains(self, value: object) -> bool:
        """True for a polynomial in exactly these parameters."""
        return isinstance(value, fmpz_mpoly) and value.context() is self._ring
