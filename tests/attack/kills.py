"""`kill -9` at random moments: what is then resumed ends as if it had never been killed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.attack.outcome import Outcome

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SMALL = "--parameters 5000 --batch 16 --steps 400 --checkpoint-every 100 --evaluations 2"


class Victim(NamedTuple):
    """What is killed.

    Attributes:
        begin: the command, as words; its folder is `out`.
        again: the command that goes on.
        results: files of the folder that say how it ended.
    """

    begin: str
    again: str
    results: tuple[str, ...]


VICTIMS = {
    "train": Victim(
        f"train lines --length 6 {SMALL} --out out",
        "train --resume out",
        ("checkpoint.eqx", "report.json", "metrics.jsonl"),
    ),
    "random latent": Victim(
        "train lines --dynamics gaussian --length 4 --steps 200 --batch 16 --evaluations 1 "
        "--checkpoint-every 100 --out out",
        "train --resume out",
        ("checkpoint.eqx", "report.json", "metrics.jsonl"),
    ),
    "reproduce": Victim(
        "reproduce fig:linestraining --quick --jobs 1 --out out",
        "reproduce fig:linestraining --quick --jobs 1 --out out",
        ("quick/fig_linestraining.json",),
    ),
}
# What differs between two runs of one thing: how long it took, and digests of what says so.
TIMES = ("seconds", "of", "sha256")


def ended(folder: Path, names: tuple[str, ...]) -> list[Any]:
    """How a run ended, without the time that it took."""
    found: list[Any] = []
    for name in names:
        content = (folder / name).read_bytes()
        if name.endswith(".eqx"):
            found.append(content.partition(b"\n")[2])
        else:
            lines = content.splitlines() if name.endswith(".jsonl") else [content]
            found.append([_timeless(json.loads(line)) for line in lines])
    return found


def _timeless(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _timeless(value) for key, value in data.items() if key not in TIMES}
    return [_timeless(value) for value in data] if isinstance(data, list) else data


class Kills:
    """Kills of one victim.

    Args:
        name: of the victim.
        scratch: an empty folder.
    """

    def __init__(self, name: str, scratch: Path):
        self.name, self.victim, self.scratch = name, VICTIMS[name], scratch
        started = time.monotonic()
        assert self._run(self.victim.begin, None) == 0
        self.seconds = time.monotonic() - started
        self.whole = ended(scratch / "out", self.victim.results)

    def attacks(self, rng: random.Random) -> Iterator[Outcome]:
        """Attacks without end."""
        while True:
            yield self.attack(rng)

    def attack(self, rng: random.Random) -> Outcome:
        """One run, killed once or twice, and resumed to its end."""
        shutil.rmtree(self.scratch / "out", ignore_errors=True)
        moments = [rng.uniform(0, self.seconds) for _ in range(rng.choice([1, 1, 2]))]
        story = f"{self.name}, killed after {', '.join(f'{t:.2f} s' for t in moments)}"
        for moment in [*moments, None]:
            begun = (self.scratch / "out").exists()
            if self._is_finished():
                break
            status = self._run(self.victim.again if begun else self.victim.begin, moment)
            if moment is None and status:
                return Outcome("foreign error", f"{story}: exit code {status} when resumed")
        if ended(self.scratch / "out", self.victim.results) == self.whole:
            return Outcome("answered rightly")
        return Outcome("wrong in silence", f"{story}: it ended in another way")

    def _is_finished(self) -> bool:
        return (self.scratch / "out" / "seal.json").exists()

    def _run(self, words: str, killed_after: float | None) -> int:
        """The exit code; the whole group of processes is killed after so many seconds."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pdai", *words.split()],
            cwd=self.scratch,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(killed_after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
