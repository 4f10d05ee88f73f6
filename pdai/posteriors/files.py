"""The files of an exact posterior: tables, graphs, a picture and a page. Imports no JAX."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fast.runs.files import new_folder
from pdai import __version__
from pdai.posteriors.answers import Answer, Columns, GraphAnswer
from pdai.show.page.chart import heat_map
from pdai.show.page.elements import document, folded, table, tag
from pdai.show.panels import draw_edges
from pdai.show.sample_tables import csv_table
from reference.contract.files import replace_file

# Rows of a table that are shown at once.
FIRST_ROWS = 12


def write(answer: Answer, folder: Path, *, best: int, draws: int, seed: int) -> None:
    """Writes an exact posterior into a new folder, which appears when all is written.

    Args:
        answer: the posterior.
        folder: the folder.
        best: the number of the most probable graphs or sets.
        draws: the number of independent draws.
        seed: the seed of these.

    Raises:
        InputError: if the folder exists, or cannot be written.
    """
    with new_folder(folder) as place:
        tables = {**answer.tables(), "best": answer.best_columns(best)}
        if draws:
            tables["draws"] = answer.draw_columns(draws, seed)
        for name, columns in tables.items():
            replace_file(place / f"{name}.csv", csv_table(columns))
        record = _record(answer, best, draws, seed)
        replace_file(place / "posterior.json", (json.dumps(record, indent=1) + "\n").encode())
        if isinstance(answer, GraphAnswer):
            _write_graphs(answer, place, best)
            about = [answer.facts[name] for name in ("data", "score", "prior")]
            draw_edges(answer.posterior.edges, answer.table.names, about, place / "edges.png")
        replace_file(place / "posterior.html", _page(answer, best))


def _record(answer: Answer, best: int, draws: int, seed: int) -> dict[str, Any]:
    """All that is known of a posterior, for programs."""
    return {
        "pdai": __version__,
        "facts": answer.facts,
        "columns": list(answer.table.names),
        "sha256": answer.table.digest,
        "tables": answer.tables(),
        "best": answer.best_columns(best),
        "draws": draws,
        "seed": seed,
        "words": answer.words(),
    }


def _write_graphs(answer: GraphAnswer, place: Path, best: int) -> None:
    """The best graphs, and all edges, each edge with its probability."""
    names, edges = answer.table.names, answer.posterior.edges
    nodes = range(len(names))
    graphs = {"edges": [(u, v) for u in nodes for v in nodes if edges[u, v] > 0]}
    for rank, one in enumerate(answer.posterior.best(best), 1):
        graphs[f"best-{rank}"] = list(one.graph.edges)
    for name, pairs in graphs.items():
        weighted = {(u, v): float(edges[u, v]) for u, v in pairs}
        replace_file(place / f"{name}.graphml", graphml(names, weighted))
        replace_file(place / f"{name}.dot", dot(names, weighted))


Edges = Mapping[tuple[int, int], float]


def graphml(names: Sequence[str], edges: Edges) -> bytes:
    """A directed graph as GraphML: nodes n0, n1, ... with the attribute `name`."""
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, owner, kind in (("name", "node", "string"), ("probability", "edge", "double")):
        SubElement(root, "key", {"for": owner, "attr.name": name, "attr.type": kind}, id=name)
    graph = SubElement(root, "graph", id="G", edgedefault="directed")
    for i, name in enumerate(names):
        SubElement(SubElement(graph, "node", id=f"n{i}"), "data", key="name").text = name
    for (u, v), probability in edges.items():
        edge = SubElement(graph, "edge", source=f"n{u}", target=f"n{v}")
        SubElement(edge, "data", key="probability").text = repr(float(probability))
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def dot(names: Sequence[str], edges: Edges) -> bytes:
    """A directed graph in the DOT language; arguments as in `graphml`."""
    lines = [f"  n{i} [label={_quoted(name)}];" for i, name in enumerate(names)]
    lines += [
        f'  n{u} -> n{v} [probability="{float(p)!r}", label="{p:.3f}"];'
        for (u, v), p in edges.items()
    ]
    return "\n".join(["digraph {", *lines, "}", ""]).encode(errors="backslashreplace")


def _quoted(text: str) -> str:
    """A name as a quoted label, in which a backslash is itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _page(answer: Answer, best: int) -> bytes:
    """The page as a file, with so many of the most probable graphs or sets."""
    tables = answer.tables()
    links = [("#overview", "The answer"), *((f"#{name}", name) for name in tables)]
    links.append(("#best", "most probable"))
    overview = tag(
        "section",
        tag("h2", "The answer", id="overview", tabindex=-1),
        tag("ul", *[tag("li", sentence) for sentence in answer.words()]),
        table("What it rests on", (), answer.facts.items()),
    )
    sections = [overview]
    sections += [_section(answer, name, columns) for name, columns in tables.items()]
    likely = answer.best_columns(best)
    sections.append(
        tag(
            "section",
            tag("h2", "Most probable", id="best"),
            table("The most probable, best first", tuple(likely), _rows(likely)),
        )
    )
    return document(f"Exact posterior of {answer.table.source}", links, sections, "posterior")


def _section(answer: Answer, name: str, columns: Columns) -> Element:
    """A table of probabilities, with a heat map of edges or paths."""
    rows = _rows(columns)
    parts = [tag("h2", name.capitalize(), id=name)]
    if isinstance(answer, GraphAnswer):
        law = answer.posterior
        values = law.edges if name == "edges" else law.ancestors
        parts.append(heat_map(f"Probabilities of {name}", law.names, values, 1.0))
    parts.append(table(f"{name}, the most probable first", tuple(columns), rows[:FIRST_ROWS]))
    if len(rows) > FIRST_ROWS:
        rest = table(f"{name}, the others", tuple(columns), rows[FIRST_ROWS:])
        parts.append(folded(f"{len(rows) - FIRST_ROWS} more", rest))
    return tag("section", *parts)


def _rows(columns: Columns) -> list[tuple[str, ...]]:
    rows = zip(*columns.values(), strict=True)
    return [tuple(f"{x:.6f}" if isinstance(x, float) else str(x) for x in row) for row in rows]
