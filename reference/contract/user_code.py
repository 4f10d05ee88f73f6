"""Calls of a user's code: numbers are converted, some calls repeated, and searches limited.

A number may come from NumPy or JAX, whose integers wrap; a function may raise, or return something
else the next time; a graph may have no end. Each is handled here once, so that everything computed
from it is exact.
"""

import re
import traceback
from collections.abc import Callable, Iterable, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from operator import eq
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from reference.contract.errors import InputError, plain, shown

T = TypeVar("T")

# A fraction as a text; longer ones would take for ever.
RATIO = re.compile(r"\d{1,999}/0*[1-9]\d{0,998}", re.ASCII)

# The first calls that are repeated at the end, and the random walks whose states are compared.
ASKED_AGAIN = 100

# Of each kind of float, the exponent of the least number with all digits, and their bits.
KINDS = {"float64": (-1022, 52), "float32": (-126, 23), "bfloat16": (-126, 7), "float16": (-14, 10)}
# Larger numbers have all digits, in float16 excepted.
NORMAL = Fraction(2) ** -126


class Of(NamedTuple):
    """The name of a number of a state, such as "the reward", in messages; made when needed."""

    name: str
    state: object

    def __str__(self) -> str:
        return f"{self.name} of {shown(self.state)}"


class Float64(Fraction):
    """A number that was a float: the dyadic rational that it is; sums and products forget that."""

    def __repr__(self) -> str:
        try:
            return repr(float(self))
        except OverflowError:
            return str(self)


def are_rational(numbers: Iterable[object]) -> bool:
    """True if all numbers are rational, and none was a float."""
    return all(isinstance(p, Fraction) and not isinstance(p, Float64) for p in numbers)


def exact(value: object, what: str | Of) -> Fraction:
    """A user's number as an exact fraction, `Float64` if it was a float.

    It is an int, float, Fraction or Decimal, a text such as "117/220", or a scalar of NumPy or JAX;
    `what` names it in messages, as in "the reward of 'aab'". Raises InputError if it is no real
    number, or not finite.
    """
    number = exact_or_infinite(value, what)
    if isinstance(number, float):
        raise _not_finite(value, what)
    return number


def exact_or_infinite(value: Any, what: str | Of) -> Fraction | float:
    """A number as `exact` reads it, or an infinite float; NaN raises InputError."""
    # The usual answer, and what it is to become: it need not be reduced again.
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    number = value
    # NumPy counts durations among the integers; what is masked would be the number below the mask.
    is_duration = getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
    if is_duration or bool(getattr(value, "mask", False)):
        number = None
    elif getattr(value, "shape", None) == () and hasattr(value, "item"):
        number = value.item()
    try:
        if isinstance(number, Rational) and not isinstance(number, bool | Float64):
            # A Rational of another library may keep its own integers, which wrap.
            return Fraction(int(number.numerator), int(number.denominator))
        if isinstance(number, Decimal) or (isinstance(number, str) and RATIO.fullmatch(number)):
            return Fraction(number)
        if isinstance(number, Real) and not hasattr(number, "as_integer_ratio"):
            number = float(number)
        if not isinstance(number, bool) and hasattr(number, "as_integer_ratio"):
            return Float64(*map(int, number.as_integer_ratio()))
    except OverflowError:
        return float(number)
    except ValueError:
        raise _not_finite(value, what) from None
    raise InputError(
        f"{what} is {shown(value)}, a {type(value).__name__}, but must be a number: a Fraction, an "
        "int or a float"
    )


def _not_finite(value: object, what: str | Of) -> InputError:
    return InputError(
        f"{what} is {plain(value)}, but must be a finite number: check the computation, or cap it"
    )


def digits_lost(value: object) -> float:
    """The relative rounding, at most, of a float that is too near to 0 for all its digits; else 0.

    A difference of logarithms is at most twice that.
    """
    kind = "float64" if isinstance(value, float) else str(getattr(value, "dtype", ""))
    exponent, bits = KINDS.get(kind.removeprefix("torch."), (0, 0))
    if not bits or not 0 < (number := exact(value, "a number")) < Fraction(2) ** exponent:
        return 0.0
    return float(Fraction(2) ** (exponent - bits - 1) / number)


def number_or_infinite(value: object, what: str | Of) -> float:
    """A user's number in float64, such as a logit, which may be infinite; NaN raises InputError."""
    try:
        return float(exact_or_infinite(value, what))
    except OverflowError:
        raise InputError(
            f"{what} is {plain(value)}, but must be within the range of float64: give its logarithm"
        ) from None


def has_no_order(answer: object) -> bool:
    """True for a text, a set, a mapping, and what has labels of its own, such as a pandas table."""
    return isinstance(answer, str | bytes | Set) or callable(getattr(answer, "items", None))


def truth_as_number(value: Any) -> Any:
    """A truth value as 0 or 1, and any other value as it is."""
    if getattr(value, "shape", None) == () and isinstance(value.item(), bool):
        value = value.item()
    return int(value) if isinstance(value, bool) else value


def called(owner: str, name: str, function: Callable[..., T], *arguments: object) -> T:
    """The result of a user's function; an `InputError` has the call, its error, file and line.

    Args:
        owner: the object or class that has the function, for messages.
        name: the function's name, for messages.
        function: the function.
        *arguments: what it is called with.
    """
    try:
        return function(*arguments)
    except InputError:
        raise
    except Exception as error:
        raise _as_refusal(owner, name, error, arguments) from error


def _as_refusal(owner: str, name: str, error: Exception, arguments: Iterable[object]) -> InputError:
    """An exception of a user's function as an `InputError`."""
    # The first is the call itself; a line of the user's code says more than one of a library.
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    where = "".join(f" ({last.filename}, line {last.lineno})" for last in own[-1:])
    call = f"{name}({', '.join(map(shown, arguments))})"
    return InputError(
        f"{owner}: {call} raises {type(error).__name__}, {plain(error, 300)}{where}: fix it, or "
        "check that the argument is of the kind that it expects"
    )


def asked_again(call: str, first: object, again: object) -> InputError:
    """The error for a call with equal arguments and two results.

    Args:
        call: the call, such as "P: reward('aab')".
        first: the one result.
        again: the other.
    """
    return InputError(
        f"{call} is {shown(first)}, and asked again {shown(again)}: the same question must have "
        "the same answer (random numbers, dropout left on, a set's order, an object without __eq__ "
        "and __hash__, or state that the calls change?)"
    )


class Asked(Generic[T]):
    """A user's function of one argument, whose first hundred calls can be repeated.

    `read` converts an answer, given the argument too, or raises `InputError`; `same` is the
    equality of two converted answers.
    """

    def __init__(
        self,
        owner: str,
        name: str,
        function: Callable[[Any], Any],
        read: Callable[[Any, Any], T],
        same: Callable[[T, T], bool] = eq,
    ):
        self.owner, self.name, self.function = owner, name, function
        self._read, self._same = read, same
        self._first: list[tuple[Any, T]] = []

    def __call__(self, argument: Any) -> T:
        """The converted answer."""
        try:
            raw = self.function(argument)
            if isinstance(raw, np.integer):
                raw = self._unwrapped(argument)
            answer = self._read(raw, argument)
        except InputError:
            raise
        except Exception as error:
            raise _as_refusal(self.owner, self.name, error, [argument]) from error
        if len(self._first) < ASKED_AGAIN:
            self._first.append((argument, answer))
        return answer

    def ask_again(self) -> None:
        """Repeats the first hundred calls, the last of them first.

        In another order, a memory of the last question gives another answer. Raises InputError if
        an answer differs.
        """
        for question, first in reversed(self._first):
            again = self._read(called(self.owner, self.name, self._unwrapped, question), question)
            if not self._same(first, again):
                raise asked_again(f"{self.owner}: {self.name}({shown(question)})", first, again)

    def _unwrapped(self, question: Any) -> Any:
        """An answer; raises InputError if it is an integer, and one of NumPy wrapped on the way."""
        try:
            with np.errstate(over="raise"):
                return self.function(question)
        except FloatingPointError as error:
            answer = self.function(question)
            # Floats, and what a function of NumPy overflows, become infinite, and may be meant to.
            if "scalar" in str(error) and isinstance(answer, int | np.integer):
                raise InputError(
                    f"{self.owner}: {self.name}({shown(question)}) is {plain(answer)}, but on the "
                    f"way an integer of NumPy wraps ({error}): compute with int(x), or, if that is "
                    "meant, under np.errstate(over='ignore')"
                ) from error
            return answer


def same_states(first: Any, again: Any) -> bool:
    """True if two rows hold equal states of equal types, in the same order."""
    return len(first) == len(again) and all(
        type(a) is type(b) and bool(np.all(a == b)) for a, b in zip(first, again, strict=True)
    )
