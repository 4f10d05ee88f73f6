"""What the ledger says of one claim, and what it does not need to say twice."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

Outcome = Literal["true", "false", "ill-defined", "vacuous"]


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
