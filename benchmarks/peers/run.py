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

from tasks import COMMON, TASKS, random_terminals

from benchmarks.harness import Seconds, Spread, Table, in_turns, parser, ratios

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OURS = "pdai"


class Process:
    """A worker in its own process, pinned to the cores of the comparison."""

    def __init__(self, name: str, python: str, cores: set[int]):
        self.name = name
        self.child = subprocess.Popen(
            command(name, python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(name),
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def ask(self, call: str, **request: Any) -> Any:
        """The answer to one request."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps({"call": call, **request}) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.name} ended while it was asked for {call}")
        return json.loads(line)

    def close(self) -> None:
        """Ends the worker."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def command(name: str, python: str) -> list[str]:
    """The command of a worker; variants of a library share its worker."""
    return [python, str(HERE / f"worker_{name.split()[0]}.py")]


def environment(name: str) -> dict[str, str]:
    """Its environment variables: this project, with its adapters, is that of this checkout."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    if name.endswith("flat"):
        variables["GFNX_FLAT"] = "1"
    return variables


def check_rewards(workers: list[Process], task: str) -> float:
    """The largest difference of `log R` between workers on 1,000 random terminal states."""
    terminals = random_terminals(TASKS[task], 1_000)
    answers = [worker.ask("log_rewards", terminals=terminals) for worker in workers]
    return max(max(values) - min(values) for values in zip(*answers, strict=True))


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
        difference = check_rewards(workers, task)
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
            matmul = Spread(products)
            ours = Spread([block["count"] / block["cpu"] for block in blocks[OURS]]).median
            trajectories = ours * (batch if kind == "train" else 1)
            gflops = network_flops(facts[OURS], kind) * trajectories / 1e9
            shares.append(
                {
                    "task": task,
                    "batch": batch,
                    "work": kind,
                    "largest difference of log R between libraries": f"{difference:.1e}",
                    "matmul, GFLOP/s": matmul,
                    "ours, GFLOP/s": gflops,
                    "share": gflops / matmul.median,
                }
            )
    for worker in workers:
        worker.close()
    for share in shares:
        table.add(share, kind="beside the matrix product")


def network_flops(facts: Mapping[str, float], kind: str) -> float:
    """The floating-point operations that one trajectory needs, in the network alone.

    Twice the parameters for each state that is not terminal, and when training the same again for
    the gradient in the activations and in the weights. Work on states that are already terminal,
    and a second forward pass, do not count.
    """
    return facts["length"] * 2 * facts["parameters"] * (3 if kind == "train" else 1)


def rates(
    table: Table,
    what: Mapping[str, Any],
    blocks: Mapping[str, list[dict[str, float]]],
    facts: Mapping[str, Mapping[str, float]],
    clock: str,
) -> None:
    """Adds one row per library; a ratio is taken within rounds, so that noise cancels."""
    unit = "steps" if what["work"] == "train" else "trajectories"
    per_cpu = {name: [b["count"] / b["cpu"] for b in own] for name, own in blocks.items()}
    compared = {name: [b["count"] / b[clock] for b in own] for name, own in blocks.items()}
    for name, own in blocks.items():
        table.add(
            {
                **what,
                "library": name,
                "per CPU second": Spread(per_cpu[name], unit),
                "per second": Spread([b["count"] / b["wall"] for b in own], unit),
                "ours / it": None if name == OURS else ratios(compared[OURS], compared[name]),
                "actions": facts[name]["length"],
                "parameters": facts[name]["parameters"],
            }
        )


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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    child = subprocess.Popen(
        [*command(name, python), "--first-step", task, str(batch)],
        stdout=subprocess.PIPE,
        env=environment(name),
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    wall = time.perf_counter() - started
    if child.wait() != 0 or not line:
        raise SystemExit(f"the worker of {name} failed at its first step on {task}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(wall, cpu)


def main() -> None:
    """The command line."""
    command_line = parser(__doc__)
    command_line.add_argument("--gfnx", type=Path, help="virtual environment with gfnx")
    command_line.add_argument("--torchgfn", type=Path, help="virtual environment with torchgfn")
    command_line.add_argument(
        "--flat", action="store_true", help="also gfnx with flattened evaluation"
    )
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
    if options.flat:
        pythons["gfnx flat"] = pythons["gfnx"]
    (startup if options.startup else compare)(pythons, options)


if __name__ == "__main__":
    main()
