"""What the ledger says of one claim, and what it does not need to say twice."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Outcome = Literal["true", "false", "ill-defined", "vacuous"]


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
        experiment: for a claim that only training can settle, the experiment that does.
        provisional: why what came out of the experiment may yet change.
    """

    id: str
    title: str
    printed: str | None
    readings: tuple[Reading, ...]
    control: str
    theorems: tuple[str, ...] = ()
    experiment: str | None = None
    provisional: str | None = None

    @property
    def verdict(self) -> str:
        """What became of the claim: a function of its readings."""
        if self.experiment is not None:
            return "empirical"
        printed, checked = self.readings[0].outcome, self.readings[-1].outcome
        if printed == "true":
            return "verified"
        found = "refuted" if printed == "false" else printed
        return f"{found} as printed" + ("; repaired, then verified" if checked == "true" else "")

    @property
    def note(self) -> str:
        """The file of its note in `proofs_notes`."""
        return self.id.replace(":", "_") + ".md"
