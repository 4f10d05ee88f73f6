"""What was found: a JSON file and a Markdown table, written anew after every row."""

import json
import os
from pathlib import Path
from typing import Any


class Record:
    """Rows as they are found.

    Args:
        out: the files' path without its ending.
        about: the device and versions.

    Attributes:
        failed: 1 if a number was wrong, else 0.
    """

    def __init__(self, out: Path, about: dict[str, Any]):
        self.about, self.rows, self.dropped = about, list[dict[str, Any]](), list[str]()
        self.failed, self._out = 0, out
        out.parent.mkdir(parents=True, exist_ok=True)

    def add(self, kind: str, name: str, found: list[dict[str, Any]]) -> None:
        """Rows of a kind; also of what went wrong."""
        self.rows += [{"kind": kind, "name": name, **row} for row in found]
        # Of a comparison `error` is how far it is off, of other rows why there is no number.
        self.failed |= any(not row.get("right", "error" not in row) for row in found)
        self.write()

    def drop(self, name: str) -> None:
        """What there was no time for."""
        self.dropped.append(name)

    def write(self) -> None:
        """Both files, each all or nothing."""
        whole = {**self.about, "rows": self.rows, "dropped": self.dropped}
        self._replace(".json", json.dumps(whole, indent=1) + "\n")
        self._replace(".md", self._markdown())

    def _replace(self, ending: str, text: str) -> None:
        path = self._out.with_name(self._out.name + ending)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(text)
        os.replace(partial, path)

    def _markdown(self) -> str:
        about = ", ".join(f"{name} {value}" for name, value in self.about.items())
        parts = [f"Made by `python benchmarks/device.py`: {about}."]
        for kind in dict.fromkeys(row["kind"] for row in self.rows):
            rows = [row for row in self.rows if row["kind"] == kind]
            columns = list(dict.fromkeys(key for row in rows for key in row if key != "kind"))
            table = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
            table += [
                "| " + " | ".join(shown(row.get(column, "")) for column in columns) + " |"
                for row in rows
            ]
            parts.append(f"## {kind}\n\n" + "\n".join(table))
        return "\n\n".join([*parts, self._left_out()]) + "\n"

    def _left_out(self) -> str:
        """The names that were dropped, those of one program together."""
        batches: dict[str, list[str]] = {}
        for name in self.dropped:
            program, _, batch = name.partition(", batch ")
            batches.setdefault(program, []).append(batch)
        lines = [
            f"- {program}" + (f": batch {'; '.join(found)}" if any(found) else "")
            for program, found in batches.items()
        ]
        return "\n".join([f"Dropped for want of time: {len(self.dropped)} rows.", "", *lines])


def shown(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
