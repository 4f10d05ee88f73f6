"""Compares this project with gfnx and torchgfn: see the README beside this file.

    python benchmarks/peers/run.py --gfnx ENV --torchgfn ENV [--cores 0] [--startup]

ENV is the folder of a virtual environment; this project is measured in the environment that runs
this file. The result is Markdown on standard output.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Seconds, Spread, Table, in_turns, parser, ratios
from benchmarks.peers.tasks import COMMON, TASKS, random_terminals

HERE = Path(__file__).parent
OURS = "pdai"


def started(name: str, python: str, cores: set[int], *options: str) -> subprocess.Popen[str]:
    """A worker, pinned to the cores of the comparison; its project is that of this checkout."""
    return subprocess.Popen(
        [python, str(HERE / f"worker_{name}.py"), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )


class Process:
    """A worker in its own process."""

    def __init__(self, name: str, python: str, cores: set[int]):
        self.name, self.child = name, started(name, python, cores)

    def ask(self, call: str, **request: Any) -> Any:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps({"call": call, **request}) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.name} ended while it was asked for {call}")
        return json.loads(line)

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def compare(pythons: Mapping[str, str], options: argparse.Namespace) -> None:
    """The table of rates, per CPU second and per second on the clock."""
    workers = [Process(name, python, options.cores) for name, python in pythons.items()]
    versions = [f"{k} {v}" for worker in workers for k, v in worker.ask("versions").items()]
    about = (
        f"{', '.join(dict.fromkeys(versions))}; cores {sorted(options.cores)} of {os.cpu_count()}; "
        f"median (smallest to largest) of {options.rounds} rounds of {options.seconds} s, after "
        f"{options.warm_up} training steps; load {os.getloadavg()[0]:.1f} at the start"
    )
    print(f"{about}\n")
    table, shares = Table("python benchmarks/peers/run.py", options.out, {"with": about}), []
    for task, batch in itertools.product(options.tasks, options.batches):
        facts = {
            worker.name: worker.ask("setup", task=task, batch=batch, steps=options.warm_up)
            for worker in workers
        }
        terminals = random_terminals(TASKS[task], 1_000)
        answers = [worker.ask("log_rewards", terminals=terminals) for worker in workers]
        difference = max(max(values) - min(values) for values in zip(*answers, strict=True))
        for kind in ("train", "sample"):
            measures = dict[str, Callable[[], Any]]()
            for worker in workers:
                measures[worker.name] = partial(
                    worker.ask, "block", kind=kind, seconds=options.seconds
                )
                if worker.name == OURS and not options.clock:
                    measures["matmul"] = partial(worker.ask, "matmul")
            blocks = in_turns(measures, options.rounds)
            products = blocks.pop("matmul", None)
            what = {"task": task, "batch": batch, "work": kind}
            rates(table, what, blocks, facts, "wall" if options.clock else "cpu")
            if products is None:
                continue
            # Of the network alone: twice the parameters for each state that is not terminal, and
            # in training as much for the gradient in the activations and in the weights. Work on
            # states that are already terminal, and a second forward pass, do not count.
            flops = facts[OURS]["length"] * 2 * facts[OURS]["parameters"]
            flops *= 3 * batch if kind == "train" else 1
            ours = Spread([block["count"] / block["cpu"] for block in blocks[OURS]]).median
            share = {
                "largest difference of log R between libraries": f"{difference:.1e}",
                "matmul, GFLOP/s": Spread(products),
                "ours, GFLOP/s": flops * ours / 1e9,
                "share": flops * ours / 1e9 / Spread(products).median,
            }
            shares.append(what | share)
    for worker in workers:
        worker.close()
    for share in shares:
        table.add(share, kind="beside the matrix product")


def rates(
    table: Table,
    what: Mapping[str, Any],
    blocks: Mapping[str, list[dict[str, float]]],
    facts: Mapping[str, Mapping[str, float]],
    clock: str,
) -> None:
    """Adds one row per library; a ratio is taken within rounds, so that noise cancels.

    Args:
        table: of rates.
        what: task, batch and work.
        blocks: of each library, one a round.
        facts: the actions and the parameters of each library.
        clock: "wall" or "cpu", the seconds of which ratios are.
    """
    unit = "steps" if what["work"] == "train" else "trajectories"
    rate = {
        seconds: {name: [b["count"] / b[seconds] for b in own] for name, own in blocks.items()}
        for seconds in ("cpu", "wall")
    }
    for name, compared in rate[clock].items():
        row = {
            "library": name,
            "per CPU second": Spread(rate["cpu"][name], unit),
            "per second": Spread(rate["wall"][name], unit),
            "ours / it": None if name == OURS else ratios(rate[clock][OURS], compared),
            "actions": facts[name]["length"],
            "parameters": facts[name]["parameters"],
        }
        table.add({**what, **row})


def startup(pythons: Mapping[str, str], options: argparse.Namespace) -> None:
    """The table of times from the start of a process to its first trained step."""
    table = Table("python benchmarks/peers/run.py --startup", options.out)
    for task, batch in itertools.product(options.tasks, options.batches):
        measures = {
            name: partial(first_step, name, python, task, batch, options.cores)
            for name, python in pythons.items()
        }
        for name, times in in_turns(measures, options.rounds).items():
            wall, cpu = (Spread(seconds, "s") for seconds in zip(*times, strict=True))
            row = {"task": task, "batch": batch, "library": name}
            table.add(row | {"on the clock": wall, "of the processor": cpu})


def first_step(name: str, python: str, task: str, batch: int, cores: set[int]) -> Seconds:
    """Wall and CPU seconds of a fresh process, up to its first trained step."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    child = started(name, python, cores, "--first-step", task, str(batch))
    assert child.stdout is not None
    line = child.stdout.readline()
    wall = time.perf_counter() - begun
    if child.wait() != 0 or not line:
        raise SystemExit(f"the worker of {name} failed at its first step on {task}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(wall, cpu)


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--gfnx", type=Path, help="virtual environment with gfnx")
    command_line.add_argument("--torchgfn", type=Path, help="virtual environment with torchgfn")
    command_line.add_argument(
        "--startup", action="store_true", help="time to the first trained step"
    )
    command_line.add_argument(
        "--clock", action="store_true", help="ratios by the clock, as where a GPU works"
    )
    command_line.add_argument("--tasks", nargs="+", choices=TASKS, default=list(COMMON))
    command_line.add_argument("--batches", nargs="+", type=int, default=[16, 256])
    command_line.add_argument("--rounds", type=int, default=7)
    command_line.add_argument("--seconds", type=float, default=1.5, help="length of a block")
    command_line.add_argument("--warm-up", type=int, default=300, help="training steps before")
    command_line.add_argument("--cores", nargs="+", type=int, default=[0], help="cores to run on")
    options = command_line.parse_args()
    options.cores = set(options.cores)
    pythons = {OURS: sys.executable}
    for name in ("gfnx", "torchgfn"):
        if (folder := getattr(options, name)) is not None:
            pythons[name] = str(folder / "bin" / "python")
    (startup if options.startup else compare)(pythons, options)


if __name__ == "__main__":
    main()
