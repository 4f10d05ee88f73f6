"""Laws that are given as a list of values with weights, without a problem of states."""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.certificates.inputs import columns_of, read_rows
from reference.contract.errors import (
    InputError,
    check_hashable,
    check_list,
    check_type,
    plain,
    shown,
)
from reference.contract.text import counted
from reference.contract.user_code import RATIO, Of, digits_lost, exact, exact_or_infinite
from reference.posterior.columns import DECIMAL
from reference.problems.base import MAX_LOG_REWARD
from reference.problems.enumeration import exponential

UNIFORM = "uniform"
# A row of texts with the number of its line.
Numbered = tuple[int, list[str]]


@dataclass(frozen=True)
class Start:
    """The state before a value is drawn, which equals no value."""


class ListedLaw:
    """A law on listed values, as a problem of one step: `pi(x)` is its weight over their sum.

    A value of weight 0 is outside of the law, and named in `excluded`. A sample is a text if all
    values are. Raises InputError if a weight is negative or not finite, or all are 0.
    """

    initial = Start()
    # The first line of the file of its values, where that was read as their name.
    heading: str | None = None

    def __init__(self, weights: Mapping[Hashable, Fraction | float | int]) -> None:
        law: dict[Hashable, Fraction] = {}
        for value, weight in weights.items():
            check_hashable("a value of the law", value)
            law[value] = number = exact(weight, Of("the weight", value))
            if number < 0:
                raise InputError(
                    f"the weight of {shown(value)} is {plain(weight)}, but must be at least 0"
                )
        most = max(law, key=law.__getitem__, default=None)
        if law and digits_lost(weights[most]):
            raise InputError(
                f"the largest weight, of {shown(most)}, is {weights[most]}, so near to 0 that the "
                "float has lost digits: give logarithms, as log_weights"
            )
        self.weights = {value: weight for value, weight in law.items() if weight}
        self.excluded = law.keys() - self.weights.keys()
        if not self.weights:
            raise InputError(
                f"the law has {len(law):,} values whose weights sum to 0: give one a weight above 0"
            )
        self._values = tuple(self.weights)
        if all(isinstance(value, str) for value in self._values):
            # In files, a text is the value itself.
            self.parse = _text

    @classmethod
    def uniform(cls, values: Sequence[Hashable]) -> "ListedLaw":
        """The uniform law on values; raises InputError if one is given twice."""
        for value in values:
            check_hashable("a value of the support", value)
        weights = dict.fromkeys(values, 1)
        _check_distinct(values, len(weights), "the support")
        return cls(weights)

    def check_heading(self, outside: Collection[Hashable]) -> None:
        """Raises InputError if the name of its values is drawn: it may be one of them."""
        if self.heading is not None and self.heading in outside:
            raise InputError(
                f"the sample {self.heading!r} is not in the law, whose file begins with it: "
                "leave it out if it names the column; --no-header takes it for a value"
            )

    def children(self, state: Hashable) -> tuple[Hashable, ...]:
        """All values, from the start."""
        return self._values if state == self.initial else ()

    def reward(self, value: Hashable) -> Fraction:
        """The weight of a value."""
        return self.weights[value]

    def listed(self) -> Mapping[Hashable, Fraction]:
        """`pi` of every value."""
        total = sum(self.weights.values(), start=Fraction(0))
        return {value: weight / total for value, weight in self.weights.items()}


def _text(sample: object) -> str:
    """A sample as a text, which is how files list values."""
    check_hashable("a sample", sample)
    return str(sample)


def law_of(
    law: str | Path | Mapping[Hashable, Any],
    support: str | Path | Sequence[Hashable] | None = None,
    header: bool | None = None,
) -> ListedLaw:
    """The law that `certify` is given.

    Args:
        law: `uniform`; weights by value; or a file of values with weights or log weights.
        support: of the uniform law: a sequence, or a file with a value in each line.
        header: whether files begin with names of columns, as `read_rows` takes it.

    Raises:
        InputError: if a file breaks a rule, a value is repeated or has no weight, or the two do not
            make one law.
    """
    check_type("the target", "law", law, (str, Path, Mapping))
    if support is not None and law != UNIFORM:
        raise InputError(
            "the support is of the uniform law, and the law has values of its own: leave one of "
            "the two out"
        )
    if isinstance(law, Mapping):
        return ListedLaw(law)
    if law != UNIFORM:
        return ListedLaw(_read_weights(Path(law), header))
    if support is None:
        raise InputError("the law is uniform, but over which values? Give --support FILE")
    if isinstance(support, str | Path):
        named, _, rows = _rows(Path(support), header, ("value",))
        uniform = ListedLaw.uniform([row[0] for _, row in rows])
        uniform.heading = named[0] if named else None
        return uniform
    return ListedLaw.uniform(check_list("the target", "support", support))


def from_logs(logs: Mapping[Hashable, Any]) -> dict[Hashable, Fraction]:
    """Weights from log weights in nats, up to a common factor; minus infinity is a weight of 0.

    Each weight is within 2^-51 of the exponential, relative to its size. Raises InputError if a log
    weight is NaN or plus infinity, or two are too far apart.
    """
    numbers: dict[Hashable, Fraction] = {}
    for value, log in logs.items():
        what = Of("the log weight", value)
        if (number := exact_or_infinite(log, what)) != -math.inf:
            numbers[value] = exact(number, what)
    # Sums of weights stay short if the largest weight is 1.
    largest = max(numbers.values(), default=Fraction(0))
    for value, number in numbers.items():
        if largest - number > MAX_LOG_REWARD:
            raise InputError(
                f"the log weight of {shown(value)} is {plain(logs[value])}, more than "
                f"{MAX_LOG_REWARD:,} nats below the largest: leave the value out"
            )
    weights = {value: exponential(number - largest) for value, number in numbers.items()}
    return {value: weights.get(value, Fraction(0)) for value in logs}


def _read_weights(path: Path, header: bool | None) -> Mapping[Hashable, Fraction]:
    """The weights in a file with a value and its weight in each line, by value.

    The columns are `value`, or another of `VALUES`, and `weight` or `log_weight`, in nats. No names
    are needed for weights.
    """
    _, names, rows = _rows(path, header, ("value", "weight"), ("value", "log_weight"))
    other = "log_weight" if "log_weight" in names else "weight"
    law: dict[Hashable, Any] = {}
    for line, row in rows:
        value, weight = row[names.index("value")], row[names.index(other)].strip()
        if weight == "-inf" and other == "log_weight":
            law[value] = -math.inf
        elif DECIMAL.fullmatch(weight) or RATIO.fullmatch(weight):
            law[value] = Fraction(weight)
        else:
            raise InputError(
                f"{str(path)!r}, line {line}: the {other.replace('_', ' ')} of {value!r} is "
                f"{weight!r}, but must be a decimal number, or a fraction such as 2/3 "
                "(columns are named value and weight, or log_weight)"
            )
    _check_distinct([row[names.index("value")] for _, row in rows], len(law), repr(str(path)))
    return from_logs(law) if other == "log_weight" else law


def _rows(
    path: Path, header: bool | None, *allowed: tuple[str, ...]
) -> tuple[Sequence[str] | None, Sequence[str], Sequence[Numbered]]:
    """The first line of a file if it has names, those of its columns, and its rows by line."""
    named, lines = read_rows(path, header)
    rows = [(line, row) for line, row in enumerate(lines, 1) if row]
    names = columns_of(named or allowed[0], header, "value")
    if sorted(names) not in map(sorted, allowed):
        raise InputError(
            f"{str(path)!r} has the columns {', '.join(names)}, but must have "
            f"{' or '.join(map(', '.join, allowed))}"
        )
    wanted = "a value" if len(names) == 1 else "a value and its weight, separated by a comma"
    if not rows:
        raise InputError(f"{str(path)!r} lists no value: write {wanted} in each line")
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"{str(path)!r}, line {line} has {counted(len(row), 'column')}, but must have "
                f"{wanted}: quote values that contain commas"
            )
    return named, names, rows


def _check_distinct(values: Sequence[Hashable], distinct: int, owner: str) -> None:
    if distinct < len(values):
        seen: set[Hashable] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InputError(f"{owner} has the value {shown(twice)} twice: list each once")
