"""The strict reader of certificates, row by row."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, get_args

from reference.certificates.format import (
    LABEL,
    MAX_DIGITS,
    MAX_LABEL,
    MAX_LINE,
    Header,
    Inner,
    Relation,
    Row,
    Terminal,
)
from reference.contract.errors import InputError
from reference.contract.files import reading


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
        steps = tuple(zip(read[1::2], read[2::2], strict=True))
        row = Inner(lines.label(label), read[0], steps)
    else:
        raise lines.malformed(
            "expected 't REWARD | LABEL' or 'i DENOMINATOR CHILD NUMERATOR ... | LABEL'"
        )
    lines.check_same(row.line(), line)
    return row
