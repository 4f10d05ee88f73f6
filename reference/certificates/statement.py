"""Certificates: statements about a sampler, each with the evidence for it."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from reference.certificates.betting import Interval
from reference.contract.errors import InputError, shown
from reference.contract.tables import framed
from reference.contract.text import html_page, small

# The regimes, by the knowledge of problem and sampler: see docs/certify.md.
Regime = Literal["E", "Z", "S", "N"]

REGIMES: dict[Regime, str] = {
    "E": "everything is enumerated: exact",
    "Z": "log Z is known: an interval from samples of the model alone",
    "S": "samples of the sampler beside the target, or beside samples of it, without Z",
    "N": "neither log Z nor samples of the target: no closeness is claimed",
}

# The evidence for a value. A bound fails with probability at most the level of the certificate.
Kind = Literal["exact", "exact for float64 input", "float64", "bound", "estimate", "as given"]
# Of rational arithmetic on numbers of which some were floats.
FLOAT_INPUT: Kind = "exact for float64 input"
# The longest fraction that is printed beside its decimal.
SHORT = 15


@dataclass(frozen=True)
class Line:
    """One statement: the name of a quantity, an interval, a number or words, and the evidence."""

    name: str
    value: Interval | Fraction | float | str
    kind: Kind

    def text(self) -> str:
        """The value as text, with six significant digits; bounds are rounded outward.

        A short fraction that is exact stands before its decimal.
        """
        if isinstance(self.value, Interval):
            return f"[{small(self.value.low, down=True)}, {small(self.value.high, down=False)}]"
        if isinstance(self.value, str):
            return self.value
        fraction, text = str(plain(self.value)), small(self.value)
        if self.kind != "exact" or "/" not in fraction or len(fraction) > SHORT:
            return text
        return f"{fraction}{' = ' if Fraction(text) == self.value else ', about '}{text}"


@dataclass(frozen=True, repr=False)
class Certificate:
    """The certified error of a sampler.

    Attributes:
        regime: E, Z, S or N.
        interval: contains `TV(p_F, mu)` between distributions on trajectories, except with
            probability `level`; in regime E, and from bare samples, on terminal states.
        of: "terminals" or "trajectories", which the interval is about.
        level: the largest probability with which each bound fails; 0 if exact.
        samples: the number of trajectories or samples.
        lines: all other statements.
        notes: assumptions, findings, and the reasons for missing bounds.
        name: the name of the sampler.
        table: `x`, `p_T(x)`, `pi(x)` of every terminal state, in regime E.
        tv: TV on terminal states, by rational arithmetic, in regime E.
        kind: the evidence for `tv`, which tells whether a number was a float.
        excluded: the draws whose target probability is 0: each shows that TV is above 0.
        conditions: the assumptions that the title names, each as a clause after "if".

    Raises:
        InputError: if the bounds contradict each other, or TV does not lie in [0, 1].
    """

    regime: Regime
    interval: Interval
    of: str
    level: float
    samples: int
    lines: Sequence[Line]
    notes: Sequence[str]
    name: str = "a sampler"
    table: Sequence[tuple[Any, Fraction, Fraction]] = ()
    tv: Fraction | None = None
    kind: Kind = "exact"
    excluded: Sequence[Hashable] = ()
    conditions: Sequence[str] = ()

    def __post_init__(self) -> None:
        low, high = self.interval
        if low > high:
            raise InputError(
                f"TV of {self.of} would be at least {low:.6g} and at most {high:.6g}: at level "
                f"{self.level:g} these samples are not independent draws, of the sampler or of "
                "the target (are they sorted, repeated, or from one chain?): draw them anew"
            )
        if not (0 <= low <= high <= 1 and 0 <= (self.tv or 0) <= 1):
            raise InputError(
                f"TV of {self.of} would be {self.tv or tuple(self.interval)}, which is not in "
                "[0, 1]: check the rewards and the rows for numbers that overflow"
            )

    @property
    def impossible(self) -> int:
        """The number of draws whose target probability is 0."""
        return len(self.excluded)

    @property
    def certain(self) -> Sequence[Line]:
        """A line about the draws whose target probability is 0, if there are any."""
        if not self.impossible:
            return ()
        draws = f"{self.impossible:,} of {self.samples:,} draws"
        have = "has" if self.impossible == 1 else "have"
        text = f"{draws} {have} target probability 0, such as {shown(self.excluded[0])}"
        return (Line("wrong for certain", text, "exact"),)

    @property
    def title(self) -> str:
        """The quantity that is certified, with its conditions."""
        return f"TV of {self.of}{self.condition}"

    @property
    def condition(self) -> str:
        """The conditions as a clause after a comma, or ""."""
        return f", if {' and '.join(self.conditions)}" if self.conditions else ""

    @property
    def meaning(self) -> str:
        """TV in words, as the largest error in the probability of a set."""
        low, high = self.interval
        most, wrong = small(high, down=False), "more or less likely than it should be"
        beyond = "" if high == 1 else f", none more than {most}"
        if low == 0 and self.impossible:
            return f"TV is above 0: some set of {self.of} is likelier than it should be{beyond}"
        if (low, high) == (0, 1):
            return f"any set of {self.of} may be {wrong}"
        if high == 0:
            return f"every set of {self.of} is as likely as it should be"
        if low == 0:
            return f"no set of {self.of} is more than {most} {wrong}"
        if self.tv is not None:
            return f"some set of {self.of} is {small(self.tv)} {wrong}"
        return f"some set of {self.of} is at least {small(low, down=True)} {wrong}{beyond}"

    @property
    def _distance(self) -> Line:
        if self.tv is None:
            return Line(self.title, self.interval, "bound")
        return Line(self.title, self.tv, self.kind)

    @property
    def report(self) -> dict[str, str]:
        """Every line as text with its kind, by name."""
        words = Line("in words", self.meaning + self.condition, self._distance.kind)
        lines = (*self.certain, self._distance, words, *self.lines)
        return {line.name: f"{line.text()} ({line.kind})" for line in lines}

    def value(self, name: str) -> Any:
        """The value of a line."""
        return next(line.value for line in self.lines if line.name == name)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; fractions and infinite numbers become text."""
        return {
            "impossible": self.impossible,
            "regime": self.regime,
            "interval": list(self.interval),
            "of": self.of,
            "conditions": list(self.conditions),
            "tv": plain(self.tv),
            "kind": self._distance.kind,
            "level": self.level,
            "samples": self.samples,
            "lines": [
                {"name": line.name, "value": plain(line.value), "kind": line.kind}
                for line in (*self.certain, *self.lines)
            ],
            "notes": list(self.notes),
            "name": self.name,
        }

    def to_frame(self) -> Any:
        """The report as a frame, a row for each line: name, lower and upper value, kind."""
        lines = [*self.certain, self._distance, *self.lines]
        ends = [x.value if isinstance(x.value, Interval) else (x.value, x.value) for x in lines]
        return framed(
            {
                "line": [line.name for line in lines],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "kind": [line.kind for line in lines],
            }
        )

    def states(self) -> dict[str, list[Any]]:
        """Columns with every terminal state, for `framed` and `--table`; empty but in regime E."""
        states, learned, target = zip(*self.table, strict=True) if self.table else ((), (), ())
        return {
            "state": [*map(str, states)],
            "p_T": [*map(float, learned)],
            "target": [*map(float, target)],
            "difference": [float(p - pi) for p, pi in zip(learned, target, strict=True)],
            "p_T_exact": [*learned],
            "target_exact": [*target],
        }

    def __repr__(self) -> str:
        certain = "".join(f"{line.name}: {line.text()}; " for line in self.certain)
        of = f"{self.title} {self.report[self.title]}, of {self.name}: {self.meaning}"
        return f"Certificate({certain}regime {self.regime}, {of})"

    def _repr_html_(self) -> str:
        notes = {f"note {i}": note for i, note in enumerate(self.notes, 1)}
        return html_page(repr(self), self.report, notes)


def plain(value: Any) -> Any:
    """A value for JSON or CSV; a fraction is text, of any length, as Decimal writes integers."""
    if isinstance(value, Interval):
        return [*map(plain, value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Fraction):
        return "/".join(str(Decimal(x)) for x in value.as_integer_ratio()).removesuffix("/1")
    return value
