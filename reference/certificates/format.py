"""The text format of a certificate, and its writer.

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
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from reference.contract.errors import InputError
from reference.contract.files import replacing

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
    """Writes a certificate, all or nothing; raises InputError if a number or label is too long."""
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
            "characters: shorten it"
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
