"""Features of terminal states, such as inclusion probabilities: a user's numbers, each checked."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from reference.contract.errors import InputError, check_type, plain, shown
from reference.contract.user_code import (
    Asked,
    Of,
    exact_or_infinite,
    number_or_infinite,
    truth_as_number,
)
from reference.problems.base import is_ours
from reference.rows.exact import Floats

# A function from a terminal state to numbers by name, in [0, 1] for a certificate.
Features = Callable[[Any], Mapping[str, float]]


@runtime_checkable
class KnowsMeans(Protocol):
    """A problem with named features, `indicators` by number, whose target means it knows."""

    indicators: Features

    def quantities(self, terminal: Any) -> Mapping[str, float]:
        """The features of a terminal state."""
        ...

    def quantity_means(self) -> Mapping[str, Fraction]:
        """The means of the features under the target."""
        ...


def knows_means(problem: Any) -> TypeGuard[KnowsMeans]:
    """True of a problem here that knows them; nothing proves those that a user's problem tells."""
    return isinstance(problem, KnowsMeans) and is_ours(problem)


def table(
    features: Features,
    terminals: Sequence[Any],
    names: tuple[str, ...] = (),
    *,
    is_bounded: bool = True,
) -> tuple[tuple[str, ...], Floats]:
    """The names of features, and their values at terminal states, shape (states, names).

    Args:
        features: a function from a terminal state to numbers by name.
        terminals: terminal states, perhaps repeated.
        names: the names at earlier states, () if no state came before.
        is_bounded: True if values must lie in [0, 1], and not only be finite.

    Raises:
        InputError: if a value breaks that rule, or names differ between states.
    """
    rows = rows_of(features, terminals, names, is_bounded=is_bounded)
    names = names or tuple(next(iter(rows.values()), ()))
    as_float = cache(number_or_infinite)
    numbers = [[as_float(rows[x][name], name) for name in names] for x in terminals]
    return names, np.array(numbers, float).reshape(len(terminals), len(names))


def rows_of(
    features: Features,
    terminals: Sequence[Any],
    names: Sequence[str] = (),
    *,
    is_bounded: bool = True,
) -> Mapping[Any, Mapping[str, Fraction]]:
    """The values of features by terminal state and name; raises InputError as `table` does.

    Args:
        features: a function from a terminal state to numbers by name.
        terminals: terminal states, perhaps repeated.
        names: the names at earlier states, () if no state came before.
        is_bounded: True if values must lie in [0, 1].
    """
    values = _values(features, is_bounded)
    rows = {x: values(x) for x in dict.fromkeys(terminals)}
    values.ask_again()
    names = names or tuple(next(iter(rows.values()), ()))
    for x, row in rows.items():
        if row.keys() != set(names):
            raise InputError(
                f"the features of {x!r} have the names {list(row)}, unlike those of other "
                "states: give all of them at every state"
            )
    return rows


def _values(features: Features, is_bounded: bool) -> Asked[dict[str, Fraction]]:
    """The features, checked to be numbers, perhaps in [0, 1]; some are computed twice."""
    wanted = "lie in [0, 1]: scale it, and scale the answer back" if is_bounded else "be finite"

    def read(given: Any, x: Any) -> dict[str, Fraction]:
        check_type("the features", f"the value at {shown(x)}", given, Mapping)
        row = {}
        for name, value in given.items():
            if type(value) in (int, float) and value == value:
                number = _read(value)
            else:
                number = exact_or_infinite(truth_as_number(value), Of(f"the feature {name!r}", x))
            if isinstance(number, float) or (is_bounded and not 0 <= number <= 1):
                raise InputError(
                    f"the feature {name!r} of {shown(x)} is {plain(value)}, but must {wanted}"
                )
            row[str(name)] = number
        if len(row) < len(given):
            raise InputError(
                f"the features of {shown(x)} have the names {list(given)}, two of which are one "
                "text: give each its own"
            )
        return row

    name = getattr(features, "__name__", type(features).__name__)
    return Asked("the features", name, features, read)


@lru_cache(maxsize=1024, typed=True)
def _read(value: float) -> Fraction | float:
    """A number of Python as `exact_or_infinite` reads it: most are 0 or 1, time after time."""
    return exact_or_infinite(value, "a feature")
