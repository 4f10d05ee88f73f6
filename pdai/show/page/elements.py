"""HTML and SVG as trees, so that names and labels stay text: they are escaped when written."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

# What a page shows of a name or a state.
LONGEST = 200


def tag(name: str, /, *children: "Element | str", **attributes: object) -> Element:
    """An element.

    Args:
        name: of the element.
        children: elements, and text.
        attributes: `class_` is class, other underscores are hyphens; None is left out.
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


def plain(text: str) -> str:
    """A text without what cannot be printed, such as marks that turn its direction around."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def short(value: object) -> str:
    """A name or a label, cut where it is long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Element:
    """A table: the first cell of each row names it; other cells may be elements.

    It scrolls in a box of its own, which the keyboard reaches.
    """

    def cell(value: object, **attributes: object) -> Element:
        found = value if isinstance(value, Element) else str(value)
        name = "th" if attributes else "td"
        return tag(name, found, **attributes)

    columns = [cell(name, scope="col") for name in head]
    body = [
        tag("tr", cell(row[0], scope="row"), *(cell(value) for value in row[1:])) for row in rows
    ]
    parts = [tag("caption", caption)]
    parts += [tag("thead", tag("tr", *columns))] if columns else []
    made = tag("table", *parts, tag("tbody", *body))
    return tag("div", made, class_="wide", role="region", tabindex=0, aria_label=caption)


def folded(summary: str, *content: Element) -> Element:
    """What is shown when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)


def written(page: Element) -> bytes:
    """A page as a file in UTF-8."""
    text = tostring(page, encoding="unicode", method="html")
    return f"<!doctype html>\n{text}\n".encode()
