"""Sampling problems: what they are, and the forms of state graphs that several of them share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

from reference.contract.errors import InputError, check_integer, shown

S = TypeVar("S", bound=Hashable)
Values = TypeVar("Values", bound=tuple[tuple[Any, ...]])

# The form of a reward: the product of positive weights, or their sum.
RewardForm = Literal["product", "sum"]
# The order in which places are filled: any, or from first to last.
Order = Literal["any", "fixed"]

MAX_NODES = 2_000_000
# Above this, a single fraction has a million bits.
MAX_LOG_REWARD = 1_000_000


class StateGraph(Protocol[S]):
    """A state graph given by the children of each state."""

    @property
    def initial(self) -> S:
        """The initial state `s_o`."""
        ...

    def children(self, state: S) -> Sequence[S]:
        """The states one step away, without repetition; `()` if and only if terminal."""
        ...


class Rewarded(StateGraph[S], Protocol[S]):
    """A problem that gives its reward."""

    def reward(self, terminal: S) -> Fraction | float | int:
        """`R(x) > 0`; the target is `pi(x) = R(x) / Z`. A float stands for its exact value."""
        ...


class LogRewarded(StateGraph[S], Protocol[S]):
    """A problem that gives the logarithm of its reward, which may be beyond the range of floats."""

    def log_reward(self, terminal: S) -> Fraction | float | int:
        """`log R(x)`, nats."""
        ...


# A sampling problem: thirty lines of plain Python suffice for one of your own.
Problem = Rewarded[S] | LogRewarded[S]


def combined(terms: Sequence[Fraction], form: RewardForm) -> Fraction:
    """The sum or the product of terms."""
    return sum(terms, Fraction(0)) if form == "sum" else math.prod(terms, start=Fraction(1))


def set_last(values: Sequence[object], empty: object, order: Order) -> list[int]:
    """The places of a state that may have been set last.

    Args:
        values: the values of the places.
        empty: the value of a place that is not set.
        order: any of those that are set, or the last of them.
    """
    places = [i for i, value in enumerate(values) if value != empty]
    return places[-1:] if order == "fixed" else places


class PlaceByPlace(ABC, Generic[Values]):
    """States whose places get a value each, in any order or from first to last, without a reward.

    A state is a named tuple with one field, its values.
    """

    order: Order

    @property
    @abstractmethod
    def initial(self) -> Values:
        """No place set; this is what an open one has."""

    @abstractmethod
    def choices(self, values: tuple[Any, ...], place: int) -> Iterable[Any]:
        """The values that an open place of a state may get."""

    def children(self, state: Values) -> tuple[Values, ...]:
        """The states with one more place set: the first open one, or any."""
        kind: Any = type(state)
        x, empty = state[0], self.initial[0][0]
        places = [i for i, value in enumerate(x) if value == empty]
        return tuple(
            kind((*x[:i], value, *x[i + 1 :]))
            for i in (places[:1] if self.order == "fixed" else places)
            for value in self.choices(x, i)
        )

    def parents(self, state: Values) -> tuple[Values, ...]:
        """The states with one place less set: the last one, or any."""
        kind: Any = type(state)
        x, empty = state[0], self.initial[0][0]
        return tuple(kind((*x[:i], empty, *x[i + 1 :])) for i in set_last(x, empty, self.order))


def is_ours(problem: Any) -> bool:
    """True if the methods of a problem are this project's, and not a user's."""
    return type(problem).__module__.startswith("reference.")


def dyadic(value: float, bits: int = 24) -> Fraction:
    """`value` rounded to `bits` significant bits: the number that float32 can hold too."""
    check_integer("dyadic", "bits", bits, 1, most=1000)
    try:
        mantissa, exponent = math.frexp(value)
        return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)
    except (TypeError, ValueError, ArithmeticError):
        raise InputError(
            f"dyadic: value is {shown(value)} and bits {shown(bits)}, but must be a finite number "
            "and an integer"
        ) from None
