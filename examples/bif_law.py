"""The law of a Bayesian network in a BIF file, as a table with a column for each variable.

python -m examples.bif_law network.bif > law.csv
pdai certify samples.csv --law law.csv
"""

import csv
import math
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

from reference import InputError

VARIABLE = re.compile(r"variable\s+(\S+)\s*\{[^{}]*\{([^}]*)\}")
PROBABILITY = re.compile(r"probability\s*\(([^|)]*)\|?([^)]*)\)\s*\{([^}]*)\}")
ROW = re.compile(r"(?:\(([^)]*)\)|table)\s*([^;]*);")
MOST = 1_000_000
# The most by which a row that is printed with a few digits misses a sum of 1.
PRINTED = Fraction(1, 1000)


def words(text: str) -> tuple[str, ...]:
    """The words of a list that is separated by commas."""
    return tuple(word.strip().strip('"') for word in text.split(",") if word.strip())


def law(text: str) -> Iterator[tuple[str, ...]]:
    """The names with `probability`, and each value with its own, a fraction."""
    levels = {name: words(values) for name, values in VARIABLE.findall(text)}
    tables: dict[str, tuple[tuple[str, ...], dict[tuple[str, ...], list[Fraction]]]] = {}
    for child, parents, body in PROBABILITY.findall(text):
        rows = {}
        for given, numbers in ROW.findall(body):
            row = [*map(Fraction, words(numbers))]
            if abs(sum(row) - 1) > PRINTED or len(row) != len(levels[child.strip()]):
                raise InputError(f"a row of {child.strip()} is {numbers.strip()}: it must sum to 1")
            rows[words(given)] = [p / sum(row) for p in row]
        tables[child.strip()] = (words(parents), rows)
    if levels.keys() != tables.keys() or math.prod(map(len, levels.values())) > MOST:
        raise InputError(
            f"the file must have a table for each variable, and at most {MOST:,} values"
        )
    yield (*levels, "probability")
    for values in product(*levels.values()):
        state = dict(zip(levels, values, strict=True))
        probability = Fraction(1)
        for name, (parents, rows) in tables.items():
            row = rows[tuple(state[parent] for parent in parents)]
            probability *= row[levels[name].index(state[name])]
        yield (*values, str(probability))


if __name__ == "__main__":
    csv.writer(sys.stdout).writerows(law(Path(sys.argv[1]).read_text()))
