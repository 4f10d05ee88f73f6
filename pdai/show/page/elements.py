"""A page that needs nothing else, as a tree: names and labels stay text, and are escaped.

Imports no JAX.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from pdai import __version__
from reference.contract.errors import printable
from reference.contract.files import read_file

# The number of characters of a name or state that a page shows.
LONGEST = 200


def tag(name: str, /, *children: "Element | str", **attributes: object) -> Element:
    """An element of elements and text.

    Args:
        name: its name.
        children: what is in it.
        attributes: its attributes; underscores are hyphens, `class_` is class, None is left out.
    """
    element = Element(
        name,
        {
            key.rstrip("_").replace("_", "-"): printable(str(value))
            for key, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + printable(child)
        else:
            element.text = (element.text or "") + printable(child)
    return element


def short(value: object) -> str:
    """A name or label, cut if it is long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Element:
    """A table in a scrolling box that the keyboard reaches.

    Args:
        caption: its caption.
        head: the names of the columns; none if it is empty.
        rows: the cells; the first of a row is its heading.
    """

    def cell(value: object, **attributes: object) -> Element:
        content = value if isinstance(value, Element) else str(value)
        return tag("th" if attributes else "td", content, **attributes)

    columns = [cell(name, scope="col") for name in head]
    body = [
        tag("tr", cell(row[0], scope="row"), *(cell(value) for value in row[1:])) for row in rows
    ]
    parts = [tag("caption", caption)]
    parts += [tag("thead", tag("tr", *columns))] if columns else []
    grid = tag("table", *parts, tag("tbody", *body))
    return tag("div", grid, class_="wide", role="region", tabindex=0, aria_label=caption)


def folded(summary: str, *content: Element) -> Element:
    """Content that opens when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)


def number_text(value: float) -> str:
    """A number in four digits, in powers of ten if it is small."""
    is_whole = value and abs(value) >= 1000 and value == round(value)
    return f"{value:,.0f}" if is_whole else f"{value:.4g}"


def written(page: Element) -> bytes:
    """The page as an HTML file in UTF-8."""
    text = tostring(page, encoding="unicode", method="html")
    return f"<!doctype html>\n{text}\n".encode()


def document(
    title: str, links: Sequence[tuple[str, str]], sections: Sequence[Element], command: str
) -> bytes:
    """The page as a file.

    Args:
        title: its title.
        links: the place and the name of each entry of its contents.
        sections: the sections; the first has the identifier `overview`.
        command: the command of `pdai` that makes the page.
    """
    items = [tag("li", tag("a", name, href=href)) for href, name in links]
    style, script = (
        read_file(Path(__file__).with_name(name), follow=True).decode()
        for name in ("page.css", "page.js")
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        # The policy blocks all loading and every script but ours, whatever a label contains.
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"pdai {command}: {title}"),
        _raw("style", style),
    )
    body = tag(
        "body",
        tag("a", "Skip to the figures", href="#overview", class_="skip"),
        tag("header", tag("h1", title), tag("nav", tag("ul", *items), aria_label="Contents")),
        tag("main", *sections),
        tag("footer", tag("p", f"Made by pdai {__version__} {command}.")),
        tag("div", class_="tip", role="presentation", hidden="hidden"),
        _raw("script", script),
    )
    return written(tag("html", head, body, lang="en"))


def _raw(name: str, text: str) -> Element:
    """An element with our own text, unescaped."""
    element = Element(name)
    element.text = text
    return element


def _policy(style: str, script: str) -> str:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'"
    )
