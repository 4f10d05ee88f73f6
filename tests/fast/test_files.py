"""Files and folders that appear whole, and the lock on a run folder."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fast.runs.display
import fast.runs.files
from fast.runs.display import Lines, slow
from fast.runs.files import alone_in, new_folder
from fast.runs.folder import row_of_seed
from fast.training.compose import configure
from reference import InputError
from reference.contract.files import replace_file

ROOT = Path(__file__).parents[2]

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from fast.runs.files import alone_in

with alone_in(Path(sys.argv[1])):
    child = [sys.executable, "-c", "import time; time.sleep(600)"]
    print(subprocess.Popen(child, stdout=subprocess.DEVNULL, close_fds=False).pid, flush=True)
    time.sleep(600)
"""


@contextmanager
def holder(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that is in a folder alone, with a child that outlives it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process
        finally:
            process.kill()
            os.kill(child, signal.SIGKILL)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives up at once where a folder is in use."""
    monkeypatch.setattr(fast.runs.files, "PATIENCE", 0.0)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.usefixtures("impatient")
def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    message = rf"another process is training the run in '{run}': wait until .* --out"
    with holder(run) as process:
        with pytest.raises(InputError, match=message), alone_in(run):
            pass
        # Another folder is free.
        with alone_in(tmp_path):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        with alone_in(run):
            assert names(run) == set()


def test_a_process_that_is_just_ending_is_waited_for(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        with alone_in(tmp_path):
            pass


@pytest.mark.usefixtures("impatient")
def test_a_folder_is_free_when_the_run_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[int] = []
    flock = fast.runs.files.fcntl.flock

    def copied(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        # As a process that is forked has it, and keeps it.
        copies.append(os.dup(descriptor))

    with monkeypatch.context() as patched:
        patched.setattr(fast.runs.files.fcntl, "flock", copied)
        with alone_in(tmp_path):
            patched.undo()
            with pytest.raises(InputError, match="another process"), alone_in(tmp_path):
                pass
    with alone_in(tmp_path):
        pass
    for copy in copies:
        os.close(copy)


@pytest.mark.parametrize("without", ["fcntl", "flock", "open"])
def test_without_locks_a_run_goes_on(
    without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / "x.1.partial").touch()
    if without == "fcntl":
        monkeypatch.setattr(fast.runs.files, "fcntl", None)
    elif without == "flock":
        monkeypatch.setattr(fast.runs.files.fcntl, "flock", unsupported)
    else:
        monkeypatch.setattr(fast.runs.files.os, "open", unsupported)
    with alone_in(tmp_path), alone_in(tmp_path):
        # It may be another's, who is writing it.
        assert names(tmp_path) == {"x.1.partial"}


def test_what_killed_processes_left_half_done_is_removed(tmp_path: Path) -> None:
    for name in ("checkpoint.eqx", "checkpoint.eqx.123.partial", "law.npz.partial"):
        (tmp_path / name).touch()
    with alone_in(tmp_path):
        assert names(tmp_path) == {"checkpoint.eqx"}


def test_no_two_processes_write_one_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[str] = []
    monkeypatch.setattr(Path, "replace", lambda path, target: replaced.append(path.name))
    for process in (1, 2):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        replace_file(tmp_path / "file", b"")
    assert len(set(replaced)) == 2


def test_a_folder_appears_when_it_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a b"
    with new_folder(folder, "train") as partial:
        assert not folder.exists()
        (partial / "config.json").touch()
    assert names(folder.parent) == {"a b"}
    assert names(folder) == {"config.json"}
    with (
        pytest.raises(InputError, match=r"exists, .* `pdai train --resume '.*/a b'`"),
        new_folder(folder, "train"),
    ):
        pass


def test_a_folder_that_cannot_be_filled_does_not_appear(tmp_path: Path) -> None:
    def fill(error: BaseException) -> None:
        with new_folder(tmp_path / "a", "train") as partial:
            (partial / "config.json").touch()
            raise error

    for error in (KeyboardInterrupt(), OSError(28, "full")):
        with pytest.raises((KeyboardInterrupt, InputError)):
            fill(error)
        assert names(tmp_path) == set()


def test_what_takes_long_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with slow("thinking"):
        pass
    monkeypatch.setattr(fast.runs.display, "LONG", 0.01)
    with slow("counting"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "counting ...\n"


def test_progress_has_the_share_done_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten seconds are compiling, with the first hundred steps; then a hundred take four.
    clock = iter((0.0, 10.0, 14.0, 22.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    shown = Lines("run", 400, file := io.StringIO())
    for step in (100, 200, 400):
        shown.update(step, loss=0.5, log_z=1.0, tv=None)
    assert [
        line.replace("loss 0.5000  log Z 1.000  ", "") for line in file.getvalue().split("\n")
    ] == [
        "run: 400 steps; compiling ...",
        "step 100 of 400 (25%)  10 s",
        "step 200 of 400 (50%)  14 s, about 8 s left",
        "step 400 of 400 (100%)  22 s",
        "",
    ]


def test_a_seed_is_found_among_those_of_its_run_and_no_other_is() -> None:
    run = configure("lines", seed=3, seeds=2).run
    assert [row_of_seed(Path("run"), run, seed) for seed in (None, 3, 4)] == [0, 0, 1]
    for seed in (2, 5):
        message = f"of is {seed}, but the run 'run' has the seeds 3 to 4"
        with pytest.raises(InputError, match=message):
            row_of_seed(Path("run"), run, seed)
