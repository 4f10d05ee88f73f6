"""Rows of text from the files and streams that hold samples, values and weights."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reference.contract.errors import InputError, shown
from reference.contract.files import parsed_json, read_file
from reference.posterior.columns import check_unmasked

# The name of the standard input.
STDIN = "-"
JSON_LINES = (".jsonl", ".ndjson", ".json")
ARRAY = ".npy"
FILES = (".csv", ".txt", ".tsv", ARRAY, *JSON_LINES)
# The names of a column of values, and of those that may stand beside it.
VALUES = {"value", "terminal", "state", "sample"}
BESIDE = {"weight", "log_weight", "count", "log_prob", "log_p_f", "log_p_b", "log_reward"}


def read_rows(path: Path, header: bool | None = None) -> tuple[list[str] | None, list[list[str]]]:
    """The names of the columns of a file, if it has them, and its lines, as rows of texts.

    The file is CSV, whose first line has the names if it holds `VALUES` and `BESIDE` alone, or as
    `header` says, and is an empty row then; or JSON lines (.jsonl, .ndjson), each a value or an
    object, or a list of these (.json); or an array of NumPy (.npy) with a value or a row for each
    sample. A list is written as Python writes a tuple, and such tuples may be the lines of a file.
    On the standard input (`-`), lines of JSON are known by the first, which must be a list or an
    object, and an array by its first bytes. An empty line is an empty row. It is refused between
    texts, as it may be the empty one. Raises InputError for a file that cannot be read.
    """
    is_stream = str(path) == STDIN
    content = sys.stdin.buffer.read() if is_stream else read_file(path, follow=True)
    if path.suffix == ARRAY or (is_stream and content.startswith(np.lib.format.MAGIC_PREFIX)):
        return None, _array_rows(path, content)
    try:
        text = content.decode("utf-8-sig")
        first_line = text.lstrip().partition("\n")[0] if is_stream else ""
        if path.suffix in JSON_LINES or isinstance(_parsed(first_line), list | dict):
            values = _parsed(text) if path.suffix == ".json" else None
            if isinstance(values, list):
                text = "\n".join(map(json.dumps, values))
            return _json_rows(path, text)
        rows = _tuples(text, header) or [*csv.reader(io.StringIO(text, newline=""), strict=True)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{str(path)!r} cannot be read as CSV ({error})") from None
    lines = [line for line, row in enumerate(rows, 1) if row]
    if lines and lines[-1] > len(lines) and all(len(row) < 2 for row in rows):
        empty = next(line for line, row in enumerate(rows, 1) if not row)
        raise InputError(
            f"{str(path)!r}, line {empty} is empty, which may be the empty text or no value: write "
            'the empty text as "", or leave such lines out'
        )
    first = next(iter(lines), 0)
    if not first or not _names_columns(names := rows[first - 1], header):
        return None, rows
    return names, [*rows[: first - 1], [], *rows[first:]]


def columns_of(names: Sequence[str], header: bool | None, own: str) -> list[str]:
    """The names of columns, with one's own for that of the values.

    Args:
        names: as they stand in the file.
        header: True if the options say that it has a header; a single column may have any name.
        own: the name that the column of values gets.
    """
    is_any = header is True and len(names) == 1
    return [own if is_any or name in VALUES else name for name in names]


def _names_columns(first: Sequence[str], header: bool | None) -> bool:
    """True if the first line of a file of samples or of a law has the names of its columns."""
    names = VALUES | BESIDE if len(first) > 1 else VALUES
    return {*first} <= names if header is None else header


def _tuples(text: str, header: bool | None) -> list[list[str]]:
    """Lines of which each is a tuple as Python prints it, below a header at most; else []."""
    lines = text.splitlines()
    body = lines[_names_columns(lines[:1], header) :]
    if not body or any(line[:1] + line[-1:] != "()" for line in body):
        return []
    return [[line] for line in lines]


def _parsed(text: str) -> Any:
    """The value of a text in JSON; None if it is none."""
    try:
        return parsed_json(text)
    except ValueError:
        return None


def _json_rows(path: Path, text: str) -> tuple[list[str] | None, list[list[str]]]:
    names: list[str] | None = None
    rows: list[list[str]] = []
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            rows.append([])
            continue
        try:
            value = parsed_json(written)
        except ValueError as error:
            raise InputError(f"{str(path)!r}, line {line} is no JSON ({error})") from None
        if isinstance(value, dict) and not any(rows):
            names = [*value]
        if names is None and not isinstance(value, dict):
            rows.append([_text(path, line, value)])
        elif names is not None and isinstance(value, dict) and value.keys() == {*names}:
            rows.append([_text(path, line, value[name]) for name in names])
        else:
            keys = "a value" if names is None else f"an object with {', '.join(names)}"
            raise InputError(
                f"{str(path)!r}, line {line} is {shown(value)}, but must be {keys}, as the first is"
            )
    return names, rows


def _text(path: Path, line: int, value: Any) -> str:
    if value is None or isinstance(value, dict):
        raise InputError(
            f"{str(path)!r}, line {line} has {json.dumps(value)}, but must have a text, a number "
            "or a list"
        )
    return value if isinstance(value, str) else str(_tupled(value))


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _array_rows(path: Path, content: bytes) -> list[list[str]]:
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # on damaged bytes, NumPy raises many kinds
        raise InputError(f"{str(path)!r} is no array of NumPy ({error})") from None
    return [[str(value)] for value in values_of(array, repr(str(path)))]


def values_of(array: np.ndarray[Any, Any], owner: str) -> list[Any]:
    """The samples in an array, as values of Python: entries, or rows as tuples.

    Raises InputError if it has no axis, more than two, or entries that are masked, or no numbers or
    texts; or fractions in float16; or floats so large that whole numbers are rounded.
    """
    check_unmasked(owner, array)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufUSO":
        raise InputError(
            f"{owner} is an array of the shape {array.shape} and the type {array.dtype}, but must "
            "have a number, a text or a row of these for each sample"
        )
    if array.dtype == np.float16 and (np.rint(array) != array).any():
        raise InputError(
            f"{owner} is an array of float16 with fractions, which are rounded to three digits: "
            "give the samples as they were before that"
        )
    if array.dtype.kind == "f":
        most = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        if (np.isfinite(array) & (np.abs(array) >= most)).any():
            raise InputError(
                f"{owner} is an array of {array.dtype} with numbers from {most:,.0f} on, where "
                "whole numbers are rounded: give integers, or a list, if they are meant"
            )
    try:
        array = array.astype({"b": int, "S": str}.get(array.dtype.kind, array.dtype))
    except UnicodeDecodeError:
        raise InputError(f"{owner} has bytes that are no ASCII text: decode them first") from None
    values: list[Any] = array.tolist()
    return values if array.ndim == 1 else [*map(tuple, values)]
