"""The ways into `pdai certify` without a Python module: laws, inputs, and what each refuses."""

import io
import json
import sys
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from examples.fair_coin import certificates
from pdai.testing import assert_law
from reference import InputError
from reference.certificates.listed import from_logs
from reference.problems.circuits import Circuit
from tests.command_lines import answer
from tests.reference.test_circuits import D4

# (1 or 2 or 3), as in the circuit.
CNF = "c an example\np cnf 3 1\n1 2 3 0\n"


def coins(count: int, seed: int = 0) -> list[tuple[int, int, int]]:
    """A walk down the circuit that tosses a fair coin at each decision: a wrong law."""
    rng = Random(seed)
    samples = []
    for _ in range(count):
        one, two, three = (rng.choice((-1, 1)) * v for v in (1, 2, 3))
        samples.append((one, two, 3 if one < 0 and two < 0 else three))
    return samples


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "circuit.nnf").write_text(D4)
    (tmp_path / "formula.cnf").write_text(CNF)
    return tmp_path


def lines(samples: Any) -> str:
    return "".join(" ".join(map(str, (*x, 0))) + "\n" for x in samples)


def test_weights_and_log_weights_are_a_law() -> None:
    samples = Random(0).choices(["abc", "abd"], [3, 1], k=8_000)
    made = pdai.certify(samples, weights={"abc": 3, "abd": 1, "abe": 0})
    logs = {"abc": np.log(np.float64(3)) - 700, "abd": -700, "abe": -np.inf}
    again = pdai.certify(iter(samples), log_weights=logs)
    assert made.interval.low == again.interval.low == 0
    assert made.interval.high == pytest.approx(again.interval.high) == pytest.approx(0.03, abs=0.03)
    assert from_logs({"a": 0, "b": -1}) == {"a": 1, "b": pytest.approx(np.exp(-1), rel=1e-15)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("law.csv", "value,log_weight\na,0\nb,0.0\nc,0.69314718055994530942\nd,-inf\n"),
        ("law.csv", "weight,value\n1,a\n1,b\n2,c\n"),
        ("law.jsonl", '{"value": "a", "weight": 1}\n{"value": "b", "weight": 1.0}\n'
         '{"weight": 2, "value": "c"}\n'),
    ],
)  # fmt: skip
def test_a_law_in_a_file_has_weights_or_log_weights(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    samples = Random(0).choices("abc", [1, 1, 2], k=8_000)
    assert pdai.certify(samples, law=tmp_path / name).interval.high < 0.09
    wrong = Random(0).choices("abc", k=8_000)
    assert pdai.certify(wrong, law=tmp_path / name).interval.low > 0.1


@pytest.mark.parametrize(
    "law", [("circuit.nnf",), ("formula.cnf",), ("uniform", "--solutions", "formula.cnf")]
)
def test_a_fair_coin_at_every_node_is_exposed(here: Path, law: tuple[str, ...]) -> None:
    right = Circuit.read(here / "circuit.nnf").sample(8_000, 0)
    for samples, status in ((right, 0), (coins(8_000), 1)):
        (here / "samples.txt").write_text(lines(samples))
        ask = ("certify", "samples.txt", "--fail-above", "0.06", "--json", "--law", *law)
        made = json.loads(answer(*ask, cwd=here, expect=status).stdout)
        assert (made["interval"][0] <= 3 / 28 <= made["interval"][1]) == (status == 1)


@pytest.mark.catches(
    "Events of literals are measured on the samples that chose them.",
    "reference/certificates/literals.py",
    "(events[half:, i] * events[half:, j])",
    "(events[:half, i] * events[:half, j])",
)
def test_a_circuit_too_large_to_list_bounds_by_its_literals(tmp_path: Path) -> None:
    # Thirty variables: the first and the second are never both false.
    path = tmp_path / "large.nnf"
    path.write_text("o 1 0\nt 2 0\n1 2 1 0\n1 2 -1 2 30 0\n1 2 -1 2 -30 0\n")
    circuit = Circuit.read(path)
    assert circuit.count() == 2**29 + 2**28
    right = circuit.sample(2_000, 1)
    made = pdai.certify(right, law=path)
    assert (made.interval.low, made.interval.high) == (0, 1)
    assert any("more solutions than --max-states" in note for note in made.notes)
    # Two thirds of the solutions have variable 1, and a coin gives it to half of the samples.
    wrong = [(x[0] if i % 4 else -1, 2, *x[2:]) for i, x in enumerate(right)]
    assert 0.05 < pdai.certify(wrong, law=path).interval.low < 1 / 3
    outside = [(-1, -2, *x[2:]) if i < 500 else x for i, x in enumerate(right)]
    file = tmp_path / "samples.txt"
    file.write_text(lines(outside[::-1]))
    for samples in (outside[::-1], file):
        made = pdai.certify(samples, law=path)
        assert made.interval.low > 0.0
        assert any("500 of 2,000 samples are not terminal states" in x for x in made.notes)
    # Each literal has the right probability, and the pair of the last ones does not.
    wrong = [(*x[:-1], -30 if x[-2] < 0 else 30) for x in right]
    made = pdai.certify(wrong, law=path)
    assert 0.1 < made.interval.low < 0.25
    assert "probability that variables 29 and 30 are true, 0.25 in the target" in made.report
    # Samples that are all alike in the first half do not choose and measure the same event.
    assert pdai.certify([*right[:2], *right[:2]], law=path).interval.low == 0


def test_literals_have_weights(here: Path) -> None:
    (here / "literals.csv").write_text("literal,weight\n1,3\n-1,1\n")
    (here / "logs.csv").write_text("literal,log_weight\n1,1.0986122886681098\n-1,0\n")
    (here / "weighted.cnf").write_text("c p weight 1 3 0\nc p weight -1 1 0\n" + CNF)
    samples = Circuit.read(here / "circuit.nnf", {1: 3, -1: 1}).sample(8_000, 0)
    for law, solutions in (
        ("literals.csv", "formula.cnf"),
        ("literals.csv", "circuit.nnf"),
        ("logs.csv", "circuit.nnf"),
        ("weighted.cnf", None),
    ):
        more = {} if solutions is None else {"solutions": here / solutions}
        assert pdai.certify(samples, law=here / law, **more).interval.high < 0.09
        assert pdai.certify(coins(8_000), law=here / law, **more).interval.low > 0.13
    # The uniform law is uniform, whatever the formula says.
    made = pdai.certify(samples, law="uniform", solutions=here / "weighted.cnf")
    assert made.interval.low > 0.13


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", b"terminal\n1 -2 3 0\n"),
        ("s.jsonl", b"[1, -2, 3]\n"),
        ("s.jsonl", b'"1 -2 3 0"\n'),
        ("s.ndjson", b'{"terminal": [1, 0, 1]}\n'),
        ("-", b"[1, -2, 3]\n"),
        ("-", b'{"terminal": "101"}\n'),
        ("-", b"v 1 -2 3 0\n"),
    ],
)
def test_samples_are_read_from_files_and_streams(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    *head, line = content.splitlines(keepends=True)
    text = b"".join([*head, line * 500])
    if name != "-":
        (here / name).write_bytes(text)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    made = pdai.certify(here / name if name != "-" else name, law=here / "circuit.nnf")
    assert (made.regime, made.samples) == ("S", 500)
    assert made.interval.low > 0.7


def test_samples_are_arrays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.array(Circuit.read(here / "circuit.nnf").sample(8_000, 0))
    stream = io.BytesIO()
    np.save(stream, samples > 0)
    np.save(here / "s.npy", samples)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stream.getvalue())))
    for given in (samples, samples > 0, here / "s.npy", "-", (x for x in samples)):
        assert pdai.certify(given, law=here / "circuit.nnf").interval.high < 0.09
    numbers = np.random.default_rng(0).integers(0, 3, 8_000)
    (here / "law.csv").write_text("0,1\n1,1\n2,1\n")
    np.save(here / "s.npy", numbers)
    for given in (numbers, here / "s.npy"):
        assert pdai.certify(given, law=here / "law.csv").interval.high < 0.09


def test_a_circuit_is_a_problem_of_the_commands(here: Path) -> None:
    answer("solve", "circuit.nnf", "--out", "solved", cwd=here)
    said = answer("certify", "solved", "--certificate", "circuit.cert", cwd=here).stdout
    assert "circuit.cert: accepted" in said
    assert "(1, " in answer("sample", "solved", cwd=here).stdout
    assert "| 7 " in answer("inspect", "circuit.nnf", cwd=here).stdout.replace("│", "|")
    (here / "circuit.nnf").write_text(D4.replace("3 4 2 0", "3 4 2 3 0"))
    assert "problem circuit.nnf" in answer("certify", "solved", cwd=here, expect=2).stderr


def test_a_sampler_is_tested_against_a_circuit(here: Path) -> None:
    circuit, seeds = Circuit.read(here / "circuit.nnf"), iter(range(100))
    assert_law(lambda n: circuit.sample(n, next(seeds)), here / "circuit.nnf")
    with pytest.raises(AssertionError, match="another law"):
        assert_law(lambda n: coins(n, next(seeds)), here / "circuit.nnf")
    (here / "large.cnf").write_text("p cnf 20 0\n")
    (here / "large.nnf").write_text("nnf 1 0 20\nA 0\n")
    for law in ("large.cnf", "large.nnf"):
        with pytest.raises(InputError, match="more than 100,000 solutions"):
            assert_law(lambda n: [], here / law)


# More digits than Python reads as an integer.
MANY = "1" * 5_000

# The input, as files by name with their content; what is asked for; what is said of it.
REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"s.csv": "a\nb\n"}, "s.csv --law gone.csv", "'gone.csv' cannot be read"),
    ({"s.csv": "", "l.csv": "a,1\n"}, "s.csv --law l.csv", "'s.csv' has no samples"),
    ({"s.jsonl": "\n", "l.csv": "a,1\n"}, "s.jsonl --law l.csv", "has no samples"),
    ({"l.csv": "a,1\n"}, "- --law l.csv", "'-' has no samples"),
    (
        {"s.csv": "x\na\nb\nx\n", "l.csv": "a,1\nb,1\n"},
        "s.csv --law l.csv",
        "'s.csv': the sample 'x' is none of the problem's 2",
    ),
    ({"l.csv": "a,0\nb,0\n"}, "s.csv --law l.csv", "2 values whose weights sum to 0"),
    ({"l.csv": "value,log_weight\na,-inf\n"}, "s.csv --law l.csv", "1 values whose weights sum"),
    ({"l.csv": "value,log_weight\na,nan\n"}, "s.csv --law l.csv", "line 2: the log weight of 'a'"),
    ({"l.csv": ""}, "s.csv --law l.csv", "lists no value"),
    ({"l.csv": "value,weight\n"}, "s.csv --law l.csv", "lists no value"),
    ({"l.csv": "a,1\nb\n"}, "s.csv --law l.csv", "line 2 has 1 column, but must have a value and"),
    ({"l.csv": "a,1\nb,-1\n"}, "s.csv --law l.csv", "of 'b' is -1, but must be at least 0"),
    ({"l.csv": "a,nan\n"}, "s.csv --law l.csv", "line 1: the weight of 'a' is 'nan', .* a decimal"),
    ({"l.csv": "value,log_weight\na,0\nb,-2e6\n"}, "s.csv --law l.csv", "nats below the largest"),
    ({"l.csv": "a,1\na,2\n"}, "s.csv --law l.csv", "has the value 'a' twice"),
    ({"l.csv": "state\na\n"}, "s.csv --law uniform --support l.csv", "begins with 'state': if it"),
    ({"l.csv": "a\na\n"}, "s.csv --law uniform --support l.csv", "the value 'a' twice"),
    ({"l.csv": "value,p\na,1\n"}, "s.csv --law l.csv", "columns are named value and weight"),
    ({"l.jsonl": '{"value": "a"}\n'}, "s.csv --law l.jsonl", "has the columns value, but"),
    (
        {"l.jsonl": '{"a": 1}\n2\n'},
        "s.csv --law l.jsonl",
        "line 2 is 2, but must be an object with",
    ),
    ({"s.jsonl": "[1]\nnone\n", "l.csv": "a,1\n"}, "s.jsonl --law l.csv", "line 2 is no JSON"),
    (
        {"l.jsonl": '{"value": "a", "weight": 1, "weight": 3}\n'},
        "s.csv --law l.jsonl",
        "line 1 is no JSON \\(a key stands twice",
    ),
    ({"s.jsonl": "null\n", "l.csv": "a,1\n"}, "s.jsonl --law l.csv", "line 1 has null"),
    *(
        ({"s.csv": text, "l.csv": "a,1\n"}, "s.csv --law l.csv", "its header once more among its")
        for text in ("terminal\na\na\nterminal\na\n", "state,log_reward\na,0\n" * 2 + "a,0\n" * 9)
    ),
    (
        {"s.jsonl": '{"x": 1}\n', "l.csv": "a,1\n"},
        "s.jsonl --law l.csv",
        "has no samples|columns x",
    ),
    ({"s.npy": "no array", "l.csv": "a,1\n"}, "s.npy --law l.csv", "'s.npy' is no array of NumPy"),
    (
        {"s.csv": "terminal,log_p_f\na,0\n", "l.csv": "a,1\n"},
        "s.csv --law l.csv",
        "has the columns terminal, log_p_f, but must have",
    ),
    ({"s.csv": "1 2\n"}, "s.csv --law circuit.nnf", "no value of the variable 3"),
    ({"s.csv": "1 2 3 4\n"}, "s.csv --law circuit.nnf", "has the variable 4"),
    ({"s.csv": "-1 -2 -3\n"}, "s.csv --law circuit.nnf", "is none of the problem's 7"),
    (
        {"s.csv": "-1 -2 -3\n"},
        "s.csv --law circuit.nnf --max-states 3",
        "1 of 1 samples are not in",
    ),
    ({}, "s.csv --law uniform --solutions gone.cnf", "'gone.cnf' cannot be read"),
    ({}, "s.csv --law uniform --solutions formula.cnf --max-states 3", r"\(4 were counted\)"),
    ({"f.cnf": "p cnf 1 2\n1 0\n-1 0\n"}, "s.csv --law f.cnf", r"no solution \(0 were counted\)"),
    ({"l.csv": "a,1\n"}, "s.csv --law l.csv --solutions formula.cnf", "a weight is given to 'a'"),
    ({"l.csv": "4,1\n"}, "s.csv --law l.csv --solutions formula.cnf", "a weight is given to 4"),
    ({}, "s.csv --law circuit.nnf --solutions formula.cnf", "has solutions of its own"),
    ({}, "s.csv --solutions formula.cnf", "add law='uniform'"),
    ({}, "s.csv --law uniform --solutions formula.cnf --support s.csv", "leave one of the two out"),
    # Any other formula or circuit that is refused: tests/reference/test_circuits.py.
    ({"c.nnf": "nnf 2 2 1\nL 1\nA 2 0 0\n"}, "s.csv --law c.nnf", r"node 1 .* is not decomposable"),
    (
        {"f.cnf": f"c p weight 1 2 0\nc p weight 1 3 0\nc p weight -1 1 0\n{CNF}"},
        "s.csv --law f.cnf",
        "line 2 is .*, but must be one weight for each literal",
    ),
    (
        {"l.csv": "1,2\n01,3\n-1,1\n"},
        "s.csv --law l.csv --solutions formula.cnf",
        "the literal 1 has two weights",
    ),
    ({"l.csv": f"a,0.{MANY}\n"}, "s.csv --law l.csv", "must be a decimal number"),
    ({"s.csv": f"1 2 {MANY}\n"}, "s.csv --law circuit.nnf", "is no solution of"),
    ({"l.csv": "1 2 3,1\n"}, "s.csv --law l.csv --fail-above nan", "fail_above is nan"),
    ({"l.csv": "1 2 3,1\n"}, "s.csv --law l.csv --fail-above 5", "fail_above is 5"),
]


@pytest.mark.parametrize(("files", "words", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_bad_input_is_refused(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    words: str,
    message: str,
) -> None:
    (here / "s.csv").write_text("1 2 3\n" * 9)
    for name, text in files.items():
        (here / name).write_text(text)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    ask = ("certify", "--fail-above", "0.1", *words.split())
    said = answer(*ask, cwd=here, expect=3).stderr
    with pytest.raises(InputError, match=message):
        raise InputError(said.replace("\n", " "))


def test_a_line_of_json_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('"a\u2028b"\r\n' * 500, "utf-8")
    assert pdai.certify(tmp_path / "s.jsonl", law={"a\u2028b": 1}).samples == 500


@pytest.mark.parametrize("options", [{}, {"log_prob": lambda x: np.log(0.5)}])
def test_the_empty_tuple_is_a_value(options: dict[str, Any]) -> None:
    samples = [((), (1,))[bit] for bit in np.random.default_rng(0).integers(2, size=1_000)]
    made = pdai.certify(samples, law={(): 1, (1,): 1}, **options)
    assert made.interval.low == 0
    # Control: a law that excludes it.
    assert pdai.certify(samples, law={(): 0, (1,): 1}).interval.low > 0.3


def test_the_samples_of_a_large_circuit_that_are_not_used_are_named(here: Path) -> None:
    samples = Circuit.read(here / "circuit.nnf").sample(100, 0)
    made = pdai.certify(samples, law=here / "circuit.nnf", max_states=3, target=samples)
    assert any("samples of the target" in note and "not used" in note for note in made.notes)


@pytest.mark.parametrize(
    ("one", "other", "is_remarked"),
    [
        ("1", "01", True),
        ("a", "a ", True),
        ("1", "1.0", True),
        ("é", "e\u0301", True),
        ("1.05", "1.5", False),
        ("01", "10", False),
        ("0a", "a", False),
    ],
)
def test_two_values_that_may_be_one_are_remarked_on(
    one: str, other: str, is_remarked: bool, tmp_path: Path
) -> None:
    (tmp_path / "law.csv").write_text(f"{one},1\n{other},1\n", "utf-8")
    made = pdai.certify([one, other] * 9, law=tmp_path / "law.csv")
    assert any("if they are one, write it once" in note for note in made.notes) == is_remarked


def test_a_few_samples_outside_are_counted(here: Path) -> None:
    (here / "s.csv").write_text("1 2 3\n" * 900 + "-1 -2 -3\n" * 100)
    said = answer("certify", "s.csv", "--law", "circuit.nnf", cwd=here).stdout
    assert "100 of 1,000 samples are not terminal states" in said
    assert "such as '-1 -2 -3'" in said


def test_the_example_shows_the_fair_coin() -> None:
    right, wrong, exactly = certificates(8_000).values()
    assert right.interval.low == 0
    assert 0.03 < wrong.interval.low < 3 / 28 < wrong.interval.high
    assert exactly.tv == Fraction(3, 28)
