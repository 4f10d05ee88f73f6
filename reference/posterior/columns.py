"""Tables of data: those of files, and checked matrices of numbers or categories."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, combinations, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, check_integer, check_list, plain, shown
from reference.contract.tables import AROUND, DECIMAL, MISSING, Shape, check_unmasked, read_sheet
from reference.contract.text import counted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A normalised column with a residue below this is a combination of the others, up to rounding.
LEAST_RESIDUE = 1e-7
# Two columns with a larger correlation are nearly multiples of each other.
NEAR_COPY = 0.999
# A column whose values differ by less than this share of their size is constant, up to rounding.
LEAST_SPREAD = 1e-13

# Words that may stand for a missing value, or be a category.
UNKNOWN = {"unknown", "not known", "unspecified"}
# Numbers that programs write for a missing value. So may be any that comes again and is away from
# the others by more than so many of their ranges, or by one range if its digits are nines.
STAND_INS = {-99, -999, -9999}
RANGES = 10
# What is written as a number in some place, and is no plain decimal one.
NUMBER_ELSEWHERE = re.compile(r"[+-]?[$£€]?[\d.,'_/\s]*\d[.,]?\s*[%$£€]?")

# A column with at most this many different integers, each twice on average, may be categories,
# such as days of a month.
MOST_CODES = 31
# A column with at most this many numbers as categories is shown with the counts of all.
MOST_LISTED = 12
# BDeu sees few dependences of a column with more levels than one for so many rows, and than a few.
ROWS_OF_A_LEVEL = 10
FEW_LEVELS = 4
# Cyrillic and Greek letters that look like Latin ones, in lower or in upper case.
LOOKS = str.maketrans(
    "\u0430\u0432\u0435\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abeijkmhopctyxsabezhikmnoptyx",
)

# Levels of columns by their names, or as texts such as "size=small,large".
Levels = Mapping[str, Sequence[object]] | Sequence[str]


class Table(NamedTuple):
    """Rows of text under names, as in a file, without the spaces around each value.

    Attributes:
        source: the file, as messages name it.
        names: the names of the columns.
        rows: the rows, equally long.
        digest: the SHA-256 digest of the file.
        cuts: where `categories` cuts numbers: the largest of each class but the last.
        declared: the levels that `categories` declares, by the name of the column.
        notes: how it was read, a sentence each.
        lines: the line of each row in its file.
    """

    source: str
    names: tuple[str, ...]
    rows: list[list[str]]
    digest: str
    cuts: Mapping[str, tuple[str, ...]] | None = None
    declared: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    lines: Sequence[int] = ()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The values of each column, by name."""
        return dict(zip(self.names, zip(*self.rows, strict=True), strict=True))

    def numbers(self, otherwise: str) -> Floats:
        """The values as numbers, shape (N, n).

        Args:
            otherwise: the advice for a column of text, for the message.

        Raises:
            InputError: if a value is no plain decimal number.
        """
        for line, row in zip(self.lines, self.rows, strict=True):
            for name, cell in zip(self.names, row, strict=True):
                if not DECIMAL.fullmatch(cell):
                    raise InputError(
                        f"{self.source}, line {line}: the value of {name!r} is {cell!r}, but must "
                        f"be a decimal number: {otherwise}"
                    )
        return np.array(self.rows, np.float64)

    def coded(self) -> dict[str, list[str]]:
        """The columns that look like categories coded by integers, with these integers."""
        coded = {}
        for name, column in self.columns.items():
            values = set(column)
            if len(values) <= min(MOST_CODES, len(column) / 2) and all(map(_is_integer, values)):
                coded[name] = sorted(values, key=float)
        return coded

    def values(self, *, as_categories: bool) -> str:
        """The least and the largest value of each column of numbers, or few with their counts.

        A single 999 among small numbers, which may be a mistake or not, is seen there.

        Args:
            as_categories: whether the values are scored as categories.
        """
        texts = []
        for name, column in self.columns.items():
            if all(map(DECIMAL.fullmatch, column)):
                counts = Counter(column)
                values = sorted(counts, key=float)
                text = f"{values[0]} to {values[-1]}"
                if as_categories and len(values) <= MOST_LISTED:
                    text = ", ".join(f"{value} ({counts[value]:,})" for value in values)
                texts.append(f"{name} {text}")
        return "; ".join(texts)

    def categories(self, bins: int | None = None, declared: Levels = ()) -> Self:
        """The table as categories, for `codes`; itself without bins or levels.

        Args:
            bins: the number of classes for a column with more different numbers, cut at quantiles,
                unless its levels are declared; None cuts none.
            declared: levels of columns, with those that no row has.

        Raises:
            InputError: if there are not 2 to 100 bins, no such column, or a level is missing.
        """
        if bins is None and not declared:
            return self
        if bins is not None:
            check_integer(self.source, "bins", bins, 2, most=100)
        if not isinstance(declared, Mapping):
            pairs = [*map(_split, check_list(self.source, "levels", declared))]
            declared = dict(pairs)
            if len(declared) < len(pairs):
                raise InputError(
                    f"{self.source}: levels are declared {len(pairs)} times of "
                    f"{', '.join(declared)}: declare those of a column once, as 'COLUMN=a,b,c'"
                )
        stated = {name: self._stated(name, values) for name, values in declared.items()}
        cuts = {
            name: tops
            for name, column in self.columns.items()
            if bins and name not in stated and (tops := _cuts(column, bins))
        }
        return self._replace(cuts=cuts, declared=stated)

    def _stated(self, name: str, values: Sequence[object]) -> tuple[str, ...]:
        """The levels of a column as text; raises InputError if a value is not among them."""
        entries = check_list(self.source, f"levels of {shown(name)}", values)
        words = tuple(str(value).strip(AROUND) for value in entries)
        if name not in self.names:
            raise InputError(
                f"levels are declared of {shown(name)}, but the columns of {self.source} are "
                f"{', '.join(self.names)}: write 'COLUMN=a,b,c' with one of them"
            )
        absent = sorted({*self.columns[name]} - {*words})
        if absent or "" in words or len({*words}) < len(words):
            such = f", such as {absent[0]!r}" if absent else ""
            raise InputError(
                f"{self.source}: the levels of {name!r} are {shown(words)}, but must be all values "
                f"of the column{such}, each once, and may be more: write them as 'COLUMN=a,b,c'"
            )
        return words

    def codes(self) -> Ints:
        """The columns as categories; errors are those of `levels`."""
        columns = self.columns
        for name, tops in (self.cuts or {}).items():
            ends = [*map(Decimal, tops)]
            columns[name] = tuple(str(bisect_left(ends, Decimal(x))) for x in columns[name])
        return levels(
            self.source, [*zip(*columns.values(), strict=True)], self.names, self.declared
        )

    @property
    def facts(self) -> dict[str, str]:
        """The way it was read, cuts of numbers, and declared levels, in words."""
        cuts = [
            f"{name} at most {', at most '.join(tops)}, above"
            for name, tops in (self.cuts or {}).items()
        ]
        stated = [f"{name}: {', '.join(words)}" for name, words in self.declared.items()]
        facts = {
            "reading": "; ".join(self.notes),
            "classes of numbers": "; ".join(cuts),
            "declared levels": "; ".join(stated),
        }
        return {name: text for name, text in facts.items() if text}

    def remarks(self, *, as_categories: bool = False) -> list[str]:
        """Likely mistakes, a sentence each.

        Args:
            as_categories: whether the values are scored as categories.
        """
        remarks, half = [], len(self.rows) // 2
        cuts, coded = self.cuts or {}, self.coded()
        if half > 1 and self.rows[:half] == self.rows[half:]:
            remarks.append(
                f"rows {half + 1} to {2 * half} are rows 1 to {half} again: if they are no other "
                "observations, leave them out"
            )
        for name, column in self.columns.items():
            values, texts = sorted(set(column)), not any(map(DECIMAL.fullmatch, column))
            size = len(cuts[name]) + 1 if name in cuts else len(self.declared.get(name, values))
            if as_categories and size > max(FEW_LEVELS, len(column) / ROWS_OF_A_LEVEL):
                effect = (
                    "it tends to be joined to every other, whatever they hold"
                    if size == len(values) == len(column)
                    else "only its strong edges to columns of few are seen, and those to columns "
                    "of many may be chance"
                )
                remarks.append(
                    f"column {name!r} has {size} categories in {len(column)} rows: "
                    f"{effect}; make a few classes, of numbers by `--bins 3`"
                )
            if name in cuts and name in coded:
                remarks.append(
                    f"column {name!r} is always one of {plain(', '.join(coded[name]))}, cut as "
                    "numbers: if they are codes of categories, declare them with `--levels`"
                )
            others = [cells for other, cells in self.columns.items() if other != name]
            if as_categories and _may_count(column, others):
                remarks.append(
                    f"column {name!r} has numbers beside rows that are all different: if it says "
                    "how often a row came, write each row as often, and leave it out"
                )
            if len(values) == len(column) > 2 and (texts or all(map(_is_integer, values))):
                remarks.append(
                    f"column {name!r} has another value in every row: if it numbers or names the "
                    "rows, leave it out"
                )
            remarks += [
                f"column {name!r} holds {value} {column.count(value)} times: if that stands for a "
                "missing value, leave these rows out"
                for value in _stand_ins(column)
            ]
            if texts and (pairs := _look_alikes(values)):
                remarks.append(
                    f"column {name!r} has {plain(', '.join(pairs), 200)}: if they are one "
                    "category, write it in one way"
                )
        # Of few rows some are nearly in line by chance.
        numbers = not as_categories and len(self.rows) > 4
        return remarks + _near_copies(self.columns) if numbers else remarks


def _split(text: object) -> tuple[str, list[str]]:
    """The column and the levels of a text such as "size=small,large"."""
    name, _, values = str(text).partition("=")
    return name.strip(AROUND), values.split(",")


def _cuts(column: Sequence[str], bins: int) -> tuple[str, ...]:
    """The largest number of each class but the last; none of text, or of at most `bins` numbers.

    Each cut is where the share of rows is nearest to a quantile, and the lower of two equally near.
    """
    counts = Counter(map(Decimal, column if all(map(DECIMAL.fullmatch, column)) else ()))
    if len(counts) <= bins:
        return ()
    values = sorted(counts)
    ends = [*accumulate(counts[value] for value in values)][:-1]
    nearest = {
        min(range(len(ends)), key=lambda i: abs(bins * ends[i] - k * len(column)))
        for k in range(1, bins)
    }
    return tuple(str(values[i]) for i in sorted(nearest))


def _look_alikes(values: Sequence[str]) -> list[str]:
    """Pairs of texts that may be one category, written in two ways or with a slip in a word."""
    spelled: dict[str, str] = {}
    shorter: dict[str, str] = {}
    pairs = []
    for value in values:
        plainly = normalize("NFKC", value).casefold().translate(LOOKS).strip("\"'")
        pairs.append((spelled.setdefault(" ".join(plainly.split()), value), value))
    for word, value in spelled.items():
        # Not of numerals such as VIII; words such as `east` and `west` differ at their beginning.
        for i in range(1, len(word) if word.isalpha() and len({*word}) > 2 else 0):
            rest = word[:i] + word[i + 1 :]
            if len(word) > 3:
                pairs.append((spelled.get(rest, value), value))
            if 7 < len(word) != i + 1:
                pairs.append((shorter.setdefault(rest, value), value))
    return sorted({f"{a!a} and {b!a}" for a, b in pairs if a != b})


def _may_count(column: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """True of whole numbers beside a few categories, each combination of which is there once."""
    few = all(len(set(cells)) <= min(MOST_CODES, len(column) / 2) for cells in others)
    numbers = all(_is_integer(x) and float(x) >= 0 for x in column) and len(set(column)) > 2
    return numbers and few and bool(others) and len({*zip(*others, strict=True)}) == len(column)


def _near_copies(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence on each pair of columns of numbers that are nearly multiples of each other."""
    numbers = {
        name: np.array(column, float)
        for name, column in columns.items()
        if all(map(DECIMAL.fullmatch, column))
    }
    remarks = []
    for a, b in combinations(numbers, 2):
        # Columns of one value, or that overflow, have no correlation.
        with np.errstate(all="ignore"):
            correlation = float(np.corrcoef(numbers[a], numbers[b])[0, 1])
        if abs(correlation) > NEAR_COPY:
            remarks.append(
                f"columns {a!r} and {b!r} are nearly one (correlation {correlation:.5f}): each "
                "takes edges that would be the other's; leave one of them out"
            )
    return remarks


def _stand_ins(column: Sequence[str]) -> list[str]:
    """The values of a column that may stand for a missing one."""
    values = sorted(set(column))
    listed = [
        x for x in values if x.casefold() in UNKNOWN or (_is_integer(x) and float(x) in STAND_INS)
    ]
    if not all(map(DECIMAL.fullmatch, values)):
        return listed
    numbers = Counter(map(float, column))
    for end in (min(numbers), max(numbers)):
        others = [x for x in numbers if x != end]
        if end in STAND_INS or numbers[end] == 1 or len(others) < 2:
            continue
        spread, gap = max(others) - min(others), min(abs(x - end) for x in others)
        nines = set(f"{abs(end):.15g}") <= {"9", "."}
        if gap > spread * (1 if nines else RANGES):
            listed.append(next(x for x in values if float(x) == end))
    return listed


def _is_integer(text: str) -> bool:
    return bool(DECIMAL.fullmatch(text)) and float(text).is_integer()


def read_table(path: Path, *, drop_missing: bool = False) -> Table:
    """The table of a file whose first line names the columns.

    Args:
        path: what `read_sheet` reads, and no link.
        drop_missing: whether rows with a missing value are left out.

    Raises:
        InputError: if it cannot be read, has no rows, rows of unequal length or a missing value, or
            if names are empty, repeated or look like values.
    """
    sheet = read_sheet(path, Shape(header=True, is_table=True), follow=False)
    source, notes = sheet.source, [*sheet.notes]
    names, rows = [*(sheet.names or ())], [row for row in sheet.rows if row]
    lines = [line for line, row in enumerate(sheet.rows, 1) if row]
    if sheet.names is None or not rows:
        raise InputError(
            f"{source} has {len(rows) + bool(names)} lines, but must have names and rows of values"
        )
    if notes and any(len(row) != len(names) for row in rows):
        raise InputError(
            f"{source}: its first line is {shown(' '.join(names))}, without a comma: separate the "
            "values by commas"
        )
    rows = [[cell.strip(AROUND) for cell in row] for row in rows]
    columns = zip_longest(names, zip(*rows, strict=False), fillvalue="")
    if all(DECIMAL.fullmatch(head) or head in column for head, column in columns):
        joined = ""
        if names in rows:
            line = lines[rows.index(names)]
            joined = f"; or, if line {line} repeats the names, as in joined files, leave it out"
        raise InputError(
            f"{source}: its first line is {shown(tuple(names))}, which looks like values, but must "
            f"name the columns: write a line of names above it{joined}"
        )
    return table_of(source, names, rows, sheet.digest, notes, drop_missing, lines)


def table_of(
    source: str,
    head: Sequence[str],
    cells: Sequence[Sequence[str]],
    digest: str,
    notes: Sequence[str] = (),
    drop_missing: bool = False,
    lines: Sequence[int] | None = None,
) -> Table:
    """The table of names, which count as the first line, and rows of text.

    Args:
        source: the file, as messages name it.
        head: the names of the columns.
        cells: the rows.
        digest: the SHA-256 digest of the file.
        notes: how it was read, a sentence each.
        drop_missing: whether rows with a missing value are left out.
        lines: the line of each row in its file; by default they follow the names.

    Raises:
        InputError: if names are empty or repeated, rows of unequal length, a value is missing, or
            fewer than two rows are left.
    """
    names = tuple(normalize("NFC", name.strip(AROUND)) for name in head)
    if len(set(names)) < len(names) or "" in names or not all(map(str.isprintable, names)):
        # As pandas writes a frame unless it is told otherwise.
        index = "; column 1 has no name: leave it out (index=False)" if not names[0] else ""
        raise InputError(
            f"{source}: its first line is {shown(names)}, but must name each column once, in "
            f"characters that can be printed{index}"
        )
    rows, said = [[cell.strip(AROUND) for cell in row] for row in cells], [*notes]
    lines = lines or range(2, len(rows) + 2)
    if drop_missing:
        kept = [i for i, row in enumerate(rows) if MISSING.isdisjoint(map(str.lower, row))]
        said.append(f"{counted(len(rows) - len(kept), 'row')} with a missing value left out")
        if len(kept) < 2:
            missed = Counter(j for row in rows for j, x in enumerate(row) if x.lower() in MISSING)
            most = names[max(missed, key=missed.__getitem__)]
            raise InputError(
                f"{source}: {said[-1]}, of {len(rows)}, but two rows must stay: leave the column "
                f"{most!r} out, which misses most, or fill it in"
            )
        rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
    for number, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            raise InputError(
                f"{source}, line {number}: it has {len(row)} values for {len(names)} columns"
            )
        _check_present(f"{source}, line {number}", names, row)
    return Table(source, names, rows, digest, notes=tuple(said), lines=lines)


def _check_present(place: str, names: Sequence[str], row: Sequence[str]) -> None:
    for column, cell in zip(names, row, strict=True):
        if cell.lower() in MISSING:
            raise InputError(
                f"{place}: the value of {column!r} is missing ({cell!r}): leave such rows out "
                "(--drop-missing), or fill them in; for a category of that name write another word"
            )


def levels(
    owner: str,
    data: object,
    names: Sequence[str],
    declared: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Ints:
    """Data as categories, numbered from 0 in the order of their values, column by column.

    Args:
        owner: the name that messages use.
        data: the values, shape (N, n), as text or numbers.
        names: the names of the columns.
        declared: levels by column; those that no row has come first, so that the largest number
            counts all.

    Raises:
        InputError: for a single category, a missing value, or a number written in two ways.
    """
    values: npt.NDArray[Any] = np.asarray(data)
    if values.dtype.kind in "OSU":
        rows = [[str(cell).strip(AROUND) for cell in row] for row in values]
        for number, row in enumerate(rows):
            _check_present(f"{owner}: row {number}", names, row)
        values = np.array(rows)
        for name, column in zip(names, values.T, strict=True):
            spelled: dict[Decimal, str] = {}
            for text in filter(DECIMAL.fullmatch, sorted(set(column.tolist()))):
                if (first := spelled.setdefault(Decimal(text), text)) != text:
                    raise InputError(
                        f"{owner}: column {name!r} has {first!r} and {text!r}, one number written "
                        "in two ways: write it in one"
                    )
    else:
        numbers = matrix(owner, data, names)
        # Integers beyond 2^53 are not all floats.
        values = values if values.dtype.kind in "iu" else numbers
    codes = np.array([np.unique(column, return_inverse=True)[1] for column in values.T], np.int64)
    for name, column in zip(names, codes, strict=True):
        column += max(0, len(declared.get(name, ())) - 1 - column.max())
        if not column.any():
            raise InputError(
                f"{owner}: column {name!r} is constant: leave it out, as nothing can be learned "
                "from it"
            )
    return codes.T


def standard_columns(owner: str, data: object, names: Sequence[str]) -> Floats:
    """The columns of a matrix, each moved to mean 0 and scaled to variance 1.

    Args:
        owner: the name that messages use.
        data: the matrix, shape (N, n).
        names: the names of the columns.

    Raises:
        InputError: if it is no matrix of finite numbers with at least two rows, a column is
            constant, or is a linear combination of those before it.
    """
    values = matrix(owner, data, names)
    # Powers of two are exact: no other digit changes, and no square is too large or too small.
    scaled = np.ldexp(values, -np.frexp(np.abs(values).max(axis=0))[1])
    centred = scaled - scaled.mean(axis=0)
    # A large mean is rounded; what it leaves is exact.
    centred -= centred.mean(axis=0)
    spreads = np.linalg.norm(centred, axis=0) / LEAST_SPREAD
    for name, first, spread, size in zip(
        names, values[0], spreads, np.linalg.norm(scaled, axis=0), strict=True
    ):
        if spread <= size:
            raise InputError(
                f"{owner}: column {name!r} is constant up to rounding ({first:g}): leave it out, "
                "as nothing can be learned from it"
            )
    directions = centred / np.linalg.norm(centred, axis=0)
    residues = np.abs(np.diag(np.linalg.qr(directions, mode="r")))
    for j, name in enumerate(names):
        if j >= len(residues) or residues[j] < LEAST_RESIDUE:
            raise InputError(
                f"{owner}: column {name!r} is a linear combination of those before it, up to "
                f"rounding ({len(values)} rows, {len(names)} columns): leave it out, or add rows"
            )
    return np.asarray(directions * math.sqrt(len(values)), np.float64)


def matrix(owner: str, data: object, names: Sequence[str]) -> Floats:
    """Data as a finite matrix of two rows or more, a column per name.

    Args:
        owner: the name that messages use.
        data: the matrix, shape (N, n).
        names: the names of the columns.

    Raises:
        InputError: if they are none.
    """
    check_unmasked(owner, data)
    try:
        values: Any = np.array(data, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{owner}: the data hold a value that is no number, but must be a matrix of numbers, a "
            "row for each observation"
        ) from None
    if values.ndim != 2 or values.shape[1] != len(names) or len(values) < 2:
        raise InputError(
            f"{owner}: the data have the shape {values.shape}, but must have at least two rows and "
            f"{len(names)} columns, one per variable"
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"{owner}: row {i} of column {names[j]!r} is {values[i, j]}, but must be a finite "
            "number: leave the row out, or fill it in"
        )
    return np.asarray(values, np.float64)


def column_names(owner: str, names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The names of variables, by default "0", "1", ...

    Args:
        owner: the name that messages use.
        names: the names, or None.
        count: the number of variables.

    Raises:
        InputError: unless all names differ, and are as many as the variables; or if two edges
            between them are written alike, as names hold arrows.
    """
    check_integer(owner, "the number of variables", count, 1, most=10_000)
    if names is None:
        return tuple(map(str, range(count)))
    entries = check_list(owner, "names", names)
    if not all(isinstance(name, str) for name in entries) or not (
        len(entries) == len(set(entries)) == count
    ):
        raise InputError(
            f"{owner}: names are {shown(entries)}, but must be {count} different strings, one per "
            "variable"
        )
    both = [f"{u}->{v}" for u in entries for v in entries if u != v and "->" in u + v]
    if len({re.sub(r"\s*->\s*", "->", edge) for edge in both}) < len(both):
        raise InputError(
            f"{owner}: names are {shown(entries)}, by which two edges are written alike: rename "
            "those with ->"
        )
    return tuple(entries)


def data_names(owner: str, data: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the columns of data, by default their numbers.

    Args:
        owner: the name that messages use.
        data: the matrix, shape (N, n).
        names: the names, or None.
    """
    try:
        shape = np.shape(data)
    except (TypeError, ValueError):  # of rows of unequal length
        shape = ()
    if len(shape) != 2:
        raise InputError(
            f"{owner}: the data have the shape {shape}, but must be a matrix: a row for each "
            "observation, a column for each variable"
        )
    return column_names(owner, names, int(shape[1]))


def check_positive(owner: str, name: str, value: object) -> None:
    """Checks that a hyperparameter is a positive finite number; raises InputError if it is not.

    Args:
        owner: the name that messages use.
        name: the name of the hyperparameter.
        value: its value.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise InputError(f"{owner}: {name} is {shown(value)}, but must be a positive number")
