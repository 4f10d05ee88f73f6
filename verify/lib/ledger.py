"""The ledger: what the paper claims, how we read it, what became of it, and where that is tested.

Which tests check a claim is read from their markers, in the source: it holds whichever tests run.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from reference.files import read_file
from verify.claims import (
    architecture,
    background,
    certificates,
    combination,
    experiments,
    graphs,
    learning,
    lifts,
    lines,
    posteriors,
    stochastic,
    text,
)
from verify.claims.record import Claim
from verify.lib.results import result_of

CLAIMS: tuple[Claim, ...] = (
    *background.CLAIMS,
    *lines.CLAIMS,
    *graphs.CLAIMS,
    *learning.CLAIMS,
    *lifts.CLAIMS,
    *architecture.CLAIMS,
    *experiments.CLAIMS,
    *text.CLAIMS,
    *stochastic.CLAIMS,
    *combination.CLAIMS,
    *posteriors.CLAIMS,
    *certificates.CLAIMS,
)
FOLDER = Path(__file__).parents[1]
COLUMNS = ("claim", "about", "verdict", "severity", "checked on", "control", "tests", "Coq")


class Marked(NamedTuple):
    """A test function that checks a claim, or breaks it on purpose."""

    file: str
    name: str
    kind: Literal["claim", "control"]
    claim: str


@cache
def marked_tests() -> tuple[Marked, ...]:
    """Every test of this package that carries a marker, in the order of the files."""
    return tuple(
        marked
        for path in sorted(FOLDER.rglob("test_*.py"))
        for marked in _marked_in(
            path.relative_to(FOLDER).as_posix(), ast.parse(read_file(path, follow=True))
        )
    )


def _marked_in(file: str, tree: ast.Module) -> Iterator[Marked]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                match decorator:
                    case ast.Call(
                        func=ast.Attribute(attr="claim" | "control" as kind),
                        args=[ast.Constant(value=str(claim))],
                    ):
                        yield Marked(file, node.name, kind, claim)


def markdown(scopes: Mapping[str, str]) -> str:
    """The table of `proofs_notes/README.md`, with what the tests of a run said they looked at."""
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    for claim in CLAIMS:
        files = dict.fromkeys(test.file for test in marked_tests() if test.claim == claim.id)
        rows.append(
            (
                f"[{claim.id}]({claim.note})",
                claim.title,
                claim.verdict,
                claim.severity.label if claim.severity else "",
                result_of(claim) or claim.open or scopes.get(claim.id, ""),
                claim.control,
                ", ".join(f"[{Path(file).stem}](../verify/{file})" for file in files)
                or (f"[experiments](../pdai/experiments/README.md): {claim.experiment}")
                * (claim.experiment is not None),
                ", ".join(f"`{theorem.split(':')[1]}`" for theorem in claim.theorems),
            )
        )
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows
    )


def scopes_of(table: str) -> dict[str, str]:
    """The scopes in a table of `markdown`."""
    cells = [row.replace("\\|", "\0").split(" | ") for row in table.splitlines()[2:]]
    return {row[0].split("]")[0].removeprefix("| ["): row[4].replace("\0", "|") for row in cells}
