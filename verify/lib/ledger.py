"""The ledger: the records of all notes, and where their claims are tested.

Which tests check a claim is read from their markers, in the source: it holds whichever tests run.
"""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reference.contract.errors import InputError, naming_extras
from reference.contract.files import read_file
from verify.lib.record import Claim, read_claim

FOLDER = Path(__file__).parents[1]
# In a wheel they lie in the package.
NOTES = next(path for path in (FOLDER / "notes", FOLDER.parent / "proofs_notes") if path.is_dir())
# No notes of a claim.
OTHER_NOTES = ("README.md", "errata.md")
CLAIMS: tuple[Claim, ...] = tuple(
    sorted(
        (read_claim(note) for note in NOTES.glob("*.md") if note.name not in OTHER_NOTES),
        key=lambda claim: (claim.order, claim.id),
    )
)
COLUMNS = (
    *("claim", "about", "verdict", "severity", "checked on", "control", "tests", "Coq", "tier"),
    "missing in Coq",
)


class Marked(NamedTuple):
    """A marker of a test function, with one of the labels that it names."""

    file: str
    name: str
    kind: str
    label: str


@cache
def marked_tests(*kinds: str) -> tuple[Marked, ...]:
    """The markers of these kinds on tests of this package, in the order of the files."""
    return tuple(
        Marked(path.relative_to(FOLDER).as_posix(), node.name, decorator.func.attr, str(label))
        for path in sorted(FOLDER.rglob("test_*.py"))
        for node in ast.parse(read_file(path, follow=True)).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)
        if decorator.func.attr in kinds
        for label in map(ast.literal_eval, decorator.args)
    )


def marks_of_claims() -> tuple[Marked, ...]:
    """Every check of a claim, and every control."""
    return marked_tests("claim", "control")


def files_of_tests(claim: Claim) -> list[str]:
    """The files in `verify` with checks or controls of a claim."""
    return list(dict.fromkeys(test.file for test in marks_of_claims() if test.label == claim.id))


def links_to_tests(claim: Claim) -> list[str]:
    """These files as Markdown, for a text in `proofs_notes`."""
    return [f"[{Path(file).stem}](../verify/{file})" for file in files_of_tests(claim)]


@cache
def result_of(claim: Claim) -> str | None:
    """The verdict of the claim's experiment, as the report has it; None if it names none."""
    if claim.experiment is None:
        return None
    # Imported where asked for: they bring pandas and matplotlib, which one claim's tests need not.
    try:
        with naming_extras():
            from pdai.experiments import EXPERIMENTS, tables
            from pdai.experiments.frames import Results
            from pdai.experiments.results import stored
            from pdai.experiments.verdicts import in_a_line

        if claim.experiment == tables.FORMULA:
            return tables.correlation_verdict([Results(e, stored(e)) for e in EXPERIMENTS.values()])
        experiment = EXPERIMENTS[claim.experiment]
        return in_a_line(Results(experiment, stored(experiment)))
    except InputError as error:
        return str(error)


def markdown(scopes: Mapping[str, str]) -> str:
    """The table of `proofs_notes/README.md`, with what the tests of a run said they looked at."""
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    for claim in CLAIMS:
        rows.append(
            (
                f"[{claim.id}]({claim.note})",
                claim.title,
                claim.verdict,
                claim.severity.label if claim.severity else "",
                result_of(claim) or claim.open or scopes.get(claim.id, ""),
                claim.control,
                ", ".join(links_to_tests(claim))
                or (f"[experiments](../pdai/experiments/README.md): {claim.experiment}")
                * (claim.experiment is not None),
                ", ".join(f"`{theorem.split(':')[1]}`" for theorem in claim.theorems),
                claim.tier.label if claim.tier else "",
                claim.unproved,
            )
        )
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows
    )


def scopes_of(table: str) -> dict[str, str]:
    """The scopes in a table of `markdown`."""
    cells = [row.replace("\\|", "\0").split(" | ") for row in table.splitlines()[2:]]
    return {row[0].split("]")[0].removeprefix("| ["): row[4].replace("\0", "|") for row in cells}
