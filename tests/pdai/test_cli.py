"""The command line: one clear message for whatever goes wrong, and Ctrl-C at any time."""

import errno
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdai import cli
from pdai.commands.look import Check, Inspect
from tests.command_lines import answer, command, environment, python

INSPECT = ["inspect", "reference.problems:Grid"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_device_is_told_in_one_line() -> None:
    # One fails when it ends, the other while it prints.
    for arguments in (INSPECT, ["train", "six6", "--help-all"]):
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
    assert done.stderr == (
        "pdai: the working directory was removed: change to a folder that exists\n"
    )


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
        assert cli.cache_folder() == folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cli.cache_folder() is None

    def warn(_: Inspect) -> None:
        for name in ("jit_f", "jit_g"):
            warnings.warn(f"Error reading persistent compilation cache entry {name}", stacklevel=1)

    monkeypatch.setattr(Inspect, "run", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = answer(*INSPECT, cwd=tmp_path).stderr
    assert shown.count("cannot be read or written") == 1


def test_help_is_there_and_says_what_a_kill_loses_and_what_a_table_holds(tmp_path: Path) -> None:
    for of in ([], ["train"], ["train", "grid"], ["audit"], ["plot"], ["verify"]):
        assert "usage: pdai" in answer(*of, "--help", cwd=tmp_path).stdout
    everything = answer("train", "pho4", "--help-all", cwd=tmp_path).stdout
    shown = " ".join(everything.replace("│", " ").split())
    assert "Steps between checkpoints, rounded up to hundreds" in shown
    assert re.search(r"archive with `?score`?.* `?alphabet`?.* and `?length`?", shown)


def test_an_environment_is_checked(tmp_path: Path) -> None:
    names = ["fast.environments:GridEnvironment", "--problem", "reference.problems:Grid.minimal"]
    shown = answer("check", *names, cwd=tmp_path).stdout
    assert "edges, all followed, undone and redone" in shown


def test_that_a_loss_is_wrong_is_said_first_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = "Mine learns a WRONG law [/b]"
    report = SimpleNamespace(verdict=verdict, learns_the_target=False, rows=lambda: {"[b]": "1"})
    monkeypatch.setattr("pdai.checks.check", lambda *_: report)
    with pytest.raises(SystemExit) as ended:
        Check("my_module:Mine").run()
    assert ended.value.code == 1
    assert capsys.readouterr().out.split("\n")[0].strip() == verdict
