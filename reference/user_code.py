"""The one way in for what a user's code answers: called, converted, asked twice.

A number may come from NumPy or JAX, whose integers wrap; a function may raise, or answer something
else the next time. Each is settled here once, so that what is computed from it is exact.
"""

import traceback
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from random import Random
from typing import Any, TypeVar

from reference.errors import InputError, plain, shown

T = TypeVar("T")

# Answers that are asked for again: all of the first ones, then as many in expectation whenever
# their number has grown by a factor of e.
ASKED_AGAIN = 100


def exact(value: object, what: str) -> Fraction:
    """A user's number as the fraction that it is.

    Args:
        value: an int, float, Fraction or Decimal, or a scalar of NumPy or JAX; a float is the
            dyadic rational that it is.
        what: its name in messages, such as "the reward of 'aab'".

    Raises:
        InputError: if it is no real number, or not finite.
    """
    number = _python_scalar(value)
    if isinstance(number, Decimal | float) and not isfinite(number):
        raise InputError(
            f"{what} is {plain(value)}, but must be a finite number: check the computation, or cap "
            "it"
        )
    if isinstance(number, Rational):
        # A Rational of another library may keep its own integers, which wrap.
        return Fraction(int(number.numerator), int(number.denominator))
    if isinstance(number, Decimal | float):
        return Fraction(number)
    raise InputError(
        f"{what} is {shown(value)}, a {type(value).__name__}, but must be a number: return a "
        "Fraction, an int or a float"
    )


def number_or_infinite(value: object, what: str) -> float:
    """A user's number in float64, such as a logit, which may be infinite.

    Raises:
        InputError: if it is no real number, or NaN.
    """
    number = _python_scalar(value)
    if isinstance(number, Decimal | float) and not isfinite(number) and number == number:
        return float(number)
    try:
        return float(exact(value, what))
    except OverflowError:
        raise InputError(
            f"{what} is {plain(value)}, but must be within the range of float64: give its logarithm"
        ) from None


def _python_scalar(value: Any) -> Any:
    """A scalar of NumPy or JAX as Python's own number; None for what is no single real number."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Fraction | Decimal):
        return value
    if hasattr(value, "as_integer_ratio"):  # NumPy's long double
        return Fraction(*map(int, value.as_integer_ratio())) if isfinite(value) else float(value)
    return value if isinstance(value, Rational) or not isinstance(value, Real) else float(value)


def called(owner: str, name: str, function: Callable[..., T], *arguments: object) -> T:
    """What a user's function answers; what it raises, as one error.

    Args:
        owner: whose function it is, such as the name of a class.
        name: its name.
        function: the function.
        arguments: what it is called with.

    Raises:
        InputError: if it raises; the message names the call, the error, the file and the line.
    """
    try:
        return function(*arguments)
    except InputError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        # Where the user's code called a library, that line says more than one of the library.
        own = [frame for frame in frames if "site-packages" not in frame.filename]
        last = (own or frames)[-1]
        call = f"{name}({', '.join(map(shown, arguments))})"
        raise InputError(
            f"{owner}: {call} raises {type(error).__name__}, {plain(error)} ({last.filename}, line "
            f"{last.lineno}): fix it, or check that the argument is what it is for"
        ) from error


class AskTwice:
    """Which answers of a user's function are asked for again, to see that it is a function.

    The first 100 are, and later ones at random, with probability `100 / n` for the n-th. Random
    answers, dropout, mutable state and objects without equality differ; nothing else does.
    """

    def __init__(self) -> None:
        self._asked, self._random = 0, Random(0)

    def due(self) -> bool:
        """Whether the next answer is one of these."""
        self._asked += 1
        return self._random.random() * self._asked < ASKED_AGAIN

    def compare(self, call: str, first: T, again: T, same: Callable[[T, T], bool]) -> None:
        """Checks an answer against the one before.

        Args:
            call: the call in messages, such as "P: reward('aab')".
            first: the first answer.
            again: the second one.
            same: whether two answers are the same.

        Raises:
            InputError: if they differ.
        """
        if not same(first, again):
            raise InputError(
                f"{call} is {shown(first)}, and asked again {shown(again)}: the same question must "
                "have the same answer (random numbers, dropout left on, a set's order, an object "
                "without __eq__ and __hash__, or state that the calls change?)"
            )


def same_states(first: Any, again: Any) -> bool:
    """Whether two rows of states are the same, in order, and of the same kinds."""
    return len(first) == len(again) and all(
        type(a) is type(b) and bool(a == b) for a, b in zip(first, again, strict=True)
    )
