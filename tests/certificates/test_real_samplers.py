"""Samplers of kept libraries: what is stored is what they give, and the page says it."""

import contextlib
import io
import json
import re
from fractions import Fraction
from typing import Any

import pytest

from examples.real_samplers import CASES, MARKS, PAGE, STORED, Case, distance, judged, table

ROWS = json.loads(STORED.read_text())
# The others take minutes, or are of libraries that tests do without.
LONG = {"networkx_trees", "networkx_cubic", "numpy_products", "pysat_phases"}
TESTED = ("python", "numpy", "jax", "networkx", "scipy", "python-sat")
QUICK = [x for x in CASES if x.package in TESTED and x.name != "jax_choice"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(x, marks=pytest.mark.long) if x.name in LONG else x for x in QUICK],
    ids=lambda case: case.name,
)
def test_a_stored_verdict_is_what_the_library_gives(case: Case) -> None:
    made, stored = judged(case), ROWS[case.name]
    assert made["exact"] == stored["exact"]
    if made["library"] == stored["library"] or case.package == "python":
        assert made["interval"] == pytest.approx(stored["interval"], rel=1e-9)


def test_each_exact_value_lies_in_its_interval() -> None:
    rows = [row for row in ROWS.values() if row["exact"] is not None]
    assert len(ROWS) >= 10
    assert len(rows) >= 5
    for row in rows:
        low, high = row["interval"]
        assert low <= Fraction(row["exact"]) <= high
    verdicts = [row["interval"][0] > 0 for row in ROWS.values()]
    assert min(verdicts.count(True), verdicts.count(False)) >= 4


def test_the_distance_of_laws_is_half_the_sum_of_gaps() -> None:
    third = Fraction(1, 3)
    assert distance({"a": Fraction(1)}, {"a": third, "b": 2 * third}) == 2 * third


def test_the_page_has_the_stored_table_and_what_its_example_prints() -> None:
    text = PAGE.read_text()
    first, last = (f"<!-- {mark} -->\n" for mark in MARKS)
    assert text.partition(first)[2].partition(last)[0].splitlines() == table(ROWS)
    code, output = re.findall(r"```(?:python)?\n([^`]*?)\n```", text)[-2:]
    printed, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "real_samplers.md", "exec"), names)
    assert printed.getvalue() == output + "\n"
