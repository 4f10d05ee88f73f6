"""An HTML file that needs nothing else: head, contents, sections, script. Imports no JAX."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from pdai import __version__
from pdai.show.page.elements import tag, written
from reference.contract.files import read_file


def document(
    title: str, links: Sequence[tuple[str, str]], sections: Sequence[Element], command: str
) -> bytes:
    """The page as a file, with the place and name of each entry of its contents.

    The first section has the identifier `overview`; `command` is that of `pdai` which makes the
    page.
    """
    items = [tag("li", tag("a", name, href=href)) for href, name in links]
    style, script = _part("page.css"), _part("page.js")
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


def _part(name: str) -> str:
    return read_file(Path(__file__).with_name(name), follow=True).decode()


def _raw(name: str, text: str) -> Element:
    """An element with our own text, unescaped."""
    made = Element(name)
    made.text = text
    return made


def _policy(style: str, script: str) -> str:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'"
    )
