"""Arithmetic as a value: the same algorithm runs over exact rationals and over float64."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

T = TypeVar("T", Fraction, float)

UNIT_ROUNDOFF = 2.0**-53


def gamma(roundings: int) -> float:
    """Higham's bound `k u / (1 - k u)` on the relative error of `k` float64 roundings.

    A sum of products of non-negative numbers has no cancellation, so it is within this factor of
    its exact value. (Higham, Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1.)
    """
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


@dataclass(frozen=True)
class Field(Generic[T]):
    """A field to compute in.

    Attributes:
        name: "rational" or "float64".
        convert: embeds an integer, a `Fraction` or a float (a float is the dyadic rational it is).
        exact: whether `==` decides equality; if not, `agree` allows for rounding.
    """

    name: str
    convert: Callable[[int | Fraction | float], T]
    exact: bool

    @property
    def zero(self) -> T:
        """The neutral element of addition."""
        return self.convert(0)

    @property
    def one(self) -> T:
        """The neutral element of multiplication."""
        return self.convert(1)

    def sum(self, values: Iterable[T]) -> T:
        """The sum, starting from this field's zero."""
        total = self.zero
        for value in values:
            total += value
        return total

    def agree(self, left: T, right: T, roundings: int) -> bool:
        """Whether two numbers are equal, up to `roundings` float64 roundings if not exact."""
        if self.exact:
            return left == right
        return abs(left - right) <= gamma(roundings) * max(abs(left), abs(right))


def _fraction(value: int | Fraction | float) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value)


RATIONAL: Field[Fraction] = Field("rational", _fraction, exact=True)
FLOAT64: Field[float] = Field("float64", float, exact=False)
