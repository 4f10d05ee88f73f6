"""The command line: help, refusals, whatever goes wrong, and the judge without JAX."""

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import warnings
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

import pdai
from fast.parts import BACKWARD, CHOICES, DYNAMICS, LOSSES
from pdai import cli, programs
from pdai.arguments import options_class, scan
from pdai.cli import GREETING
from pdai.commands.look import Check, Inspect
from pdai.parsing import COMMANDS, load_command
from reference import InputError
from reference.contract.errors import EXTRAS
from tests.command_lines import ROOT, answer, command, environment, python, understand

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


def test_each_command_has_examples() -> None:
    assert all(TRIED.values()), TRIED
    for name, lines in TRIED.items():
        assert all(line.split()[:2] == ["pdai", name] for line in lines)


@pytest.mark.parametrize("line", [*GREETED, *(line for lines in TRIED.values() for line in lines)])
def test_examples_are_understood(line: str) -> None:
    understand(shlex.split(line)[1:])


@pytest.mark.parametrize("part", CHOICES)
def test_the_summary_of_a_part_begins_its_docstring(part: str) -> None:
    for name, entry in CHOICES[part].entries.items():
        assert (CHOICES[part][name].__doc__ or "").startswith(entry.summary), name
        assert CHOICES[part][name].name == name


@pytest.mark.parametrize(
    ("line", "few", "rest", "parts"),
    [
        (
            "train six6 --dynamics gru",
            set(),
            {"--skip", "--replay", "--epsilon"},
            [(0, DYNAMICS), (0, LOSSES), (1, BACKWARD)],
        ),
        ("certify", {"--law", "--fail-above", "--support"}, {"--tighten", "--table"}, []),
    ],
)
def test_help_shows_the_parts_and_few_options_and_help_all_the_rest(
    line: str, few: set[str], rest: set[str], parts: list[Any], tmp_path: Path
) -> None:
    flags = ("--help", "--help-all")
    shown = [answer(*line.split(), flag, cwd=tmp_path).stdout for flag in flags]
    short, every = (set(re.findall(r"│\W*(--[a-z][a-z-]*)", text)) for text in shown)
    assert len(short - {*flags}) <= 12
    assert few <= short < every
    assert rest <= every - short
    words = [" ".join(text.replace("│", " ").split()) for text in shown]
    assert all(f"{name}: " in words[place] for place, kind in parts for name in kind)
    assert "--help-all shows every option" in words[0]


def test_the_common_options_have_the_defaults_of_the_parts() -> None:
    for line in ("lines", "six6 --dynamics gaussian", "graphs"):
        short = options_class(scan([*line.split(), "--help"], "six6", {}))().common
        every = options_class(scan(line.split(), "six6", {}))()
        full = {f.name: getattr(g, f.name) for g in vars(every).values() for f in fields(g)}
        assert all(full[name] == value for name, value in vars(short).items())


def test_help_shows_the_examples(tmp_path: Path) -> None:
    for name in ("report", "train"):
        shown = answer(name, "--help", cwd=tmp_path).stdout
        assert all(line in shown for line in TRIED[name]), shown


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
    "train grid --encoding=natrual": "did you mean natural?",
    "train grid --penalty hubr": "did you mean huber?",
    "sample runs/x --format cvs": "did you mean csv?",
    "verify --claim eq:marginal --write-notes notes.md": "leave out --claim",
    "verify --write-notes no/notes.md": "name a file",
    "verify --write-notes .": "name a file",
    "train six7": "no problem 'six7': did you mean six6? There are bits, graphs, grid,",
    "solve necklaces.py": "is a file: name the class in it, as necklaces:Name",
    "trian": "there is no command 'trian': did you mean train?",
    "reproduce tab:set": "no label of an experiment 'tab:set': did you mean tab:sets?",
    "inspect reference.problems:Gird": "has no attribute 'Gird': did you mean Grid?",
    "train lines --loss tbb": "loss is 'tbb' ... did you mean tb?",
    "inspect gridd": "there is no problem 'gridd': did you mean grid?",
    "inspect .:.": "'.:.' does not name a problem",
    "check ..:x": "'..:x' does not name a part",
    "inspect builtins:int": "'builtins:int' cannot be called without arguments",
    "train six6 --dynamics lstn": "'lstn' ... did you mean lstm? ... 'mingru', 'rnn', 'self-ref",
    "train lines --heads 2": "heads with dynamics markov, which has no such ... self-referential",
    "train six6 --side 4": "side is an option of grid, and not of six6",
    "train nowhere:It": "'nowhere' cannot be imported",
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
    "distribute grid": "rewards of grid do not split into factors: choose sets, pref",
    "train lines --length x": "--length INT",
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


INSPECT = ["inspect", "reference.problems:Grid"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_device_is_told_in_one_line() -> None:
    # The first fails when it ends, the second while it prints; the third prints what another has.
    for arguments in (INSPECT, ["train", "six6", "--help-all"], ["verify", "--controls"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                command(*arguments),
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert done.returncode == 1
        assert re.fullmatch(
            r"pdai: 'stdout' cannot be written \(No space left on device\): .*\n", done.stderr
        )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EIO, "bad"), "'stdout' cannot be written (bad): look at what"),
        (OSError(errno.ENOSPC, "full", "runs/a"), "'runs/a' cannot be used (full): free some"),
        (OSError(errno.ENAMETOOLONG, "long", "x" * 999), "(long): choose a shorter name"),
        (OSError(errno.EFBIG, "large", "a"), "(large): files may be no larger: raise the limit"),
    ],
    ids=str,
)
def test_errors_of_the_system_are_told_in_one_line(
    error: OSError, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: Inspect) -> None:
        raise error

    monkeypatch.setattr(Inspect, "run", fail)
    monkeypatch.setattr(cli, "_abandon_stdout", lambda: None)
    (line,) = answer(*INSPECT, cwd=tmp_path, expect=1).stderr.splitlines()
    assert message in line
    assert len(line) < 500


def test_ctrl_c_ends_a_command_also_where_python_swallows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Swallowing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def swallow(_: Inspect) -> None:
        Swallowing()

    monkeypatch.setattr(Inspect, "run", swallow)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    answer(*INSPECT, cwd=tmp_path, expect=130)


INTERRUPTED = """
import sys, signal
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from pdai.cli import main
main(["inspect", "reference.problems:Grid.minimal"])
"""


@pytest.mark.parametrize("module", ["reference", "fast.training", "tyro", "pdai.commands.look"])
def test_ctrl_c_while_modules_load_ends_without_a_traceback(module: str) -> None:
    done = python("-c", INTERRUPTED, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_working_directory_that_was_removed_is_told(tmp_path: Path) -> None:
    script = (
        "import os; os.rmdir(os.getcwd()); from pdai.cli import main; "
        "main(['inspect', 'reference.problems:Grid.minimal'])"
    )
    done = python("-c", script, cwd=tmp_path)
    assert done.returncode == 2
    words = "the working directory was removed: change to a folder that exists"
    assert done.stderr == f"pdai: {words}\n"


def test_python_keeps_programs_while_it_trains_unless_a_folder_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options: Any = jax.config
    usual = options.jax_compilation_cache_dir
    try:
        options.update("jax_compilation_cache_dir", None)
        for quiet in (False, True):
            with programs.kept_programs(quiet=quiet):
                jax.jit(lambda x: x + tmp_path.stat().st_ino)(1.0).block_until_ready()
            assert options.jax_compilation_cache_dir is None
        assert len(list((tmp_path / "pdai").glob("*lambda*cache"))) == 1
        assert capsys.readouterr().out.count("compiled programs are kept in") == 1
        # A folder of the user's own stands.
        options.update("jax_compilation_cache_dir", str(tmp_path / "mine"))
        with programs.kept_programs(quiet=False):
            assert options.jax_compilation_cache_dir == str(tmp_path / "mine")
        assert capsys.readouterr().out == ""
    finally:
        options.update("jax_compilation_cache_dir", usual)
        reset_cache()


def test_programs_are_kept_where_there_is_a_place_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, folder in (
        (str(tmp_path / "cache"), tmp_path / "cache" / "pdai"),
        ("", tmp_path / ".cache" / "pdai"),
        ("relative", tmp_path / ".cache" / "pdai"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert programs.cache_folder() == folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert programs.cache_folder() is None

    def warn(_: Inspect) -> None:
        for name in ("jit_f", "jit_g"):
            warnings.warn(f"Error reading persistent compilation cache entry {name}", stacklevel=1)

    monkeypatch.setattr(Inspect, "run", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = answer(*INSPECT, cwd=tmp_path).stderr
    assert shown.count("cannot be read or written") == 1


def test_help_is_there_and_says_what_a_kill_loses_and_what_a_table_holds(tmp_path: Path) -> None:
    for of in ([], ["train"], ["train", "grid"], ["certify"], ["plot"], ["verify"]):
        assert "usage: pdai" in answer(*of, "--help", cwd=tmp_path).stdout
    everything = answer("train", "pho4", "--help-all", cwd=tmp_path).stdout
    shown = " ".join(everything.replace("│", " ").split())
    assert "Steps between checkpoints, rounded up to hundreds" in shown
    assert re.search(r"archive with `?score`?.* `?alphabet`?.* and `?length`?", shown)


def test_an_environment_is_checked(tmp_path: Path) -> None:
    names = ["fast.environments:GridEnvironment", "--problem", "reference.problems:Grid.minimal"]
    shown = answer("check", *names, cwd=tmp_path).stdout
    assert "edges, all followed, undone and redone" in shown


@pytest.mark.parametrize(
    ("verdict", "facts"),
    [
        ("Mine learns a WRONG law [/b]", {"learns_the_target": False}),
        ("Mine learns the right law", {"learns_the_target": True, "left_out": 9}),
    ],
)
def test_that_a_loss_is_wrong_is_said_first_and_exits_with_1(
    verdict: str, facts: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = SimpleNamespace(verdict=verdict, **facts, rows=lambda: {"[b]": "1"})
    monkeypatch.setattr("pdai.checks.check", lambda *_: report)
    with pytest.raises(SystemExit) as ended:
        Check("my_module:Mine").run()
    assert ended.value.code == 1
    assert capsys.readouterr().out.split("\n")[0].strip() == verdict


# Runs lines, and looks at what they have loaded.
LIGHT = """
import sys
from pdai.cli import main

heavy, *lines = sys.argv[1:]
for line in lines:
    main(line.split())
loaded = {*heavy.split()} & {*sys.modules}
assert not loaded, loaded
print("light")
"""


@pytest.mark.parametrize(
    ("heavy", "lines"),
    [
        ("jax tyro numpy matplotlib", [""]),
        (" ".join([*EXTRAS, "fast.tasks"]), ["certify s.csv --law law.csv"]),
        ("jax", ["inspect reference.problems:Grid", "posterior my.csv --out answer"]),
        (
            "jax",
            [
                *("solve grid --side 4 --out run", "sample run", "sample run --exact"),
                *("certify run --proof run.json", "inspect run"),
            ],
        ),
    ],
    ids=["a greeting", "judging samples", "posteriors", "solving"],
)
def test_what_needs_no_training_loads_none_of_its_packages(
    heavy: str, lines: list[str], tmp_path: Path
) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\n")
    (tmp_path / "s.csv").write_text("\n".join(np.random.default_rng(0).choice([*"ab"], 100)))
    (tmp_path / "my.csv").write_text("a,b\nx,p\ny,q\nx,q\ny,p\n")
    done = python("-c", LIGHT, heavy, *lines, cwd=tmp_path)
    assert done.stdout.endswith("light\n"), done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("ask", [("train", "lines"), ("verify", "--claim", "prop:lines")])
def test_what_is_missing_is_named(ask: tuple[str, ...], tmp_path: Path) -> None:
    missing = (
        f"import sys; sys.modules.update(dict.fromkeys({[*EXTRAS]})); from pdai.cli import main"
    )
    done = python("-c", f"{missing}; main({[*ask]})", cwd=tmp_path)
    assert done.returncode == 2
    words = rf"pdai: this needs \w+, which .* pip install .* -e '\.\[{ask[0]}\]'"
    assert re.match(words, done.stderr)
    assert done.stderr.count("\n") == 1


def test_what_is_missing_is_named_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pdai.front", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    # A module of another name is no part of an extra.
    with pytest.raises(ModuleNotFoundError, match=r"pdai\.front"):
        _ = pdai.train
    monkeypatch.setattr("reference.contract.errors.EXTRAS", {**EXTRAS, "pdai": "train"})
    with pytest.raises(InputError, match=r"this needs pdai.*pip install .* -e '\.\[train\]'"):
        _ = pdai.train


def test_the_extra_brings_what_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {
        re.split(r"\W", line)[0]: extra
        for extra in ("train", "verify", "experiments")
        for line in extras[extra]
    }
    assert named | {"jaxlib": "train"} == {"pdai": "experiments", **EXTRAS}
    assert "pdai[verify,docs,experiments]" in extras["dev"]
    judge = {re.split(r"\W", line)[0] for line in project["dependencies"]}
    assert judge == {"numpy", "scipy", "python", "lazy", "tyro", "rich", "typing_extensions"}
