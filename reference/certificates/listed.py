"""Laws that are given as a list of values with weights, without a problem of states."""

import csv
import io
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from reference.errors import InputError, check_hashable, plain, shown
from reference.files import read_file
from reference.problems.columns import DECIMAL
from reference.user_code import Of, exact

UNIFORM = "uniform"


class Start(NamedTuple):
    """The state before a value is drawn."""


class ListedLaw:
    """A law on listed values, as a problem of one step: `pi(x)` is its weight over their sum.

    Args:
        weights: the weight of each value, at least 0; a value of weight 0 is outside of the law.

    Raises:
        InputError: if a weight is negative or not finite, or all are 0.
    """

    initial = Start()

    def __init__(self, weights: Mapping[Hashable, Fraction | float | int]) -> None:
        law: dict[Hashable, Fraction] = {}
        for value, weight in weights.items():
            check_hashable("a value of the law", value)
            law[value] = number = exact(weight, Of("the weight", value))
            if number < 0:
                raise InputError(
                    f"the weight of {shown(value)} is {plain(weight)}, but must be at least 0"
                )
        self.weights = {value: weight for value, weight in law.items() if weight}
        if not self.weights:
            raise InputError(
                f"the law has {len(law):,} values whose weights sum to 0: give one a weight above 0"
            )
        self._values = tuple(self.weights)
        if all(isinstance(value, str) for value in self._values):
            # In files, a text is the value itself.
            self.parse = str

    def children(self, state: Hashable) -> tuple[Hashable, ...]:
        """All values, from the start."""
        return self._values if state == self.initial else ()

    def reward(self, value: Hashable) -> Fraction:
        """The weight of a value."""
        return self.weights[value]

    @classmethod
    def of(
        cls,
        law: str | Path | Mapping[Hashable, Fraction | float | int],
        support: str | Path | Sequence[Hashable] | None = None,
    ) -> "ListedLaw":
        """The law that `certify` is given.

        Args:
            law: `uniform`; weights by value; or a CSV file with a value and its weight in each
                line, under the names `value,weight` or without.
            support: the values of the uniform law: a sequence, or a file with one in each line.

        Raises:
            InputError: if a file cannot be read, a value is repeated or has no weight, or the
                uniform law has no support, or another law has one.
        """
        if law != UNIFORM:
            if support is not None:
                raise InputError(
                    "the support is of the uniform law, and the law lists its own values: leave "
                    "one of the two out"
                )
            return cls(law if isinstance(law, Mapping) else _read_weights(Path(law)))
        if support is None:
            raise InputError("the law is uniform, but over which values? Give its support")
        if isinstance(support, str | Path):
            rows = _rows(Path(support), "value")
            values: Sequence[Hashable] = [_columns(support, 1, n, row)[0] for n, row in rows]
        else:
            values = support
        weights = dict.fromkeys(values, 1)
        _check_distinct(values, len(weights), "the support")
        return cls(weights)


def _read_weights(path: Path) -> dict[Hashable, Fraction]:
    weights: list[tuple[str, Fraction]] = []
    for line, row in _rows(path, "value", "weight"):
        value, weight = _columns(path, 2, line, row)
        if not DECIMAL.fullmatch(weight.strip()):
            raise InputError(
                f"{str(path)!r}, line {line}: the weight of {value!r} is {weight!r}, but must be a "
                "decimal number"
            )
        weights.append((value, Fraction(weight.strip())))
    law: dict[Hashable, Fraction] = dict(weights)
    _check_distinct([value for value, _ in weights], len(law), repr(str(path)))
    return law


def _rows(path: Path, *names: str) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file with their numbers, without the line of names."""
    try:
        text = read_file(path, follow=True).decode("utf-8-sig")
        rows = list(enumerate(csv.reader(io.StringIO(text, newline="")), 1))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{str(path)!r} cannot be read as CSV ({error})") from None
    rows = [(line, row) for line, row in rows if row]
    if rows and tuple(rows[0][1]) == names:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{str(path)!r} lists no value: write {' and '.join(names)} in each line")
    return rows


def _columns(path: str | Path, count: int, line: int, row: Sequence[str]) -> Sequence[str]:
    if len(row) != count:
        wanted = "a value" if count == 1 else "a value and its weight"
        raise InputError(
            f"{str(path)!r}, line {line} has {len(row)} columns, but must have {wanted}: quote "
            "values that contain commas"
        )
    return row


def _check_distinct(values: Sequence[Hashable], distinct: int, owner: str) -> None:
    if distinct < len(values):
        seen: set[Hashable] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InputError(f"{owner} has the value {shown(twice)} twice: list each once")
