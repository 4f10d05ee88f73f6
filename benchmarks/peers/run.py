"""Compares this project with gfnx and torchgfn: see the README beside this file.

    python benchmarks/peers/run.py --gfnx ENV --torchgfn ENV [--cores 0] [--startup]

ENV is the folder of a virtual environment; this project is measured in the environment that runs
this file. The result is Markdown on standard output.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks import COMMON, TASKS, random_terminals

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
    """How a worker is started; variants of a library share its worker."""
    return [python, str(HERE / f"worker_{name.split()[0]}.py")]


def environment(name: str) -> dict[str, str]:
    """Its environment variables: ours is imported from this checkout."""
    variables = dict(os.environ)
    variables.pop("PYTHONPATH", None)
    if name == OURS:
        variables["PYTHONPATH"] = str(ROOT)
    if name.endswith("flat"):
        variables["GFNX_FLAT"] = "1"
    return variables


def show(values: list[float]) -> str:
    """A median with the smallest and the largest."""
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} to {max(values):,.4g})"


def check_rewards(workers: list[Process], task: str) -> float:
    """The largest difference of `log R` between workers on 1,000 random terminal states."""
    terminals = random_terminals(TASKS[task], 1_000)
    answers = [worker.ask("log_rewards", terminals=terminals) for worker in workers]
    return max(max(values) - min(values) for values in zip(*answers, strict=True))


def compare(pythons: Mapping[str, str], options: argparse.Namespace) -> None:
    """The table of rates, per CPU second and per second on the clock."""
    workers = [Process(name, python, options.cores) for name, python in pythons.items()]
    versions = [f"{k} {v}" for worker in workers for k, v in worker.ask("versions").items()]
    print(
        f"{', '.join(dict.fromkeys(versions))}; cores {sorted(options.cores)} of {os.cpu_count()}; "
        f"median (smallest to largest) of {options.rounds} rounds of {options.seconds} s, after "
        f"{options.warm_up} training steps; load {os.getloadavg()[0]:.1f} at the start\n"
    )
    print(
        "| task | batch | work | library | per CPU second | per second "
        "| ours / it | actions | parameters |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    notes = []
    for task in options.tasks:
        for batch in options.batches:
            facts = {
                worker.name: worker.ask("setup", task=task, batch=batch, steps=options.warm_up)
                for worker in workers
            }
            difference = check_rewards(workers, task)
            for kind in ("train", "sample"):
                blocks: dict[str, list[dict[str, float]]] = {w.name: [] for w in workers}
                matmul = []
                for _ in range(options.rounds):
                    for worker in workers:
                        block = worker.ask("block", kind=kind, seconds=options.seconds)
                        blocks[worker.name].append(block)
                        if worker.name == OURS:
                            matmul.append(worker.ask("matmul"))
                rows(task, batch, kind, blocks, facts)
                ours = statistics.median(b["count"] / b["cpu"] for b in blocks[OURS])
                trajectories = ours * (batch if kind == "train" else 1)
                flops = network_flops(facts[OURS], kind) * trajectories
                notes.append(
                    f"| {task} | {batch} | {kind} | {difference:.1e} | "
                    f"{show(matmul)} | {flops / 1e9:.1f} | "
                    f"{flops / 1e9 / statistics.median(matmul):.2f} |"
                )
    for worker in workers:
        worker.close()
    print(
        "\n| task | batch | work | largest difference of log R between libraries "
        "| matmul, GFLOP/s | ours, GFLOP/s | share |"
    )
    print("|---|---|---|---|---|---|---|")
    print("\n".join(notes))


def network_flops(facts: Mapping[str, float], kind: str) -> float:
    """The floating-point operations that one trajectory needs, in the network alone.

    Twice the parameters for each state that is not terminal, and when training the same again for
    the gradient in the activations and in the weights. Work on states that are already terminal,
    and a second forward pass, do not count.
    """
    return facts["length"] * 2 * facts["parameters"] * (3 if kind == "train" else 1)


def rows(
    task: str,
    batch: int,
    kind: str,
    blocks: Mapping[str, list[dict[str, float]]],
    facts: Mapping[str, Mapping[str, float]],
) -> None:
    """Prints one row per library; a ratio is the median over rounds, so that noise cancels."""
    unit = "steps" if kind == "train" else "trajectories"
    ours = [b["count"] / b["cpu"] for b in blocks[OURS]]
    for name, measured in blocks.items():
        rates = [b["count"] / b["cpu"] for b in measured]
        wall = [b["count"] / b["wall"] for b in measured]
        ratio = statistics.median(a / b for a, b in zip(ours, rates, strict=True))
        print(
            f"| {task} | {batch} | {kind}, {unit} | {name} | {show(rates)} | {show(wall)} | "
            f"{'' if name == OURS else format(ratio, '.2f')} | {facts[name]['length']:.1f} | "
            f"{facts[name]['parameters']:,} |",
            flush=True,
        )


def startup(pythons: Mapping[str, str], options: argparse.Namespace) -> None:
    """The table of times from the start of a process to its first trained step."""
    print("| task | batch | library | seconds on the clock | CPU seconds |")
    print("|---|---|---|---|---|")
    for task in options.tasks:
        for batch in options.batches:
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in pythons}
            for _ in range(options.rounds):
                for name, python in pythons.items():
                    times[name].append(first_step(name, python, task, batch, options.cores))
            for name, pairs in times.items():
                wall, cpu = zip(*pairs, strict=True)
                print(f"| {task} | {batch} | {name} | {show([*wall])} | {show([*cpu])} |")


def first_step(
    name: str, python: str, task: str, batch: int, cores: set[int]
) -> tuple[float, float]:
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
    return wall, cpu


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gfnx", type=Path, help="virtual environment with gfnx")
    parser.add_argument("--torchgfn", type=Path, help="virtual environment with torchgfn")
    parser.add_argument("--flat", action="store_true", help="also gfnx with flattened evaluation")
    parser.add_argument("--startup", action="store_true", help="time to the first trained step")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(COMMON))
    parser.add_argument("--batches", nargs="+", type=int, default=[16, 256])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a block")
    parser.add_argument("--warm-up", type=int, default=300, help="training steps before")
    parser.add_argument("--cores", nargs="+", type=int, default=[0], help="cores to run on")
    options = parser.parse_args()
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
