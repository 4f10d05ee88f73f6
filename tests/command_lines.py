"""Command lines: those that a text shows, and what one answers."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from pdai.cli import main
from pdai.parsing import parse

ROOT = Path(__file__).parent.parent
# A run of a path-dependent sampler, in four blocks of steps.
SMALL = ["lines", "--length", "6", "--dynamics", "gru", "--parameters", "5000", "--batch", "32"]
SMALL += ["--steps", "400", "--checkpoint-every", "100", "--evaluations", "2"]


def command(*arguments: str) -> list[str]:
    """A `pdai` of its own process."""
    return [sys.executable, "-m", "pdai", *arguments]


def environment() -> dict[str, str]:
    """The variables of a process that imports this checkout, wherever it runs."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"}


def start(
    arguments: Sequence[str], folder: Path, errors: int = subprocess.PIPE, **variables: str
) -> subprocess.Popen[str]:
    """A `pdai` in a group of processes of its own, in that folder; its errors can be read."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env={**environment(), **variables},
        stdout=subprocess.DEVNULL,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


def wait_until(happened: Callable[[], bool], seconds: float = 300) -> None:
    """Waits for what another process does."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def python(
    *arguments: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A new process of Python with these arguments and variables."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def parameters(run: Path) -> bytes:
    """The parameters and the state of training of a run, without the time they took."""
    return (run / "checkpoint.eqx").read_bytes().partition(b"\n")[2]


# What differs between two runs of one thing: how long it took, and digests of what says so.
TIMES = ("seconds", "of", "sha256")


def ended(folder: Path, names: tuple[str, ...]) -> list[Any]:
    """The outcome of a run, without the time that it took."""
    contents = [(folder / name).read_bytes() for name in names]
    return [
        content.partition(b"\n")[2]
        if name.endswith(".eqx")
        else [timeless(json.loads(line)) for line in content.splitlines()]
        if name.endswith(".jsonl")
        else timeless(json.loads(content))
        if name.endswith(".json")
        else content
        for name, content in zip(names, contents, strict=True)
    ]


def timeless(data: Any) -> Any:
    """Data without times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    return [timeless(value) for value in data] if isinstance(data, list) else data


def understand(arguments: Sequence[str]) -> None:
    """Parses what follows `pdai`; one that asks for help has to get it."""
    if arguments[-1] in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as stop:
            parse(arguments)
        assert stop.value.code == 0
    else:
        parse(arguments)


class Answer(NamedTuple):
    """The output of a command."""

    stdout: str
    stderr: str


def answer(*arguments: str, cwd: Path, expect: int = 0) -> Answer:
    """The output of `pdai` in that folder, in this process, which has JAX; its code is checked.

    A start of its own takes more than a second, and most of what is asked is done sooner.
    """
    # With the bytes below the text, to which tables are written.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, {"COLUMNS": "200", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _exit_code(arguments)
    made = Answer(*(stream.buffer.getvalue().decode() for stream in (out, err)))
    assert code == expect, made.stdout + made.stderr
    assert "Traceback" not in made.stderr
    return made


def _exit_code(arguments: Sequence[str]) -> object:
    try:
        main(arguments)
    except SystemExit as end:
        return end.code
    return 0
