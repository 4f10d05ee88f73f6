"""Statistical certificates of bare samples: a lower bound of TV to a listed law.

```
pdai-bare 1
law NAME
values K
samples N
scale S                              capital is counted in multiples of 1 / S, rounded down
level NUMERATOR DENOMINATOR
TV LOW DENOMINATOR                   the claim: TV is at least LOW / DENOMINATOR
trace SUM                            S, and t (j + 1) for each sample: number t is the value j
won CAPITAL                          of all bets
v WEIGHT | LABEL                     for each value, from number 0 on
x VALUE                              for each sample, in the order of the draws: the value's number
end
```

After 1, 2, 4, 8, ... samples three events are chosen anew: values that have come more often than
the law says, by more than 0, 2 or 4 standard deviations. Until the next choice, each sample in an
event wins bets against the law's probability of the event plus `LOW / DENOMINATOR`, which is at
least the sampler's if TV is at most that. The rule and the bets are a part of the checker, as they
must not be chosen after the samples. The verified program (`proofs_notes/checker/Bare.v`) computes
the same.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain, compress
from math import ceil, lcm, log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reference.certificates.check import RefusedError, Verdict, verdict_of
from reference.certificates.format import Lines, write_rows
from reference.certificates.sampled import BETS, BITS, DIGITS, GRAIN, read_header
from reference.contract.errors import InputError
from reference.contract.files import reading

# Squares of the standard deviations by which the values of an event came too often.
THRESHOLDS = (0, 4, 16)
# All that a sampler draws and the law does not list is one value more.
OTHER = "any other value"


class BareHeader(NamedTuple):
    """The lines above the values, each number as it stands there; `problem` names the law."""

    problem: str
    values: int
    samples: int
    scale: int
    level_num: int
    level_den: int
    tv_low: int
    tv_den: int
    trace: int
    won: int

    def lines(self) -> list[str]:
        """The lines of the header."""
        return [
            "pdai-bare 1",
            f"law {self.problem}",
            f"values {self.values}",
            f"samples {self.samples}",
            f"scale {self.scale}",
            f"level {self.level_num} {self.level_den}",
            f"TV {self.tv_low} {self.tv_den}",
            f"trace {self.trace}",
            f"won {self.won}",
        ]


class Value(NamedTuple):
    """A value of the law, with its weight."""

    label: str
    weight: int

    def line(self) -> str:
        """The line of the file."""
        return f"v {self.weight} | {self.label}"


class Drawn(NamedTuple):
    """A sample: the number of its value."""

    value: int
    label: str = "a sample"

    def line(self) -> str:
        """The line of the file."""
        return f"x {self.value}"


@contextmanager
def open_bare(path: Path | str) -> Iterator[tuple[BareHeader, list[Value], Iterator[int]]]:
    """Reads the header and values of bare samples, then each sample; or raises MalformedError."""
    with reading(Path(path), follow=True) as file:
        lines = Lines(file)
        header = read_header(lines, BareHeader)
        values = [_value(lines) for _ in range(header.values)]
        if len({value.label for value in values}) < len(values):
            raise lines.malformed("two of the values have one label, and a law has each once")
        yield header, values, _samples(lines)


def _value(lines: Lines) -> Value:
    line = lines.next()
    weight, bar, label = line.removeprefix("v ").partition(" | ")
    if not bar:
        raise lines.malformed("expected 'v WEIGHT | LABEL'")
    value = Value(lines.label(label), lines.number(weight))
    lines.check_same(value.line(), line)
    return value


def _samples(lines: Lines) -> Iterator[int]:
    while (line := lines.next()) != "end":
        drawn = Drawn(lines.number(line.removeprefix("x ")))
        lines.check_same(drawn.line(), line)
        yield drawn.value
    lines.check_end()


def check_bare(path: Path | str) -> Verdict:
    """Checks a certificate of bare samples in integers, in Python, which is not verified.

    The verdict is that of `pdai-check` (`reference.certificates.run_checker`). That somebody writes
    one that is accepted, and TV is below its claim, has probability at most its level, if the
    samples are independent draws of one sampler. Raises InputError if there is no such file.
    """
    return verdict_of(open_bare(path), _check)


def _check(h: BareHeader, values: Sequence[Value], drawn: Iterable[int]) -> None:
    weights, samples = [value.weight for value in values], list(drawn)
    if min(h.scale, h.level_num, h.level_den, h.tv_den) <= 0 or h.tv_low < 0:
        raise RefusedError("the scale, the level and denominators must be positive, TV at least 0")
    if min(weights, default=0) < 0 or not any(weights):
        raise RefusedError("the weights must be at least 0, and one of them positive")
    for number, value in enumerate(samples, 1):
        if not 0 <= value < len(weights):
            raise RefusedError(f"sample {number} is the value {value} of {len(weights)}")
    if (len(samples), _trace(h, samples)) != (h.samples, h.trace):
        raise RefusedError(f"there are {len(samples)} samples, with the trace {_trace(h, samples)}")
    won, needed = won_by_bets(h, weights, samples), _needed(h)
    if won != h.won or (h.tv_low and won < needed):
        raise RefusedError(f"{won} is won, {h.won} claimed, {needed} needed")


def _trace(h: BareHeader, samples: Sequence[int]) -> int:
    return h.scale + sum(number * (value + 1) for number, value in enumerate(samples, 1))


def _needed(h: BareHeader) -> int:
    return h.scale * len(BETS) * len(THRESHOLDS)


def _above(threshold: int, count: int, total: int, weight: int, times: int) -> bool:
    """True for a value that came often, of a weight, in a count of samples."""
    over = times * total - count * weight
    return over > 0 and over**2 > threshold * count * weight * total


class _Piece(NamedTuple):
    """Samples up to the next choice, and the events that those before have chosen."""

    events: list[list[bool]]
    samples: Sequence[int]


def _pieces(weights: Sequence[int], samples: Sequence[int]) -> Iterator[_Piece]:
    total, counts, start = sum(weights), [0] * len(weights), 0
    while start < len(samples):
        pairs = list(zip(weights, counts, strict=True))
        events = [[_above(z, start, total, *pair) for pair in pairs] for z in THRESHOLDS]
        end = max(1, 2 * start)
        yield _Piece(events, samples[start:end])
        for value in samples[start:end]:
            counts[value] += 1
        start = end


def won_by_bets(h: BareHeader, weights: Sequence[int], samples: Sequence[int]) -> int:
    """The capital of all bets together against the claim; each begins with the level.

    Args:
        h: the header, of which scale, level and TV are used.
        weights: of the values.
        samples: the numbers of the values drawn.
    """
    total = sum(weights)
    unit = h.tv_den * total
    capitals = [[h.scale * h.level_num // h.level_den] * len(BETS) for _ in THRESHOLDS]
    for events, part in _pieces(weights, samples):
        for place, event in enumerate(events):
            mean = sum(compress(weights, event)) * h.tv_den + h.tv_low * total
            bottoms = [GRAIN * unit + k * mean for k in BETS]
            tops = [[GRAIN * unit] * len(BETS), [(GRAIN + k) * unit for k in BETS]]
            each = capitals[place]
            for value in part:
                odds = zip(each, tops[event[value]], bottoms, strict=True)
                each = [capital and capital * top // bottom for capital, top, bottom in odds]
            capitals[place] = each
    return sum(chain.from_iterable(capitals))


def _claimed(h: BareHeader, weights: Sequence[int], samples: Sequence[int]) -> int:
    """About the largest numerator of TV that enough is won against, by bets in floats."""
    total, bets = sum(weights), np.array(BETS, float) / GRAIN
    pieces = [
        (place, sum(compress(weights, event)) / total, len(part), sum(event[x] for x in part))
        for events, part in _pieces(weights, samples)
        for place, event in enumerate(events)
    ]
    wanted = log(Fraction(_needed(h) * h.level_den, h.scale * h.level_num))

    def enough(low: int) -> bool:
        logs = np.zeros((len(THRESHOLDS), len(bets)))
        for place, inside, count, hits in pieces:
            against = np.log1p(bets * (inside + low / h.tv_den))
            logs[place] += hits * np.log1p(bets) - count * against
        return float(np.logaddexp.reduce(logs.ravel())) > wanted

    return bisect_left(range(1, h.tv_den), True, key=lambda low: not enough(low))


def write_bare(
    path: Path | str,
    law: Mapping[str, Fraction],
    samples: Iterable[str],
    level: float,
    problem: str = "unnamed",
) -> float:
    """Writes a statistical certificate of bare samples; returns the lower bound of TV in it.

    Args:
        path: the file, which replaces an old one.
        law: the weight of each value, by its text.
        samples: texts, in the order of the draws; any other text for a value that is not listed.
        level: the probability with which the claim may be wrong.
        problem: the name of the law, for readers.

    Raises:
        InputError: if a number or a text is too long for the file.
    """
    common, numbers = lcm(*(w.denominator for w in law.values())), {x: i for i, x in enumerate(law)}
    values = [Value(x, int(w * common)) for x, w in law.items()] + [Value(OTHER, 0)]
    weights, drawn = [value.weight for value in values], [numbers.get(x, len(law)) for x in samples]
    if not any(weights):
        raise InputError("write_bare: the law has no value of positive weight: give it one")
    if OTHER in law:
        raise InputError(f"write_bare: {OTHER!r} is what no law lists: name the value otherwise")
    odds = Fraction(repr(level))
    unit: int = 10**DIGITS
    scale = 2 ** (BITS + ceil(1 / odds).bit_length())
    begun = BareHeader(
        *(problem, len(values), len(drawn), scale, *odds.as_integer_ratio()), *(0, unit, 0, 0)
    )
    begun = begun._replace(tv_low=_claimed(begun, weights, drawn))
    header = with_claim(begun, weights, drawn)
    write_rows(path, header, chain(values, map(Drawn, drawn)))
    return header.tv_low / unit


def with_claim(header: BareHeader, weights: Sequence[int], samples: Sequence[int]) -> BareHeader:
    """The header with what its bets win, and its bound moved down until that is enough.

    Args:
        header: with the bound to begin with.
        weights: of the values.
        samples: the numbers of the values drawn.
    """
    header, step = header._replace(trace=_trace(header, samples)), 1
    while (won := won_by_bets(header, weights, samples)) < _needed(header) and header.tv_low:
        header, step = header._replace(tv_low=max(0, header.tv_low - step)), 4 * step
    return header._replace(won=won)
