"""Statistical certificates: recorded trajectories with exact rows, and an interval of TV.

```
pdai-samples 1
problem NAME
samples N
scale S                              capital is counted in multiples of 1 / S, rounded down
Z LOW HIGH DENOMINATOR               bounds of Z
level NUMERATOR DENOMINATOR
TV LOW HIGH DENOMINATOR              the claim
weights SUM                          of all w, at the upper bound of Z
won LOW HIGH                         the capital against each end of the claim, of all bets
s R DENOMINATOR f N D N D ... b N D ... | LABEL       R(x); p_F and p_B of each step, as N / D
end
```

`won` begins with half of the level for each bet, and must become one for each. Bets on `(1 - w)_+`
against `LOW`, and on `min(w, 1)` against one minus `HIGH`, are those of `betting`, in integers.
They are a part of the checker, as they must not be chosen after the samples. The verified program
(`proofs_notes/checker/Samples.v`) computes the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, lcm, prod
from pathlib import Path
from typing import Any, NamedTuple

from reference.certificates.betting import Interval
from reference.certificates.check import RefusedError, Verdict, verdict_of
from reference.certificates.format import Lines, write_rows
from reference.contract.errors import InputError
from reference.contract.files import reading

# Bets are these over `GRAIN`: from 1.6^-18 on in steps of 1.6 to 1.6^12, then in steps of 16.
GRAIN = 2**40
BETS = [*accumulate([8] * 30 + [80] * 6, lambda k, f: k * f // 5, initial=232_830_643)]
# Bits of capital, beyond those of the level; and decimals of a claim.
BITS, DIGITS = 128, 12

Pair = tuple[int, int]


class SamplesHeader(NamedTuple):
    """The lines above the samples, each number as it stands there."""

    problem: str
    samples: int
    scale: int
    z_low: int
    z_high: int
    z_den: int
    level_num: int
    level_den: int
    tv_low: int
    tv_high: int
    tv_den: int
    weights: int
    won_low: int
    won_high: int

    def lines(self) -> list[str]:
        """The lines of the header."""
        return [
            "pdai-samples 1",
            f"problem {self.problem}",
            f"samples {self.samples}",
            f"scale {self.scale}",
            f"Z {self.z_low} {self.z_high} {self.z_den}",
            f"level {self.level_num} {self.level_den}",
            f"TV {self.tv_low} {self.tv_high} {self.tv_den}",
            f"weights {self.weights}",
            f"won {self.won_low} {self.won_high}",
        ]


class Sample(NamedTuple):
    """A trajectory: `R(x)`, and `p_F` and `p_B` of each step, as numerator and denominator."""

    label: str
    reward: Pair
    forward: Sequence[Pair]
    backward: Sequence[Pair]

    def line(self) -> str:
        """The line of the file."""
        words = ["s", *_words([self.reward]), "f", *_words(self.forward)]
        return " ".join([*words, "b", *_words(self.backward), "|", self.label])

    def weight(self) -> Pair:
        """`R p_B / p_F` as numerator and denominator, both products of all numbers as they stand.

        Raises RefusedError if a number is no probability, the reward is negative, or `p_F` zero.
        """
        if self.reward[0] < 0 or self.reward[1] <= 0:
            raise RefusedError("its reward is no number >= 0")
        if not all(0 <= n <= d > 0 for n, d in (*self.forward, *self.backward)):
            raise RefusedError("a number is no probability")
        (a, b), (c, d) = (
            (prod(n for n, _ in steps), prod(d for _, d in steps))
            for steps in ([self.reward, *self.backward], self.forward)
        )
        if not c:
            raise RefusedError("its probability under the sampler is zero")
        return a * d, b * c


def _words(pairs: Iterable[Pair]) -> list[str]:
    return [str(number) for pair in pairs for number in pair]


@contextmanager
def open_samples(path: Path | str) -> Iterator[tuple[SamplesHeader, Iterator[Sample]]]:
    """Reads the header of a statistical certificate, then a sample at a time, or MalformedError."""
    with reading(Path(path), follow=True) as file:
        lines = Lines(file)
        yield read_header(lines, SamplesHeader), _samples(lines)


def read_header(lines: Lines, kind: Any) -> Any:
    """Reads the header of a kind that is a tuple of a name and numbers.

    Its lines are the version, the name, and numbers after the name of each line. Raises
    MalformedError at the first that is malformed, or not as the header writes it.
    """
    count = len(kind._fields) - 1
    version, name, *others = kind("", *[0] * count).lines()
    read = [lines.next()]
    if read[0] != version:
        raise lines.malformed(f"expected {version!r}")
    read += [lines.next() for _ in (name, *others)]
    label = lines.label(read[1].partition(" ")[2])
    numbers = [lines.number(word) for line in read[2:] for word in line.split(" ")[1:]]
    if len(numbers) != count:
        expected = ", ".join(line.partition(" ")[0] for line in others)
        raise lines.malformed(f"expected the lines {expected}")
    header = kind(label, *numbers)
    for written, line in zip(header.lines(), read, strict=True):
        lines.check_same(written, line)
    return header


def _samples(lines: Lines) -> Iterator[Sample]:
    while (line := lines.next()) != "end":
        numbers, _, label = line.partition(" | ")
        forward, _, back = numbers.partition(" b")
        reward, _, forward = forward.removeprefix("s").partition(" f")
        pairs = [_pairs(lines, text) for text in (reward, forward, back)]
        if len(pairs[0]) != 1:
            raise lines.malformed("expected 's REWARD DENOMINATOR f NUMBERS b NUMBERS | LABEL'")
        sample = Sample(lines.label(label), pairs[0][0], *pairs[1:])
        lines.check_same(sample.line(), line)
        yield sample
    lines.check_end()


def _pairs(lines: Lines, text: str) -> list[Pair]:
    numbers = [lines.number(word) for word in text.split(" ")[1:]]
    if len(numbers) % 2:
        raise lines.malformed("a numerator has no denominator")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def check_samples(path: Path | str) -> Verdict:
    """Checks a statistical certificate in integers, in Python, which is not verified.

    The verdict is that of `pdai-check` (`reference.certificates.run_checker`). What is accepted is
    wrong with probability at most its level, if `Z` lies between its bounds, and the samples are
    independent draws of a sampler that has these `p_F`, and a `p_B` of mass one. Raises InputError
    if there is no such file.
    """
    return verdict_of(open_samples(path), _check)


def _check(h: SamplesHeader, samples: Iterable[Sample]) -> None:
    if min(h.z_high, h.z_den, h.scale, h.level_num, h.level_den, h.tv_den) <= 0 or h.z_low < 0:
        raise RefusedError("Z, the scale, the level and denominators must be positive")
    if not 0 <= h.tv_low <= h.tv_high <= h.tv_den:
        raise RefusedError("TV must lie between two numbers from 0 to 1")
    values = Values(h, samples)
    against = ((h.tv_low, values.low, h.won_low), (h.tv_den - h.tv_high, values.high, h.won_high))
    if values.count != h.samples or values.weights != h.weights:
        raise RefusedError(
            f"there are {values.count} samples of weight {values.weights}, and {h.samples} of "
            f"weight {h.weights} are claimed"
        )
    for mean, drawn, claimed in against:
        won = capital(h, mean, drawn)
        if won != claimed or (mean and won < h.scale * len(BETS)):
            raise RefusedError(f"{won} is won, {claimed} claimed, {h.scale * len(BETS)} needed")


class Values:
    """The two values of each sample that are bet on, in multiples of `1 / scale`, rounded down.

    These are `(1 - w)_+` at the lower bound of Z, and `min(w, 1)` at the upper one, at which the
    weights w are added up.
    """

    def __init__(self, header: SamplesHeader, samples: Iterable[Sample]) -> None:
        self.count = self.weights = 0
        self.low: list[int] = []
        self.high: list[int] = []
        for sample in samples:
            self.count += 1
            try:
                a, b = sample.weight()
            except RefusedError as error:
                raise RefusedError(f"sample {self.count}: {error}") from None
            a, least, most = a * header.z_den, b * header.z_low, b * header.z_high
            w = header.scale * a // most
            self.weights += w
            self.low.append(header.scale * (least - a) // least if a < least else 0)
            self.high.append(w if a < most else header.scale)


def capital(h: SamplesHeader, mean: int, values: Iterable[int]) -> int:
    """The capital of all bets together against a mean; they begin with half of the level.

    Args:
        h: the header, of which scale, level and the denominator of TV are used.
        mean: what is bet against, in units of one over that denominator.
        values: in multiples of `1 / scale`.
    """
    each = [h.scale * h.level_num // (2 * h.level_den)] * len(BETS)
    bottoms = [h.scale * (GRAIN * h.tv_den + k * mean) for k in BETS]
    for y in values:
        each = [
            c and c * ((GRAIN * h.scale + k * y) * h.tv_den) // bottom
            for k, c, bottom in zip(BETS, each, bottoms, strict=True)
        ]
    return sum(each)


def write_samples(
    path: Path | str,
    samples: Sequence[Sample],
    log_z: Interval,
    interval: Interval,
    level: float,
    problem: str = "unnamed",
) -> Interval:
    """Writes a statistical certificate of trajectories as they were drawn; returns its claim.

    The claim is the interval, moved outward as far as bets in integers need.

    Args:
        path: the file, which replaces an old one.
        samples: the trajectories, in the order of the draws.
        log_z: bounds of `log Z`, in nats.
        interval: bounds of TV.
        level: the probability with which the claim may be wrong.
        problem: its name, for readers.

    Raises:
        InputError: if a number is too long for the file, or a sample is refused.
    """
    from reference.fields.balls import BALL, enclose

    # Rewards that are given by their logarithm are within 2^-51, and so is their sum.
    low, high = (enclose(BALL.convert(Fraction(z)).exp())[side] for side, z in enumerate(log_z))
    low, high = low * (1 - Fraction(1, 2**50)), high * (1 + Fraction(1, 2**50))
    common, odds = lcm(low.denominator, high.denominator), Fraction(repr(level))
    scale = 2 ** (BITS + ceil(1 / odds).bit_length())
    z, unit = (int(low * common), int(high * common), common), 10**DIGITS
    begun = SamplesHeader(
        problem, len(samples), scale, *z, *odds.as_integer_ratio(), 0, unit, unit, 0, 0, 0
    )
    bounds = floor(interval.low * unit), unit - floor((1 - Fraction(interval.high)) * unit)
    try:
        header = with_claim(begun._replace(tv_low=bounds[0], tv_high=bounds[1]), samples)
    except RefusedError as error:
        raise InputError(f"write_samples: {error}") from None
    write_rows(path, header, samples)
    return Interval(header.tv_low / unit, 1 - (unit - header.tv_high) / unit)


def with_claim(begun: SamplesHeader, samples: Iterable[Sample]) -> SamplesHeader:
    """The header with what its bets win, and its bounds moved outward until that is enough."""
    values = Values(begun, samples)
    below, won_low = _claimed(begun, begun.tv_low, values.low)
    above, won_high = _claimed(begun, begun.tv_den - begun.tv_high, values.high)
    header = begun._replace(tv_low=below, tv_high=begun.tv_den - above)
    return header._replace(weights=values.weights, won_low=won_low, won_high=won_high)


def _claimed(header: SamplesHeader, mean: int, values: Sequence[int]) -> tuple[int, int]:
    """A mean that enough is won against, the given one or a little less; and what is won."""
    step = 1
    while (won := capital(header, mean, values)) < header.scale * len(BETS) and mean:
        mean, step = max(0, mean - step), 4 * step
    return mean, won
