"""Samples as tables for other programs: CSV, JSON and Parquet, a row for each sample."""

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Literal

from reference.certificates.statement import plain
from reference.contract.errors import InputError

if TYPE_CHECKING:
    from fast.laws.samples import Samples

TableFormat = Literal["csv", "json", "parquet"]


def sample_table(samples: "Samples", kind: TableFormat) -> bytes:
    """Samples as the content of a file.

    The columns are `state`, as text, and in nats `log_reward`, and `log_p_f` and `log_p_b` of the
    trajectory that led there. JSON has a list of objects. Raises InputError if it is Parquet, and
    pyarrow is not installed.
    """
    columns = {
        name: [str(x).encode(errors="backslashreplace").decode() for x in column]
        if name == "state"
        else column.tolist()
        for name, column in samples.table().items()
    }
    if kind == "csv":
        return csv_table(columns)
    if kind == "parquet":
        return _parquet(columns)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return ("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n").encode()


def csv_table(columns: dict[str, list[Any]]) -> bytes:
    """Columns by name as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(plain, column) for column in columns.values()), strict=True))
    # A lone surrogate is written as Python escapes it.
    return text.getvalue().encode(errors="backslashreplace")


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
