"""The text format of a certificate, its writer and its strict reader.

```
pdai-certificate 1
problem NAME
nodes N
arithmetic exact                     or: arithmetic rounded SCALE
Z SUM DENOMINATOR                    of the reward numerators; of all rewards
TV = NUMERATOR DENOMINATOR           or <=, or >=
i DENOMINATOR CHILD NUMERATOR ... | LABEL      an inner node: p_F to each child
t REWARD | LABEL                               a terminal node: the numerator of R(x)
end
```

Rows come in the order of the nodes, `s_o` first. Numbers are decimal integers without leading
zeros, with one space between; labels and the name of the problem are printable ASCII. The verified
program reads the same format (`proofs_notes/checker/main.ml`). `reference.certificates.check`
checks the numbers.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Protocol, get_args

from reference.contract.errors import InputError
from reference.contract.files import reading, replacing

Relation = Literal["=", "<=", ">="]

# Below Python's own limit of 4,300, beyond which reading a number takes time quadratic in it.
MAX_DIGITS = 4_000
MAX_LABEL = 10_000
MAX_LINE = 100_000_000

# The least number of bits of a number of `MAX_DIGITS` digits.
_MAX_BITS = (10 ** (MAX_DIGITS - 1)).bit_length()
LABEL = re.compile(rf"[ -~]{{1,{MAX_LABEL}}}", re.ASCII)


class Claim(NamedTuple):
    """The claim of a certificate: total variation is `=`, `<=` or `>=` a number."""

    relation: Relation
    value: Fraction

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """True if it holds for every number from `low` to `high`."""
        return (self.relation == "<=" or self.value <= low) and (
            self.relation == ">=" or high <= self.value
        )

    def __str__(self) -> str:
        return f"TV {self.relation} {self.value}"


class Header(NamedTuple):
    """The header: the lines above the rows.

    Attributes:
        problem: the name of the problem, for readers alone.
        nodes: the number of rows.
        scale: None if masses are computed exactly; else they are rounded outward to multiples of
            `1 / scale`.
        reward_sum, reward_denominator: `Z` is their quotient; all rewards have this denominator.
        relation, tv_numerator, tv_denominator: the claim.
    """

    problem: str
    nodes: int
    scale: int | None
    reward_sum: int
    reward_denominator: int
    relation: Relation
    tv_numerator: int
    tv_denominator: int

    @property
    def claim(self) -> Claim:
        """The claim, if its denominator is positive."""
        return Claim(self.relation, Fraction(self.tv_numerator, self.tv_denominator))

    def lines(self) -> list[str]:
        """The lines of the header."""
        return [
            "pdai-certificate 1",
            f"problem {self.problem}",
            f"nodes {self.nodes}",
            "arithmetic exact" if self.scale is None else f"arithmetic rounded {self.scale}",
            f"Z {self.reward_sum} {self.reward_denominator}",
            f"TV {self.relation} {self.tv_numerator} {self.tv_denominator}",
        ]


class Inner(NamedTuple):
    """A node with children: `p_F` to `steps[i][0]` is `steps[i][1] / denominator`."""

    label: str
    denominator: int
    steps: tuple[tuple[int, int], ...]

    def line(self) -> str:
        """The line of the file."""
        pairs = [f"{child} {numerator}" for child, numerator in self.steps]
        return " ".join(["i", str(self.denominator), *pairs, "|", self.label])


class Terminal(NamedTuple):
    """A node without children: `R(x)` is `reward / reward_denominator`."""

    label: str
    reward: int

    def line(self) -> str:
        """The line of the file."""
        return f"t {self.reward} | {self.label}"


Row = Inner | Terminal


class Head(Protocol):
    """The header of a certificate of any kind: a tuple of a name and numbers."""

    @property
    def problem(self) -> str:
        """The name of the problem."""

    def lines(self) -> list[str]:
        """The lines of the header."""


class Labelled(Protocol):
    """A line below the header: a tuple of a label and numbers."""

    @property
    def label(self) -> str:
        """The label at its end."""

    def line(self) -> str:
        """The line of the file."""


def write_rows(path: Path | str, header: Head, rows: Iterable[Labelled]) -> None:
    """Writes a certificate, all or nothing; raises InputError if a number or label is too long.

    Args:
        path: the file, which replaces an old one.
        header: the lines above the rows.
        rows: the lines below, with their labels.
    """
    with replacing(Path(path)) as file:
        _check_writable(header.problem, header)
        file.write(("\n".join(header.lines()) + "\n").encode("ascii"))
        for row in rows:
            _check_writable(row.label, row)
            file.write((row.line() + "\n").encode("ascii"))
        file.write(b"end\n")


def _check_writable(label: str, parts: object) -> None:
    if not LABEL.fullmatch(label):
        raise InputError(
            f"certificate: the label {label[:60]!r} must be 1 to {MAX_LABEL:,} printable ASCII "
            "characters: shorten it, or give its state another __repr__"
        )
    if max(number.bit_length() for number in _integers(parts)) > _MAX_BITS:
        raise InputError(
            f"certificate: {label[:60]!r} has a number of more than about {MAX_DIGITS:,} digits: "
            "claim '<=' with a short number, and round rows to a power of two"
        )


def _integers(parts: object) -> Iterator[int]:
    """The integers in a tuple and the tuples in it."""
    if isinstance(parts, int):
        yield parts
    elif isinstance(parts, tuple | list):
        for part in parts:
            yield from _integers(part)


class MalformedError(InputError):
    """A file that is not a certificate; the message has the number of the line."""


@contextmanager
def open_certificate(path: Path | str) -> Iterator[tuple[Header, Iterator[Row]]]:
    """Reads the header of a certificate, and then a row at a time.

    The end of the file is checked after the last row. Raises MalformedError at the first malformed
    line, here or while rows are taken; InputError if there is no such file, or it is a pipe, a
    device or a folder.
    """
    with reading(Path(path), follow=True) as file:
        lines = Lines(file)
        yield _header(lines), _rows(lines)


def read_header(path: Path | str) -> Header:
    """The header of a certificate; raises as `open_certificate` does."""
    with open_certificate(path) as (header, _):
        return header


class Lines:
    """The lines of a file, without their ends, and the number of the last one read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = 0

    def next(self) -> str:
        """The next line; raises MalformedError at the end of the file."""
        self._place += 1
        line = self._file.readline(MAX_LINE + 1)
        if len(line) > MAX_LINE:
            raise self.malformed(f"more than {MAX_LINE:,} characters")
        if not line:
            raise self.malformed("the file ends here")
        return line.removesuffix(b"\n").decode("latin-1")

    def check_end(self) -> None:
        """Raises MalformedError if anything follows."""
        if self._file.read(1):
            raise self.malformed("something follows 'end'")

    def malformed(self, rule: str) -> MalformedError:
        """The error that the last line read breaks a rule."""
        return MalformedError(f"line {self._place}: {rule}")

    def number(self, text: str) -> int:
        """An integer; raises MalformedError if it is none, or too long."""
        if len(text) - text.startswith("-") > MAX_DIGITS:
            raise self.malformed(f"a number has more than {MAX_DIGITS:,} digits")
        try:
            return int(text)
        except ValueError:
            raise self.malformed(f"{text[:40]!r} is no integer") from None

    def label(self, text: str) -> str:
        """A label; raises MalformedError if it is empty, too long or not printable."""
        if not LABEL.fullmatch(text):
            raise self.malformed(f"a label must be 1 to {MAX_LABEL:,} printable ASCII characters")
        return text

    def check_same(self, written: str, line: str) -> None:
        """Raises MalformedError unless a line is as it would be written from its numbers."""
        if written != line:
            raise self.malformed(
                "numbers must be decimal without leading zeros, with one space between"
            )


def _header(lines: Lines) -> Header:
    fields: list[list[str]] = []
    read = []
    for name in ("pdai-certificate", "problem", "nodes", "arithmetic", "Z", "TV"):
        read.append(lines.next())
        word, *rest = read[-1].split(" ")
        if word != name:
            raise lines.malformed(f"expected {name!r}, then its value")
        fields.append(rest)
    match fields:
        case [["1"], problem, [nodes], arithmetic, [total, common], [relation, numerator, den]]:
            pass
        case _:
            raise lines.malformed("a field above has too many or too few values, or the version")
    match arithmetic:
        case ["exact"]:
            scale = None
        case ["rounded", number]:
            scale = lines.number(number)
        case _:
            raise lines.malformed("expected 'arithmetic exact' or 'arithmetic rounded SCALE'")
    if relation not in get_args(Relation):
        raise lines.malformed("expected one of = <= >= in 'TV'")
    header = Header(
        lines.label(" ".join(problem)),
        lines.number(nodes),
        scale,
        lines.number(total),
        lines.number(common),
        relation,  # type: ignore[arg-type]  # one of them, as was just checked
        lines.number(numerator),
        lines.number(den),
    )
    for written, line in zip(header.lines(), read, strict=True):
        lines.check_same(written, line)
    return header


def _rows(lines: Lines) -> Iterator[Row]:
    while (line := lines.next()) != "end":
        yield _row(lines, line)
    lines.check_end()


def _row(lines: Lines, line: str) -> Row:
    numbers, bar, label = line.partition(" | ")
    if not bar:
        raise lines.malformed("expected ' | LABEL' at the end of a row")
    kind, *words = numbers.split(" ")
    read = [lines.number(word) for word in words]
    row: Row
    if kind == "t" and len(read) == 1:
        row = Terminal(lines.label(label), read[0])
    elif kind == "i" and len(read) % 2:
        row = Inner(lines.label(label), read[0], tuple(zip(read[1::2], read[2::2], strict=True)))
    else:
        raise lines.malformed(
            "expected 't REWARD | LABEL' or 'i DENOMINATOR CHILD NUMERATOR ... | LABEL'"
        )
    lines.check_same(row.line(), line)
    return row
