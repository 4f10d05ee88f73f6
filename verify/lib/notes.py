"""The lines around the record of a note that follow from it: heading, verdict, proofs, tests.

`python -m verify.lib.notes` writes them, and the ledger's table, without a run: what the tests
looked at stays as it was.
"""

import textwrap
from collections.abc import Mapping
from pathlib import Path

from reference.contract.files import read_file, replace_file
from verify.lib.ledger import CLAIMS, NOTES, links_to_tests, markdown, result_of, scopes_of
from verify.lib.record import RECORD, Claim

END = "<!-- the heading and these lines follow from the record: pdai verify --write-notes -->\n"


def write_table(notes: Path, scopes: Mapping[str, str] | None = None) -> None:
    """Writes the ledger into a file of notes, whose other lines stay, and the heads beside it.

    What tests looked at, by claim, is by default what the file says now.
    """
    lines = read_file(notes).decode().splitlines(keepends=True) if notes.exists() else []
    table = "".join(line for line in lines if line.startswith("| "))
    kept = "".join(line for line in lines if not line.startswith("| "))
    replace_file(notes, (kept + markdown(scopes_of(table) if scopes is None else scopes)).encode())
    for claim in CLAIMS:
        note = notes.parent / claim.note
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
    proofs = "; ".join(
        f"{', '.join(f'`{name}`' for name in names)} in [{Path(file).name}]({file})"
        for file, names in claim.proofs.items()
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
    if claim.half:
        said.append(f"Coq proves a part: {claim.half}")
    if claim.missing:
        said.append(f"Missing in Coq: {claim.missing}.")
    if tests := links_to_tests(claim):
        said.append(f"Tests: {', '.join(tests)}.")
    return " ".join(said)


if __name__ == "__main__":
    write_table(NOTES / "README.md")
