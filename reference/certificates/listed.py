"""Laws that are given as a list of values with weights, without a problem of states."""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.contract.errors import (
    InputError,
    check_hashable,
    check_list,
    check_type,
    plain,
    shown,
)
from reference.contract.tables import (
    DECIMAL,
    WEIGHTS,
    Parts,
    Shape,
    frame_sheet,
    parts_of,
    read_sheet,
)
from reference.contract.user_code import RATIO, Of, digits_lost, exact, exact_or_infinite
from reference.problems.base import MAX_LOG_REWARD
from reference.problems.enumeration import exponential

UNIFORM = "uniform"
# A share, and the most by which probabilities that are printed with a few digits miss a sum of 1.
PERCENT = "%"
PRINTED = Fraction(1, 100)


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
    # The names of the parts of its values, where a file has a column for each; and how it was read.
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
    law: Any, support: Any = None, header: bool | None = None, columns: Sequence[str] = ()
) -> ListedLaw:
    """The law that `certify` is given.

    Args:
        law: `uniform`; weights by value; or a file, or a frame, of values with weights.
        support: of the uniform law: a sequence, or a file or a frame of values.
        header: whether files begin with names of columns, as `Shape` takes it.
        columns: the columns of a value in files and frames, a part each.

    Raises:
        InputError: if a file breaks a rule, a value is repeated or has no weight, or the two do not
            make one law.
    """
    if not hasattr(law, "columns"):
        check_type("the target", "law", law, (str, Path, Mapping))
    if support is not None and not (isinstance(law, str) and law == UNIFORM):
        raise InputError(
            "the support is of the uniform law, and the law has values of its own: leave one of "
            "the two out"
        )
    if isinstance(law, Mapping):
        return ListedLaw(law)
    shape = Shape(header, tuple(columns), bool(columns), WEIGHTS, "weight")
    if not (isinstance(law, str) and law == UNIFORM):
        parts = _parts(law, shape, bool)
        weights, said = _weights(law, parts)
        made, parts = ListedLaw(weights), parts._replace(notes=(*parts.notes, *said))
    elif support is None:
        raise InputError("the law is uniform, but over which values? Give --support FILE")
    elif isinstance(support, str | Path) or hasattr(support, "columns"):
        shape = shape._replace(whole=True, number="value")
        parts = _parts(support, shape, lambda names: not names)
        made = ListedLaw.uniform(parts.values)
        # A first line above the values is their name.
        made.heading = parts.names[0] if parts.lines[0] > 1 else None
    else:
        return ListedLaw.uniform(check_list("the target", "support", support))
    made.names, made.notes = parts.names if len(parts.names) > 1 else (), parts.notes
    return made


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


def _parts(source: Any, shape: Shape, allowed: Callable[[set[str]], bool]) -> Parts:
    """The values of a file or a frame, with what stands beside them."""
    is_frame = hasattr(source, "columns")
    sheet = frame_sheet(source, "the frame") if is_frame else read_sheet(Path(source), shape)
    is_support = shape.number != "weight"
    fix = "value" if is_support else "value, weight, or value, log_weight"
    unnamed = ("value",) if is_support else ("value", "weight")
    parts = parts_of(sheet, shape, unnamed, lambda names: len(names) < 2 and allowed(names), fix)
    if not parts.values:
        wanted = "a value" if is_support else "a value and its weight, separated by a comma"
        raise InputError(f"{sheet.source} lists no value: write {wanted} in each line")
    _check_distinct(parts.values, len({*parts.values}), sheet.source)
    return parts


def _weights(source: Any, parts: Parts) -> tuple[Mapping[Hashable, Fraction], Sequence[str]]:
    """The weights of a law, by value: as decimal numbers, fractions, or shares such as 40%.

    The column `log_weight` is in nats; `frequency` is of any scale; `probability` must sum to 1 as
    far as printed: a note says by what rounded ones are divided.
    """
    owner = "the frame" if hasattr(source, "columns") else repr(str(source))
    ((other, texts),) = parts.beside.items()
    shares = [text.strip().endswith(PERCENT) for text in texts]
    is_log = other == "log_weight"
    if any(shares) and (not all(shares) or is_log):
        raise InputError(f"{owner}: some weights are shares such as 40%: write all in one way")
    law: dict[Hashable, Any] = {}
    for line, value, text in zip(parts.lines, parts.values, texts, strict=True):
        weight = text.strip().removesuffix(PERCENT)
        is_number = DECIMAL.fullmatch(weight) or RATIO.fullmatch(weight)
        law[value] = Fraction(weight) if is_number else -math.inf
        if not ((is_number or weight == "-inf") if is_log else law[value] >= 0):
            raise InputError(
                f"{owner}, line {line}: the {other.replace('_', ' ')} of {value!r} is {text!r}, "
                "but must be a decimal number, or a fraction such as 2/3, and at least 0 (columns "
                "are named value and weight, or log_weight)"
            )
    if is_log:
        return from_logs(law), ()
    total = sum(law.values()) / (100 if any(shares) else 1)
    if total == 1 or not (any(shares) or other == "probability"):
        return law, ()
    if abs(total - 1) > PRINTED:
        raise InputError(
            f"{owner}: its probabilities sum to {float(total):.6g}, but must sum to 1: name the "
            "column weight, if they are of any scale, and leave out %"
        )
    return law, (f"{owner}: its probabilities sum to {float(total):.9g}: divided by that",)


def _check_distinct(values: Sequence[Hashable], distinct: int, owner: str) -> None:
    if distinct < len(values):
        seen: set[Hashable] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InputError(f"{owner} has the value {shown(twice)} twice: list each once")
