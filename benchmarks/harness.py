"""Parts that all benchmarks share: clocks, rounds in turns, and tables in Markdown and JSON.

Imports Python's library alone, as it also runs beside other libraries and where little else is.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Seconds(NamedTuple):
    """The seconds of a call: on the clock, and of the processor, all threads together."""

    wall: float
    cpu: float


def timed(action: Callable[[], Any]) -> Seconds:
    """Both times of one call. Arrays of JAX are awaited."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    if jax := sys.modules.get("jax"):
        jax.block_until_ready(result)
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def wall_seconds(action: Callable[[], Any]) -> float:
    """Time of one call on the clock."""
    return timed(action).wall


def processor_seconds(action: Callable[[], Any]) -> float:
    """Processor time of one call, which others on the machine disturb least."""
    return timed(action).cpu


def in_turns(
    measures: Mapping[str, Callable[[], T]], rounds: int, uncounted: int = 0
) -> dict[str, list[T]]:
    """The values of each measure, one of each per round, so that a busy machine disturbs all alike.

    Args:
        measures: by name, such as `partial(wall_seconds, action)`.
        rounds: that count.
        uncounted: rounds before: what runs first after compilation is slow.
    """
    values: dict[str, list[T]] = {name: [] for name in measures}
    for round_ in range(uncounted + rounds):
        for name, measure in measures.items():
            value = measure()
            if round_ >= uncounted:
                values[name].append(value)
    return values


@dataclass(frozen=True)
class Spread:
    """Numbers of several rounds: the median, with the smallest and the largest.

    Attributes:
        values: one per round.
        unit: of all of them, such as "s".
    """

    values: Sequence[float]
    unit: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, middle, high = map(cell, (min(self.values), self.median, max(self.values)))
        around = f" ({low} to {high})" if len(self.values) > 1 else ""
        return f"{middle}{around} {self.unit}".rstrip()


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Ratios within rounds, in which what disturbs a whole round cancels."""
    return Spread([a / b for a, b in zip(above, below, strict=True)])


def cell(value: Any) -> str:
    """A value as a cell of a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of Markdown, with the keys of all rows for columns; a row need not have them all."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    body = [[cell(row.get(column)) for column in columns] for row in rows]
    first, *lines = (f"| {' | '.join(cells)} |" for cells in (columns, *body))
    return "\n".join([first, "|---" * len(columns) + "|", *lines])


class Table:
    """Rows as they come: each is printed, and both files are written anew, if there are any.

    Args:
        command: that makes the table.
        out: the path of a JSON and a Markdown file without its ending.
        about: what the numbers depend on, such as `machine()`.
        printed: whether rows are printed.

    Attributes:
        rows: all rows; each begins with the `kind` of its table, where there are several.
        dropped: names of rows for which there was no time.
    """

    def __init__(
        self,
        command: str,
        out: Path | None = None,
        about: Mapping[str, Any] | None = None,
        printed: bool = True,
    ):
        self.rows, self.dropped = list[dict[str, Any]](), list[str]()
        self._command, self._out, self._printed = command, out, printed
        self._about = dict(about or {})
        self._head = ""
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)

    def add(self, row: Mapping[str, Any], kind: str = "") -> None:
        """A row; nothing is lost if the program is killed after it."""
        self.rows.append({"kind": kind, **row} if kind else dict(row))
        if self._printed:
            head, line, values = markdown([row]).split("\n")
            if head != self._head:
                print("\n" * bool(self._head) + f"{head}\n{line}")
                self._head = head
            print(values, flush=True)
        self.write()

    def show(self, what: str, measured: Spread) -> None:
        self.add({"what": what, "median (least to largest)": measured})

    def write(self) -> None:
        """Both files, each all or nothing."""
        if self._out is not None:
            whole = {**self._about, "rows": self.rows, "dropped": self.dropped}
            text = json.dumps(whole, indent=1, default=_as_json) + "\n"
            for ending, content in ((".json", text), (".md", self._page())):
                path = self._out.with_name(self._out.name + ending)
                partial = path.with_name(path.name + ".partial")
                partial.write_text(content)
                os.replace(partial, path)

    def _page(self) -> str:
        about = ", ".join(f"{name} {value}" for name, value in self._about.items())
        parts = [f"Made by `{self._command}`" + f": {about}" * bool(about) + "."]
        kinds: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            bare = {key: value for key, value in row.items() if key != "kind"}
            kinds.setdefault(row.get("kind", ""), []).append(bare)
        parts += [f"## {kind}\n\n" * bool(kind) + markdown(rows) for kind, rows in kinds.items()]
        if self.dropped:
            names = "\n".join(f"- {name}" for name in self.dropped)
            parts.append(f"Dropped for want of time: {len(self.dropped)} rows.\n\n{names}")
        return "\n\n".join(parts) + "\n"


def _as_json(value: Any) -> Any:
    if isinstance(value, Spread):
        return {"median": value.median, "unit": value.unit, "values": list(value.values)}
    raise TypeError(f"{value!r} has no form in JSON")


def machine(*packages: str) -> dict[str, Any]:
    """The processor, and the versions of Python and of packages."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    models = [text.partition(":")[2].strip() for text in lines if text.startswith("model name")]
    return {
        "device": f"{len(os.sched_getaffinity(0))} cores of {(models or ['a CPU'])[0]}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The command line of a benchmark, explained by the docstring of its module."""
    command = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument(
        "--out", type=Path, help="path of a JSON and a Markdown file, without ending"
    )
    return command
