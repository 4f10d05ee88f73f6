"""Processor seconds of a first `pdai.train` of 200 steps, and of a second one with kept programs.

Each start is a process of its own. With `--before CHECKOUT` the same starts are measured in turns
with the code of another checkout.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.harness import Spread, Table, in_turns, machine, parser

TASKS = {
    "grid": "",
    "six6": "",
    "six6, GRU": "dynamics='gru'",
    "bits": "",
    "sets": "",
    "structure": "",
}
# Prints the seconds until the first chunk of steps is recorded, and those of all.
WORKER = """
import time
import pdai
from fast.runs.loop import Loop

record, marks = Loop._record, {{}}
def noted(self, *args, **more):
    marks.setdefault(self._step, time.process_time())
    return record(self, *args, **more)
Loop._record = noted
pdai.train({task!r}, steps={steps}, {options})
print("seconds", marks[100], time.process_time())
"""


def start(checkout: Path, cache: Path, name: str, steps: int = 200) -> tuple[float, float]:
    """Seconds of a start, with the programs that a folder keeps."""
    task, options = name.partition(",")[0], TASKS[name]
    environment = {"PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(cache)}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", WORKER.format(task=task, options=options, steps=steps)],
            cwd=folder,
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
        )
    _, first, whole = done.stdout.splitlines()[-1].split()
    return float(first), float(whole)


def measure(table: Table, name: str, checkouts: dict[str, Path], rounds: int) -> None:
    """Starts without kept programs, with them, and with them after another number of steps."""
    for case in ("nothing kept", "kept", "kept, 350 steps"):
        with tempfile.TemporaryDirectory() as folder:

            def once(when: str, case: str = case, folder: str = folder) -> tuple[float, float]:
                cache = Path(folder) / when
                if case == "nothing kept":
                    cache = Path(tempfile.mkdtemp(dir=folder))
                elif not cache.exists():
                    start(checkouts[when], cache, name)
                return start(checkouts[when], cache, name, 350 if "350" in case else 200)

            values = in_turns({when: partial(once, when) for when in checkouts}, rounds)
        for when, pairs in values.items():
            first, whole = zip(*pairs, strict=True)
            table.add(
                {
                    "task": name,
                    "programs": case,
                    "code": when,
                    "first 100 steps": Spread(first, "s"),
                    "all": Spread(whole, "s"),
                }
            )


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("--before", type=Path, help="another checkout")
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--only", nargs="+", default=list(TASKS), choices=list(TASKS))
    asked = command.parse_args()
    checkouts = {"before": asked.before} if asked.before else {}
    checkouts["now"] = Path(__file__).parents[1]
    table = Table("python benchmarks/start.py", asked.out, machine("jax"))
    for name in asked.only:
        measure(table, name, checkouts, asked.rounds)
