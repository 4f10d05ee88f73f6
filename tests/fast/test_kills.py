"""Processes that are killed: a run goes on as if it had not been, and no process is left behind.

`python -m tests.fast.test_kills 20` kills each victim so often and prints what became of it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from tests.command_lines import SMALL, answer, environment, start, wait_until

# What differs between two runs of one thing: how long it took, and digests of what says so.
TIMES = ("seconds", "of", "sha256")


class Victim(NamedTuple):
    """A command that is killed, the one that goes on, and the files that say how it ended."""

    begin: str
    again: str = "train --resume out"
    results: tuple[str, ...] = (
        "config.json", "checkpoint.eqx", "law.npz", "report.json", "metrics.jsonl"
    )  # fmt: skip


FIGURE = "reproduce fig:linestraining --quick --jobs 1 --out out"
VICTIMS = {
    "train": Victim(f"train {' '.join(SMALL)} --out out"),
    "random latent": Victim(
        "train lines --dynamics gaussian --length 4 --latent-size 2 --parameters 600 --batch 16 "
        "--rule muon --steps 300 --checkpoint-every 100 --evaluations 1 --seeds 2 "
        "--law-samples 4096 --out out"
    ),
    "reproduce": Victim(FIGURE, FIGURE, ("quick/fig_linestraining.json",)),
}


def run(words: str, folder: Path, killed_after: float | None = None) -> int:
    """The exit code of a command, whose group of processes is killed after so many seconds."""
    process = start(words.split(), folder, subprocess.DEVNULL)
    try:
        return process.wait(killed_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


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


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param("train", signal.SIGKILL, id="kill -9"),
        pytest.param("train", signal.SIGINT, id="Ctrl-C", marks=pytest.mark.long),
        pytest.param("random latent", signal.SIGKILL, id="random latent", marks=pytest.mark.long),
    ],
)
def test_a_killed_run_resumes_to_bit_identical_parameters(
    name: str, how: signal.Signals, finished: Path, tmp_path: Path
) -> None:
    victim, cut = VICTIMS[name], tmp_path / "out"
    process = start(victim.begin.split(), tmp_path)
    metrics = cut / "metrics.jsonl"
    wait_until(lambda: metrics.is_file() and '"step": 200' in metrics.read_text())
    process.send_signal(how)
    _, errors = process.communicate()
    assert process.returncode == (-9 if how == signal.SIGKILL else 130)
    if how == signal.SIGINT:
        assert "stopping when this block of steps is done" in errors
        assert "continue with: pdai train --resume" in errors
    # Killed too late, there is nothing to resume: that the run was cut is part of the test.
    assert not (cut / "seal.json").exists()
    header = json.loads((cut / "checkpoint.eqx").read_bytes().partition(b"\n")[0])
    assert 100 <= header["step"] < 400
    answer(*victim.again.split(), cwd=tmp_path)
    whole = finished
    if name != "train":
        whole = tmp_path / "whole" / "out"
        whole.parent.mkdir()
        assert run(victim.begin, whole.parent) == 0
    assert ended(cut, victim.results) == ended(whole, victim.results)


@cache
def left_alone(victim: Victim) -> tuple[float, list[Any]]:
    """The time of a victim that is left alone, and its outcome."""
    with TemporaryDirectory() as folder:
        begun = time.monotonic()
        assert run(victim.begin, Path(folder)) == 0
        return time.monotonic() - begun, ended(Path(folder, "out"), victim.results)


def survives(name: str, rng: Random, folder: Path) -> bool:
    """Whether a victim, killed once or twice and gone on with, ends as one that was left alone."""
    victim = VICTIMS[name]
    seconds, expected = left_alone(victim)
    shutil.rmtree(folder / "out", ignore_errors=True)
    moments = [rng.uniform(0, seconds) for _ in range(rng.choice([1, 1, 2]))]
    for moment in [*moments, None]:
        if (folder / "out" / "seal.json").exists():
            break
        status = run(victim.again if (folder / "out").exists() else victim.begin, folder, moment)
        if moment is None and status:
            return False
    return ended(folder / "out", victim.results) == expected


@pytest.mark.long
def test_what_was_killed_at_random_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    assert survives("train", Random(0), tmp_path)


PARENT = """
import sys, time
from pathlib import Path
from pdai.distributed.engine import LocalProcesses
from tests.fast.test_kills import linger

if __name__ == "__main__":
    with {pool} as pool:
        pool.submit(linger, Path(sys.argv[1])).result()
"""


def linger(file: Path) -> None:
    """Says which process this is, and does not end by itself."""
    partial = file.with_suffix(".partial")
    partial.write_text(str(os.getpid()))
    partial.rename(file)
    time.sleep(600)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        # What has ended, and nobody asks how, is a zombie.
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux who is alive")
@pytest.mark.parametrize("pool", ["LocalProcesses(1)", "LocalProcesses(1, pinned=True)"])
def test_a_process_that_trains_ends_with_the_one_that_is_killed(pool: str, tmp_path: Path) -> None:
    script, file = tmp_path / "parent.py", tmp_path / "pid"
    script.write_text(PARENT.format(pool=pool))
    parent = subprocess.Popen([sys.executable, str(script), str(file)], env=environment())
    wait_until(file.exists)
    child = int(file.read_text())
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_alive(child))


if __name__ == "__main__":
    print("| kill -9 of | count | ended as if left alone |\n|---|---:|---:|")
    for victim_name in VICTIMS:
        count = int(sys.argv[1])
        with TemporaryDirectory() as place:
            as_expected = [survives(victim_name, Random(i), Path(place)) for i in range(count)]
        print(f"| {victim_name} | {count} | {sum(as_expected)} |", flush=True)
