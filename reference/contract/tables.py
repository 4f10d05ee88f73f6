"""The one reader of tables, samples and laws: any file, as names of columns and rows of texts.

No value is changed: `01`, `1.0` and `1` stay three texts. A number of JSON, parquet or a frame is
the text that Python writes, and a list that of the tuple. What is looked for decides which first
lines are names (`Shape`).
"""

import csv
import gzip
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference.contract.errors import InputError, shown
from reference.contract.files import memory_of_machine, parsed_json, read_file, sha256
from reference.contract.text import counted, number_text

# The name of the standard input.
STDIN = "-"
JSON_LINES = (".jsonl", ".ndjson", ".json")
FILES = (".csv", ".txt", ".tsv", ".npy", ".gz", ".parquet", *JSON_LINES)
# The names of a column of values, and of those that may stand beside it.
VALUES = ("terminal", "value", "state", "sample")
WEIGHTS = ("weight", "frequency", "probability", "log_weight")
RECORDED = ("log_prob", "log_p_f", "log_p_b", "log_reward")
OF_SAMPLES = ("count", "frequency", "weight", "log_weight", "chain", "draw", *RECORDED)
BESIDE = {*WEIGHTS, *OF_SAMPLES}
# What separates columns, in the order in which they are tried.
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}

# What programs write for a missing value, and its other common marks.
NOTHING = {"", "nan", "none", "null", "na", "n/a", "<na>", "nat"}
MISSING = NOTHING | {"-", "--", ".", "?", "n.a.", "#na", "#n/a", "-nan", "(null)", "\\n"}
MISSING |= {"#value!", "#div/0!", "#ref!", "#num!", "#name?", "#n/a n/a", "missing"}
# What is not seen, and that programs put around a value as they do spaces.
UNSEEN = "\0\x1a\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + UNSEEN
# Python's own `float` also reads `1_000`, `nan` and the digits of other scripts. As fractions, long
# numbers and powers would take for ever.
DECIMAL = re.compile(
    r"[+-]?(\d{1,999}(\.\d{0,999})?|\.\d{1,999})(e[+-]?\d{1,4})?", re.ASCII | re.IGNORECASE
)
# The first and the last character of a line that is one value, commas and all: tuples, lists, sets
# and trees of Newick.
WHOLE = {"()", "[]", "{}", "(;"}
# Rows of a table that a notebook shows.
FIRST_ROWS = 12
GZIP, ARRAY, PARQUET = b"\x1f\x8b", np.lib.format.MAGIC_PREFIX, b"PAR1"
# The first bytes of what is not read, with what it is, and the remedy.
UNREAD = {
    b"PK\x03\x04": "a zip archive, such as .npz or .xlsx: save an array as .npy, or a sheet as CSV",
    b"ARROW1": "in Arrow's own format (feather): write CSV or parquet",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
    **{
        bytes((0x80, n)): "a pickle, which may run programs: write CSV or .npy" for n in range(2, 6)
    },
}


class Sheet(NamedTuple):
    """The content of a file or a frame, before its columns have a meaning.

    Attributes:
        source: its name in messages.
        names: the names of the columns, where it has them.
        rows: the rows, one for each line; that of an empty line, or of the names, is empty.
        notes: how it was read, where that is no matter of course, a sentence each.
        digest: the SHA-256 digest of the content.
        is_sure: whether the names are no guess from what is in the first line.
    """

    source: str
    names: tuple[str, ...] | None
    rows: list[list[str]]
    notes: tuple[str, ...] = ()
    digest: str = ""
    is_sure: bool = True


class Shape(NamedTuple):
    """The kind of content that is looked for in a file.

    Attributes:
        header: whether the first line has the names; None if names that are known show that.
        columns: the columns of a value, a part each, in this order.
        picks: whether other columns are left out, as the user asked for those.
        beside: the names that may stand beside values.
        number: the name of the numbers of a JSON object, which are by value.
        whole: whether a line without names is one value, though it has commas.
        is_table: whether all columns are variables.
    """

    header: bool | None = None
    columns: tuple[str, ...] = ()
    picks: bool = False
    beside: tuple[str, ...] = OF_SAMPLES
    number: str = "count"
    whole: bool = False
    is_table: bool = False

    def names(self, first: Sequence[str]) -> bool:
        """True if the first line has names, as far as these are known."""
        cells = {*first}
        if self.header is not None or not first:
            return self.header is True
        if self.columns and cells.issuperset(self.columns):
            return True
        if len(first) == 1:
            return first[0] in VALUES
        # An index that a program writes has no name.
        some = cells - {""}
        # With "n", as R names counts, the message can say how these must be named.
        return bool(some) and (not some.isdisjoint(BESIDE) or some.issubset({*VALUES, "n"}))


# Samples, whose names are seen if they are known.
SAMPLES = Shape()


def read_sheet(path: Path, shape: Shape, *, follow: bool = True) -> Sheet:
    """The content of a file; a stream (`-`) is known by its first bytes.

    Args:
        path: text, whose columns are separated by one of `MARKS`; JSON, a line for each row
            (.jsonl, .ndjson), or a list of them, or numbers by value (.json); an array of NumPy
            (.npy); or parquet. Each may be compressed (.gz).
        shape: what is looked for.
        follow: whether it may be a link.

    Raises:
        InputError: if it cannot be read, or is of another kind.
    """
    is_stream, source = str(path) == STDIN, repr(str(path))
    content = sys.stdin.buffer.read() if is_stream else read_file(path, follow=follow)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if content.startswith(GZIP):
        content = _unzipped(source, content)
    digest = sha256(content)
    if suffix == ".npy" or content.startswith(ARRAY):
        return Sheet(source, None, _array_rows(source, content), (), digest)
    if content.startswith(PARQUET):
        return _parquet(source, content)._replace(digest=digest)
    text = _decoded(source, content)
    first = text.lstrip().partition("\n")[0] if is_stream else ""
    if suffix in JSON_LINES or isinstance(_parsed(first), list | dict):
        sheet = _json(source, text, shape, is_lines=suffix in JSON_LINES[:2])
    else:
        try:
            sheet = _text_sheet(source, text, shape, suffix)
        except csv.Error as error:
            raise InputError(
                f"{source} cannot be read as CSV ({error}): write a quotation mark within a text "
                'as "", in quotation marks'
            ) from None
    return sheet._replace(digest=digest)


def _unzipped(source: str, content: bytes) -> bytes:
    most = memory_of_machine() // 8
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unzipped = file.read(most + 1)
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is no whole gzip file ({error}): write it again") from None
    if len(unzipped) > most:
        raise InputError(f"{source} has more than {most:,} bytes unzipped: give fewer samples")
    return unzipped


def _decoded(source: str, content: bytes) -> str:
    """The text of a file; raises InputError, with what it is, if it is none in UTF-8."""
    for first, kind in UNREAD.items():
        if content.startswith(first):
            raise InputError(f"{source} is {kind}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is no text in UTF-8 ({error}): save it as UTF-8") from None
    if len(text) > 1 and not (text[:200:2].strip("\0") and text[1:200:2].strip("\0")):
        raise InputError(f"{source} is UTF-16: save it as UTF-8")
    return text


def _text_sheet(source: str, text: str, shape: Shape, suffix: str) -> Sheet:
    """The rows of a text, and its names if the shape says that its first line has them."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    top = next((line for line in lines if line), "")
    body = [line for line in lines[lines.index(top) + shape.names([top]) :] if line]
    if not shape.is_table and body and {line[:1] + line[-1:] for line in body} <= WHOLE:
        return _named(source, [[line] if line else [] for line in lines], shape, shape.names([top]))
    mark, is_named = _mark(top, shape, suffix)
    if not is_named and shape.whole and '"' not in text:
        rows = [[line] if line else [] for line in lines]
    elif mark == " ":
        rows = [line.split() for line in lines]
    else:
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)]
    notes = () if mark == "," else (f"{source} has {MARKS[mark]} between its columns",)
    return _named(source, rows, shape, is_named)._replace(notes=notes)


def _mark(top: str, shape: Shape, suffix: str) -> tuple[str, bool]:
    """The mark between columns, by the first line, and whether that has their names."""
    marks = ["\t"] if suffix == ".tsv" else [*MARKS]
    parts = {m: next(csv.reader([top], delimiter=m), []) for m in marks} | {" ": top.split()}
    if shape.header is None:
        named = [m for m in marks if shape.names([cell.strip(AROUND) for cell in parts[m]])]
        # A value and its number need no names.
        pairs = [m for m in marks[:3] if shape.number == "weight" and len(parts[m]) == 2]
        return (named[0], True) if named else ((pairs or marks)[0], False)
    several = [m for m in marks if len(parts[m]) > 1 and (shape.is_table or m != " ")]
    return (several or marks)[0], shape.header


def _named(source: str, rows: list[list[str]], shape: Shape, is_named: bool) -> Sheet:
    """The rows, without the first one that is not empty if that has the names."""
    filled = [line for line, row in enumerate(rows) if row]
    if filled and filled[-1] >= len(filled) and all(len(row) < 2 for row in rows):
        empty = next(line for line, row in enumerate(rows, 1) if not row)
        if not shape.is_table:
            raise InputError(
                f"{source}, line {empty} is empty, which may be the empty text or no value: write "
                'the empty text as "", or leave such lines out'
            )
    if not is_named or not filled:
        return Sheet(source, None, rows)
    first = filled[0]
    names = tuple(name.strip(AROUND) for name in rows[first])
    body = [*rows[:first], [], *rows[first + 1 :]]
    return Sheet(source, names, body, is_sure=shape.header is True)


def _parsed(text: str) -> Any:
    """The value of a text in JSON; None if it is none."""
    try:
        return parsed_json(text)
    except ValueError:
        return None


def _json(source: str, text: str, shape: Shape, *, is_lines: bool) -> Sheet:
    """The rows of JSON: a list, numbers by value, or lines, each a value or an object."""
    whole = None if is_lines else _parsed(text)
    if isinstance(whole, dict) and not {*whole} <= {*VALUES, *BESIDE} and not shape.is_table:
        wrong = next((x for x in whole.values() if isinstance(x, bool | dict | list | None)), 0)
        if wrong == 0:
            rows = [[value, str(number)] for value, number in whole.items()]
            return Sheet(source, (VALUES[0], shape.number), rows)
        raise InputError(
            f"{source} is an object that holds {shown(wrong)}, but must have a number for each "
            "value, or be a list of objects"
        )
    lines = [json.dumps(x) for x in whole] if isinstance(whole, list) else text.split("\n")
    names: tuple[str, ...] | None = None
    rows = []
    for line, written in enumerate(lines, 1):
        if not written.strip():
            rows.append([])
            continue
        try:
            value = parsed_json(written)
        except ValueError as error:
            raise InputError(f"{source}, line {line} is no JSON ({error})") from None
        if isinstance(value, dict) and not any(rows):
            names = tuple(value)
        if isinstance(value, dict) != (names is not None) or (names and value.keys() != {*names}):
            keys = "a value" if names is None else f"an object with {', '.join(names)}"
            raise InputError(
                f"{source}, line {line} is {shown(value)}, but must be {keys}, as the first is"
            )
        cells = [value] if names is None else [value[name] for name in names]
        rows.append([_text(f"{source}, line {line}", cell) for cell in cells])
    return Sheet(source, names, rows)


def _text(place: str, value: Any) -> str:
    """A cell as text, as Python writes it; raises InputError if it has no one text."""
    if isinstance(value, str):
        return value
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        raise InputError(f"{place} has null, a missing value: leave such lines out")
    if not isinstance(value, bool | int | float | Decimal | list | tuple):
        raise InputError(
            f"{place} has {shown(value)}, a {type(value).__name__}, but must have a text, a number "
            "or a list"
        )
    return str(_tupled(value))


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value


def list_text(text: str) -> str:
    """The text that a line of JSON with this list has in a sheet; "" if it is no list."""
    value = _parsed(text) if text.startswith("[") else None
    return str(_tupled(value)) if isinstance(value, list) else ""


def _array_rows(source: str, content: bytes) -> list[list[str]]:
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # on damaged bytes, NumPy raises many kinds
        raise InputError(f"{source} is no array of NumPy ({error})") from None
    return [[str(value)] for value in values_of(array, source)]


def _parquet(source: str, content: bytes) -> Sheet:
    try:
        import pyarrow
        from pyarrow.parquet import read_table
    except ImportError:
        raise InputError(
            f"{source} is parquet, which pyarrow reads: `pip install pyarrow`, or write CSV"
        ) from None
    try:
        table = read_table(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{source} is no whole parquet file ({error}): write it again") from None
    return _sheet_of(source, table.column_names, [column.to_pylist() for column in table.columns])


def _sheet_of(source: str, names: Iterable[Any], columns: Iterable[Sequence[Any]]) -> Sheet:
    """Columns of values of Python; raises InputError if one has no text, or two have the same."""
    heads, texts = tuple(map(str, names)), []
    for name, column in zip(heads, columns, strict=True):
        cells = [_text(f"{source}, column {name!r}, row {i}", x) for i, x in enumerate(column, 1)]
        kinds: dict[str, bool] = {}
        for cell, value in zip(cells, column, strict=True):
            if kinds.setdefault(cell, isinstance(value, str)) != isinstance(value, str):
                raise InputError(
                    f"{source}: column {name!r} has {cell!r} both as a text and as another value: "
                    "write it in one way"
                )
        texts.append(cells)
    return Sheet(source, heads, [*map(list, zip(*texts, strict=True))])


def frame_sheet(frame: Any, source: str) -> Sheet:
    """The sheet of a frame of pandas or polars, without its index."""
    return _sheet_of(source, frame.columns, [frame[name].to_list() for name in frame.columns])


Cell = str | tuple[str, ...]


class Parts(NamedTuple):
    """The columns of a sheet by what they are.

    Attributes:
        names: the names of the columns of a value.
        values: the values, texts, or tuples of texts if they have several columns.
        beside: the other columns by name.
        lines: the line of each.
        notes: how the sheet was read, a sentence each.
    """

    names: tuple[str, ...]
    values: Sequence[Cell]
    beside: Mapping[str, Sequence[str]]
    lines: Sequence[int]
    notes: tuple[str, ...]


def parts_of(
    sheet: Sheet,
    shape: Shape,
    unnamed: tuple[str, ...],
    allowed: Callable[[set[str]], bool],
    fix: str,
) -> Parts:
    """The values of a sheet, and what stands beside them.

    Args:
        sheet: names and rows.
        shape: what is looked for.
        unnamed: the columns where the sheet names none.
        allowed: whether such columns may stand beside values.
        fix: the columns that a file must have, in words.

    Raises:
        InputError: if a column is missing, unknown, or has no name of its own, or a row has more or
            fewer cells than there are columns.
    """
    names, source = sheet.names or unnamed, sheet.source
    if len({*names}) < len(names) or "" in names:
        index = "; column 1 has no name: leave it out (index=False)" if not names[0] else ""
        raise InputError(
            f"{source} has the columns {', '.join(names)}, but must name each column once{index}"
        )
    values = [name for name in names if name not in shape.beside]
    is_asked = bool(sheet.names and shape.columns) and {*shape.columns} <= {*names}
    if is_asked:
        values = [*shape.columns]
    beside = {name for name in names if name not in values}
    if is_asked and shape.picks:
        beside = {name for name in beside if name in shape.beside}
    is_clear = is_asked or (len(values) > 1 and {*values}.isdisjoint(VALUES) and not shape.picks)
    if len(values) == 1 and not shape.picks:
        is_clear |= values[0] in VALUES or sheet.is_sure
    if not is_clear or not allowed(beside):
        if shape.picks:
            fix = fix.replace(unnamed[0], ", ".join(shape.columns))
        has = f"the columns {', '.join(names)}" if sheet.names else "no names of columns"
        raise InputError(
            f"{source} has {has}, but must have {fix}: add those that are missing, leave others "
            "out, or name the columns of a value with --columns"
        )
    lines = [line for line, row in enumerate(sheet.rows, 1) if row]
    rows = [row for row in sheet.rows if row]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            few = "separate the columns by commas"
            many = "write a value in quotes if it has commas, or name the columns in the first line"
            raise InputError(
                f"{source}, line {line} has {counted(len(row), 'column')}, but must have "
                f"{len(names)}, {', '.join(names)}: {few if len(row) < len(names) else many}"
            )
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    taken = [columns.get(name, ()) for name in values]
    cells = taken[0] if len(taken) == 1 else [*zip(*taken, strict=True)]
    others = {name: columns.get(name, ()) for name in beside}
    return Parts(tuple(values), cells, others, lines, sheet.notes)


def check_unmasked(owner: str, data: object) -> None:
    """Checks that no entry of an array is masked, as its mask is lost; raises InputError if not."""
    if np.ma.is_masked(data):
        raise InputError(f"{owner}: entries are masked: leave their rows out, or fill them in")


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


def framed(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Columns as a pandas frame; as they are where pandas is not installed."""
    if find_spec("pandas") is None:
        return dict(columns)
    import pandas

    return pandas.DataFrame(dict(columns))


def columns_html(title: str, columns: Mapping[str, Sequence[Any]]) -> str:
    """The first rows of columns as HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = [*zip(*(column[:FIRST_ROWS] for column in columns.values()), strict=True)]
    lines = (
        "<tr>" + "".join(f"<td>{escape(number_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    count = len(next(iter(columns.values()), ()))
    more = f", the first {len(rows)} of {count:,}" if count > len(rows) else ""
    return f"<p>{escape(title + more)}</p><table><tr>{head}</tr>{''.join(lines)}</table>"
