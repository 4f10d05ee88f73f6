"""HTML and SVG as element trees: names and labels stay text and are escaped when written."""

from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

# The number of characters of a name or state that a page shows.
LONGEST = 200


def tag(name: str, /, *children: "Element | str", **attributes: object) -> Element:
    """An element of elements and text.

    Of the attributes `class_` is class, other underscores are hyphens; None is left out.
    """
    made = Element(
        name,
        {
            key.rstrip("_").replace("_", "-"): plain(str(value))
            for key, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + plain(child)
        else:
            made.text = (made.text or "") + plain(child)
    return made


def polyline(points: Sequence[tuple[float, float]], **attributes: object) -> Element:
    """A line through points, as SVG."""
    return tag("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), **attributes)


def tip(text: str) -> dict[str, Any]:
    """The attributes of a mark whose text mouse, keyboard and screen reader give."""
    return {"data_tip": text, "role": "img", "aria_label": text, "tabindex": -1}


def plain(text: str) -> str:
    """The text with unprintable characters escaped, such as marks that reverse its direction."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def short(value: object) -> str:
    """A name or label, cut if it is long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Element:
    """A table in a scrolling box that the keyboard reaches; the first of a row is its heading."""

    def cell(value: object, **attributes: object) -> Element:
        content = value if isinstance(value, Element) else str(value)
        return tag("th" if attributes else "td", content, **attributes)

    columns = [cell(name, scope="col") for name in head]
    body = [
        tag("tr", cell(row[0], scope="row"), *(cell(value) for value in row[1:])) for row in rows
    ]
    parts = [tag("caption", caption)]
    parts += [tag("thead", tag("tr", *columns))] if columns else []
    made = tag("table", *parts, tag("tbody", *body))
    return tag("div", made, class_="wide", role="region", tabindex=0, aria_label=caption)


def folded(summary: str, *content: Element) -> Element:
    """Content that opens when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)


def written(page: Element) -> bytes:
    """The page as an HTML file in UTF-8."""
    text = tostring(page, encoding="unicode", method="html")
    return f"<!doctype html>\n{text}\n".encode()
