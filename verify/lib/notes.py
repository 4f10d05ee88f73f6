"""The head of each note: its claim's record, written out, so that what is claimed stands once."""

import textwrap
from pathlib import Path

from reference.files import read_file, replace_file
from verify.claims.record import Claim
from verify.lib.results import result_of

END = "<!-- end of the record -->\n"


def write_heads(folder: Path, claims: tuple[Claim, ...]) -> None:
    """Writes the heads of those notes of the claims that the folder has."""
    for claim in claims:
        note = folder / claim.note
        if note.exists():
            replace_file(note, with_head(read_file(note).decode(), claim).encode())


def with_head(note: str, claim: Claim) -> str:
    """The text of a note, with the record of its claim for what was above the end mark."""
    return head(claim) + note.rpartition(END)[2]


def head(claim: Claim) -> str:
    """The title of the note, the record with its grade, and the files of its proofs in Coq."""
    said = [("Printed", claim.printed)] if claim.printed else []
    said += [(reading.outcome.capitalize(), reading.text) for reading in claim.readings]
    said += [("Control", claim.control)]
    return (
        f"# {claim.id}: {claim.title}\n\n"
        "<!-- record: from verify/claims, written by pdai verify --write-notes -->\n"
        f"```text\n{''.join(_lines(f'{kind}: {text}') for kind, text in said)}```\n\n"
        f"{_filled(_sentence(claim), '', '')}\n{END}"
    )


def _lines(text: str) -> str:
    first, *items = text.split("\n")
    return _filled(first, "", "  ") + "".join(_filled(item, "  ", "     ") for item in items)


def _filled(text: str, start: str, later: str) -> str:
    wrapper = textwrap.TextWrapper(
        100,
        initial_indent=start,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapper.fill(text) + "\n"


def _sentence(claim: Claim) -> str:
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
    return " ".join(said)
