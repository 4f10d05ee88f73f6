"""The page of an exact posterior, to send: data, score, the answer in words, edges, best graphs."""

from xml.etree.ElementTree import Element

from pdai.posteriors.answers import Answer, Columns, GraphAnswer
from pdai.show.page.chart import heat_map
from pdai.show.page.elements import document, folded, table, tag

# Rows of a table that are shown at once.
FIRST_ROWS = 12


def posterior_page(answer: Answer, best: int) -> bytes:
    """The page as a file, with so many of the most probable graphs or sets."""
    tables = answer.tables()
    links = [("#overview", "The answer"), *((f"#{name}", name) for name in tables)]
    links.append(("#best", "most probable"))
    sentences = [tag("li", sentence) for sentence in answer.words()]
    overview = tag(
        "section",
        tag("h2", "The answer", id="overview", tabindex=-1),
        tag("ul", *sentences),
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
