"""Processor seconds of a first `pdai.train` of 200 steps, and of a second one with kept programs.

Each start is a process of its own. With `--before CHECKOUT` the same starts are measured in turns
with the code of another checkout.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.harness import Spread, Table, in_turns, machine, parser

TASKS = {
    "grid": "",
    "six6": "",
    "six6, GRU": "dynamics='gru'",
    "bits": "",
    "sets": "",
    "structure": "",
}
# The parts of a start in their order, as the worker names them and as they are drawn.
PARTS = {
    "import": "import",
    "list": "list states",
    "init": "first weights",
    "compile": "compile steps",
    "steps": "200 steps",
    "measure": "measure",
    "files": "files, rest",
}
# Prints the seconds until the first chunk of steps is recorded, those of all, and those of parts.
WORKER = """
import json
from time import process_time as clock
import pdai
pdai.train  # First, as a user imports it.
from fast.runs import job, setup
from fast.runs.loop import Loop
from fast.runs.meter import Meter

marks, spent = {{}}, {{}}
def timed(owner, name):
    usual = getattr(owner, name)
    def call(*args, **more):
        if name == "_record":
            marks.setdefault(args[0]._step, clock())
        start = clock()
        result = usual(*args, **more)
        spent.setdefault(name, []).append(clock() - start)
        return result
    setattr(owner, name, call)

for owner, name in (
    (setup, "_enumerated"), (job, "set_up"), (Loop, "_advance_chunk"), (Loop, "_record"),
    (Meter, "final"),
):
    timed(owner, name)
imported = clock()
pdai.train({task!r}, steps={steps}, {options})
whole, sums = clock(), {{name: sum(times) for name, times in spent.items()}}
# A chunk of steps ends with a record, which may measure.
chunks = [a - b for a, b in zip(spent["_advance_chunk"], spent["_record"][1:], strict=True)]
compiled = chunks[0] - chunks[-1]
parts = {{
    "import": imported,
    "list": sums["_enumerated"],
    "init": sums["set_up"] - sums["_enumerated"],
    "compile": compiled,
    "steps": sum(chunks) - compiled,
    "measure": sums["_record"] + sums["final"],
}}
print(json.dumps([marks[100], whole, {{**parts, "files": whole - sum(parts.values())}}]))
"""


def start(
    checkout: Path, cache: Path, name: str, steps: int = 200
) -> tuple[float, float, dict[str, float]]:
    """Seconds of a start, with the programs that a folder keeps, and those of its parts."""
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
    first, whole, parts = json.loads(done.stdout.splitlines()[-1])
    return first, whole, parts


def measure(table: Table, name: str, checkouts: dict[str, Path], rounds: int) -> None:
    """Starts without kept programs, with them, and with them after another number of steps."""
    for case in ("nothing kept", "kept", "kept, 350 steps"):
        with tempfile.TemporaryDirectory() as folder:

            def once(when: str, case: str = case, folder: str = folder) -> Any:
                cache = Path(folder) / when
                if case == "nothing kept":
                    cache = Path(tempfile.mkdtemp(dir=folder))
                elif not cache.exists():
                    start(checkouts[when], cache, name)
                return start(checkouts[when], cache, name, 350 if "350" in case else 200)

            values = in_turns({when: partial(once, when) for when in checkouts}, rounds)
        for when, pairs in values.items():
            first, whole, parts = zip(*pairs, strict=True)
            table.add(
                {
                    "task": name,
                    "programs": case,
                    "code": when,
                    "first 100 steps": Spread(first, "s"),
                    "all": Spread(whole, "s"),
                    **{part: Spread([each[part] for each in parts], "s") for part in parts[0]},
                }
            )


def draw(stored: Path, output: Path) -> None:
    """Draws where the seconds of a first and a second start on the grid go, as horizontal bars."""
    rows = {
        (row["task"], row["programs"]): row
        for row in json.loads(stored.read_text())["rows"]
        if row["code"] == "now"
    }
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axis = figure.subplots()
    for side, (case, colour) in enumerate((("nothing kept", "#0072B2"), ("kept", "#E69F00"))):
        row = rows["grid", case]
        seconds = [row[part]["median"] for part in PARTS]
        places = [place + 0.4 * side for place in range(len(PARTS))]
        label = f"{case}: {row['all']['median']:.1f} s"
        bars = axis.barh(places, seconds, 0.38, color=colour, label=label)
        axis.bar_label(bars, [f"{x:.1f}" for x in seconds], padding=3, fontsize=12)
    axis.set_yticks([place + 0.2 for place in range(len(PARTS))], list(PARTS.values()), fontsize=13)
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.set_xlabel("processor seconds, grid, 200 steps", fontsize=13)
    axis.tick_params("x", labelsize=12)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=13, loc="lower right")
    figure.savefig(output, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("--before", type=Path, help="another checkout")
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--only", nargs="+", default=list(TASKS), choices=list(TASKS))
    command.add_argument("--draw", type=Path, help="draw a start from the stored results, only")
    asked = command.parse_args()
    if asked.draw:
        draw(Path(__file__).parent / "results" / "start.json", asked.draw)
        sys.exit()
    checkouts = {"before": asked.before} if asked.before else {}
    checkouts["now"] = Path(__file__).parents[1]
    table = Table("python benchmarks/start.py", asked.out, machine("jax"))
    for name in asked.only:
        measure(table, name, checkouts, asked.rounds)
