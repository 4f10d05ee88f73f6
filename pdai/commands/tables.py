"""Tables and lines that commands print, in which names are neither markup nor escape codes."""

import sys
import time
from collections.abc import Mapping
from typing import Any

from reference.contract.errors import printable


def say(text: object) -> None:
    """Prints a line, such as one with the path of a file, to stdout."""
    print(printable(str(text)))


class Seldom:
    """Lines on stderr about something that takes long, at most one in five seconds."""

    def __init__(self) -> None:
        self.at = time.monotonic()

    def __call__(self, line: str) -> None:
        """Prints a line, if the last one is old."""
        if time.monotonic() > self.at + 5:
            self.at = time.monotonic()
            print(line, file=sys.stderr, flush=True)


def show_rows(title: str, rows: Mapping[str, str], caption: str = "") -> None:
    """Prints a table to stdout.

    Args:
        title: its title.
        rows: the value of each name.
        caption: the line below it.
    """
    from rich.table import Table

    table = Table(title=title, caption=caption, show_header=False)
    for row in rows.items():
        table.add_row(*row)
    show(table)


def show(table: object) -> None:
    """Prints a table of rich to stdout."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

    # Outside a terminal, the table is wide enough that no cell is cut.
    Plain(width=None if Console().is_terminal else 120, markup=False, emoji=False).print(table)
