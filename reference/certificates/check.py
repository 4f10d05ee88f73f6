"""The checks of a certificate: by the verified program, and by the same pass in plain Python."""

import math
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from reference.certificates.format import Header, Inner, MalformedError, Row, open_certificate
from reference.contract.errors import InputError
from reference.contract.files import reading

Status = Literal["accepted", "refused", "malformed"]
# A fraction, or the two ends of an interval.
Number = tuple[int, int]

CHECKER = "pdai-check"
# The path in a checkout, where the script `build` puts the program.
BUILD_COMMAND = (
    "sudo apt-get install ocaml-findlib libzarith-ocaml-dev && proofs_notes/checker/build"
)
_FOLDER = Path(__file__).parents[2] / "proofs_notes" / "checker"
_STATUS: dict[int, Status] = {0: "accepted", 1: "refused", 2: "malformed"}


@dataclass(frozen=True)
class Verdict:
    """The result of checking a file, with the reason why it was not accepted.

    It is `refused` if it claims something false, `malformed` if it is no certificate, and
    `verified` if `pdai-check`, the verified program, decided.
    """

    status: Status
    reason: str
    verified: bool = False

    @property
    def accepted(self) -> bool:
        """True if the claim is established."""
        return self.status == "accepted"

    def __str__(self) -> str:
        by = "the verified program" if self.verified else "Python (not verified)"
        return f"{self.status} by {by}" + (f": {self.reason}" if self.reason else "")


class RefusedError(Exception):
    """A certificate that claims something false."""


def find_checker() -> Path | None:
    """The path of `pdai-check`, on the PATH or where a checkout builds it; None if absent."""
    if installed := shutil.which(CHECKER):
        return Path(installed)
    built = _FOLDER / CHECKER
    return built if built.is_file() and os.access(built, os.X_OK) else None


def run_checker(path: Path | str, program: Path | None = None) -> Verdict:
    """The verdict of the verified checker; raises InputError if it or the file is missing."""
    with reading(Path(path), follow=True):
        pass  # a file that can be read
    program = program or find_checker()
    if program is None:
        raise InputError(
            f"the program {CHECKER} is not on the PATH: build it with `{BUILD_COMMAND}` in a "
            "checkout of the repository; until then the check in Python, which is not verified, "
            "has to do"
        )
    # Absolute, so that no name is read as an option or as standard input.
    command = [program, Path(path).absolute()]
    run = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if run.returncode not in _STATUS:
        raise InputError(
            f"{program} ended with status {run.returncode} ({run.stderr.strip()[-200:]}): "
            f"build it again with `{BUILD_COMMAND}`"
        )
    status = _STATUS[run.returncode]
    said = run.stderr if status == "malformed" else run.stdout
    reason = "" if status == "accepted" else said.strip().partition(": ")[2]
    return Verdict(status, reason, verified=True)


def check_certificate(path: Path | str) -> Verdict:
    """Checks a certificate in exact arithmetic, in Python, which is not verified.

    The verdict is that of `pdai-check` (`reference.certificates.run_checker`), which is proved to
    accept nothing false. Memory grows with the width of the graph. Raises InputError if there is no
    such file.
    """
    return verdict_of(open_certificate(path), check_rows)


def verdict_of(opened: AbstractContextManager[Any], check: Callable[..., None]) -> Verdict:
    """The verdict of a check on what an opened file holds; it raises `RefusedError` if wrong."""
    try:
        with opened as content:
            check(*content)
    except MalformedError as error:
        return Verdict("malformed", str(error))
    except RefusedError as error:
        return Verdict("refused", str(error))
    return Verdict("accepted", "")


def check_rows(header: Header, rows: Iterable[Row]) -> None:
    """Checks all rows, and the header's claims against them; a wrong one is a RefusedError."""
    for name, number in (
        ("the sum of the rewards", header.reward_sum),
        ("the denominator of the rewards", header.reward_denominator),
        ("the denominator of TV", header.tv_denominator),
        ("the scale", 1 if header.scale is None else header.scale),
    ):
        if number <= 0:
            raise RefusedError(f"{name} is {number}, but must be positive")
    walk = Walk(header.nodes, header.reward_sum, header.scale)
    for row in rows:
        walk.step(row)
    low, high = walk.total_variation()
    if not header.claim.holds(low, high):
        tv = float(low) if low == high else f"between {float(low)} and {float(high)}"
        raise RefusedError(f"{header.claim} is claimed, and TV is {tv}")


class _Exact:
    """Fractions `(p, q)`, not reduced: of denominators 2^k, sums need no more than the largest."""

    zero: Number = (0, 1)
    one: Number = (1, 1)

    def plus(self, x: Number, y: Number) -> Number:
        """`x + y`, over the least common denominator."""
        (p, q), (r, s) = x, y
        if q == s:
            return p + r, q
        common = math.lcm(q, s)
        return p * (common // q) + r * (common // s), common

    def times(self, x: Number, w: int, d: int) -> Number:
        """`x w / d`, for `w >= 0` and `d > 0`."""
        return x[0] * w, x[1] * d

    def gap(self, x: Number, total: int, r: int) -> Number:
        """`|x total - r|`."""
        return abs(x[0] * total - r * x[1]), x[1]

    def bounds(self, x: Number) -> tuple[int, int, int]:
        """`(low, high, d)`: x lies between `low / d` and `high / d`."""
        return x[0], x[0], x[1]


class _Rounded:
    """Intervals `(low, high)` of multiples of `1 / scale`; each result encloses the true one."""

    zero: Number = (0, 0)

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self.one: Number = (scale, scale)

    def plus(self, x: Number, y: Number) -> Number:
        return x[0] + y[0], x[1] + y[1]

    def times(self, x: Number, w: int, d: int) -> Number:
        return x[0] * w // d, -(-x[1] * w // d)

    def gap(self, x: Number, total: int, r: int) -> Number:
        low, high = x[0] * total - r * self._scale, x[1] * total - r * self._scale
        return max(low, -high, 0), max(abs(low), abs(high))

    def bounds(self, x: Number) -> tuple[int, int, int]:
        return x[0], x[1], self._scale


class Walk:
    """One pass over the rows in node order, with the masses of later nodes in memory.

    The mass of a node is complete when its row comes, and is then passed on to its children. A row
    must have non-negative numbers that sum to one, and children in increasing order, later than the
    node. Each node but the first must be the child of an earlier one. The number of rows, the sum
    of the rewards' numerators and the scale are those of the `Header`.
    """

    def __init__(self, nodes: int, reward_sum: int, scale: int | None) -> None:
        self._arithmetic = _Exact() if scale is None else _Rounded(scale)
        self._nodes, self._reward_sum = nodes, reward_sum
        self._next = self._collected = 0
        self._masses = {0: self._arithmetic.one}
        self._gaps = self._arithmetic.zero

    def step(self, row: Row) -> None:
        """Takes the row of the next node, or raises RefusedError if it is wrong."""
        mass = self._masses.pop(self._next, None)
        if mass is None:
            raise self._refused("no earlier node leads to it")
        if isinstance(row, Inner):
            self._pass_on(mass, row)
        elif row.reward < 0:
            raise self._refused("its reward is negative")
        else:
            gap = self._arithmetic.gap(mass, self._reward_sum, row.reward)
            self._gaps = self._arithmetic.plus(self._gaps, gap)
            self._collected += row.reward
        self._next += 1

    def _pass_on(self, mass: Number, row: Inner) -> None:
        if row.denominator <= 0:
            raise self._refused("the denominator of its row is not positive")
        before = self._next
        for child, numerator in row.steps:
            if not before < child < self._nodes:
                raise self._refused(
                    f"its child {child} is not larger than {before} and less than {self._nodes}"
                )
            if numerator < 0:
                raise self._refused(f"the probability of its child {child} is negative")
            before = child
            new = self._arithmetic.times(mass, numerator, row.denominator)
            old = self._masses.get(child)
            self._masses[child] = new if old is None else self._arithmetic.plus(old, new)
        if sum(numerator for _, numerator in row.steps) != row.denominator:
            raise self._refused("its row does not sum to one")

    def total_variation(self) -> tuple[Fraction, Fraction]:
        """The bounds of `TV(p_T, R / Z)`; raises RefusedError if rows or rewards are missing."""
        if self._next != self._nodes:
            raise RefusedError(f"there are {self._next} rows, not {self._nodes}")
        if self._collected != self._reward_sum:
            raise RefusedError(
                f"the rewards sum to {self._collected}, not to {self._reward_sum} (Z is wrong)"
            )
        low, high, common = self._arithmetic.bounds(self._gaps)
        whole = 2 * self._reward_sum * common
        return Fraction(low, whole), Fraction(high, whole)

    def _refused(self, reason: str) -> RefusedError:
        return RefusedError(f"the row of node {self._next}: {reason}")
