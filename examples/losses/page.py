"""The page of judged losses, made from what they declare and from the files of counterexamples."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from examples.losses.graphs import GRAPHS
from examples.losses.judging import Case, Judged, collected
from examples.losses.vectors import FOLDER, way
from fast.checking.counterexamples import Counterexample

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "records" / "losses.md"
COLUMNS = tuple(GRAPHS)
SIGNS = {"right": "right", "wrong": "**wrong**", "other law": "its own law", "": ""}
BEGIN, END = "<!-- written by python -m examples.losses --write -->\n", "<!-- end -->\n"


def slug(name: str, when: str) -> str:
    """The name of a counterexample's file."""
    words = "".join(c if c.isalnum() else " " for c in f"{name} {when}".lower()).split()
    return "-".join(words) + ".json"


def as_json(case: Case, example: Counterexample) -> str:
    """A counterexample that any library can read: a graph, rewards, rows, and the two laws.

    A row stands under its state, or with memory under the states on the way to it.
    """
    lifted = case.graph.lifted
    labels = lifted.base.labels if case.graph.is_markovian else lifted.dag.labels
    ways = dict(zip(case.graph.names, map(way, labels), strict=True))

    def texts(values: Mapping[str, Any]) -> dict[str, Any]:
        return {ways.get(name, name): _text(value) for name, value in values.items()}

    written = {
        "loss": repr(case.loss),
        "graph": {
            str(label): [str(lifted.base.labels[v]) for v in row]
            for label, row in zip(lifted.base.labels, lifted.base.children, strict=True)
        },
        "memory": not case.graph.is_markovian,
        "rewards": texts(example.rewards),
        "p_F": texts(example.p_f),
        "p_B": texts(example.p_b) or "uniform",
        "p_T": texts(example.law),
        "target": texts(example.target),
        "total variation": str(example.distance),
    }
    return json.dumps(written, indent=1) + "\n"


def tables(judged: Mapping[str, Judged]) -> str:
    """The matrix, the cases beyond it and the counterexamples, and the formulas, as Markdown."""
    head = ("loss", "verdict", *COLUMNS, "condition, or its law")
    matrix = [
        (
            each.name,
            each.verdict,
            *(SIGNS[each.outcomes.get(column, "")] for column in COLUMNS),
            each.condition,
        )
        for each in judged.values()
    ]
    cases = [row for each in judged.values() for row in _cases(each)]
    formulas = [
        (each.name, f"`{each.formula}`", each.needs, each.source) for each in judged.values()
    ]
    return "\n".join(
        [
            _table(head, matrix),
            "## Where each fails, and where it does not\n",
            _table(("loss", "where", "outcome", "law learned", "law wanted"), cases),
            "## Formulas\n",
            _table(("loss", "formula", "needs", "source"), formulas),
        ]
    )


def page(text: str) -> str:
    """A page with the tables of all losses between its marks."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + tables(collected()) + END + rest.partition(END)[2]


def _cases(each: Judged) -> Iterator[tuple[str, ...]]:
    for case in each.every:
        name = slug(each.name, case.when)
        sign = SIGNS[case.outcome]
        if case.outcome == "wrong":
            written = json.loads((FOLDER / name).read_text())
            link = f"[{sign}](../../examples/losses/counterexamples/{name})"
            yield each.name, case.when, link, _law(written["p_T"]), _law(written["target"])
        elif case in each.cases or case.when not in COLUMNS:
            yield each.name, case.when, sign, "", ""


def _law(law: Mapping[str, str]) -> str:
    shares = (p if len(p) < 10 else f"{float(Fraction(p)):.4f}" for p in law.values())
    listed = ", ".join(f"{x}: {p}" for x, p in zip(law, shares, strict=True))
    return listed if len(law) < 5 else f"of {len(law)} ends"


def _text(value: Any) -> Any:
    return [str(share) for share in value] if isinstance(value, tuple) else str(value)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
