"""The text of a certificate: written, and read strictly, row after row.

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
program reads the same language (`proofs_notes/checker/main.ml`); what the numbers must satisfy is
the business of `reference.certificates.check`.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple, TextIO, get_args

from reference.errors import InputError

Relation = Literal["=", "<=", ">="]

# Below Python's own limit of 4,300, beyond which reading a number takes time quadratic in it.
MAX_DIGITS = 4_000
MAX_LABEL = 10_000
MAX_LINE = 100_000_000

# The bits that a number of so many digits has at least.
_MAX_BITS = (10 ** (MAX_DIGITS - 1)).bit_length()
_LABEL = re.compile(rf"[ -~]{{1,{MAX_LABEL}}}", re.ASCII)


class MalformedError(InputError):
    """A file that is not a certificate; the message has the number of the line."""


class Claim(NamedTuple):
    """What a certificate says of the total variation: that it is `=`, `<=` or `>=` a number."""

    relation: Relation
    value: Fraction

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """Whether it holds of every number from `low` to `high`."""
        return (self.relation == "<=" or self.value <= low) and (
            self.relation == ">=" or high <= self.value
        )

    def __str__(self) -> str:
        return f"TV {self.relation} {self.value}"


class Header(NamedTuple):
    """What stands above the rows.

    Attributes:
        problem: what the rows are of, for a reader: nothing is concluded from it.
        nodes: the number of rows.
        scale: None if masses are computed exactly; else they are rounded outward to multiples of
            `1 / scale`.
        reward_sum, reward_denominator: `Z` is their quotient; the second is that of all rewards.
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

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number of the line but the children."""
        return (self.denominator, *(numerator for _, numerator in self.steps))

    def line(self) -> str:
        """The line of the file."""
        pairs = [f"{child} {numerator}" for child, numerator in self.steps]
        return " ".join(["i", str(self.denominator), *pairs, "|", self.label])


class Terminal(NamedTuple):
    """A node without children: `R(x)` is `reward / reward_denominator`."""

    label: str
    reward: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number of the line."""
        return (self.reward,)

    def line(self) -> str:
        """The line of the file."""
        return f"t {self.reward} | {self.label}"


Row = Inner | Terminal


def write_rows(path: Path | str, header: Header, rows: Iterable[Row]) -> None:
    """Writes a certificate so that a kill leaves either the old file or the new one.

    Raises:
        InputError: if a number has more digits, or a label is longer, than can be read again.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as file:
            _check_writable(header.problem, (*header[1:5], *header[6:]))
            file.write("\n".join(header.lines()) + "\n")
            for row in rows:
                _check_writable(row.label, row.numbers)
                file.write(row.line() + "\n")
            file.write("end\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _check_writable(label: str, numbers: Iterable[int | None]) -> None:
    if not _LABEL.fullmatch(label):
        raise InputError(
            f"certificate: the label {label[:60]!r} must be 1 to {MAX_LABEL:,} printable ASCII "
            "characters: shorten it"
        )
    if max(number.bit_length() for number in numbers if number is not None) > _MAX_BITS:
        raise InputError(
            f"certificate: {label[:60]!r} has a number of more than about {MAX_DIGITS:,} digits: "
            "claim '<=' with a short number, and round rows to a power of two"
        )


@contextmanager
def open_certificate(path: Path | str) -> Iterator[tuple[Header, Iterator[Row]]]:
    """Reads the header of a certificate, and then a row at a time.

    Yields:
        the header, and the rows; only when the last has been taken is it known that the file ends
        as it must.

    Raises:
        MalformedError: at the first line that is not as it must be, here or while rows are taken.
        InputError: if there is no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a certificate")
    with path.open(encoding="latin-1", newline="\n") as file:
        lines = _Lines(file)
        yield _header(lines), _rows(lines)


def read_header(path: Path | str) -> Header:
    """The header of a certificate.

    Raises:
        MalformedError, InputError: as `open_certificate`.
    """
    with open_certificate(path) as (header, _):
        return header


class _Lines:
    """The lines of a file, without their ends, and the number of the last one read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._place = 0

    def next(self) -> str:
        self._place += 1
        line = self._file.readline(MAX_LINE + 1)
        if len(line) > MAX_LINE:
            raise self.malformed(f"more than {MAX_LINE:,} characters")
        if not line:
            raise self.malformed("the file ends here")
        return line.removesuffix("\n")

    def check_end(self) -> None:
        if self._file.read(1):
            raise self.malformed("something follows 'end'")

    def malformed(self, rule: str) -> MalformedError:
        return MalformedError(f"line {self._place}: {rule}")

    def number(self, text: str) -> int:
        if len(text) - text.startswith("-") > MAX_DIGITS:
            raise self.malformed(f"a number has more than {MAX_DIGITS:,} digits")
        try:
            return int(text)
        except ValueError:
            raise self.malformed(f"{text[:40]!r} is no integer") from None

    def label(self, text: str) -> str:
        if not _LABEL.fullmatch(text):
            raise self.malformed(f"a label must be 1 to {MAX_LABEL:,} printable ASCII characters")
        return text

    def check_same(self, written: str, line: str) -> None:
        if written != line:
            raise self.malformed(
                "numbers must be decimal without leading zeros, with one space between"
            )


def _header(lines: _Lines) -> Header:
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


def _rows(lines: _Lines) -> Iterator[Row]:
    while (line := lines.next()) != "end":
        yield _row(lines, line)
    lines.check_end()


def _row(lines: _Lines, line: str) -> Row:
    numbers, bar, label = line.partition(" | ")
    if not bar:
        raise lines.malformed("expected ' | LABEL' at the end of a row")
    kind, *words = numbers.split(" ")
    read = [lines.number(word) for word in words]
    row: Row
    if kind == "t" and len(read) == 1:
        row = Terminal(lines.label(label), read[0])
    elif kind == "i" and len(read) % 2:
        steps = tuple(zip(read[1::2], read[2::2], strict=True))
        row = Inner(lines.label(label), read[0], steps)
    else:
        raise lines.malformed(
            "expected 't REWARD | LABEL' or 'i DENOMINATOR CHILD NUMERATOR ... | LABEL'"
        )
    lines.check_same(row.line(), line)
    return row
