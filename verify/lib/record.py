"""The record of a claim: a block of TOML at the top of its note, and what follows from it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from reference.contract.errors import InputError, nearest, shown
from reference.contract.files import read_file

Outcome = Literal["true", "false", "ill-defined", "vacuous"]
RECORD = re.compile(r"^```toml\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


class Severity(Enum):
    """The gravity of a claim that does not hold as printed; the value says it in words."""

    FALSE = "a statement fails, and neither a slip of the pen nor an unstated condition explains it"
    VACUOUS = "it needs a premise that cannot be met as printed"
    LOOSE = "it holds under a condition, or in a sense, that is not stated"
    MISPRINT = "an evident slip of the pen: what is meant holds"

    @property
    def label(self) -> str:
        """The grade in one word."""
        return self.name.lower()


class Tier(Enum):
    """The kind of evidence for a claim; the value says it in words."""

    MACHINE_PROVED = "Coq proves the statement, without axioms"
    MACHINE_PROVED_OVER_THE_REALS = "Coq proves the statement, from three classical axioms"
    HALF_MACHINE_PROVED = "Coq proves an essential part; its note says which"
    EXHAUSTIVE = "checked exactly on all cases up to a size, and proved by hand"
    RANDOM = "checked exactly on random cases, and proved by hand"
    BY_HAND = "proved by hand, with numbers that are checked"

    @property
    def label(self) -> str:
        """The tier in a few words."""
        return self.name.lower().replace("_", "-")


Kind = TypeVar("Kind", Severity, Tier)


class Reading(NamedTuple):
    """One way to read a statement, and whether it holds so."""

    text: str
    outcome: Outcome


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, or one result of ours.

    Attributes:
        id: the LaTeX label in the paper where the claim has one, else a name of ours.
        title: what it is about, in a few words.
        printed: the statement as printed, a list with a line for each item; None for a result of
            ours.
        readings: each reading of the text with its outcome; the first is the literal one. The
            repair of a refuted claim is a reading as well, the last, and it is true.
        control: which hypothesis is dropped or which edge is broken, and what must then be seen.
        theorems: Coq theorems, as `File.v:name` in `proofs_notes/coq`, or `checker/File.v:name`,
            or `coq_reals/File.v:name`.
        half: of a claim that Coq proves in part, which part; None of all others.
        missing: of a claim that Coq does not prove whole, the lemma that is missing, or why none is
            meant; None of all others.
        checks: without Coq, whether the tests are exhaustive, random, or of numbers by hand.
        severity: of a claim that does not hold as printed, the grade of its gravest failure; None
            of all others.
        experiment: for a claim that only training can settle, the experiment that does.
        open: for a claim that nothing here settles, why.
        section: the number of the section of the paper that has it; None for a result of ours.
        place: where in the section, such as "Equation 2".
        order: the ledger is sorted by this number: that of the paper, then results of ours.
        also: labels in the paper of its parts, and former names, with spaces between: `--claim`
            explains them.
    """

    id: str
    title: str
    printed: str | None
    readings: tuple[Reading, ...]
    control: str
    theorems: tuple[str, ...] = ()
    half: str | None = None
    missing: str | None = None
    checks: Tier | None = None
    severity: Severity | None = None
    experiment: str | None = None
    open: str | None = None
    section: str | None = None
    place: str | None = None
    order: float = 0
    also: str = ""

    @property
    def verdict(self) -> str:
        """The verdict on the claim: a function of its readings."""
        if self.experiment is not None:
            return "empirical"
        if self.open is not None:
            return "open"
        printed, checked = self.readings[0].outcome, self.readings[-1].outcome
        if printed == "true":
            return "verified"
        literal = "refuted" if printed == "false" else printed
        return f"{literal} as printed" + ("; repaired, then verified" if checked == "true" else "")

    @property
    def is_tested(self) -> bool:
        """True if tests of the ledger decide it: neither training does, nor is it open."""
        return self.experiment is None and self.open is None

    @property
    def tier(self) -> Tier | None:
        """The kind of evidence for it; None if it is not tested."""
        if not self.is_tested:
            return None
        if self.theorems and self.half is not None:
            return Tier.HALF_MACHINE_PROVED
        if any(theorem.startswith("coq_reals/") for theorem in self.theorems):
            return Tier.MACHINE_PROVED_OVER_THE_REALS
        if self.theorems:
            return Tier.MACHINE_PROVED
        return self.checks or Tier.BY_HAND

    @property
    def unproved(self) -> str:
        """The lemma that a proof in Coq lacks, or why none is meant; empty where it is whole."""
        if self.experiment is not None:
            return "none is meant: numbers measured of trainings"
        return "none is meant: it states nothing definite" if self.open else self.missing or ""

    @property
    def proofs(self) -> dict[str, list[str]]:
        """The names of its theorems, by their file in `proofs_notes`."""
        by_file: dict[str, list[str]] = {}
        for theorem in self.theorems:
            file, name = theorem.split(":")
            by_file.setdefault(file if "/" in file else f"coq/{file}", []).append(name)
        return by_file

    @property
    def note(self) -> str:
        """The file of its note in `proofs_notes`."""
        return self.id.replace(":", "_") + ".md"


def read_claim(note: Path) -> Claim:
    """The claim whose record stands at the top of a note.

    Runs of white space in a text are one space, so that its lines can be broken anywhere. The
    statement may be an array: its items follow the first text, each on a line of its own. A note
    without a record, or with one that breaks a rule, is refused with file and key.
    """
    block = RECORD.search(read_file(note, follow=True).decode())
    if block is None:
        raise InputError(f"{note}: there is no record: a note begins with a ```toml block")
    try:
        record = tomllib.loads(block[1])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{note}: the record is no TOML: {error}") from None
    _check_keys(note, record)
    texts = {key: _text(f"{note}: {key}", record[key]) for key in _TEXTS & record.keys()}
    claim = Claim(
        **texts,
        printed=_printed(f"{note}: printed", record.get("printed")),
        readings=tuple(_reading(f"{note}: a reading", pair) for pair in record["readings"]),
        theorems=tuple(_theorem(f"{note}: a theorem", name) for name in record.get("theorems", ())),
        severity=_one_of(Severity, f"{note}: severity", record.get("severity")),
        checks=_one_of(Tier, f"{note}: checks", record.get("checks")),
        order=record["order"],
    )
    _require(claim.readings, f"{note}: readings", [], "an array, of which the literal one is first")
    _require(isinstance(claim.order, int | float), f"{note}: order", claim.order, "a number")
    _require(note.name == claim.note, f"{note}: id", claim.id, f"that of {claim.note}")
    return claim


_TEXTS = {
    *("id", "title", "also", "control", "half", "missing", "experiment", "open", "section", "place")
}
_NEEDED = ("id", "title", "order", "readings", "control")
_OF_THE_PAPER = ("printed", "section", "place")


def _check_keys(note: Path, record: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(Claim)]
    for key in record.keys() - set(known):
        raise InputError(f"{note}: a record has no key {key}{nearest(key, known)}")
    of_the_paper = any(key in record for key in _OF_THE_PAPER)
    for key in (*_NEEDED, *_OF_THE_PAPER * of_the_paper):
        if key not in record:
            raise InputError(
                f"{note}: {key} is missing: every record has {', '.join(_NEEDED)}; that of a claim "
                f"of the paper {', '.join(_OF_THE_PAPER)} too"
            )
    for key in ("readings", "theorems"):
        listed = record.get(key, [])
        _require(isinstance(listed, list), f"{note}: {key}", listed, "an array")


def _require(holds: object, what: str, value: object, rule: str) -> None:
    if not holds:
        raise InputError(f"{what} is {shown(value)}, but must be {rule}")


def _text(what: str, value: object) -> str:
    _require(isinstance(value, str) and value.strip(), what, value, "a text")
    return " ".join(str(value).split())


def _printed(what: str, value: object) -> str | None:
    if value is None:
        return None
    return "\n".join(_text(what, part) for part in (value if isinstance(value, list) else [value]))


def _reading(what: str, pair: Any) -> Reading:
    outcomes = get_args(Outcome)
    is_pair = isinstance(pair, list) and len(pair) == 2 and pair[0] in outcomes
    rule = f"[outcome, text], the outcome one of {', '.join(outcomes)}"
    _require(is_pair, what, pair, rule)
    return Reading(_text(what, pair[1]), pair[0])


def _theorem(what: str, name: object) -> str:
    _require(re.fullmatch(r"(\w+/)?\w+\.v:\w+", _text(what, name)), what, name, "File.v:name")
    return str(name)


def _one_of(kinds: type[Kind], what: str, value: object) -> Kind | None:
    labels: dict[str, Kind] = {kind.label: kind for kind in kinds}
    _require(value in (None, *labels), what, value, f"one of {', '.join(labels)}")
    return labels.get(str(value))
