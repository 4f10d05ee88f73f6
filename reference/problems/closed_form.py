"""What some problems know without enumeration: their partition function, and exact samples."""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from reference.errors import InputError
from reference.fields import gamma

S_co = TypeVar("S_co", bound=Hashable, covariant=True)


class Enclosure(NamedTuple):
    """A real number known up to a proved error: it lies in `value ± error`."""

    value: float
    error: float

    def contains(self, number: float | Fraction) -> bool:
        """Whether `number` may be the enclosed one, decided exactly."""
        return abs(Fraction(number) - Fraction(self.value)) <= Fraction(self.error)

    @classmethod
    def log_of(cls, number: Fraction) -> "Enclosure":
        """The natural logarithm of a positive rational, of any size."""
        top, bottom = math.log(number.numerator), math.log(number.denominator)
        # Python's log of an integer is a sum of two floats, each good to an ulp; the subtraction
        # adds a rounding. Twelve roundings of the parts cover all of them.
        return cls(top - bottom, gamma(12) * (1 + abs(top) + abs(bottom)))


@runtime_checkable
class ClosedForm(Protocol[S_co]):
    """A problem whose target can be computed and sampled without enumerating its states."""

    def log_z(self) -> Enclosure:
        """`log Z = log sum of R(x)`, in nats."""
        ...

    def sample(self, count: int, seed: int) -> Sequence[S_co]:
        """Independent samples of `pi = R / Z`."""
        ...


def closed_form(problem: object) -> ClosedForm[Hashable]:
    """The problem itself, if it has a closed form.

    Raises:
        InputError: if it has none.
    """
    if not isinstance(problem, ClosedForm):
        raise InputError(
            f"{type(problem).__name__} has no closed form for log Z and exact samples: enumerate a "
            "small instance instead (reference.enumerate_dag, reference.enumerate_rewards)"
        )
    return problem
