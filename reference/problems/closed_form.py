"""Closed forms: the partition function and exact samples without enumeration."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from random import Random
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from reference.contract.errors import InputError, check_integer, check_seed, shown
from reference.contract.user_code import called
from reference.fields.field import gamma

S = TypeVar("S", bound=Hashable)
S_co = TypeVar("S_co", bound=Hashable, covariant=True)


class Enclosure(NamedTuple):
    """A real number known up to a proved error: it lies in `value ± error`."""

    value: float
    error: float

    def contains(self, number: float | Fraction) -> bool:
        """True if `number` may be the enclosed number, decided exactly."""
        return abs(Fraction(number) - Fraction(self.value)) <= Fraction(self.error)

    @classmethod
    def between(cls, lower: Fraction, upper: Fraction, more: Fraction) -> "Enclosure":
        """A number between two, or less than `more` outside of them.

        Args:
            lower: the lower end.
            upper: the upper end.
            more: a further error, at least 0.
        """
        value = float((lower + upper) / 2)
        error = max(upper - Fraction(value), Fraction(value) - lower) + more
        return cls(value, math.nextafter(float(error), math.inf))

    @classmethod
    def log_of(cls, number: Fraction) -> "Enclosure":
        """The natural logarithm of a positive rational, of any size."""
        top, bottom = math.log(number.numerator), math.log(number.denominator)
        # Python's log of an integer is a sum of two floats, each correct to an ulp; the subtraction
        # adds a rounding. Twelve roundings of the parts cover all errors.
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


class Summed(ABC):
    """A problem whose partition function is an exact sum."""

    @abstractmethod
    def z(self) -> Fraction:
        """`Z`, the sum of all rewards."""

    def log_z(self) -> Enclosure:
        """`log Z`, in nats; raises as `z` does."""
        return Enclosure.log_of(self.z())


class Listed(Summed, Generic[S]):
    """A problem whose terminal states are few enough to list with their rewards."""

    @abstractmethod
    def law(self) -> "FiniteLaw[S]":
        """The target."""

    def z(self) -> Fraction:
        """`Z`, the sum of all rewards."""
        return self.law().z()

    def sample(self, count: int, seed: int) -> list[S]:
        """Independent samples of the target, drawn in integers: their law is exact."""
        return self.law().sample(count, seed)


def closed_form(problem: object) -> ClosedForm[Hashable]:
    """The problem itself, if it has a closed form; raises InputError if it has none."""
    if not isinstance(problem, ClosedForm):
        raise InputError(
            f"{type(problem).__name__} has no closed form for log Z and exact samples: enumerate a "
            "small instance instead (reference.enumerate_dag, reference.enumerate_rewards)"
        )
    return problem


def stated_log_z(problem: ClosedForm[Any], most_error: float = math.inf) -> Enclosure:
    """`log Z`, in nats, with an error of at most so many, as the method of a problem says.

    Raises InputError if it is no enclosure, as `pdai certify` takes numbers and bounds, too.
    """
    name = type(problem).__name__
    log_z = called(name, "log_z", problem.log_z)
    if not isinstance(log_z, Enclosure) or not 0 <= log_z.error <= most_error:
        raise InputError(
            f"{name}: log_z() is {shown(log_z)}, but a problem that draws its samples has an "
            f"Enclosure(value, error) there, with an error from 0 to {most_error}: return one, or "
            "rename sample"
        )
    return log_z


class FiniteLaw(Generic[S]):
    """A law of states by non-negative integers over a denominator, drawn with integers alone."""

    def __init__(
        self, states: Sequence[S], numerators: Iterable[int], denominator: int = 1
    ) -> None:
        self.states = states
        self._denominator = denominator
        self._sums = list(accumulate(numerators))

    @classmethod
    def of(cls, weights: Mapping[S, Fraction]) -> "FiniteLaw[S]":
        """The law with these weights."""
        denominator = math.lcm(*(weight.denominator for weight in weights.values()))
        numerators = (w.numerator * (denominator // w.denominator) for w in weights.values())
        return cls(tuple(weights), numerators, denominator)

    def z(self) -> Fraction:
        """The sum of the weights."""
        return Fraction(self._sums[-1], self._denominator)

    def sample(self, count: int, seed: int) -> list[S]:
        """`count` independent states, each with probability proportional to its weight."""
        rng = seeded(seed)
        return [self.draw(rng) for _ in range(check_count(count))]

    def draw(self, rng: Random) -> S:
        """One state, drawn with probability proportional to its weight."""
        return self.states[bisect_right(self._sums, rng.randrange(self._sums[-1]))]


def seeded(seed: int) -> Random:
    """A generator of random integers; raises InputError for no integer from 0 to 2^64 - 1."""
    check_seed("sample", seed)
    return Random(seed)


def seeded_arrays(owner: str, seed: int) -> np.random.Generator:
    """A generator of arrays of random numbers; raises InputError as `seeded` does."""
    check_seed(owner, seed)
    return np.random.default_rng(seed)


def check_count(count: int, owner: str = "sample") -> int:
    """Checks the number that a method is asked for; raises InputError for no integer >= 0."""
    check_integer(owner, "count", count, 0, most=10**9)
    return count
