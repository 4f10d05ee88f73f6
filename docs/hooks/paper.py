"""The paper section by section: each claim beside our code, verdict, proof and tests."""

import ast
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from verify.lib.ledger import CLAIMS, NOTES, files_of_tests, result_of
from verify.lib.record import Claim

ROOT = Path(__file__).parents[2]
# Modules that may be the code of a claim; most tests import the usual ones, whatever the claim.
CODE = (
    "reference",
    "verify.lib.attainable",
    "verify.lib.gnn",
    "verify.lib.linear",
    "verify.lib.stochastic.",
)
USUAL = ("errors", "fields", "dag", "policies", "lifted", "problems")
MOST = 4


def sections() -> list[dict[str, Any]]:
    """Number, title and claims of each section, in the order of the paper."""
    listed = tomllib.loads((ROOT / "docs" / "paper.toml").read_text())["section"]
    return [
        {**section, "claims": [claim for claim in CLAIMS if claim.section == section["number"]]}
        for section in listed
    ]


def names() -> list[str]:
    """The names of the pages in `paper/`."""
    return ["index.md", *(f"{slug(section['number'])}.md" for section in sections()), "ours.md"]


@cache
def pages() -> dict[str, str]:
    """The text of each page in `paper/`, by its name."""
    ours = [claim for claim in CLAIMS if claim.printed is None]
    of_ours = (
        "# Results of ours\n\nWhat the paper does not say, and is proved and checked as it is.\n\n"
        + "".join(_entry(claim) for claim in ours)
    )
    return dict(zip(names(), [_index(), *map(_page, sections()), of_ours], strict=True))


def slug(number: str) -> str:
    """The name of a section's page."""
    return "section-" + number.lower().replace(".", "-")


def _index() -> str:
    rows = [
        f"| {claim.place} | [{claim.id}]({slug(section['number'])}.md#{anchor(claim.id)}) "
        f"| {claim.title} | {claim.verdict} |"
        for section in sections()
        for claim in section["claims"]
    ]
    return (
        "# The paper, section by section\n\nEvery claim of the paper in the ledger, where it "
        "stands, and what became of it. Numbers are those that the LaTeX source gives. What does "
        "not hold as printed is collected in the [errata](../../proofs_notes/errata.md), and "
        "results of ours have [a page of their own](ours.md).\n\n"
        "| place | claim | about | verdict |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def _page(section: Mapping[str, Any]) -> str:
    number, title = section["number"], section["title"]
    head = title if number == title else f"{number} {title}"
    return f"# {head}\n\n" + "".join(map(_entry, section["claims"]))


def anchor(name: str) -> str:
    """The anchor of a claim's heading."""
    return name.replace(":", "-").replace(".", "-").lower()


def _entry(claim: Claim) -> str:
    """One claim: what is printed, how it is read, its verdict, code, proof and tests."""
    entry = f"## {claim.id}: {claim.title} {{ #{anchor(claim.id)} }}\n\n"
    severity = f", {claim.severity.label}" if claim.severity else ""
    place = f"{claim.place}. " if claim.place else ""
    entry += f"{place}**{claim.verdict.capitalize()}**{severity}.\n\n"
    if claim.printed:
        first, *items = map(_plain, claim.printed.split("\n"))
        entry += "\n".join([f"> {first}", ">", *(f"> - {item}" for item in items)]) + "\n\n"
    rows = dict(_rows(claim))
    entry += "|  |  |\n| --- | --- |\n"
    return entry + "".join(f"| {name} | {text} |\n" for name, text in rows.items()) + "\n"


def _rows(claim: Claim) -> Iterator[tuple[str, str]]:
    readings = [f"*{reading.outcome}*: {_plain(reading.text)}" for reading in claim.readings]
    yield "readings", "<br>".join(readings)
    if came_out := result_of(claim):
        yield "outcome", _plain(came_out)
    if claim.open:
        yield "why open", _plain(claim.open)
    if code := code_of(claim):
        yield "code", ", ".join(f"[`{path}`](../../{path})" for path in code)
    proofs = [
        f"{', '.join(f'`{name}`' for name in names)} in "
        f"[{Path(file).name}](../../proofs_notes/{file})"
        for file, names in claim.proofs.items()
    ]
    note = f"[{claim.note}](../../proofs_notes/{claim.note})"
    yield "note and proof", "; ".join([note, *proofs])
    if tests := files_of_tests(claim):
        yield "tests", ", ".join(f"[{Path(file).stem}](../../verify/{file})" for file in tests)
    if claim.experiment:
        yield "experiment", f"[{claim.experiment}](../../pdai/experiments/details.md)"
    yield "control", _plain(claim.control)


def code_of(claim: Claim) -> list[str]:
    """Our files that a claim is about: those that its note names, or else its tests.

    Of those that tests import, the ones come first of which they import the most names.
    """
    note = (NOTES / claim.note).read_text()
    dotted = re.findall(r"`((?:reference|fast|verify\.lib)(?:\.\w+)+)`", note)
    written = re.findall(r"\b((?:reference|fast|verify/lib)/[\w/]+\.py)\b", note)
    named = [*written, *filter(None, map(_file_of, dotted))]
    if not named:
        tests = [ROOT / "verify" / file for file in files_of_tests(claim)]
        imported = Counter(path for test in tests for path in _imported(test))
        named = [path for path, _ in imported.most_common()]
    return [path for path in dict.fromkeys(named) if (ROOT / path).exists()][:MOST]


def _imported(path: Path) -> Iterator[str]:
    """The files of the reference, and of what only claims need, from which a test imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CODE):
            for name in node.names:
                imported = getattr(importlib.import_module(node.module or ""), name.name, None)
                module = getattr(imported, "__module__", None) or node.module or ""
                if module.split(".")[1:2] and module.split(".")[1] not in USUAL:
                    found_file = _file_of(module)
                    if found_file:
                        yield found_file


def _file_of(dotted: str) -> str | None:
    """The file of the module that a dotted name begins with."""
    parts = dotted.split(".")
    for end in range(len(parts), 1, -1):
        path = "/".join(parts[:end])
        if (ROOT / f"{path}.py").exists():
            return f"{path}.py"
        if (ROOT / path / "__init__.py").exists():
            return f"{path}/__init__.py"
    return None


def _plain(text: str) -> str:
    """A text in which nothing is Markdown, on one line of a table."""
    return re.sub(r"[\\`*_{}\[\]<>&#|~^]", lambda match: f"&#{ord(match[0])};", text)
