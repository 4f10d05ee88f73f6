"""Data and tables that cannot be learned from are refused in one line, before any work."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from fast.tasks import StructureTask, VariablesTask
from fast.training.compose import configure, from_json, to_json
from reference.errors import InputError, TooLargeError
from reference.problems import (
    HyperGPrior,
    Network,
    Selection,
    StructureLearning,
    VariableSelection,
    ZellnerPrior,
)
from reference.problems.columns import read_table, standard_columns
from reference.problems.dag_limits import check_affordable, cost, dag_count
from reference.problems.random_networks import random_network

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

BAD_DATA: dict[str, tuple[Any, str]] = {
    "missing": (changed(4, 1, math.nan), "row 4 of column '1' is nan"),
    "infinite": (changed(0, 2, -math.inf), "row 0 of column '2' is -inf"),
    "constant": (with_column(np.full(20, 7.5)), "column '3' is constant"),
    "a copy": (with_column(DATA[:, 0]), "column '3' is a linear combination"),
    "a sum": (with_column(3 + DATA @ [1.0, -2.0, 0.5]), "column '3' is a linear combination"),
    "few rows": (DATA[:3], "is a linear combination of those before it.*3 rows, 3 columns"),
    "one row": (DATA[:1], "at least two rows"),
    "a vector": (DATA[:, 0], "must be a matrix"),
    "three axes": (DATA[None], "must be a matrix"),
    "words": (np.array([["a", "b"], ["c", "d"]]), "must be a matrix of numbers"),
    "unequal rows": ([[1.0, 2.0], [3.0]], "must be a matrix"),
    "no matrix": (None, "must be a matrix"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_cannot_be_learned_from_are_refused(name: str) -> None:
    data, message = BAD_DATA[name]
    with pytest.raises(InputError, match=message) as refused:
        StructureLearning.gaussian(data)
    assert "\n" not in str(refused.value)
    outcome = np.arange(len(data)) if isinstance(data, np.ndarray) else [1, 2]
    with pytest.raises(InputError, match=message):
        VariableSelection.regression(data, outcome)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [1021, -1000])
def test_units_do_not_matter_though_squares_overflow_or_vanish(exponent: int) -> None:
    names = ("a", "b", "c")
    data = np.ldexp(DATA, [exponent, 0, -3])
    expected = standard_columns("data", DATA, names)
    assert np.array_equal(standard_columns("data", data, names), expected)
    # The control: a column is not standardised by its own squares.
    with np.errstate(all="ignore"):
        assert np.linalg.norm(data[:, 0]) in (0, np.inf)


SCORES_GIVEN: list[tuple[Callable[[], Any], str]] = [
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
    (lambda: StructureLearning.gaussian(DATA, names=[10**5000, "b", "c"]), "3 different strings"),  # type: ignore[list-item]
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
    (lambda: random_network(5, 10, 0, "ring"), "one of 'erdos-renyi', 'scale-free'"),  # type: ignore[arg-type]
    (lambda: random_network(5, 1, 0), "rows is 1"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SCORES_GIVEN)))
def test_scores_and_options_that_break_a_rule_are_refused(number: int) -> None:
    make, message = SCORES_GIVEN[number]
    with pytest.raises(InputError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_scores_that_no_family_reads_may_be_anything() -> None:
    scores = SCORES.copy()
    for v in range(3):
        scores[v, [m for m in range(8) if m >> v & 1]] = math.nan
    assert StructureLearning.from_scores(scores).z() == 25
    scores[:, 7] = math.inf
    scores[0, 6] = math.nan
    assert StructureLearning.from_scores(scores, max_parents=1).z() == 1 + 6 + 9


def test_too_many_variables_are_refused_with_what_they_would_take() -> None:
    with pytest.raises(TooLargeError, match=r"3\^17 = 129,140,163 terms, about .* GiB"):
        StructureLearning.random(17)
    with pytest.raises(TooLargeError, match=r"3\^40"):
        StructureLearning.gaussian(np.random.default_rng(0).normal(size=(50, 40)))
    # Counts that no float holds, and that are too long to print.
    for nodes in (700, 10_000):
        with pytest.raises(TooLargeError, match=rf"3\^{nodes} terms, more than any machine"):
            StructureLearning.gaussian(np.random.default_rng(0).normal(size=(3, nodes)))
    with pytest.raises(TooLargeError, match=r"2\^23 = 8,388,608 sets"):
        VariableSelection.random(23)
    with pytest.raises(TooLargeError, match="weights of 100,000,000 bits"):
        check_affordable(14, 10**8)
    check_affordable(14, 500)
    assert "4,782,969 terms" in cost(14, 500)


def test_scores_that_are_too_far_apart_for_memory_are_refused_before_integers_are_made() -> None:
    scores = np.zeros((12, 2**12))
    scores[3, 0] = -1e9
    with pytest.raises(TooLargeError, match="bits need"):
        StructureLearning.from_scores(scores)


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
    ('"a\nb",c\n1,2\n3,4\n', "characters that can be printed"),
    ('a,b\n1,"2\n3,4\n', "cannot be read as CSV"),
    # No line of names.
    ("0.942,-1e-3\n1,2\n3,4\n", "first line is .*'0.942'.* looks like values"),
    ("red,no\nblue,yes\nred,yes\nblue,no\n", "first line is .*'red'.* looks like values"),
    ("red,0.942\nblue,1\nred,2\n", "first line is .*'red'.* looks like values"),
    *(
        (f"a,b\n1,{cell}\n3,4\n", "line 2: the value of 'b' is missing")
        for cell in ("", " ", "NA", "N/A", "nan", "None", "null", "-", "?")
    ),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(written(tmp_path, text))


@pytest.mark.parametrize(
    "cell", ["red", "1_000", "\u0661", "\uff11", "1,5", "0x1f", "inf", "1e", "5 mg"]
)
def test_only_plain_decimal_numbers_are_numbers(tmp_path: Path, cell: str) -> None:
    path = written(tmp_path, f'a,b\n1,+2.\n-3e2,"{cell}"\n .5,7\n')
    for task in (StructureTask(data=path), VariablesTask(data=path)):
        with pytest.raises(InputError, match=r"line 3: the value of 'b' is .* a decimal number"):
            task.make_problem()
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
    with pytest.raises(
        InputError, match=r"'a', 'b' may hold .*always one of 0, 1, 2\).*--score bd"
    ):
        StructureTask(data=path).make_problem()
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    asked = StructureTask(data=path, score="bge")
    assert asked.make_problem() == StructureLearning.gaussian(numbers, list("abc"))
    assert asked.facts()["score"] == "bge, as asked for"
    # Text as in the file, text in an array, and the numbers are the same categories.
    coded = StructureTask(data=path, score="bdeu").make_problem()
    for data in (read_table(path).rows, numbers, numbers.astype(object)):
        assert StructureLearning.discrete(data, list("abc")) == coded
    with pytest.raises(InputError, match="score categories with `--score bdeu`"):
        StructureLearning.from_csv(written(tmp_path, rows_of("x y x", "1 2 3")))
    # Numbers are not asked about, nor are integers that seldom recur.
    path = written(tmp_path, rows_of("10 11 12 13 14 15 16 10", "1.5 2 1 2 1 2 1 2"))
    assert StructureTask(data=path).make_problem().names == ("a", "b")
    assert StructureTask(data=path).facts()["score"].startswith("bge, as all columns hold numbers")


@pytest.mark.parametrize(
    ("column", "message"),
    [("1 1.0 2 2", "'1' and '1.0', one"), ("01 1 2 2", "'01' and '1'"), ("x None y y", "missing")],
)
def test_categories_are_written_in_one_way(column: str, message: str) -> None:
    data = np.array([column.split(), list("xyxy")]).T
    with pytest.raises(InputError, match=message):
        StructureLearning.discrete(data)
    # The spaces around a value do not count, and text is no number.
    spaced = np.array([["1", " 1", "1a ", "1a"], list("xyxy")]).T
    assert StructureLearning.discrete(spaced) == StructureLearning.discrete(np.char.strip(spaced))


@pytest.mark.parametrize(
    ("column", "remarks"),
    [
        ("1 2 3 4", ["column 'a' has another value in every row: if it numbers or names the rows"]),
        ("p q r s", ["column 'a' has another value in every row"]),
        ("-999 1.5 2 -999", ["column 'a' holds -999 2 times: if that stands for a missing value"]),
        ("1.5 2 3 4", []),
        ("p q p q", []),
    ],
)
def test_columns_that_are_likely_mistakes_are_remarked_on(
    tmp_path: Path, column: str, remarks: list[str]
) -> None:
    task = StructureTask(data=written(tmp_path, rows_of(column, "1.5 1 1 2.5")), score="bdeu")
    found = task.remarks()
    assert len(found) == len(remarks)
    assert all(text.startswith(start) for text, start in zip(found, remarks, strict=True))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = written(tmp_path, "a,b\n1,2\n3,5\n")
    link = tmp_path / "link.csv"
    os.symlink(target, link)
    with pytest.raises(InputError, match="symbolic link"):
        read_table(link)


def test_tasks_read_files_and_refuse_what_is_of_the_generator(tmp_path: Path) -> None:
    rows = "\n".join(",".join(f"{x:.4f}" for x in row) for row in DATA)
    path = written(tmp_path, f"a,b,y\n{rows}\n")
    assert StructureTask(data=path).make_problem().names == ("a", "b", "y")
    assert StructureTask(data=path).states() == 50
    assert VariablesTask(data=path).make_problem().names == ("a", "b")
    assert VariablesTask(data=path, outcome="a").make_problem().names == ("b", "y")
    with pytest.raises(InputError, match="outcome is 'x', but the columns"):
        VariablesTask(data=path, outcome="x").make_problem()
    with pytest.raises(InputError, match="nodes is 4 with the data"):
        StructureTask(data=path, nodes=4)
    with pytest.raises(InputError, match="score is bdeu, but must be bge"):
        StructureTask(score="bdeu")
    # Stored results of generated data are found again.
    config = configure("structure")
    assert to_json(config)["score"] == "bge"
    assert from_json(to_json(config), "") == config == configure("structure", score="bge")


def test_a_generated_posterior_is_made_once_however_often_its_options_are_checked() -> None:
    made = StructureTask(nodes=4, data_seed=8).make_problem()
    assert StructureTask(nodes=4, data_seed=8).make_problem() is made
    assert StructureTask(nodes=4, data_seed=9).make_problem() != made
    assert StructureTask(nodes=4, data_seed=8, max_parents=1).make_problem() != made


def test_parents_of_a_state_are_the_states_of_which_it_is_a_child() -> None:
    problems: tuple[Any, ...] = (StructureLearning.minimal(), VariableSelection.minimal())
    for problem in problems:
        before: dict[Any, set[Any]] = {problem.initial: set()}
        states = [problem.initial]
        for state in states:
            for child in problem.children(state):
                if child not in before:
                    before[child] = set()
                    states.append(child)
                before[child].add(state)
        assert all(set(problem.parents(state)) == found for state, found in before.items())


def test_states_are_shown_by_their_edges_and_members() -> None:
    assert str(Network((0, 0b101, 0), True)) == "0->1 2->1"
    assert str(Network((0, 0))) == "no edges ..."
    assert str(Selection((True, False, True), True)) == "{0,2}"
