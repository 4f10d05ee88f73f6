"""PROMISE.md, 3: samples are independent draws in the order drawn, or the counts of such draws."""

import io
import json
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdai
from reference.certificates.independence import DependentError
from reference.contract.errors import InputError
from tests.promise.worlds import contains, unless_refused

# Draws are independent, so not those that Hypothesis would choose.
seeds = st.integers(0, 10**6).map(np.random.default_rng)
# Values that files hold as they are, as texts and as tuples, and the law of most tests.
TUPLES = [(0, 1), (1, 0), (-1, 2), (1, 1), (7, 7)]
NAMES = ["a", "b c", "1 -2 3 0", "0101", "x,y", "é", '"q"', "None_", "1e5", "[link]"]
LAW = {"a": 1, "b": 1, "c": 2}


def weights_of(values: Any, rng: Any) -> dict[Any, int]:
    """A law of small weights on values."""
    return dict(zip(values, rng.integers(1, 5, len(values)).tolist(), strict=True))


def drawn_from(law: dict[Any, int], rng: Any, size: int) -> list[Any]:
    """Independent draws of a law."""
    values = [*law]
    chances = np.array([*law.values()]) / sum(law.values())
    return [values[i] for i in rng.choice(len(values), size, p=chances).tolist()]


def in_a_file(name: str, content: bytes, ask: Callable[[Path], Any]) -> Any:
    """The answer about a file of that content."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return ask(path)


def as_csv(draws: list[Any], head: str = "") -> bytes:
    cells = ['"' + str(x).replace('"', '""') + '"' for x in draws]
    return "\n".join([head, *cells] if head else cells).encode()


def as_array(draws: list[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(draws))
    return buffer.getvalue()


def from_stream(content: bytes, law: Any) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return pdai.certify("-", law=law)


def of_file(name: str, write: Callable[[list[Any]], bytes]) -> Callable[[list[Any], Any], Any]:
    return lambda x, law: in_a_file(name, write(x), lambda path: pdai.certify(path, law=law))


# Ways in which the same draws are given.
WAYS: dict[str, Callable[[list[Any], Any], Any]] = {
    "list": lambda x, law: pdai.certify(x, law=law),
    "tuple": lambda x, law: pdai.certify(tuple(x), weights=law),
    "iterator": lambda x, law: pdai.certify(iter(x), law=law),
    "array": lambda x, law: pdai.certify(np.array(x), law=law),
    "object": lambda x, law: pdai.certify(
        SimpleNamespace(draw=lambda count: x[:count]), law=law, samples=len(x)
    ),
    "log weights": lambda x, law: pdai.certify(
        x, log_weights={value: math.log(w) for value, w in law.items()}
    ),
    "lines": of_file("x.csv", as_csv),
    "a headed column": of_file("x.csv", lambda x: as_csv(x, "sample")),
    "JSON lines": of_file("x.jsonl", lambda x: "\n".join(map(json.dumps, x)).encode()),
    "objects": of_file("x.json", lambda x: json.dumps([{"terminal": y} for y in x]).encode()),
    "a file of NumPy": of_file("x.npy", as_array),
    "a stream": lambda x, law: from_stream(as_csv(x), law),
    "a stream of JSON": lambda x, law: from_stream(
        "\n".join(json.dumps({"terminal": y}) for y in x).encode(), law
    ),
    "a stream of NumPy": lambda x, law: from_stream(as_array(x), law),
}


@settings(max_examples=100, deadline=None)
@given(
    way=st.sampled_from([*WAYS]),
    names=st.sampled_from([NAMES, TUPLES]).flatmap(
        lambda pool: st.lists(st.sampled_from(pool), min_size=2, max_size=5, unique=True)
    ),
    rng=seeds,
    size=st.integers(100, 900),
)
def test_the_same_draws_have_one_verdict_however_they_are_given(
    way: str, names: list[Any], rng: Any, size: int
) -> None:
    law, sampler = weights_of(names, rng), weights_of(names, rng)
    draws = drawn_from(sampler, rng, size)
    made, one = WAYS[way](draws, law), pdai.certify(draws, law=law)
    assert (made.regime, made.samples, made.impossible) == ("S", size, 0)
    # Exponentials of log weights are rounded.
    assert made.interval == one.interval or way == "log weights"
    share, other = (np.array([x[name] / sum(x.values()) for name in names]) for x in (law, sampler))
    assert contains(made, float(abs(share - other).sum()) / 2)


def spelled(value: Any) -> list[Any]:
    """Spellings of a value that a program may write, and that no other value of a law here has."""
    if isinstance(value, float):
        narrow = float(np.float32(value))
        return [str(value), f" {value!r}", np.float32(value), narrow, value * (1 + 1e-9)]
    if isinstance(value, int):
        return [str(value), f'"{value}"', f"{value}.0"]
    turned = [unicodedata.normalize(form, value) for form in ("NFC", "NFD")]
    around = [f"{value} ", f"\ufeff{value}", f'"{value}"', f"{value}\0", f"'{value}'\n"]
    return [*turned, *around, *([f"{float(value):.3e}"] if value[0].isdigit() else [])]


SPELLED = ["c", "é", "e\u0301", "1e-5", "0.00001", "1e50", "0.1", 1, 17, 0.1, 0.25, 1e-7, 1.5]


@pytest.mark.catches(
    "What is written otherwise is compared as it is written.",
    "pdai/certifying/target.py",
    "if (alike := _bare(x)) in texts:",
    "if (alike := (str(x),)) in texts:",
)
@settings(max_examples=120, deadline=None)
@given(value=st.sampled_from(SPELLED), data=st.data(), rng=seeds)
def test_what_may_be_a_value_written_otherwise_is_refused(value: Any, data: Any, rng: Any) -> None:
    """Those were impossible draws, for certain, of a right sampler."""
    other = data.draw(st.sampled_from(spelled(value)))
    law = {value: 1, "a": 1, "b": 1}
    draws = drawn_from({other: 1, "a": 4, "b": 4}, rng, 60)
    if other in law or other not in draws:
        assert pdai.certify(draws, law=law).impossible == 0
        return
    with pytest.raises(InputError, match="may be the same value: write both"):
        pdai.certify(draws, law=law)


MISSING = [None, math.nan, np.float32("nan"), pandas.NA, "", "NaN", "N/A", " null "]


@pytest.mark.catches(
    "What stands for a missing value is an impossible draw.",
    "pdai/certifying/target.py",
    "if not NOTHING.isdisjoint(part.lower() for part in alike):",
    "if alike in ():",
)
@settings(max_examples=40, deadline=None)
@given(missing=st.sampled_from(MISSING), count=st.integers(1, 20), rng=seeds)
def test_what_stands_for_a_missing_value_is_refused(missing: Any, count: int, rng: Any) -> None:
    draws: list[Any] = drawn_from(LAW, rng, 60)
    for place in rng.choice(60, count, replace=False).tolist():
        draws[place] = missing
    with pytest.raises(InputError, match="may stand for a missing one: leave such"):
        pdai.certify(draws, law=LAW)


@settings(max_examples=40, deadline=None)
@given(others=st.integers(1, 200), rng=seeds, known=st.booleans())
def test_what_the_law_never_draws_is_wrong_for_certain(others: int, rng: Any, known: bool) -> None:
    draws = rng.permutation([*drawn_from(LAW, rng, 300), *["d"] * others]).tolist()
    law = LAW | ({"d": 0} if known else {})
    made = unless_refused(lambda: pdai.certify(draws, law=law))
    assert made is not None
    assert made.impossible == made.excluded.count("d") == others
    assert repr(made).startswith("Certificate(wrong for certain: ")


# From independent draws to what is none of them, and whether any number of them shows it.
DEPENDENT: dict[str, Callable[[list[Any]], list[Any]]] = {
    "sorted": sorted,
    "all twice": lambda x: x + x,
    "each twice": lambda x: [y for y in x for _ in range(2)],
    "in turn": lambda x: [*"abcc"] * (len(x) // 4),
    "a chain": lambda x: [x[i - i % 3] for i in range(len(x))],
}


@pytest.mark.catches(
    "Samples are not tested for independence.",
    "pdai/certifying/samples.py",
    "            check_independent(owner, drawn, level)",
    "            assert owner",
)
@settings(max_examples=60, deadline=None, report_multiple_bugs=False)
@given(way=st.sampled_from([*DEPENDENT]), rng=seeds)
def test_dependent_samples_have_no_verdict_and_independent_ones_have(way: str, rng: Any) -> None:
    draws = drawn_from(LAW, rng, 2_000)
    assert contains(pdai.certify(draws, law=LAW), 0)
    wrong = DEPENDENT[way](draws)
    with pytest.raises(InputError, match="if_independent") as refusal:
        pdai.certify(wrong, law=LAW)
    assert isinstance(refusal.value, DependentError)
    counted = pdai.certify(Counter(draws), law=LAW)
    untested = pdai.certify(draws, law=LAW, if_independent=True)
    for made in (counted, untested):
        assert "if the samples are independent" in made.title
        assert contains(made, 0)


def nested(draws: list[str]) -> Any:
    return [[x] for x in draws]


# What is no sequence of draws, however right its values are.
NO_SAMPLES: dict[str, Callable[[list[str]], Any]] = {
    "a set": set,
    "keys": lambda x: dict.fromkeys(x).keys(),
    "a mapping": lambda x: {y: float(count) for y, count in Counter(x).items()},
    "a frame of two columns": lambda x: pandas.DataFrame({"x": x, "y": x}),
    "a masked array": lambda x: np.ma.masked_array(x, [y == "a" for y in x]),
    "lists": nested,
    "bytes that are no text": lambda x: np.array([b"\xff", *(y.encode() for y in x)]),
    "none": lambda x: x[:0],
    "one": lambda x: x[:1],
    "half outside": lambda x: ["x", *x[1:1], "a"],
    "an object that gives too few": lambda x: SimpleNamespace(draw=lambda count: x[:-1]),
    "an object that gives none": lambda x: SimpleNamespace(draw=lambda count: None),
}


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from([*NO_SAMPLES]), rng=seeds)
def test_what_is_no_sequence_of_draws_is_refused(name: str, rng: Any) -> None:
    with pytest.raises(InputError):
        pdai.certify(NO_SAMPLES[name](drawn_from(LAW, rng, 60)), law=LAW, samples=60)


@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from([(np.float64, 53), (np.float32, 24)]), more=st.integers(0, 9), rng=seeds
)
def test_floats_that_may_be_rounded_integers_are_refused(kind: Any, more: int, rng: Any) -> None:
    """Two of four integers: TV of a right sampler was at least 0.49."""
    number, bits = kind
    law = {2**bits + 2 * more: 1, 2**bits + 2 * more + 1: 1}
    draws = np.array(drawn_from(law, rng, 60)).astype(number)
    with pytest.raises(InputError, match=r"an array of float\d\d with numbers from"):
        pdai.certify(draws, law=law)
    halves = np.array(drawn_from({0.5: 1, 0.1: 1}, rng, 60), np.float16)
    with pytest.raises(InputError, match="an array of float16"):
        pdai.certify(halves, law={0.5: 1, 0.1: 1})


MANY = "1" * 5_000
# Laws in files that are none, by the ending of the file.
NO_LAWS = [("csv", text) for text in (
    "", "value,weight\n", "a,1\nb\n", "a,1\nb,-1\n", "a,nan\n", "a,0\nb,0\n", f"a,0.{MANY}\n",
    "value,log_weight\na,-inf\n", "value,log_weight\na,nan\n", "value,log_weight\na,0\nb,-2e6\n",
    "a,1\na,2\n", "value,p\na,1\n", "a,1/0\nb,1\n", "a,1,2\n", "a,1_0\n",
)]  # fmt: skip
NO_LAWS += [("jsonl", '{"value": "a"}\n'), ("jsonl", '{"a": 1}\n2\n'), ("npy", "no array")]
NO_LAWS += [("jsonl", '{"value": "a", "weight": 1, "weight": 3}\n')]
# Damages of a file of samples, whose lines are given.
DAMAGES: dict[str, tuple[str, Callable[[list[str]], list[str]]]] = {
    "empty": ("csv", lambda x: []),
    "a blank line": ("csv", lambda x: [*x[:9], "", *x[9:]]),
    "a stray quotation mark": ("csv", lambda x: [*x[:9], 'a"', *x[9:]]),
    "an open quotation mark": ("csv", lambda x: [*x[:9], '"', *x[9:]]),
    "its header twice": ("csv", lambda x: ["terminal", *x, "terminal", *x]),
    "a name of no column": ("csv", lambda x: ["string,weight", *(f"{y},7" for y in x)]),
    "one column twice": ("csv", lambda x: ["terminal,terminal", *(f"{y},{y}" for y in x)]),
    "weights below 0": ("csv", lambda x: ["terminal,weight", *(f"{y},-7" for y in x)]),
    "half of the numbers": ("csv", lambda x: ["terminal,log_p_f", *(f"{y},-1" for y in x)]),
    "a count below 0": ("csv", lambda x: ["terminal,count", *(f"{y},-7" for y in x)]),
    "a count in words": ("csv", lambda x: ["terminal,count", *(f"{y},1e3" for y in x)]),
    "no terminals": ("csv", lambda x: ["count,log_prob", *("7,-1" for _ in x)]),
    "log_prob in words": ("csv", lambda x: ["terminal,log_prob", *(f"{y},1_0" for y in x)]),
    "log_prob NaN": ("csv", lambda x: ["terminal,log_prob", *(f"{y},nan" for y in x)]),
    "log_prob of 1 each": ("csv", lambda x: ["terminal,log_prob", *(f"{y},0" for y in x)]),
    "two log_prob": ("csv", lambda x: ["terminal,log_prob", "a,-1.5", *(f"{y},-1.4" for y in x)]),
    "words for texts": ("jsonl", lambda x: [*map(json.dumps, x), "none"]),
    "null": ("jsonl", lambda x: [*map(json.dumps, x), "null"]),
    "other keys": ("jsonl", lambda x: ['{"x": 1}', *map(json.dumps, x)]),
    "blank": ("jsonl", lambda x: ["", ""]),
    "text": ("npy", lambda x: x),
}


# What is wrong with the numbers alone, which samples of a target do not have.
OF_NUMBERS = {"log_prob of 1 each", "two log_prob"}


@settings(max_examples=120, deadline=None)
@given(damage=st.sampled_from([*DAMAGES]), is_target=st.booleans(), rng=seeds)
def test_a_damaged_file_of_samples_is_refused_by_its_name(
    damage: str, is_target: bool, rng: Any
) -> None:
    kind, change = DAMAGES[damage]
    draws = drawn_from(LAW, rng, 60)
    content = "\n".join(change(draws)).encode()

    def ask(path: Path) -> Any:
        if is_target and damage not in OF_NUMBERS:
            return pdai.certify(draws, law=LAW, target=path)
        return pdai.certify(path, law=LAW)

    with pytest.raises(InputError, match=r"x\.[a-z]+'|log_prob|the sample 'a\"'|distinct samples"):
        in_a_file(f"x.{kind}", content, ask)


@settings(max_examples=60, deadline=None)
@given(wrong=st.sampled_from(NO_LAWS), rng=seeds)
def test_a_file_that_is_no_law_is_refused(wrong: tuple[str, str], rng: Any) -> None:
    kind, text = wrong
    draws = drawn_from(LAW, rng, 60)
    with pytest.raises(InputError):
        in_a_file(f"l.{kind}", text.encode(), lambda p: pdai.certify(draws, law=p))


# Options of samples that are nearly right, which their refusals name.
NEARLY: dict[str, list[Any]] = {
    "law": [["a", "b"], "my_module:density", len],
    "weights": [LAW, [1, 2], len],
    "support": [["a"], 5],
    "log_prob": [5, lambda x: math.nan, lambda x: "1", lambda x: 0.0],
    "level": ["0.01", 0, 1, True],
    "samples": [64.5, "64", True, 1],
    "regime": ["Z", "X", b"S"],
    "paths": [2],
    "tighten": [1],
    "width": [0.1],
    "takes": ["state"],
    "p_b": [len],
    "of": [0],
    "target": [[], [["a"]]],
    "sample": [99],
}
nearly = st.sampled_from([(name, value) for name in NEARLY for value in NEARLY[name]])


@settings(max_examples=80, deadline=None)
@given(option=nearly, rng=seeds)
def test_an_option_that_is_nearly_right_is_refused_by_its_name(
    option: tuple[str, Any], rng: Any
) -> None:
    name, value = option
    options = {"law": LAW, name: value}
    with pytest.raises(InputError) as refusal:
        pdai.certify(drawn_from(LAW, rng, 60), **options)
    assert re.search(rf"\b{name}s?\b|a sample of the target|distinct samples", str(refusal.value))
