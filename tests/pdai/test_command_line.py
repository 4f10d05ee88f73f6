"""The command line: what `pdai` says of itself, and the lines that it refuses."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import pytest

from fast.parts import BACKWARD, CHOICES, DYNAMICS, LOSSES
from pdai.arguments import options_class, scan
from pdai.cli import GREETING
from pdai.parsing import COMMANDS, load_command
from tests.command_lines import answer, understand

GREETED = re.findall(r"^  (pdai .*?)  ", GREETING, re.MULTILINE)
TRIED = {
    command: re.findall(r"^ +(pdai .*)$", load_command(command, ()).__doc__ or "", re.MULTILINE)
    for command in COMMANDS
}


def test_alone_it_says_seven_things_to_do(tmp_path: Path) -> None:
    assert answer(cwd=tmp_path).stdout == GREETING
    assert len(GREETED) == 7
    assert max(map(len, GREETING.splitlines())) < 100


def test_its_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert answer("--version", cwd=tmp_path).stdout == f"pdai {version('pdai')}\n"


def test_a_greeting_loads_nothing_heavy() -> None:
    heavy = "{'jax', 'tyro', 'numpy', 'matplotlib'} & set(sys.modules)"
    code = f"import sys; from pdai.cli import main; main([]); sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_command_has_examples() -> None:
    assert all(TRIED.values()), TRIED
    for command, lines in TRIED.items():
        assert all(line.split()[:2] == ["pdai", command] for line in lines)


@pytest.mark.parametrize("line", [*GREETED, *(line for lines in TRIED.values() for line in lines)])
def test_examples_are_understood(line: str) -> None:
    understand(shlex.split(line)[1:])


@pytest.mark.parametrize("part", CHOICES)
def test_the_summary_of_a_part_begins_its_docstring(part: str) -> None:
    for name, entry in CHOICES[part].entries.items():
        assert (CHOICES[part][name].__doc__ or "").startswith(entry.summary), name
        assert CHOICES[part][name].name == name


def test_help_shows_the_parts_and_few_options_and_help_all_the_rest(
    tmp_path: Path,
) -> None:
    options, words = {}, {}
    for flag in ("--help", "--help-all"):
        shown = answer("train", "six6", "--dynamics", "gru", flag, cwd=tmp_path).stdout
        options[flag] = set(re.findall(r"│\W*(--[a-z][a-z-]*)", shown))
        words[flag] = " ".join(shown.replace("│", " ").split())
    few, every = options["--help"], options["--help-all"]
    assert len(few - {"--help", "--help-all"}) <= 12
    assert few < every
    assert {"--skip", "--replay", "--epsilon"} <= every - few
    for flag, kind in (("--help", DYNAMICS), ("--help", LOSSES), ("--help-all", BACKWARD)):
        assert all(f"{name}: " in words[flag] for name in kind)
    assert "--help-all shows every option" in words["--help"]


def test_help_of_certify_shows_few_options_and_help_all_the_rest(tmp_path: Path) -> None:
    options = []
    for flag in ("--help", "--help-all"):
        shown = answer("certify", flag, cwd=tmp_path).stdout
        assert "--help-all shows every option" in " ".join(shown.split())
        options.append(set(re.findall(r"│ (--[a-z][a-z-]*)", shown)))
    assert len(options[0]) <= 12
    assert options[0] < options[1]
    assert {"--law", "--fail-above", "--solutions"} <= options[0]
    assert {"--tighten", "--keep", "--table"} <= options[1] - options[0]


def test_the_common_options_have_the_defaults_of_the_parts() -> None:
    for line in ("lines", "six6 --dynamics gaussian", "graphs"):
        scanned = scan([*line.split(), "--help"], "six6")
        short = options_class(scanned, {})().common
        every = options_class(scanned._replace(asks_help=False), {})()
        full = {f.name: getattr(g, f.name) for g in vars(every).values() for f in fields(g)}
        assert all(full[name] == value for name, value in vars(short).items())


def test_help_shows_the_examples(tmp_path: Path) -> None:
    for command in ("report", "train"):
        shown = answer(command, "--help", cwd=tmp_path).stdout
        assert all(line in shown for line in TRIED[command]), shown


GRID = "reference.problems:Grid.minimal"
OWN = "tests.pdai.test_solve"
REFUSED = {
    "solve six7": "six6",
    f"solve {OWN}:Cycle": "cycle",
    f"solve {OWN}:Nothing": "is 0",
    f"solve {OWN}:Endless --max-states 1000": "more than 1,000 states",
    f"solve {OWN}:Fork --way closed-form": "no closed form",
    "solve preference --dimension 9 --bound 9": "pdai train preference",
    "solve grid --way listed --side 3000": "--max-states",
    "solve custom": "--problem",
    "solve grid --side 1": "side",
    "distribute custom --problem " + GRID: "Grid does not split into factors",
    "stream --workers 0": "workers is 0",
    "stream --resume nowhere": "'nowhere' does not exist",
    "distribute --resume nowhere sets --clients 7": "--resume continues an",
    "stream --resume nowhere sets": "leave the problem and its options out",
    "reproduce tab:sets --jobs 0 --out out": "jobs is 0",
    "train six6 --steps 0": "pdai: steps is 0, but must be at least 1",
    "train lines --loss subtb --subtb-lambda 2": "subtb_lambda is 2.0, but must lie in (0, 1]",
    "train grid --encoding=natrual": "did you mean natural?",
    "train grid --penalty hubr": "did you mean huber?",
    "sample runs/x --format cvs": "did you mean csv?",
    "verify --claim eq:marginal --write-notes notes.md": "leave out --claim",
    "verify --write-notes no/notes.md": "name a file",
    "verify --write-notes .": "name a file",
    "train six7": "no problem 'six7': did you mean six6? There are bits, graphs, grid,",
    "trian": "there is no command 'trian': did you mean train?",
    "reproduce tab:set": "no label of an experiment 'tab:set': did you mean tab:sets?",
    "inspect reference.problems:Gird": "has no attribute 'Gird': did you mean Grid?",
    "train lines --loss tbb": "loss is 'tbb' ... did you mean tb?",
    "inspect .:.": "'.:.' does not name a problem",
    "check ..:x": "'..:x' does not name a part",
    "inspect builtins:int": "'builtins:int' cannot be called without arguments",
    "train six6 --dynamics lstn": "'lstn' ... did you mean lstm? ... 'mingru', 'rnn', 'self-ref",
    "train six6 --dynamics gcn": "graph networks read graphs",
    "train lines --heads 2": "heads with dynamics markov, which has no such ... self-referential",
    "train custom --problem nowhere:It": "'nowhere' cannot be imported",
    "train nowhere:It": "'nowhere' cannot be imported",
    "sample run --correct 2 --exact": "leave it, or --exact, out",
    "train ising --dynamics gru --p-b lifted": "its mass bends the target ... --max-states",
    "check a:b --problem reference.problems:Grid.minimal": "the module 'a' cannot be imported",
    "train --resume nowhere": "'nowhere' does not exist",
    "train --resume nowhere lines": "--resume continues a run with the options",
    "train --steps 400": "name the problem first",
    "plot": "no run folder given",
    # Of any kind.
    "sample " + "x" * 5_000: "pdai: ",
    "plot \udcff": "pdai: ",
}
# These show the command's options as well.
EXPLAINED = {
    "train six6 --dynamic srwm": "--dynamic ... Perhaps you meant ... --dynamics",
    "distribute grid": "sets, preference, syn, custom",
    "train lines --length x": "--length INT",
    "train --teach lines": "custom",
    "report runs/lines-gru-0 --output lines.html": "--out",
}


@pytest.mark.parametrize(("line", "words"), [*REFUSED.items(), *EXPLAINED.items()])
def test_a_line_is_refused_in_words_that_help_before_anything_is_done(
    line: str, words: str, tmp_path: Path
) -> None:
    said = answer(*line.split(), cwd=tmp_path, expect=2)
    text = " ".join(said.stderr.split())
    assert [part for part in words.split(" ... ") if part not in text] == []
    # Before it a training says where, and that it may not be needed.
    lines = [x for x in said.stderr.splitlines() if not x.startswith(("on cpu", "hint: "))]
    assert len(lines) == 1 or line in EXPLAINED
    assert said.stdout == ""
    assert list(tmp_path.iterdir()) == []
