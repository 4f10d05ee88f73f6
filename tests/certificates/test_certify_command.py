"""The command `pdai certify`, and the page that explains it."""

import csv
import json
import math
import os
import re
import resource
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fast.laws.samples import Samples
from pdai.cli import main
from pdai.parsing import parse
from pdai.show.sample_tables import sample_table
from reference.bounds import tv_bound
from reference.certificates.betting import BETS
from reference.errors import printable
from reference.problems import Grid, enumerate_dag

PAGE = (Path(__file__).parents[2] / "docs" / "certify.md").read_text()
MODULE = """
from reference.problems import Grid, enumerate_dag

class Posterior(Grid):
    def __init__(self):
        super().__init__(3, 2)

def policy(state):
    children = Posterior().children(state)
    return [1 / len(children)] * len(children)

def off(state):
    return [0.5] * len(Posterior().children(state))

def features(x):
    return {"x is 0": float(x.coordinates[0] == 0)}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "certified_module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_that_is_known_is_printed_and_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["certify", "certified_module:policy", "--problem", "certified_module:Posterior"]
    more = ["--features", "certified_module:features", "--table", "law.csv", "--out", "report.json"]
    main([*arguments, *more])
    printed = capsys.readouterr().out
    assert "E: everything is enumerated" in printed
    assert re.search(r"TV of terminals\D+0\.\d+ \(exact\)", printed)
    report = json.loads((here / "report.json").read_text())
    with (here / "law.csv").open() as file:
        rows = list(csv.DictReader(file))
    exact = [(Fraction(row["p_T_exact"]), Fraction(row["target_exact"])) for row in rows]
    assert sum(abs(p - pi) for p, pi in exact) / 2 == Fraction(report["tv"])
    for row, (p, pi) in zip(rows, exact, strict=True):
        numbers = [float(row[name]) for name in ("p_T", "target", "difference")]
        assert numbers == [float(p), float(pi), float(p - pi)]
    dag = enumerate_dag(Grid(3, 2))
    assert {row["state"] for row in rows} == {str(dag.labels[x]) for x in dag.terminals}
    assert {line["kind"] for line in report["lines"]} == {"exact", "float64"}
    main([*arguments, "--regime", "Z", "--samples", "5000", "--log-z", "0.75", "0.875"])
    printed = capsys.readouterr().out
    assert re.search(r"log Z, nats\D+\[0.75, 0.875\] \(as given\)", printed)
    assert "level of each bound" in printed


def test_a_certificate_is_written_and_sampled(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["certify", "certified_module:policy", "--problem", "certified_module:Posterior"]
    main([*arguments, "--proof", "grid.cert"])
    assert "grid.cert: accepted by" in capsys.readouterr().out
    capsys.readouterr()
    main(["sample", "--certificate", "grid.cert", "--count", "20"])
    assert len(capsys.readouterr().out.splitlines()) == 20
    for wrong in (["sample"], ["sample", "run", "--certificate", "grid.cert"]):
        with pytest.raises(SystemExit):
            main(wrong)
        assert "give one of the two" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--proof", "--table", "--out"])
def test_outputs_replace_links_refuse_pipes_and_are_named_where_the_disk_is_full(
    option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["certify", "certified_module:policy", "--problem", "certified_module:Posterior"]
    (here / "outside").write_text("mine")
    for name in ("out", "out.partial", f"out.{os.getpid()}.partial"):
        (here / name).symlink_to(here / "outside")
    main([*command, option, "out"])
    assert (here / "outside").read_text() == "mine"
    assert not (here / "out").is_symlink()
    os.mkfifo(here / "pipe")
    # Of files, not of pipes such as those that pytest may print to.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, limit, why in (("pipe", soft, "is a pipe"), ("full", 10, r"\(File too large\)")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(SystemExit) as stop:
                main([*command, option, name])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert stop.value.code == 2
        assert re.search(rf"^pdai: '{name}' .*{why}", capsys.readouterr().err)
    assert not list(here.glob("full*"))


NAMED = """
NAME = {name!r}

class Problem:
    initial = ""

    def children(self, state):
        return ["a" + NAME, "b" + NAME] if state == "" else []

    def reward(self, terminal):
        return 1

if NAME.isprintable():
    Problem.__name__ = NAME

def features(x):
    return {{NAME: 0.5}}
"""


@pytest.mark.parametrize(
    "name", ["[/b]", "[a]", "[link=http://evil]x", ":smile:", "\x1b[31m", "\u202e", "\udcff"]
)
def test_names_are_no_markup_and_no_escape_codes(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"named_{name.encode(errors='surrogateescape').hex()}"
    (here / f"{module}.py").write_text(NAMED.format(name=name))
    problem, file = f"{module}:Problem", f"{name.replace('/', '')}.csv"
    (here / "policy.py").write_text("def half(state):\n    return [0.5, 0.5]\n")
    (here / file).write_text("terminal\n" + f"a{name}\nb{name}\n" * 9, errors="surrogateescape")
    outputs = ["--table", "law.csv", "--features", f"{module}:features"]
    seen = []
    for command in (
        ["certify", "policy:half", "--problem", problem, *outputs],
        ["inspect", problem, "--draw", "problem.svg"],
        *([["certify", file, "--problem", problem]] if name != "\udcff" else []),
    ):
        main(command)
        seen.append(capsys.readouterr().out)
    assert all("\x1b" not in text and "\u202e" not in text for text in seen)
    assert printable(name) in seen[0]
    assert printable(file) in seen[-1] or name == "\udcff"
    with pytest.raises(SystemExit):
        main(["certify", file, "--problem", problem, "--regime", "E"])
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert (here / "law.csv").read_bytes().count(b"\n") == 3


def test_the_verdict_comes_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["certify", "certified_module:policy", "--problem", "certified_module:Posterior"])
    assert re.match(r"\s*TV of terminals 0\.\d+ \(exact\): cert", capsys.readouterr().out)


def test_half_a_character_can_be_written_in_a_table() -> None:
    samples = Samples(["\udcff"], *np.zeros((3, 1)))
    assert b"\n\\udcff,0.0" in sample_table(samples, "csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["certified_module:off"], "sums to 1.5, not to 1"),
        (
            ["certified_module:policy", "--log-z", "1", "2", "3"],
            "give a number, or a lower and an upper one",
        ),
        (["certified_module:policy", "--regime", "Z", "--table", "x.csv"], "leave it out"),
        (["certified_module:policy", "--out", "no/where.json"], "its folder does not exist"),
        (["certified_module:missing", "--proof", "no/where"], "its folder does not exist"),
        (["certified_module:missing"], "has no attribute 'missing'"),
        (["nothing.csv"], "'nothing.csv' cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exits_with_two(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["certify", *arguments, "--problem", "certified_module:Posterior", "--samples", "99"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("line", re.findall(r"^pdai (.*)$", PAGE, re.MULTILINE))
def test_the_commands_of_the_page_are_understood(line: str) -> None:
    assert parse(shlex.split(line)).sampler


def test_the_numbers_of_the_page() -> None:
    assert f"{len(BETS)} `kappa`" in PAGE
    assert f"{tv_bound(0.2):.4f}" in PAGE
    assert f"{1 - math.exp(-0.2):.4f}" in PAGE
