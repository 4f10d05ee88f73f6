"""Data and tables that cannot be learned from are refused in one line, before any work."""

import math
import os
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest

import pdai
from fast.training.compose import configure, from_json, to_json
from pdai.posteriors.answers import table_from
from pdai.posteriors.tasks import StructureTask, VariablesTask
from reference.contract.errors import TooLargeError
from reference.posterior import HyperGPrior, StructureLearning, VariableSelection, ZellnerPrior
from reference.posterior.columns import read_table, standard_columns
from reference.posterior.dag_limits import check_affordable, cost, dag_count
from reference.posterior.random_networks import random_network
from reference.problems import EdgeAddition, HardCore, Sequences, enumerate_dag
from tests.refusals import refused, refuses, whole
from verify.lib.presets import MINIMAL

DATA = np.random.default_rng(0).normal(size=(20, 3))
SCORES = np.zeros((3, 8))
WIDE, WIDER = cast(Any, np.longdouble("1e4000")), SCORES.astype(np.longdouble)
HYPER = HyperGPrior()
FEW, NONE = DATA[:5], cast(Any, 7)


def changed(row: int, column: int, value: float, data: Any = DATA) -> Any:
    copy = data.copy()
    copy[row, column] = value
    return copy


def with_column(values: Any) -> Any:
    return np.column_stack([DATA, values])


NO_NUMBER = changed(1, 4, math.nan, SCORES)

BAD_DATA: list[tuple[Any, str]] = [
    (changed(4, 1, math.nan), "row 4 of column '1' is nan"),
    (changed(0, 2, -math.inf), "row 0 of column '2' is -inf"),
    (with_column(np.full(20, 7.5)), "column '3' is constant"),
    (with_column(np.resize([0.3, 0.1 + 0.2], 20)), "column '3' is constant up to rounding"),
    (with_column(DATA[:, 0]), "column '3' is a linear combination"),
    (with_column(3 + DATA @ [1.0, -2.0, 0.5]), "column '3' is a linear combination"),
    (DATA[:3], "is a linear combination of those before it.*3 rows, 3 columns"),
    (DATA[:1], "at least two rows"),
    (np.ma.masked_equal(DATA, DATA[0, 0]), "entries are masked: leave their rows out"),
    (DATA[:, 0], "must be a matrix"),
    (DATA[None], "must be a matrix"),
    (np.array([["a", "b"], ["c", "d"]]), "must be a matrix of numbers"),
    ([[1.0, 2.0], [3.0]], "must be a matrix"),
    (None, "must be a matrix"),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_data_that_cannot_be_learned_from_are_refused(data: Any, message: str) -> None:
    refused(message, StructureLearning.gaussian, data)
    outcome = np.arange(len(data)) if isinstance(data, np.ndarray) else [1, 2]
    refused(message, VariableSelection.regression, data, outcome)
    if isinstance(data, np.ma.MaskedArray):
        refused(message, pdai.posterior, data)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [1021, -1000])
def test_units_do_not_matter_though_squares_overflow_or_vanish(exponent: int) -> None:
    names = ("a", "b", "c")
    data = np.ldexp(DATA, [exponent, 0, -3])
    expected = standard_columns("data", DATA, names)
    assert np.array_equal(standard_columns("data", data, names), expected)
    # Nor does the origin, where the mean of a column has no digits left for its values.
    counts = np.random.default_rng(1).integers(0, 1000, (20, 3)).astype(float)
    moved = standard_columns("data", np.add(counts, [0.0, 1e9, 1e15]), names)
    assert np.allclose(moved, standard_columns("data", counts, names), rtol=0, atol=1e-14)
    # The control: a column is not standardised by its own squares.
    with np.errstate(all="ignore"):
        assert np.linalg.norm(data[:, 0]) in (0, np.inf)


test_scores_and_options_that_break_a_rule_are_refused = refuses(
    whole,
    (lambda: StructureLearning.from_scores(np.zeros((3, 7))), r"shape \(3, 7\)"),
    (lambda: StructureLearning.from_scores(np.zeros(8)), r"shape \(8,\)"),
    (lambda: StructureLearning.from_scores("scores"), "must be numbers"),
    (lambda: StructureLearning.from_scores(NO_NUMBER), "'1' with parents 0b100 is nan"),
    (lambda: StructureLearning.from_scores(changed(2, 3, -math.inf, SCORES)), "0b11 is -inf"),
    # Where a wider float is none, it is infinite at once.
    (lambda: StructureLearning.from_scores(changed(2, 3, WIDE, WIDER)), "is inf"),
    (lambda: StructureLearning.from_scores(SCORES, max_parents=-1), "max_parents is -1"),
    (lambda: StructureLearning.from_scores(SCORES, names=["a", "a", "b"]), "3 different strings"),
    (lambda: StructureLearning.gaussian(DATA, alpha_mu=0.0), "alpha_mu is 0.0"),
    (lambda: StructureLearning.gaussian(DATA, alpha_w=4.0), "alpha_w is 4.0"),
    (lambda: StructureLearning.gaussian(DATA, names=["a"]), "3 different strings"),
    # Such an integer has no text.
    (lambda: StructureLearning.gaussian(DATA, names=[10**5000, "b", "c"]), "3 different strings"),
    (lambda: StructureLearning.discrete(np.ones((5, 2))), "column '0' is constant"),
    (lambda: StructureLearning.discrete(np.eye(2), sample_size=0.0), "sample_size is 0.0"),
    (lambda: StructureLearning(((1,),), (0,), 0, ("a",)), "at least 2"),
    (lambda: StructureLearning(((1, 0, 1, 0),) * 2, (0, 0), 1, ("a", "b")), "'1'|'b'"),
    (lambda: VariableSelection.regression(DATA, DATA[:, 1]), "'the outcome' is a linear"),
    (lambda: VariableSelection.regression(DATA, np.zeros(20)), "'the outcome' is constant"),
    (lambda: VariableSelection.regression(DATA, DATA[:9, 1]), "9 outcomes for 20 rows"),
    (lambda: ZellnerPrior(-1.0), "g is -1.0"),
    (lambda: HyperGPrior(2.0), "a is 2.0, but must be above 2"),
    (lambda: VariableSelection.regression(DATA, np.arange(20) ** 2, prior=NONE), "prior"),
    (lambda: VariableSelection.regression(FEW, FEW[:, 0] ** 2, prior=HYPER), "need more than 5"),
    (lambda: VariableSelection((1, 2), (0, 0), ("a",)), "24 bits"),
    (lambda: random_network(5, 10, 0, "ring"), "one of 'erdos-renyi', 'scale-free'"),
    (lambda: random_network(5, 1, 0), "rows is 1"),
)


def test_scores_that_no_family_reads_may_be_anything() -> None:
    scores = SCORES.copy()
    for v in range(3):
        scores[v, [m for m in range(8) if m >> v & 1]] = math.nan
    assert StructureLearning.from_scores(scores).z() == 25
    scores[:, 7] = math.inf
    scores[0, 6] = math.nan
    assert StructureLearning.from_scores(scores, max_parents=1).z() == 1 + 6 + 9


def gaussian(nodes: int) -> StructureLearning:
    return StructureLearning.gaussian(np.random.default_rng(0).normal(size=(3, nodes)))


test_what_is_too_large_is_refused_with_what_it_would_take = refuses(
    whole,
    (lambda: StructureLearning.random(17), r"3\^17 = 129,140,163 terms, about .* GiB"),
    (lambda: gaussian(40), r"3\^40"),
    # Counts that no float holds, and that are too long to print.
    (lambda: gaussian(700), r"3\^700 terms, more than any machine"),
    (lambda: gaussian(10_000), r"3\^10000 terms, more than any machine"),
    (lambda: VariableSelection.random(23), r"2\^23 = 8,388,608 sets"),
    (lambda: check_affordable(14, 10**8), "weights of 100,000,000 bits"),
    # Scores too far apart, before integers are made of them.
    (lambda: StructureLearning.from_scores(np.eye(12, 2**12) * -1e9), "bits need"),
    kind=TooLargeError,
)


def test_control_what_is_affordable_is_not_refused() -> None:
    check_affordable(14, 500)
    assert "4,782,969 terms" in cost(14, 500)


def test_as_many_states_are_announced_as_there_are() -> None:
    assert [dag_count(n) for n in range(1, 6)] == [1, 3, 25, 543, 29281]
    assert StructureTask(nodes=4).states() == 2 * 543
    assert VariablesTask(variables=3).states() == 16


def written(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8")
    return path


FILES = [
    ("", "has 0 lines"),
    ("a,b\n", "has 1 lines"),
    ("a,b\n1,2\n3\n", "line 3: it has 1 values for 2 columns"),
    ("a,a\n1,2\n3,4\n", "must name each column once"),
    ("a,\n1,2\n3,4\n", "must name each column once"),
    (",a\n0,2\n1,4\n", "column 1 has no name: .*index=False"),
    ("\xe9,e\u0301\n1,2\n3,4\n", "must name each column once"),
    ('"a\nb",c\n1,2\n3,4\n', "characters that can be printed"),
    ('a,b\n1,"2\n3,4\n', "cannot be read as CSV"),
    # No line of names.
    ("0.942,-1e-3\n1,2\n3,4\n", "first line is .*'0.942'.* looks like values"),
    ("red,no\nblue,yes\nred,yes\nblue,no\n", "first line is .*'red'.* looks like values"),
    ("red,0.942\nblue,1\nred,2\n", "first line is .*'red'.* looks like values.* above it$"),
    ("one,two\nx,y\ny,x\none,two\nx,y\n", "above it; or, if line 4 repeats the names"),
    *(
        (f"a,b\n1,{cell}\n3,4\n", "line 2: the value of 'b' is missing")
        for cell in (
            *("", " ", "NA", "N/A", "nan", "None", "null", "-", "?", "NaT", "\\N", "#DIV/0!"),
            *("\u200bna\ufeff ", "Missing", "#N/A N/A"),
        )
    ),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    refused(message, read_table, written(tmp_path, text))


def test_a_line_is_that_of_the_file_and_rows_must_stay(tmp_path: Path) -> None:
    """After lines that are empty, and rows that are left out."""
    table = read_table(written(tmp_path, "a,b\n1,2\n\n,2\n3,4\n5,red\n"), drop_missing=True)
    refused("line 6: the value of 'b' is 'red'", table.numbers, "")
    all_miss = written(tmp_path, "a,b\n1,\n,\n3,\n")
    refused("3 rows .* left out, of 3, .* 'b'", lambda: read_table(all_miss, drop_missing=True))


def test_two_edges_are_not_written_alike() -> None:
    """A name may hold an arrow, if each edge has a name of its own."""
    clear, alike = ["a", "a -> b", "b"], ["a", "b->c", "a -> b", "c"]
    assert len(StructureLearning.from_scores(np.zeros((3, 8)), clear).quantity_means()) == 6
    refused("two edges are written alike", StructureLearning.from_scores, np.zeros((4, 16)), alike)


@pytest.mark.parametrize(
    "cell", ["red", "1_000", "\u0661", "\uff11", "1,5", "0x1f", "inf", "1e", "5 mg"]
)
def test_only_plain_decimal_numbers_are_numbers(tmp_path: Path, cell: str) -> None:
    path = written(tmp_path, f'a,b\n1,+2.\n-3e2,"{cell}"\n .5,7\n')
    for task in (StructureTask(data=path), VariablesTask(data=path)):
        refused(r"line 3: the value of 'b' is .* a decimal number", task.make_problem)
    path.write_text(path.read_text(encoding="utf-8").replace(cell, "8"), encoding="utf-8")
    numbers = read_table(path).numbers("").tolist()
    assert numbers == [[1.0, 2.0], [-300.0, 8.0], [0.5, 7.0]]


def rows_of(*columns: str) -> str:
    """A CSV file of columns a, b, ... whose values are words."""
    rows = zip(*(column.split() for column in columns), strict=True)
    return "\n".join(map(",".join, [tuple("abcdef"[: len(columns)]), *rows])) + "\n"


CODED = rows_of("0 1 2 0 1 2 0 1", "1 1 1 0 0 0 1 0", "0.3 1 2.5 1.9 4 0.7 6.1 3.3")


def test_integers_that_may_be_categories_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, CODED)
    task = StructureTask(data=path)
    refused(r"'a', 'b' may hold .*always one of 0, 1, 2\).*--score bd", task.make_problem)
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    asked = StructureTask(data=path, score="bge", order="any")
    assert asked.make_problem() == StructureLearning.gaussian(numbers, list("abc"))
    assert asked.facts()["score"] == "bge, as asked for"
    # Text as in the file, text in an array, and the numbers are the same categories.
    coded = StructureTask(data=path, score="bdeu", order="any").make_problem()
    for data in (read_table(path).rows, numbers, numbers.astype(object)):
        assert StructureLearning.discrete(data, list("abc")) == coded
    words = written(tmp_path, rows_of("x y x", "1 2 3"))
    refused("score categories with `--score bdeu`", StructureLearning.from_csv, words)
    # So are months, and days of a month.
    for most, is_asked in ((12, True), (31, True), (32, False)):
        days = " ".join(str(1 + i % most) for i in range(2 * most))
        path = written(tmp_path, rows_of(days, " ".join(f"{i}.5" for i in range(2 * most))))
        if is_asked:
            refused(r"'a' may hold .*always one of 1, 2, 3, ", pdai.posterior, path)
            assert "one of 1, 2, 3, " in pdai.posterior(path, outcome="a").facts["warnings"]
        else:
            assert pdai.posterior(path).score.name == "bge"
    # Numbers are not asked about, nor are integers that seldom recur.
    path = written(tmp_path, rows_of("10 11 12 13 14 15 16 10", "1.5 2 1 2 1 2 1 2"))
    assert StructureTask(data=path).make_problem().names == ("a", "b")
    assert StructureTask(data=path).facts()["score"].startswith("bge, as all columns hold numbers")


@pytest.mark.parametrize(
    "values", ["1,5 2,5", "5% 10%", "1/3 2/3", "1_000 2_000", "$3 $4", "1'000 2"]
)
def test_numbers_that_are_not_plain_are_no_categories(tmp_path: Path, values: str) -> None:
    pairs = zip(values.split() * 2, "xyyx", strict=True)
    rows = "\n".join(f'"{value}",{word}' for value, word in pairs)
    path = written(tmp_path, f"a,b\n{rows}\n")
    refused("'a' |line 2: the value of 'a'", pdai.posterior, path)
    assert pdai.posterior(path, score="bdeu").facts["score"].endswith("as asked for")
    # Digits in words are no numbers.
    words = written(tmp_path, rows_of("18-25 26-35 18-25", "1st 2nd A1"))
    assert pdai.posterior(words).facts["score"].endswith("as no column holds numbers")


@pytest.mark.parametrize(
    ("column", "message"),
    [("1 1.0 2 2", "'1' and '1.0', one"), ("01 1 2 2", "'01' and '1'"), ("x None y y", "missing")],
)
def test_categories_are_written_in_one_way(column: str, message: str) -> None:
    data = np.array([column.split(), list("xyxy")]).T
    refused(message, StructureLearning.discrete, data)
    # The spaces around a value do not count, and text is no number.
    spaced = np.array([["1", " 1\u200b ", "1a\xa0", "\ufeff1a"], list("xyxy")]).T
    plain = np.array([["1", "1", "1a", "1a"], list("xyxy")]).T
    assert StructureLearning.discrete(spaced) == StructureLearning.discrete(plain)
    large = np.array([[2**60 + i % 4, i % 2] for i in range(8)])
    assert StructureLearning.discrete(large) == StructureLearning.discrete(large - 2**60)


@pytest.mark.parametrize("pair", [(1, "1"), (True, "True"), (2.5, "2.5")])
def test_a_category_is_a_text_or_another_value(pair: tuple[Any, Any]) -> None:
    """Both became one category, and an edge moved by 0.07."""
    rows = [[pair[i % 2], i % 3] for i in range(12)]
    refused("column '0' has .* both as a text and as another", lambda: pdai.posterior(rows))
    mixed = [[pair[0] if i % 2 else "other", i % 3] for i in range(12)]
    assert pdai.posterior(mixed, score="bdeu").facts


@pytest.mark.parametrize(
    ("column", "remark"),
    [
        ("1 2 3 4", "column 'a' has another value in every row: if it numbers or names the rows"),
        ("p q r s", "column 'a' has another value in every row"),
        ("-999 1.5 2 -999", "column 'a' holds -999 2 times: if that stands for a missing value"),
        ("-999.0 1.5 2 -9.99e+02", "column 'a' holds -9.99e+02 1 times: if that stands"),
        *(
            (f"{value} 1.5 2 {value}", f"column 'a' holds {value} 2 times: if that stands for")
            for value in ("9999", "-999.9", "99", "-9", "1e20", "88")
        ),
        # Doses, counts, a ninth class, and a value that is there once.
        *((column, None) for column in ("100 10 1 100", "0 20 2 20", "8 9 7 9", "9 0 9 0")),
        ("9999 1.5 2 2", None),
        ("Yes no yes no", "column 'a' has 'Yes' and 'yes': if they are one category"),
        ("x \u0445 y y", "column 'a' has 'x' and '\\u0445': if they are one category"),
        ("yes no yess no", "column 'a' has 'yes' and 'yess': if they are one category"),
        ("Frankfurt Frankfrut Bonn Bonn", "column 'a' has 'Frankfrut' and 'Frankfurt'"),
        ("a Control a contol", "column 'a' has 'contol' and 'Control'"),
        # Other words, numerals and numbers are no slips.
        *((f"{pair} {pair}", None) for pair in ("east west", "VII VIII", "stage1 stage2")),
        *((f"{pair} {pair}", None) for pair in ("typical atypical", "regionA regionB", "II III")),
        ("unknown p p q", "column 'a' holds unknown 1 times: if that stands for a missing value"),
        ("p \"'p'\" q q", "column 'a' has \"'p'\" and 'p': if they are one category"),
        ("1.5 2 3 4", None),
        ("1e1 1E1 2 2", None),
        ("p q p q", None),
    ],
)
def test_columns_that_are_likely_mistakes_are_remarked_on(
    tmp_path: Path, column: str, remark: str | None
) -> None:
    task = StructureTask(data=written(tmp_path, rows_of(column, "1.5 1 1 2.5")), score="bdeu")
    remarks = task.remarks()
    assert any(text.startswith(remark) for text in remarks) if remark else not remarks


@pytest.mark.parametrize(
    ("score", "numbers"),
    [
        ("bge", "a 0 to 999; b 0.5 to 29.5"),
        ("bdeu", "a 0 (20), 1 (20), 2 (19), 999 (1); b 0.5 to 29.5"),
    ],
)
def test_a_single_number_far_from_others_is_shown(tmp_path: Path, score: Any, numbers: str) -> None:
    """One 999 among 60 numbers ended a dependence, without a line about it."""
    a, b = [i % 3 for i in range(59)] + [999], [i / 2 for i in range(1, 60)] + [1.5]
    rows = [[str(x), str(y)] for x, y in zip(a, b, strict=True)]
    path = tmp_path / "far.csv"
    path.write_text("\n".join(map(",".join, [["a", "b"], *rows])))
    assert pdai.posterior(path, score=score).facts["numbers"] == numbers


@pytest.mark.parametrize(
    ("columns", "options", "remark"),
    [
        (["1.5 2 4 1.5 2 4", "1 3.5 2 1 3.5 2"], {}, "rows 4 to 6 are rows 1 to 3 again"),
        (["0 1 2 2 1 0", "1 3.5 2 4 5 6"], {"outcome": "b"}, "'a' is always one of 0, 1, 2, taken"),
        (["0 1 1 0 1 0", "1 3.5 2 4 5 6"], {"outcome": "a"}, "'a' is always one of 0, 1, taken"),
        (["0 1 1 0 1 0", "1 3.5 2 4 5 6"], {"outcome": "b"}, None),
        (["0.1 9 3 2 7", "0.11 9 3 2 7", "5 1 4 1 3.5"], {}, "columns 'a' and 'b' are nearly one"),
        (["0.1 9 3 2 7", "0.11 -9 -3 -2 -7", "5 1 4 1 3.5"], {}, "(correlation -0.99"),
        (["0.1 9 3 2 7", "0.5 9 3 2 6.5", "5 1 4 1 3.5"], {}, None),
        (["p p q q", "p q p q", "7 2 2 9"], {"score": "bdeu"}, "'c' has numbers beside rows that"),
        (["p p q q", "p q p q", "7 2 2 7"], {"score": "bdeu"}, None),
        (["p p q q", "p p p q", "7 2 2 9"], {"score": "bdeu"}, None),
    ],
)
def test_an_answer_tells_of_likely_mistakes(
    tmp_path: Path, columns: list[str], options: dict[str, Any], remark: str | None
) -> None:
    facts = pdai.posterior(written(tmp_path, rows_of(*columns)), **options).facts
    assert remark in facts["warnings"] if remark else "warnings" not in facts


@pytest.mark.parametrize(
    ("levels", "rows", "is_wide"),
    [(5, 40, True), (5, 50, False), (4, 12, False), (71, 700, True), (70, 700, False)],
)
def test_more_categories_than_one_for_ten_rows_are_remarked_on(
    levels: int, rows: int, is_wide: bool, tmp_path: Path
) -> None:
    cities = " ".join(f"city{i % levels}" for i in range(rows))
    path = written(tmp_path, rows_of(cities, "x y " * (rows // 2)))
    remarks = pdai.posterior(path).remarks
    remark = f"'a' has {levels} categories in {rows} rows: only its strong edges"
    assert any(remark in text for text in remarks) == is_wide
    assert StructureTask(data=path).remarks() == remarks


def aged(rows: int) -> str:
    """Age in years, sex and sickness, which is three times as likely above 55 as below."""
    rng, lines = Random(0), ["age,sex,sick"]
    for _ in range(rows):
        age, sex = rng.randint(20, 89), rng.choice("fm")
        is_sick = rng.random() < (0.75 if age > 55 else 0.25)
        lines.append(f"{age},{sex},{'yes' if is_sick else 'no'}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("rows", [100, 200, 400])
def test_numbers_beside_text_are_cut_into_classes(rows: int, tmp_path: Path) -> None:
    path = written(tmp_path, aged(rows))
    refused("value of 'sex' is .*with `--bins 3`, or score", pdai.posterior, path)

    def joined(answer: Any) -> float:
        return float(answer.edges.loc["age", "sick"] + answer.edges.loc["sick", "age"])

    wide, cut = pdai.posterior(path, score="bdeu"), pdai.posterior(path, bins=3)
    # The dependence is missed, which is said, and is seen in classes.
    assert joined(wide) < 1e-4 < 0.9999 < joined(cut)
    assert "only its strong edges" in wide.facts["warnings"]
    assert not cut.remarks
    ages = np.array([int(age) for age in cut.table.columns["age"]])
    low, high = map(int, cast(Any, cut.table.cuts)["age"])
    assert cut.facts["classes of numbers"] == f"age at most {low}, at most {high}, above"
    classes = np.array(["low", "middle", "high"])[(ages > low) * 1 + (ages > high)]
    table = [[place, *row[1:]] for place, row in zip(classes, cut.table.rows, strict=True)]
    assert np.array_equal(pdai.posterior(table).edges.to_numpy(), cut.edges.to_numpy())
    # Training has the same posterior.
    task = StructureTask(data=path, bins=3)
    exact = [[float(p) for p in row] for row in task.make_problem().edge_marginals()]
    assert cut.edges.to_numpy().tolist() == exact
    assert task.facts()["classes of numbers"] == cut.facts["classes of numbers"]
    refused("bins is 3, but must be left out", lambda: StructureTask(bins=3))


def test_codes_are_cut_unless_they_are_declared() -> None:
    coded = [[i * i % 13, "xy"[i % 2]] for i in range(61)]
    cut = pdai.posterior(coded, bins=3)
    assert "always one of 0, 1, 3, 4, 9, 10, 12, cut as numbers" in cut.facts["warnings"]
    declared = pdai.posterior(coded, bins=3, levels={"0": range(13)})
    assert not declared.table.cuts
    assert declared.facts["warnings"].startswith("column '0' has 13 categories in 61 rows")
    assert "cut as numbers" not in declared.facts["warnings"]


@pytest.mark.catches(
    "Numbers are cut at quantiles of the different values, and not of the rows.",
    "reference/posterior/columns.py",
    "abs(bins * ends[i] - k * len(column))",
    "abs(bins * (i + 1) - k * len(values))",
)
@pytest.mark.parametrize(
    ("column", "bins", "cuts"),
    [
        # Equal numbers are in one class, so that classes are fewer or unequal.
        ("1 1 1 1 2 3", 2, ["1"]),
        ("5 5 5 5 5 1 2", 2, ["2"]),
        ("1 1 1 1 1 1 1 2 3 4", 3, ["1"]),
        ("10 9 1e1 8.5 7 -3", 3, ["7", "9"]),
        # The lower of two that are equally near.
        ("1 2 3 4 5", 2, ["2"]),
        # No more numbers than classes.
        ("1 1 2 2 3 3", 3, None),
    ],
)
def test_cuts_are_nearest_to_quantiles_whatever_the_order(
    column: str, bins: int, cuts: list[str] | None
) -> None:
    cells = column.split()
    for order in (cells, cells[::-1], sorted(cells)):
        table = table_from([[cell, "xy"[i % 2]] for i, cell in enumerate(order)])
        assert table.categories(bins).cuts == ({"0": (*cuts,)} if cuts else {})


def test_many_numbers_as_categories_are_remarked_on(tmp_path: Path) -> None:
    noise = np.random.default_rng(3).normal(size=(30, 2)).round(3).astype(str).T
    path = written(tmp_path, rows_of(*map(" ".join, noise)))
    remarks = StructureTask(data=path, score="bdeu").remarks()
    assert "has 30 categories in 30 rows: it tends to be joined" in remarks[0]
    assert not StructureTask(data=path).remarks()
    # Columns without any relation are joined for certain, as their values tell the rows apart.
    assert pdai.posterior(path, score="bdeu").posterior.expected_edges > 0.99
    assert pdai.posterior(path).posterior.expected_edges < 0.5


def test_the_error_of_an_edge_is_at_most_that_of_rounding(tmp_path: Path) -> None:
    """Two columns of two categories, whose gamma functions are products of fractions."""
    rows = "x y x x y x x", "p q p p q q p"
    answer: Any = pdai.posterior(written(tmp_path, rows_of(*rows)))

    def marginal(values: Any, share: Fraction) -> Fraction:
        factors = (share + i for k in Counter(values).values() for i in range(k))
        return math.prod(factors, start=Fraction(1))

    one, two = (row.split() for row in rows)
    joint = marginal(zip(one, two, strict=True), Fraction(1, 4))
    odds = joint * math.factorial(7) / marginal(one, Fraction(1, 2)) / marginal(two, Fraction(1, 2))
    off = abs(Fraction(answer.posterior.edges[0, 1].item()) - odds / (1 + 2 * odds))
    said = "in integers; rounding local scores to 24 bits moves a probability by at most 2e-07"
    assert 1e-12 < off < 2 * 2.0**-24 < 2e-7
    assert answer.facts["error"].endswith(said)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = written(tmp_path, "a,b\n1,2\n3,5\n")
    link = tmp_path / "link.csv"
    os.symlink(target, link)
    refused("symbolic link", read_table, link)


@pytest.mark.parametrize(
    "options", [{"dynamics": "gaussian"}, {"dynamics": "gru", "p_b": "lifted"}]
)
def test_parts_that_draw_forwards_alone_have_no_replay_by_default(options: dict[str, Any]) -> None:
    assert configure("structure").replay.capacity
    assert not configure("structure", **{"dynamics": "gru", **options}).replay.capacity


def test_tasks_read_files_and_refuse_what_is_of_the_generator(tmp_path: Path) -> None:
    rows = "\n".join(",".join(f"{x:.4f}" for x in row) for row in DATA)
    path = written(tmp_path, f"a,b,y\n{rows}\n")
    assert StructureTask(data=path).make_problem().names == ("a", "b", "y")
    assert StructureTask(data=path).states() == 50
    assert VariablesTask(data=path).make_problem().names == ("a", "b")
    assert VariablesTask(data=path, outcome="a").make_problem().names == ("b", "y")
    unknown = VariablesTask(data=path, outcome="x")
    refused("outcome is 'x', but the columns", unknown.make_problem)
    refused("nodes is 4 with the data", lambda: StructureTask(data=path, nodes=4))
    refused("score is bdeu, but must be bge", lambda: StructureTask(score="bdeu"))
    config = configure("structure")
    assert from_json(to_json(config), "") == config == configure("structure", score="bge")
    cut = configure("structure", data=path, bins=3, levels=("a=1,2", "b=3,4"))
    assert from_json(to_json(cut), "").task == cut.task


def test_a_generated_posterior_is_made_once_however_often_its_options_are_checked() -> None:
    made = StructureTask(nodes=4, data_seed=8).make_problem()
    assert StructureTask(nodes=4, data_seed=8).make_problem() is made
    assert StructureTask(nodes=4, data_seed=9).make_problem() != made
    assert StructureTask(nodes=4, data_seed=8, max_parents=1).make_problem() != made


def test_parents_of_a_state_are_the_states_of_which_it_is_a_child() -> None:
    problems = [make() for make in MINIMAL.values()]
    problems += [Sequences("ab", 3, "append"), HardCore(3, ((0, 2),), order="fixed")]
    for problem in problems:
        # The graphs of the paper are given by a list.
        if isinstance(problem, EdgeAddition):
            continue
        dag = enumerate_dag(problem)
        before: dict[Any, set[Any]] = {state: set() for state in dag.labels}
        for u, v in dag.edges:
            before[dag.labels[v]].add(dag.labels[u])
        assert before == {state: set(problem.parents(state)) for state in dag.labels}
