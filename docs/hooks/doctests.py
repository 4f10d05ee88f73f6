"""Doctests of docstrings, shown as code: Markdown takes `>>>` for quotations."""

import re
from typing import Any

import griffe

# From a prompt to the next empty line.
BLOCK = re.compile(r"^(?P<indent> *)>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class FencedDoctests(griffe.Extension):
    """Puts a fence around each doctest that stands in the text of a docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrites the docstring of whatever has one."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text of a docstring with its doctests in fences."""
    return BLOCK.sub(
        lambda match: f"{match['indent']}```pycon\n{match[0]}\n{match['indent']}```", text
    )
