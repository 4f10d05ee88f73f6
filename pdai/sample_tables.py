"""Samples as tables for other programs: CSV, JSON and Parquet, a row for each sample."""

import csv
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from reference.errors import InputError

if TYPE_CHECKING:
    from fast.laws.paths import Samples

TableFormat = Literal["csv", "json", "parquet"]


def sample_table(samples: "Samples", kind: TableFormat) -> bytes:
    """Samples as a file of a kind.

    The columns are `state`, as text, and in nats `log_reward`, and `log_p_f` and `log_p_b` of the
    trajectory that led there. JSON has a list of objects.

    Raises:
        InputError: if it is Parquet, and pyarrow is not installed.
    """
    return _WRITERS[kind](_columns(samples))


def _columns(samples: "Samples") -> dict[str, list[Any]]:
    return {
        "state": [str(x).encode(errors="backslashreplace").decode() for x in samples.states],
        "log_reward": samples.log_reward.tolist(),
        "log_p_f": samples.log_p_f.tolist(),
        "log_p_b": samples.log_p_b.tolist(),
    }


def csv_table(columns: dict[str, list[Any]]) -> bytes:
    """Columns by name as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    # Half a character, which no file may have, as Python writes it.
    return text.getvalue().encode(errors="backslashreplace")


def _json(columns: dict[str, list[Any]]) -> bytes:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return ("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n").encode()


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "parquet is written by pyarrow, which is not installed: `pip install pyarrow`, or use "
            "--format csv"
        ) from None
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


_WRITERS: dict[TableFormat, Callable[[dict[str, list[Any]]], bytes]] = {
    "csv": csv_table,
    "json": _json,
    "parquet": _parquet,
}
