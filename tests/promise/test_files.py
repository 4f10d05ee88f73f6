"""Files as people have them: what is written is read, and what is nearly right is refused."""

import csv
import gzip
import io
import json
import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdai
from examples import bif_law
from pdai.posteriors.answers import table_from
from reference.certificates.listed import ListedLaw, law_of
from reference.certificates.recorded import Record, read_record
from reference.certificates.state_texts import StateTexts
from reference.contract.errors import InputError
from reference.contract.tables import Shape, frame_sheet
from reference.posterior.columns import read_table
from tests.refusals import refused, refuses

LETTERS = "ab01 ,;|\t'\"()[]{}:.=-\u00e9"
words = st.text(LETTERS, min_size=1, max_size=5)
NAMES = ("A", "S", "size of it")
# Values of three columns, and how often each was drawn.
tuples = st.dictionaries(st.tuples(words, words, words), st.integers(1, 4), min_size=1, max_size=5)
texts = st.dictionaries(words, st.integers(1, 4), min_size=1, max_size=5)


def lines(rows: list[Any], mark: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def as_parquet(names: tuple[str, ...], rows: list[Any]) -> bytes:
    buffer = io.BytesIO()
    pandas.DataFrame(rows, columns=[*names]).to_parquet(buffer)
    return buffer.getvalue()


def objects(names: tuple[str, ...], rows: list[Any]) -> list[Any]:
    return [dict(zip(names, row, strict=True)) for row in rows]


# Names and rows of texts in a file, by its ending.
Ways = dict[str, tuple[str, Callable[[tuple[str, ...], list[Any]], bytes]]]
WAYS: Ways = {
    "commas": (".csv", lambda names, rows: lines([names, *rows])),
    "semicolons": (".csv", lambda names, rows: lines([names, *rows], ";")),
    "tabs": (".tsv", lambda names, rows: lines([names, *rows], "\t")),
    "bars": (".txt", lambda names, rows: lines([names, *rows], "|")),
    "compressed": (".csv.gz", lambda names, rows: gzip.compress(lines([names, *rows]))),
    "objects": (".json", lambda names, rows: json.dumps(objects(names, rows)).encode()),
    "lines of JSON": (
        ".jsonl",
        lambda names, rows: "\n".join(map(json.dumps, objects(names, rows))).encode(),
    ),
    "parquet": (".parquet", as_parquet),
    "UTF-8 with a mark": (".csv", lambda names, rows: b"\xef\xbb\xbf" + lines([names, *rows])),
}
ways = st.sampled_from([*WAYS])


def at(ending: str, content: bytes, ask: Callable[[Path], Any]) -> Any:
    """The answer about a file of that content."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"x{ending}")
        path.write_bytes(content)
        return ask(path)


def written(counts: Any) -> list[Any]:
    """Draws in a random order."""
    draws = [*Counter(counts).elements()]
    Random(0).shuffle(draws)
    return draws


def record(path: Any, law: ListedLaw, **shape: Any) -> Record:
    shape = {"columns": law.names, **shape}
    return read_record(path, StateTexts(law, law.listed()), Shape(**shape), tolerant=True)


def law_and_draws(counts: dict[Any, int]) -> tuple[ListedLaw, list[Any]]:
    law = ListedLaw(counts)
    law.names = NAMES if all(isinstance(x, tuple) for x in counts) else ()
    return law, written(counts)


@pytest.mark.catches(
    "The columns of a state are taken in the order of the file.",
    "reference/contract/tables.py",
    "        values = [*shape.columns]",
    "        values = [name for name in names if name in shape.columns]",
    by="refusal",
)
@settings(max_examples=150, deadline=None)
@given(way=ways, counts=tuples, order=st.permutations(range(3)))
def test_a_column_for_each_variable_is_read(way: str, counts: Any, order: list[int]) -> None:
    """In any order of the columns: that of the law counts."""
    law, draws = law_and_draws(counts)
    names = tuple(NAMES[i] for i in order)
    rows = [[x[i] for i in order] for x in draws]
    ending, write = WAYS[way]
    assert at(ending, write(names, rows), lambda path: record(path, law)).terminals == draws
    frame = pandas.DataFrame(rows, columns=[*names])
    assert record(frame_sheet(frame, "it"), law).terminals == draws
    # A column more is left out where the others are asked for, and refused where they are not.
    more = write((*names, "row"), [[*row, str(i)] for i, row in enumerate(rows)])
    with pytest.raises(InputError, match="name the columns of a value with --columns"):
        at(ending, more, lambda path: record(path, law))
    picked = at(ending, more, lambda path: record(path, law, picks=True))
    assert picked.terminals == draws


@settings(max_examples=150, deadline=None)
@given(way=ways, counts=st.one_of(tuples, texts), name=st.sampled_from(["weight", "frequency"]))
def test_a_law_is_read(way: str, counts: Any, name: str) -> None:
    is_parts = isinstance(next(iter(counts)), tuple)
    names = (*(NAMES if is_parts else ("value",)), name)
    rows = [[*(x if is_parts else (x,)), str(weight)] for x, weight in counts.items()]
    ending, write = WAYS[way]
    law = at(ending, write(names, rows), law_of)
    assert (law.weights, law.names) == (counts, NAMES if is_parts else ())
    assert law_of(pandas.DataFrame(rows, columns=[*names])).weights == counts
    # The uniform law on the same values.
    support = write(names[:-1], [row[:-1] for row in rows])
    if is_parts or ending not in (".csv", ".csv.gz", ".tsv", ".txt"):
        columns = NAMES if is_parts else ()
        uniform = at(ending, support, lambda path: law_of("uniform", path, columns=columns))
        assert uniform.weights == dict.fromkeys(counts, 1)


@settings(max_examples=60, deadline=None)
@given(counts=texts, form=st.sampled_from(["fraction", "share", "decimal", "object"]))
def test_probabilities_are_read_however_they_are_written(counts: Any, form: str) -> None:
    """Shares of ten thousand, the last of them what is left."""
    total = sum(counts.values())
    parts = [10_000 * count // total for count in counts.values()]
    parts[-1] += 10_000 - sum(parts)
    law = dict(zip(counts, (Fraction(part, 10_000) for part in parts), strict=True))
    write: dict[str, Callable[[Fraction], str]] = {
        "fraction": lambda p: f"{p.numerator}/{p.denominator}",
        "share": lambda p: f"{float(100 * p):.2f}%",
        "decimal": lambda p: f"{float(p):.4f}",
    }
    if form == "object":
        content, ending = (
            json.dumps({x: f"{p.numerator}/{p.denominator}" for x, p in law.items()}),
            ".json",
        )
    else:
        rows = [["value", "probability"], *([x, write[form](p)] for x, p in law.items())]
        content, ending = lines(rows).decode(), ".csv"
    assert at(ending, content.encode(), law_of).listed() == law


@settings(max_examples=60, deadline=None)
@given(counts=texts)
def test_counts_are_read_however_they_are_given(counts: Any) -> None:
    """As an object of JSON, a dict and `value_counts()`; the order is random, and not tested."""
    law, draws = law_and_draws(counts)
    made = at(".json", json.dumps(counts).encode(), lambda path: record(path, law))
    assert (Counter(made.terminals), made.is_histogram) == (Counter(draws), True)
    rows = [["terminal", "frequency"], *counts.items()]
    made = at(".csv", lines(rows), lambda path: record(path, law))
    assert (Counter(made.terminals), made.is_histogram) == (Counter(draws), True)
    ways = [dict(counts), Counter(counts), pandas.Series(draws).value_counts()]
    if len(draws) > 1:
        verdicts = [pdai.certify(way, law=counts, level=0.01) for way in ways]
        assert {(made.title, made.samples) for made in verdicts} == {
            ("TV of terminals, if the samples are independent", len(draws))
        }


@pytest.mark.catches(
    "Draws of several chains are taken in the order of the file.",
    "reference/certificates/recorded.py",
    "return np.lexsort((draws, chains)), ()",
    "return np.arange(len(values)), ()",
)
@settings(max_examples=60, deadline=None)
@given(counts=tuples, chains=st.integers(1, 4), numbered=st.booleans(), seed=st.integers(0, 99))
def test_chains_are_put_one_after_the_other(
    counts: Any, chains: int, numbered: bool, seed: int
) -> None:
    law, draws = law_and_draws(counts)
    rows = [[str(i % chains), *([str(i // chains)] * numbered), *x] for i, x in enumerate(draws)]
    if numbered:
        Random(seed).shuffle(rows)
    head = ["chain", *(["draw"] * numbered), *NAMES]
    made = at(".csv", lines([head, *rows]), lambda path: record(path, law))
    first = [*dict.fromkeys(row[0] for row in rows)]
    assert made.terminals == [x for chain in first for x in draws[int(chain) :: chains]]


# Lines that are one value each, commas and all.
one_line = {
    "commas": st.text("ab01,.: -", min_size=1, max_size=6),
    "trees": st.text("ab,():", max_size=6).map(lambda x: f"({x});"),
    "sets": st.lists(st.integers(0, 9), max_size=4).map(lambda x: "{" + str(x)[1:-1] + "}"),
    "lists": st.lists(st.sampled_from("abc"), max_size=4).map(json.dumps),
}


@settings(max_examples=100, deadline=None)
@given(data=st.data(), kind=st.sampled_from([*one_line]))
def test_a_line_is_one_value_beside_the_same_spelling(data: Any, kind: str) -> None:
    lists = st.lists(one_line[kind], min_size=1, max_size=5, unique=True)
    values = [x for x in data.draw(lists) if x not in ("value", "state", "sample", "terminal")]
    if not values:
        return
    content = "\n".join(values).encode()
    support = at(".txt", content, lambda path: law_of("uniform", path))
    assert support.weights == dict.fromkeys(values, 1)
    draws = written(dict.fromkeys(values, 3))
    made = at(".txt", "\n".join(draws).encode(), lambda path: record(path, support))
    assert (made.terminals, made.outside) == (draws, [])
    # In the law they may stand in quotes.
    law = at(".csv", lines([[x, 1] for x in values]), law_of)
    assert law.weights == support.weights
    made = at(".jsonl", "\n".join(map(json.dumps, draws)).encode(), lambda path: record(path, law))
    assert made.terminals == draws
    if kind == "lists":
        # The lines are lists themselves, which a law spells as they do.
        recorded = at(".jsonl", "\n".join(draws).encode(), lambda path: record(path, law))
        assert recorded.terminals == draws


def test_a_list_is_the_tuple_that_a_law_has_beside_it() -> None:
    law = at(".csv", lines([["[0, 1]", 1], ["(0, 1)", 1], ["[2]", 1]]), law_of)
    recorded = at(".jsonl", b"[0, 1]\n[2]\n[2]", lambda path: record(path, law))
    assert recorded.terminals == ["(0, 1)", "[2]", "[2]"]


@settings(max_examples=80, deadline=None)
@given(
    way=st.sampled_from([*WAYS, "blanks"]),
    rows=st.lists(
        st.tuples(*[st.text("abc01.\u00e9-", min_size=2, max_size=4)] * 3), min_size=2, max_size=6
    ),
)
def test_a_table_is_read_in_any_dialect(way: str, rows: Any) -> None:
    names = ("A", "S", "age")
    by_blanks = lambda names, rows: "\n".join(map(" ".join, [names, *rows])).encode()  # noqa: E731
    ending, write = {**WAYS, "blanks": (".dat", by_blanks)}[way]
    rows = [row for row in rows if "--" not in row]
    if len(rows) < 2:
        return
    table = at(ending, write(names, rows), read_table)
    assert (table.names, [*map(tuple, table.rows)]) == (names, rows)
    says = {"semicolons": ";", "tabs": "tabs", "bars": "bars", "blanks": "blanks"}
    assert bool(table.facts) == (way in says)
    # Rows that miss a value are left out, if so asked, and counted.
    missing = [rows[0], ("NA", "b", "c"), *rows[1:]]
    with pytest.raises(InputError, match=r"is missing.*\(--drop-missing\)"):
        at(ending, write(names, missing), read_table)
    whole = at(ending, write(names, missing), lambda path: read_table(path, drop_missing=True))
    assert whole.rows == table.rows
    assert "1 row with a missing value left out" in whole.facts["reading"]


def test_a_table_in_python_may_miss_values() -> None:
    frame = pandas.DataFrame({"a": ["x", None, "y", "x"], "b": ["p", "q", "q", "p"]})
    assert table_from(frame, drop_missing=True).rows == [["x", "p"], ["y", "q"], ["x", "p"]]
    refused("is missing", table_from, frame)


@pytest.mark.catches(
    "A weighted sample is kept whatever its weight.",
    "reference/certificates/recorded.py",
    "np.log(chances) <= logs[first:] - most",
    "np.log(chances) <= 0",
)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["weight", "log_weight"]))
def test_weighted_samples_are_certified_as_their_law(seed: int, kind: str) -> None:
    """Drawn from another law than the target, with weights that make up for it."""
    law, drawn = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    places = np.random.default_rng(seed).choice(3, 20_000, p=drawn)
    weights = 7 * (law / drawn)[places]
    numbers = weights if kind == "weight" else np.log(weights)
    rows = [[kind, "sample"], *([w, "abc"[i]] for w, i in zip(numbers, places, strict=True))]
    target = dict(zip("abc", law.tolist(), strict=True))
    made = at(".csv", lines(rows), lambda path: pdai.certify(path, law=target))
    assert made.interval.low == 0
    assert made.interval.high < 0.09
    assert "if no weight is above 17.5" in made.title
    assert 5_000 < made.samples < 8_000
    wrong = [[name, "b" if x == "a" else x] for name, x in rows]
    assert at(".csv", lines(wrong), lambda path: pdai.certify(path, law=target)).interval.low > 0.4


def test_larger_weights_are_cut_and_said() -> None:
    rows = [["ab"[i % 7 == 0], 1 + (i == 9_000)] for i in range(10_000)]
    content = lines([["terminal", "weight"], *rows])
    made = at(".csv", content, lambda path: read_record(path, StateTexts(None)))
    assert made.conditions == ("weights are cut to 1",)
    assert "1 of the 8,000 others have a larger one" in made.notes[0]


def utf_16(text: str) -> bytes:
    return text.encode("utf-16")


def archive() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(3))
    return buffer.getvalue()


SAMPLES = "a\nb\nc\n" * 20
KINDS = {
    "UTF-16: save it as UTF-8": [utf_16(SAMPLES), SAMPLES.encode("utf-16-le")],
    "a zip archive": [archive()],
    "a pickle, which may run programs": [pickle.dumps(["a"])],
    r"Arrow's own format \(feather\)": [b"ARROW1\0\0"],
    "no whole gzip file": [gzip.compress(SAMPLES.encode())[:-9]],
    "no whole parquet file": [as_parquet(("state",), [["a"], ["b"]])[:-9]],
    "no text in UTF-8": ["\u00e9\n".encode("latin-1")],
}


# By its words, as gzip stamps its bytes with the time and both workers must list the same tests.
@pytest.mark.parametrize("words", KINDS)
def test_what_is_not_read_is_named(words: str) -> None:
    law = ListedLaw({"a": 1, "b": 1, "c": 1})
    for content in KINDS[words]:
        for ask in (lambda path: record(path, law), law_of, read_table):
            with pytest.raises(InputError, match=words):
                at(".csv", content, ask)


def certified(ending: str, content: str, law: Any = None, **options: Any) -> Any:
    law = {"a": 1, "b": 1, "c": 2} if law is None else law
    return at(ending, content.encode(), lambda path: pdai.certify(path, law=law, **options))


PAIRS = {("a", "x"): 1, ("b", "y"): 1}
PAIRED = "A,S\n" + "a,x\nb,y\n" * 20
test_samples_that_are_nearly_right_are_refused_by_their_reason = refuses(
    certified,
    (".csv", PAIRED, PAIRS, "a column for each part is named .* by --columns"),
    (".csv", "a,7\nb,3\n", "is none of the problem's 3 terminal states"),
    (".csv", "terminal,chain,draw\na,0,0\nb,0,0\n", "has a draw twice"),
    (".csv", "terminal,draw\na,0\nb,1\n", "has the columns terminal, draw, but must"),
    (".csv", "value,n\na,5\nb,1\n", "has the columns value, n, but .* count \\(of draws, under"),
    (".csv", "terminal,weight,count\na,1,1\n", "has the columns terminal, weight, count, but"),
    (".csv", "terminal,weight,log_prob\na,1,-1\n", "has the columns terminal, weight, log_prob"),
    (".csv", "terminal,weight\na,0\nb,0\n", "one of the first 1 above 0"),
    (".csv", "terminal,log_weight\na,inf\nb,0\n", "weights must be finite"),
    (".csv", ",terminal\n0,a\n1,b\n", "column 1 has no name: leave it out"),
    (".csv", "terminal,frequency\na,0.5\nb,0.5\n", "count of 'a' is '0.5', but must be a whole"),
    (".json", '{"a": 507.5, "b": 517}', "count of 'a' is '507.5', but must be a whole number"),
    (".json", '{"a": [1], "b": [2]}', "is an object that holds"),
    (".json", '{"a": null}', "is an object that holds None"),
    (".json", '{"a": true}', "is an object that holds True"),
    (".txt", "v a 0\nv b 0\n", "none of the problem's 3 terminal states"),
    (".txt", '["a","b"]\n["b","a"]\n', "none of the problem's 3 terminal states"),
    (".tsv", "terminal,count\na\t1\n", "terminal states|columns"),
)
test_columns_that_are_not_there_are_refused = refuses(
    lambda text, columns: certified(".csv", text, PAIRS, columns=columns),
    (PAIRED, ["A", "B"], "has no names of columns, but must have A, B, log_p_f"),
    (PAIRED, ["A"], "terminal states"),
    ("a\nb\n", ["A", "S"], "has no names of columns, but must have A, S, log_p_f"),
)


@pytest.mark.catches(
    "Probabilities may have any sum.",
    "reference/certificates/listed.py",
    "abs(total - 1) > PRINTED",
    "abs(total - 1) > 2",
)
@pytest.mark.parametrize("text", ["value,probability\na,0.4\nb,0.5\n", "a,40%\nb,50%\n"])
def test_probabilities_sum_to_one(text: str) -> None:
    with pytest.raises(InputError, match=r"sum to 0\.9, but must sum to 1: name the column weight"):
        at(".csv", text.encode(), law_of)
    # What rounding left is divided, and said.
    near = at(".csv", text.replace("0.5", "0.597").replace("50", "59.7").encode(), law_of)
    assert any("sum to 0.997" in note for note in near.notes)


test_laws_that_are_nearly_right_are_refused_by_their_reason = refuses(
    lambda ending, text: certified(".csv", SAMPLES, at(ending, text.encode(), law_of)),
    (".csv", "a,40%\nb,0.6\n", "some weights are shares such as 40%"),
    (".csv", "value,log_weight\na,40%\nb,60%\n", "some weights are shares"),
    (".csv", "a 1\nb 1\n", "line 1 has 1 column, but must have 2.*separate the columns by commas"),
    (".csv", "a,b,1\nc,d,1\n", "line 1 has 3 columns.*in quotes if it has commas"),
    (".csv", "value,p\na,1\n", "line 1: the weight of 'value' is 'p', but must be a decimal"),
    (".csv", "A,S,p\na,x,1\n", "line 1 has 3 columns"),
    (".csv", "a,1\nb,-2\n", "line 2: the weight of 'b' is '-2', but must .* at least 0"),
    (".csv", "A,S,weight\na,x,1\na,x,2\n", "has the value .* twice"),
    (".json", '{"a": [1]}', "is an object that holds"),
    (".json", "[1, 2]", "columns"),
    (".json", '{"a": "x"}', "the weight of 'a' is 'x'"),
)


def test_columns_may_be_named_beside_a_law_of_python() -> None:
    """Numbers of the law are those of the file, if they are written alike."""
    law = {(0, 1): 1, (1, 0): 1}
    text = "draw no,second,first\n" + "7,1,0\n7,0,1\n" * 30
    made = certified(".csv", text, law, columns=["first", "second"], if_independent=True)
    assert (made.samples, made.impossible, made.interval.low) == (60, 0, 0)
    wrong = text.replace("0", "0.0"), law
    refused("terminal states", lambda: certified(".csv", *wrong, columns=["first", "second"]))


@pytest.mark.catches(
    "The parts of a tuple may be missing or written otherwise.",
    "pdai/certifying/target.py",
    "x if isinstance(x, tuple) else (x,)",
    "(x,)",
)
@pytest.mark.parametrize("part", ["nan", "", "NA", "y ", "'y'", "\u200by"])
def test_a_part_that_is_missing_or_written_otherwise_is_no_impossible_draw(part: str) -> None:
    """The sampler was wrong for certain."""
    rows = [["A", "S"], *([["a", "x"], ["b", "y"]] * 20), ["b", part]]
    ask = {"columns": ["A", "S"], "if_independent": True}
    text = lines(rows).decode()
    refused("missing one|may be the same value", lambda: certified(".csv", text, PAIRS, **ask))
    other = [*rows[:-1], ["b", "z"]]
    made = certified(".csv", lines(other).decode(), PAIRS, **ask)
    assert made.excluded == [("b", "z")]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_what_separates_columns_is_said(mark: str) -> None:
    text = "a,1\nb,1\nc,2\n".replace(",", mark)
    law = at(".csv", text.encode(), law_of)
    assert law.weights == {"a": 1, "b": 1, "c": 2}
    draws = Random(0).choices("abc", [1, 1, 2], k=900)
    made = at(".csv", text.encode(), lambda path: pdai.certify(draws, law=path))
    assert any("between its columns" in note for note in made.notes)


BIF = """network unknown {}
variable A { type discrete [ 2 ] { yes, no }; }
variable B { type discrete [ 3 ] { low, mid, high }; }
probability ( A ) { table 0.3, 0.7; }
probability ( B | A ) { (yes) 0.333, 0.333, 0.333; (no) 0.5, 0.25, 0.25; }
"""


def test_the_law_of_a_network_in_bif_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_bytes(lines([*bif_law.law(BIF)]))
    law = law_of(tmp_path / "law.csv")
    assert law.names == ("A", "B")
    assert law.weights[("yes", "mid")] == Fraction(1, 10)
    assert law.weights[("no", "high")] == Fraction(7, 40)
    assert sum(law.weights.values()) == 1
    for wrong in (BIF.replace("0.5,", "0.6,"), BIF.replace("variable B", "variable C")):
        with pytest.raises((InputError, KeyError)):
            [*bif_law.law(wrong)]
