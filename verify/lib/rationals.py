"""Rational numbers of FLINT: as exact as `fractions.Fraction`, and ten times as fast.

The claims rest on `Fraction`, which is plain Python. Where lifts come in hundreds of thousands
(`--exhaustive`), the same algorithms compute in these.
"""

from fractions import Fraction

from flint import fmpq

from reference.fields.field import ExactField, Field


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
