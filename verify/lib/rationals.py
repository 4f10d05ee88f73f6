"""Rational numbers of FLINT: as exact as `fractions.Fraction`, and ten times as fast.

The claims rest on `Fraction`, which is plain Python. Where lifts come in hundreds of thousands
(`--exhaustive`), the same algorithms compute in these.
"""

from fractions import Fraction

from flint import fmpq

from reference.errors import InputError
from reference.fields.field import Field


class _Flint(Field[fmpq]):
    name = "flint"
    exact = True
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

    def agree(self, left: fmpq, right: fmpq, roundings: int) -> bool:
        return bool(left == right)

    def log(self, value: fmpq) -> fmpq:
        raise InputError(f"the logarithm of {value} is not a rational number")

    def exp(self, value: fmpq) -> fmpq:
        raise InputError(f"the exponential of {value} is not a rational number")


FLINT: Field[fmpq] = _Flint()
