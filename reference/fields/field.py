"""Fields as values: one algorithm runs over rationals, floats, enclosures and symbols."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import Any, Generic, Protocol, Self, TypeVar

from reference.contract.errors import InputError, checked, plain, shown


class Scalar(Protocol):
    """A number of a field: the operations that the algorithms use."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, other: Self, /) -> Self: ...
    def __truediv__(self, other: Self, /) -> Self: ...


T = TypeVar("T", bound=Scalar)

UNIT_ROUNDOFF = 2.0**-53


@checked
def gamma(roundings: int) -> float:
    """Higham's bound `k u / (1 - k u)` on the relative error of `k` float64 roundings.

    A sum of products of non-negative numbers has no cancellation, so it is within this factor of
    its exact value. (Higham, Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1.)
    """
    if not 0 <= roundings < 2**53:
        raise InputError(
            f"gamma: roundings is {shown(roundings)}, but must be at least 0 and below 2^53"
        )
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


class Field(ABC, Generic[T]):
    """An arithmetic: conversion of numbers into it, and decisions about them.

    Those of this package are `RATIONAL` (`Fraction`: everything is decided), `FLOAT64` (`float`:
    equality up to a stated number of roundings), `reference.fields.balls.BALL` (enclosures of real
    numbers: a decision is proved, or refused), and `reference.fields.symbolic.Symbolic` (rational
    functions of named parameters, in which an identity holds for all their values at once).

    Attributes:
        name: the name in messages.
        exact: whether `==` decides equality; if not, `agree` allows for rounding.
    """

    name: str
    exact: bool

    @abstractmethod
    def convert(self, value: int | Fraction | float) -> T:
        """The number as an element of this field (a float is the dyadic rational it is)."""

    @abstractmethod
    def contains(self, value: object) -> bool:
        """True if the value is a number of this field, in the form the algorithms compute with."""

    def positive(self, value: T) -> bool:
        """`value > 0`."""
        return bool(value > 0)  # type: ignore[operator]

    def nonnegative(self, value: T) -> bool:
        """`value >= 0`; false for NaN."""
        return bool(value >= 0)  # type: ignore[operator]

    @abstractmethod
    def agree(self, left: T, right: T, roundings: int) -> bool:
        """Equality of two numbers, up to roundings of non-negative terms.

        Args:
            left: the one number.
            right: the other.
            roundings: the number of roundings, of which an exact field has none.
        """

    @abstractmethod
    def log(self, value: T) -> T:
        """The natural logarithm of a positive number; raises InputError in a field without it."""

    @abstractmethod
    def exp(self, value: T) -> T:
        """The exponential; raises InputError in a field that does not contain it."""

    @property
    def zero(self) -> T:
        """The neutral element of addition."""
        return self.convert(0)

    @property
    def one(self) -> T:
        """The neutral element of multiplication."""
        return self.convert(1)

    def numbers(self, values: Iterable[T | int], what: str) -> list[T]:
        """Numbers of this field, with integers converted; raises InputError for any other number.

        An int among fractions would divide into a float. Integers of NumPy are `Integral` too.
        """
        numbers: list[Any] = list(values)
        for position, value in enumerate(numbers):
            if isinstance(value, Integral) and not isinstance(value, bool):
                numbers[position] = self.convert(int(value))
            elif not self.contains(value):
                raise InputError(
                    f"{what}{f' number {position}' * (len(numbers) > 1)} is {shown(value)}, a "
                    f"{type(value).__name__}, which the field {self.name} does not compute with: "
                    "pass it through `field.convert`"
                )
        return numbers

    def check_log(self, value: T) -> None:
        """Checks that the logarithm of a number exists; raises InputError if not."""
        if not self.positive(value):
            raise InputError(
                f"the logarithm of {plain(value)} does not exist: give a positive number"
            )

    def sum(self, values: Iterable[T]) -> T:
        """The sum, starting from this field's zero."""
        total = self.zero
        for value in values:
            total = total + value
        return total


class ExactField(Field[T]):
    """A field in which `==` decides equality, and without logarithms; messages name an element."""

    exact = True
    element: str

    def agree(self, left: T, right: T, roundings: int) -> bool:
        """Exact equality."""
        return bool(left == right)

    def log(self, value: T) -> T:
        """Always an error."""
        raise self._missing("logarithm", value)

    def exp(self, value: T) -> T:
        """Always an error."""
        raise self._missing("exponential", value)

    def _missing(self, function: str, value: T) -> InputError:
        return InputError(
            f"the {function} of {plain(value)} is not {self.element}: compute it at numbers, in "
            "FLOAT64, or in BALL for a rigorous enclosure"
        )


class _Rational(ExactField[Fraction]):
    name = "rational"
    element = "a rational number"

    def convert(self, value: int | Fraction | float) -> Fraction:
        try:
            return value if isinstance(value, Fraction) else Fraction(value)
        except (ValueError, OverflowError, TypeError):
            raise InputError(
                f"{shown(value)} is not a rational number: give an int, a Fraction or a finite "
                "float"
            ) from None

    def contains(self, value: object) -> bool:
        return isinstance(value, Fraction)


class _Float64(Field[float]):
    name = "float64"
    exact = False

    def convert(self, value: int | Fraction | float) -> float:
        try:
            number = float(value)
            if math.isnan(number):
                raise ValueError
            return number
        except (OverflowError, ValueError, TypeError):
            raise InputError(
                f"{shown(value)} is not a float64 number: give a real number of magnitude below "
                "1.8e308"
            ) from None

    def contains(self, value: object) -> bool:
        return isinstance(value, float) and not math.isnan(value)

    def agree(self, left: float, right: float, roundings: int) -> bool:
        return abs(left - right) <= gamma(roundings) * max(abs(left), abs(right))

    def log(self, value: float) -> float:
        self.check_log(value)
        return math.log(value)

    def exp(self, value: float) -> float:
        try:
            return math.exp(value)
        except OverflowError:
            raise InputError(
                f"exp({plain(value)}) is beyond the range of float64: subtract the largest logit "
                "first"
            ) from None


RATIONAL: Field[Fraction] = _Rational()
FLOAT64: Field[float] = _Float64()


def log_float(value: Any) -> float:
    """The natural logarithm in float64, also of a `Fraction` beyond the range of floats."""
    if isinstance(value, Fraction):
        above, below = value.numerator, value.denominator
        # Scaled to between 1/4 and 4, where nothing overflows and little cancels.
        shift = above.bit_length() - below.bit_length()
        shift *= abs(shift) > 1
        above, below = (above, below << shift) if shift > 0 else (above << -shift, below)
        return shift * math.log(2) + math.log1p((above - below) / below)
    if isinstance(value, float):
        return math.log(value)
    raise InputError(
        f"{plain(value)} is not a rational or float64 number, so its logarithm is not taken as a "
        "float: use the field's own"
    )
