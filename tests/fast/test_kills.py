"""`kill -9` at random moments: what is then resumed ends as if it had never been killed.

`python -m tests.fast.test_kills 20` kills each victim so often and prints what became of it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SMALL = "--steps 400 --batch 16 --checkpoint-every 100 --evaluations 1 --out out"
# What differs between two runs of one thing: how long it took, and digests of what says so.
TIMES = ("seconds", "of", "sha256")


class Victim(NamedTuple):
    """A command that is killed, the one that goes on, and the files that say how it ended."""

    begin: str
    again: str = "train --resume out"
    results: tuple[str, ...] = ("checkpoint.eqx", "report.json", "metrics.jsonl")


FIGURE = "reproduce fig:linestraining --quick --jobs 1 --out out"
VICTIMS = {
    "train": Victim(f"train lines --length 6 --parameters 5000 {SMALL}"),
    "random latent": Victim(f"train lines --dynamics gaussian --length 4 {SMALL}"),
    "reproduce": Victim(FIGURE, FIGURE, ("quick/fig_linestraining.json",)),
}


def run(words: str, folder: Path, killed_after: float | None = None) -> int:
    """The exit code of a command, whose group of processes is killed after so many seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pdai", *words.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(killed_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def ended(folder: Path, names: tuple[str, ...]) -> list[Any]:
    """How a run ended, without the time that it took."""
    contents = [(folder / name).read_bytes() for name in names]
    return [
        content.partition(b"\n")[2]
        if name.endswith(".eqx")
        else [timeless(json.loads(line)) for line in content.splitlines()]
        if name.endswith(".jsonl")
        else timeless(json.loads(content))
        for name, content in zip(names, contents, strict=True)
    ]


def timeless(data: Any) -> Any:
    """Data without times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    return [timeless(value) for value in data] if isinstance(data, list) else data


@cache
def whole(victim: Victim) -> tuple[float, list[Any]]:
    """How long a victim takes that is left alone, and how it ends."""
    with TemporaryDirectory() as folder:
        start = monotonic()
        assert run(victim.begin, Path(folder)) == 0
        return monotonic() - start, ended(Path(folder, "out"), victim.results)


def survives(name: str, rng: Random, folder: Path) -> bool:
    """Whether a victim, killed once or twice and gone on with, ends as one that was left alone."""
    victim = VICTIMS[name]
    seconds, expected = whole(victim)
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
def test_what_was_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    assert all(survives("train", Random(seed), tmp_path) for seed in range(2))


if __name__ == "__main__":
    print("| kill -9 of | count | ended as if left alone |\n|---|---:|---:|")
    for victim_name in VICTIMS:
        count = int(sys.argv[1])
        with TemporaryDirectory() as place:
            as_expected = [survives(victim_name, Random(i), Path(place)) for i in range(count)]
        print(f"| {victim_name} | {count} | {sum(as_expected)} |", flush=True)
