"""The record of a claim: a block of TOML at the top of its note, and what follows from it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from reference.errors import InputError, nearest, shown
from reference.files import read_file

Outcome = Literal["true", "false", "ill-defined", "vacuous"]
RECORD = re.compile(r"^```toml\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


class Severity(Enum):
    """How grave it is that a claim does not hold as printed; the value says it in words."""

    FALSE = "a statement fails, and neither a slip of the pen nor an unstated condition explains it"
    VACUOUS = "its premises cannot be met as printed"
    LOOSE = "it holds under a condition, or in a sense, that is not stated"
    MISPRINT = "an evident slip of the pen: what is meant holds"

    @property
    def label(self) -> str:
        """The grade in one word."""
        return self.name.lower()


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
        readings: each reading of the text with its outcome; the first is the literal one. What a
            refuted claim is repaired to is a reading as well, the last, and it is true.
        control: which hypothesis is dropped or which edge is broken, and what must then be seen.
        theorems: Coq theorems, as `File.v:name` in `proofs_notes/coq`.
        severity: of a claim that does not hold as printed, the grade of its gravest failure; None
            of all others.
        experiment: for a claim that only training can settle, the experiment that does.
        open: for a claim that nothing here settles, why.
        section: the number of the section of the paper that has it; None for a result of ours.
        place: where in the section, such as "Equation 2".
        order: the ledger is sorted by this number: that of the paper, then results of ours.
        formerly: the name that it had before, which `--claim` still explains.
    """

    id: str
    title: str
    printed: str | None
    readings: tuple[Reading, ...]
    control: str
    theorems: tuple[str, ...] = ()
    severity: Severity | None = None
    experiment: str | None = None
    open: str | None = None
    section: str | None = None
    place: str | None = None
    order: float = 0
    formerly: str | None = None

    @property
    def verdict(self) -> str:
        """What became of the claim: a function of its readings."""
        if self.experiment is not None:
            return "empirical"
        if self.open is not None:
            return "open"
        printed, checked = self.readings[0].outcome, self.readings[-1].outcome
        if printed == "true":
            return "verified"
        found = "refuted" if printed == "false" else printed
        return f"{found} as printed" + ("; repaired, then verified" if checked == "true" else "")

    @property
    def is_tested(self) -> bool:
        """Whether tests of the ledger decide it: neither training does, nor is it open."""
        return self.experiment is None and self.open is None

    @property
    def note(self) -> str:
        """The file of its note in `proofs_notes`."""
        return self.id.replace(":", "_") + ".md"


def read_claim(note: Path) -> Claim:
    """The claim whose record stands at the top of a note.

    Runs of white space in a text are one space, so that its lines can be broken anywhere. The
    statement may be an array: its items follow the first text, each on a line of its own.

    Raises:
        InputError: if the note has no record, or one that breaks a rule; it names file and key.
    """
    block = RECORD.search(read_file(note, follow=True).decode())
    if block is None:
        raise InputError(f"{note}: there is no record: a note begins with a ```toml block")
    try:
        record = tomllib.loads(block[1])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{note}: the record is no TOML: {error}") from None
    _check_keys(note, record)
    texts = {key: _text(note, key, record[key]) for key in _TEXTS & record.keys()}
    claim = Claim(
        **texts,
        printed=_printed(note, record.get("printed")),
        readings=_readings(note, record["readings"]),
        theorems=_theorems(note, record.get("theorems", [])),
        severity=_severity(note, record.get("severity")),
        order=_order(note, record["order"]),
    )
    if note.name != claim.note:
        raise InputError(f"{note}: id is {shown(claim.id)}, whose note must be {claim.note}")
    return claim


_TEXTS = {"id", "title", "control", "experiment", "open", "section", "place", "formerly"}
_NEEDED = ("id", "title", "order", "readings", "control")
_OF_THE_PAPER = ("printed", "section", "place")


def _check_keys(note: Path, record: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(Claim)]
    for key in record.keys() - set(known):
        raise InputError(f"{note}: a record has no key {key}{nearest(key, known)}")
    of_the_paper = any(key in record for key in _OF_THE_PAPER)
    for key in (*_NEEDED, *_OF_THE_PAPER * of_the_paper):
        if key not in record:
            rule = f"every record has {', '.join(_NEEDED)}"
            raise InputError(
                f"{note}: {key} is missing: {rule}; of the paper, {', '.join(_OF_THE_PAPER)} too"
            )


def _text(note: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{note}: {key} has {shown(value)}, but must be a text")
    return " ".join(value.split())


def _listed(note: Path, key: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{note}: {key} is {shown(value)}, but must be an array")
    return value


def _printed(note: Path, value: object) -> str | None:
    if value is None:
        return None
    parts = [value] if isinstance(value, str) else _listed(note, "printed", value)
    return "\n".join(_text(note, "printed", part) for part in parts)


def _readings(note: Path, value: object) -> tuple[Reading, ...]:
    pairs = _listed(note, "readings", value)
    outcomes = get_args(Outcome)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] not in outcomes:
            raise InputError(
                f"{note}: readings has {shown(pair)}, but each must be [outcome, text], the "
                f"outcome one of {', '.join(outcomes)}"
            )
    if not pairs:
        raise InputError(f"{note}: readings is empty: the first is the literal one")
    return tuple(Reading(_text(note, "readings", text), outcome) for outcome, text in pairs)


def _theorems(note: Path, value: object) -> tuple[str, ...]:
    names = [_text(note, "theorems", name) for name in _listed(note, "theorems", value)]
    for name in names:
        if not re.fullmatch(r"\w+\.v:\w+", name):
            raise InputError(f"{note}: theorems has {shown(name)}, but each must be File.v:name")
    return tuple(names)


def _severity(note: Path, value: object) -> Severity | None:
    grades = {grade.label: grade for grade in Severity}
    if value is None:
        return None
    if value not in grades:
        raise InputError(f"{note}: severity is {shown(value)}, but must be {', '.join(grades)}")
    return grades[str(value)]


def _order(note: Path, value: object) -> float:
    if not isinstance(value, int | float):
        raise InputError(f"{note}: order is {shown(value)}, but must be a number")
    return value
