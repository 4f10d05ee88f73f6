"""The lines around the record of a note that follow from it: heading, verdict, proofs, tests."""

import textwrap
from pathlib import Path

from reference.files import read_file, replace_file
from verify.lib.ledger import links_to_tests
from verify.lib.record import RECORD, Claim
from verify.lib.results import result_of

END = "<!-- the heading and these lines follow from the record: pdai verify --write-notes -->\n"


def write_heads(folder: Path, claims: tuple[Claim, ...]) -> None:
    """Writes these lines into those notes of the claims that the folder has."""
    for claim in claims:
        note = folder / claim.note
        if note.exists():
            replace_file(note, with_head(read_file(note).decode(), claim).encode())


def with_head(note: str, claim: Claim) -> str:
    """The text of a note with the lines that its record determines; the record stays as it is."""
    if (record := RECORD.search(note)) is None:
        return note
    rest = note.partition(END)[2] or note[record.end() :]
    said = textwrap.fill(_said(claim), 100, break_long_words=False, break_on_hyphens=False)
    return f"# {claim.id}: {claim.title}\n\n{record[0]}\n{said}\n\n{END}{rest}"


def _said(claim: Claim) -> str:
    names: dict[str, list[str]] = {}
    for theorem in claim.theorems:
        file, name = theorem.split(":")
        names.setdefault(file, []).append(f"`{name}`")
    proofs = "; ".join(
        f"{', '.join(found)} in [{file}](coq/{file})" for file, found in names.items()
    )
    said = [f"Verdict: {claim.verdict}."]
    if claim.severity:
        said.append(f"Severity: {claim.severity.label} ({claim.severity.value}).")
    if came_out := result_of(claim):
        said.append(f"Outcome of {claim.experiment}: {came_out}.")
    if claim.open:
        said.append(f"Why: {claim.open}.")
    if proofs:
        said.append(f"In Coq: {proofs}.")
    if tests := links_to_tests(claim):
        said.append(f"Tests: {', '.join(tests)}.")
    return " ".join(said)
