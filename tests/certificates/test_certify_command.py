"""The command `pdai certify`, and the page that explains it."""

import csv
import inspect
import json
import math
import os
import random
import re
import resource
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fast.laws.samples import Samples
from pdai.certifying.objects import certify_object
from pdai.certifying.policy import certify_policy
from pdai.certifying.run import certify_run
from pdai.certifying.samples import certify_samples
from pdai.commands.certify import OWN, Certify
from pdai.show.sample_tables import sample_table
from reference.bounds import tv_bound
from reference.certificates.betting import BETS
from reference.certificates.statement import FLOAT_INPUT
from reference.contract.errors import printable
from tests.certificates.problems import ENDS
from tests.command_lines import answer

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "certify.md").read_text() + (DOCS / "records" / "certify.md").read_text()
MODULE = """
import numpy as np

from tests.certificates.problems import GRID, uniform

Posterior, policy = GRID, uniform(GRID)

def off(state):
    return [0.5] * len(GRID.children(state))

def thirds(state):
    return ["1/3", "2/3"]

def features(x):
    return {"x is 0": float(x.coordinates[0] == 0)}

class Two:
    initial = "o"

    def children(self, state):
        return {"o": ("a", "b"), "a": ("x",), "b": ("x",)}.get(state, ())

    def parents(self, state):
        return ("a", "b") if state == "x" else ("o",)

    def reward(self, terminal):
        return 1

def one_way(state):
    return [0.999, 0.001] if state == "o" else [1.0]

class Ring:
    def __init__(self, form=list):
        self.form = form

    def draw(self, count):
        return self.form(np.random.default_rng(0).integers(3, size=count))

class Endless:
    def draw(self, count):
        rng = np.random.default_rng(0)
        while True:
            yield rng.integers(3)

a_list, an_array, an_iterator, endless = Ring(), Ring(np.asarray), Ring(iter), Endless()
short, nothing = Ring(lambda draws: draws[:-1]), Ring(lambda draws: None)
"""
PROBLEM = ("--problem", "certified_module:Posterior")
COUNTED = ("certify", "x.csv", "--law", "law.csv")
POLICY = ("certify", "certified_module:policy", *PROBLEM)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "certified_module.py").write_text(MODULE)
    return tmp_path


def test_a_distance_of_trajectories_alone_does_not_exceed_a_limit(here: Path) -> None:
    """One terminal is drawn rightly whichever way: TV of the two ways is 0.499."""
    ask = ("certify", "certified_module:one_way", "--problem", "certified_module:Two")
    answer(*ask, "--fail-above", "0.1", cwd=here, expect=0)
    said = answer(*ask, "--fail-above", "0.1", "--regime", "Z", cwd=here, expect=2)
    assert "--fail-above 0.1: undecided" in said.stderr


@pytest.mark.catches(
    "TV that is at least so small exits as one that is at most so large.",
    "pdai/commands/certify.py",
    "0 if high <= self.fail_above",
    "0 if low <= self.fail_above",
)
@pytest.mark.catches(
    "TV that may be above a limit exits as one that is.",
    "pdai/commands/certify.py",
    "is_above = low > self.fail_above",
    "is_above = high > self.fail_above",
)
@pytest.mark.catches(
    "A draw of probability 0 leaves it open whether TV is 0.",
    "pdai/commands/certify.py",
    " or (made.impossible > 0 and self.fail_above == 0)",
    "",
)
@pytest.mark.parametrize(
    ("counts", "codes"),
    [
        # The law has a and b, as likely: TV is 1/4, 0, and above 0 by far less than is measured.
        ("a,15000\nb,5000", {"0": 1, "0.2": 1, "0.25": 2, "0.3": 0, "1.5": 3}),
        ("a,10000\nb,10000", {"0": 2, "0.001": 2, "0.1": 0}),
        ("a,10000\nb,10000\nc,1", {"0": 1, "0.001": 2, "0.1": 0}),
        ("a,10000\nb,10000\nz,1", {"0": 1, "0.001": 2, "0.1": 0}),
        # Most draws are impossible, and one that the law does not have may be written otherwise.
        ("a,1\nb,1\nc,10000", {"0": 1, "0.5": 1}),
        ("a,1\nb,1\nz,10000", {"0": 3}),
        ("a,10000\nb,10000\nb ,1", {"0": 3}),
    ],
)
def test_the_status_says_on_which_side_of_a_limit_tv_is(
    counts: str, codes: dict[str, int], tmp_path: Path
) -> None:
    (tmp_path / "law.csv").write_text("value,weight\na,1\nb,1\nc,0")
    (tmp_path / "x.csv").write_text(f"terminal,count\n{counts}")
    for limit, code in codes.items():
        answer(*COUNTED, "--fail-above", limit, cwd=tmp_path, expect=code)


@pytest.mark.parametrize("draw", ["c", "z"])
def test_an_impossible_draw_beside_log_prob_is_wrong_for_certain(draw: str, tmp_path: Path) -> None:
    """It was refused, with the advice to write it as the problem does."""
    (tmp_path / "law.csv").write_text("value,weight\na,1\nb,1\nc,0")
    lines = ["a,-0.7", "b,-0.7"] * 1_500
    random.Random(0).shuffle(lines)
    (tmp_path / "x.csv").write_text("\n".join(["terminal,log_prob", *lines, f"{draw},-6"]))
    said = answer(*COUNTED, "--fail-above", "0", cwd=tmp_path, expect=1).stdout
    assert said.startswith("wrong for certain: 1 of 3,001 draws has target probability 0")
    assert "log_prob is not used" in " ".join(said.split())


def test_no_verdict_is_the_status_three_whatever_is_asked(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("value,weight\na,1\nb,1\nc,0")
    (tmp_path / "x.csv").write_text("a\nb\n" * 2_000)
    assert "no verdict" in answer(*COUNTED, cwd=tmp_path, expect=3).stderr
    asked = answer(*COUNTED, "--if-independent", "--fail-above", "0.001", cwd=tmp_path, expect=2)
    assert "undecided, if the samples are independent" in asked.stderr


def test_a_draw_of_probability_zero_is_the_first_thing_that_is_said(tmp_path: Path) -> None:
    """PyTorch drew a value of weight 0 once in 9,923,822 times, and TV was far below any bound."""
    (tmp_path / "law.csv").write_text("value,weight\na,1\nb,1\nc,0")
    (tmp_path / "x.csv").write_text("terminal,count\na,500000\nb,500000\nc,1")
    said = answer(*COUNTED, "--fail-above", "0.01", cwd=tmp_path, expect=0)
    words = "1 of 1,000,001 draws has target probability 0, such as 'c'"
    assert said.stdout.startswith(f"wrong for certain: {words} (exact)\n")
    verdict = "--fail-above 0.01: TV is at most that, if the samples are independent"
    assert said.stderr == f"{verdict}; wrong for certain: {words}\n"
    assert "TV is above 0: some set of terminals is likelier" in " ".join(said.stdout.split())
    stored = json.loads(answer(*COUNTED, "--json", cwd=tmp_path).stdout)
    assert (stored["impossible"], stored["interval"][0]) == (1, 0.0)
    assert stored["lines"][0] == {"name": "wrong for certain", "value": words, "kind": "exact"}


@pytest.mark.catches(
    "An object that draws is taken for a sampler of trajectories.",
    "pdai/certifying/certify.py",
    "if isinstance(what, Sampler) or (",
    "if isinstance(what, Sampler | Draws) or (",
)
def test_an_object_that_draws_is_asked_for_as_many_as_are_wanted(here: Path) -> None:
    """The four values of the law are equally likely, and the object never gives the last: 1/4."""
    (here / "ring.csv").write_text("0,1\n1,1\n2,1\n3,1\n")
    ask = ("--law", "ring.csv", "--samples", "5000", "--json", "--fail-above", "0.1")
    intervals = []
    for name in ("a_list", "an_array", "an_iterator", "endless"):
        said = answer("certify", f"certified_module:{name}", *ask, cwd=here, expect=1)
        made = json.loads(said.stdout)
        assert (made["samples"], made["of"]) == (5_000, "terminals")
        intervals.append(made["interval"])
    low, high = intervals[0]
    assert 0.2 < low <= 0.25 <= high
    assert intervals[:3] == [intervals[0]] * 3
    for name, words in (("short", "gives 4,999 draws"), ("nothing", "gives None")):
        said = answer("certify", f"certified_module:{name}", *ask, cwd=here, expect=3)
        assert f"Ring: draw(5000) {words}, but must give as many" in said.stderr


def test_the_nearest_of_many_features_are_counted_and_not_printed(here: Path) -> None:
    many = 'many = lambda x: {f"f{i}": float(x.coordinates[0] == i) for i in range(40)}'
    (here / "many.py").write_text(many)
    printed = answer(*POLICY, "--features", "many:many", cwd=here).stdout
    assert printed.count(": sampler") == printed.count(": target") == 36
    assert "8 lines of the nearest features are left out" in " ".join(printed.split())
    stored = json.loads(answer(*POLICY, "--features", "many:many", "--json", cwd=here).stdout)
    assert sum(": sampler" in line["name"] for line in stored["lines"]) == 40


def test_fractions_in_a_file_are_exact_and_a_distance_of_0_is_not_above_0(here: Path) -> None:
    """A sampler in fractions that equals its law had TV 1.11022e-17 (exact), and exit code 1."""
    (here / "law.csv").write_text("value,weight\na,117/220\nb,117/110\n")
    ask = ("certify", "certified_module:thirds", "--law", "law.csv", "--fail-above", "0")
    assert "TV of terminals 0 (exact)" in answer(*ask, cwd=here, expect=0).stdout
    (here / "law.csv").write_text("value,weight\na,117/220\nb,103/220\n")
    assert (
        "TV of terminals 131/660, about 0.198485 (exact)" in answer(*ask, cwd=here, expect=1).stdout
    )
    (here / "law.csv").write_text("value,weight\na,1/0\nb,1\n")
    assert "must be a decimal number, or a fraction" in answer(*ask, cwd=here, expect=3).stderr


def test_everything_that_is_known_is_printed_and_written(here: Path) -> None:
    more = ("--features", "certified_module:features", "--table", "law.csv", "--out", "report.json")
    printed = answer(*POLICY, *more, cwd=here).stdout
    # The verdict comes first.
    assert re.match(r"\s*TV of terminals 0\.\d+ \(exact for float64 input\): cert", printed)
    assert "E: everything is enumerated" in printed
    report = json.loads((here / "report.json").read_text())
    with (here / "law.csv").open() as file:
        rows = list(csv.DictReader(file))
    exact = [(Fraction(row["p_T_exact"]), Fraction(row["target_exact"])) for row in rows]
    assert sum(abs(p - pi) for p, pi in exact) / 2 == Fraction(report["tv"])
    for row, (p, pi) in zip(rows, exact, strict=True):
        numbers = [float(row[name]) for name in ("p_T", "target", "difference")]
        assert numbers == [float(p), float(pi), float(p - pi)]
    assert {row["state"] for row in rows} == {*map(str, ENDS)}
    assert {line["kind"] for line in report["lines"]} == {"exact", FLOAT_INPUT, "float64"}
    bounds = ("--regime", "Z", "--samples", "5000", "--log-z", "0.625", "0.75")
    printed = answer(*POLICY, *bounds, cwd=here).stdout
    assert re.search(r"log Z, nats\D+\[0.625, 0.75\] \(as given\)", printed)
    assert "level of each bound" in printed


def test_a_certificate_is_written_and_sampled(here: Path) -> None:
    proved = answer(*POLICY, "--proof", "grid.cert", cwd=here)
    assert "grid.cert: accepted by" in proved.stdout
    sampled = answer("sample", "--certificate", "grid.cert", "--count", "20", cwd=here)
    assert len(sampled.stdout.splitlines()) == 20
    for wrong in (["sample"], ["sample", "run", "--certificate", "grid.cert"]):
        assert "give one of the two" in answer(*wrong, cwd=here, expect=2).stderr


@pytest.mark.parametrize("option", ["--proof", "--table", "--out"])
def test_outputs_replace_links_refuse_pipes_and_are_named_where_the_disk_is_full(
    option: str, here: Path
) -> None:
    (here / "outside").write_text("mine")
    for name in ("out", "out.partial", f"out.{os.getpid()}.partial"):
        (here / name).symlink_to(here / "outside")
    answer(*POLICY, option, "out", cwd=here)
    assert (here / "outside").read_text() == "mine"
    assert not (here / "out").is_symlink()
    os.mkfifo(here / "pipe")
    # Of files, not of pipes such as those that pytest may print to.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, limit, why in (("pipe", soft, "is a pipe"), ("full", 10, r"\(File too large\)")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            refused = answer(*POLICY, option, name, cwd=here, expect=2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert re.search(rf"^pdai: '{name}' .*{why}", refused.stderr)
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
def test_names_are_no_markup_and_no_escape_codes(name: str, tmp_path: Path) -> None:
    module = f"named_{name.encode(errors='surrogateescape').hex()}"
    (tmp_path / f"{module}.py").write_text(NAMED.format(name=name))
    problem, file = f"{module}:Problem", f"{name.replace('/', '')}.csv"
    samples = "terminal\n" + f"a{name}\nb{name}\n" * 9
    (tmp_path / file).write_text(samples, errors="surrogateescape")
    policy = ("certify", "tests.certificates.problems:half", "--problem", problem)
    seen = [
        answer(*command, cwd=tmp_path).stdout
        for command in (
            (*policy, "--table", "law.csv", "--features", f"{module}:features"),
            ("inspect", problem, "--draw", "problem.svg"),
            *([("certify", file, "--problem", problem)] if name != "\udcff" else []),
        )
    ]
    assert all("\x1b" not in text and "\u202e" not in text for text in seen)
    assert printable(name) in seen[0]
    assert printable(file) in seen[-1] or name == "\udcff"
    regime = ("certify", file, "--problem", problem, "--regime", "E")
    assert "\x1b" not in answer(*regime, cwd=tmp_path, expect=2).stderr
    assert (tmp_path / "law.csv").read_bytes().count(b"\n") == 3


def test_half_a_character_can_be_written_in_a_table() -> None:
    samples = Samples(["\udcff"], *np.zeros((3, 1)))
    assert b"\n\\udcff,0.0" in sample_table(samples, "csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("certified_module:off", "sums to 1.5, not to 1"),
        ("certified_module:policy --log-z 1 2 3", "must be a finite number, or two bounds"),
        ("certified_module:policy --regime Z --table x.csv", "leave it out"),
        ("certified_module:policy --out no/where.json", "its folder does not exist"),
        ("certified_module:policy --proof no/where", "its folder does not exist"),
        ("certified_module:missing", "has no attribute 'missing'"),
        ("nothing.csv", "'nothing.csv' cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exits_with_two(arguments: str, words: str, here: Path) -> None:
    asked = ("certify", *arguments.split(), *PROBLEM, "--samples", "99")
    error = answer(*asked, cwd=here, expect=2).stderr
    assert words in error
    assert error.count("\n") == 1


def test_the_numbers_of_the_page() -> None:
    assert f"{len(BETS)} `kappa`" in PAGE
    assert f"{tv_bound(0.2):.4f}" in PAGE
    assert f"{1 - math.exp(-0.2):.4f}" in PAGE


JUDGES = (certify_run, certify_policy, certify_samples, certify_object)
# Given in Python alone, or to every kind of sampler by `certify` itself.
IN_PYTHON, OF_TARGETS = {"mode_states", "drawn"}, {"problem", "law", "support", "theorem"}


@pytest.mark.catches(
    "A default of the command is another one than that of the function.",
    "pdai/commands/certify.py",
    "    samples: int = 100_000",
    "    samples: int = 10_000",
)
def test_the_options_of_the_command_are_those_of_the_functions() -> None:
    read = [[*inspect.signature(judge).parameters.values()][1:] for judge in JUDGES]
    ours = {part.name: part.default for part in fields(Certify) if part.name not in OWN}
    defaults = {x.name: x.default for parameters in read for x in parameters}
    assert ours.keys() - OF_TARGETS == defaults.keys() - IN_PYTHON - {"problem"}
    for parameters in read:
        for one in parameters:
            assert ours.get(one.name, one.default) == one.default
