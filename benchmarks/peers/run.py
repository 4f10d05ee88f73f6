"""Compares this project with gfnx and torchgfn: see the README beside this file.

    python benchmarks/peers/run.py --gfnx ENV --torchgfn ENV [--cores 0]

ENV is the folder of a virtual environment; this project is measured in the environment that runs
this file. The result is Markdown on standard output.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Spread, Table, in_turns, parser, ratios
from benchmarks.peers.tasks import COMMON, TASKS, GridTask, random_terminals

HERE = Path(__file__).parent
OURS = "pdai"
# Of the policies with which rates are measured, beside the untrained one.
DISTANCES = (0.2, 0.05)


class Process:
    """A worker, pinned to the cores of the comparison; its project is that of this checkout."""

    def __init__(self, name: str, python: str, cores: set[int]):
        self.name = name
        self.child = subprocess.Popen(
            [python, str(HERE / f"worker_{name}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

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
    clock = "wall" if options.clock else "cpu"
    about = (
        f"{', '.join(dict.fromkeys(versions))}; cores {sorted(options.cores)} of {os.cpu_count()}; "
        f"median (smallest to largest) of {options.rounds} rounds of {options.seconds} s by the "
        f"{'clock' if options.clock else 'processor'}; load {os.getloadavg()[0]:.1f} at the start"
    )
    print(f"{about}\n")
    table, shares = Table("python benchmarks/peers/run.py", options.out, {"with": about}), []
    for task in options.tasks:
        policies = states(pythons, task, options.cores)
        for batch in options.batches:
            parameters = {w.name: w.ask("setup", task=task, batch=batch) for w in workers}
            terminals = random_terminals(TASKS[task], 1_000)
            answers = [worker.ask("log_rewards", terminals=terminals) for worker in workers]
            difference = max(max(values) - min(values) for values in zip(*answers, strict=True))
            for state, weights in policies.items():
                actions = placed(workers, weights, terminals[:200] if weights else [])
                for kind in ("train", "sample"):
                    blocks = measured(workers, kind, options, clock)
                    products = blocks.pop("matmul", None)
                    what = {"task": task, "state": state, "batch": batch, "work": kind}
                    rates(table, what, blocks, actions, clock)
                    if products is None:
                        continue
                    # Of the network alone: twice the parameters for each state that is not
                    # terminal, and in training as much for the gradient in the activations and in
                    # the weights. Work on states that are already terminal, and a second forward
                    # pass, do not count.
                    flops = actions[OURS] * 2 * parameters[OURS]
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


def measured(
    workers: list[Process], kind: str, options: argparse.Namespace, clock: str
) -> dict[str, list[Any]]:
    """Blocks of each library in turns, and of the matrix product here where rates are by CPU.

    Args:
        workers: all of them.
        kind: "train" or "sample".
        options: rounds, and seconds of a block.
        clock: "wall" or "cpu".
    """
    measures = dict[str, Callable[[], Any]]()
    for worker in workers:
        measures[worker.name] = partial(
            worker.ask, "block", kind=kind, seconds=options.seconds, clock=clock
        )
        if worker.name == OURS and clock == "cpu":
            measures["matmul"] = partial(worker.ask, "matmul")
    return in_turns(measures, options.rounds)


def states(pythons: Mapping[str, str], task: str, cores: set[int]) -> dict[str, list[Any] | None]:
    """The policies with which rates are measured, by name: weights that all libraries take.

    Where all trajectories are equally long, each has its own untrained policy.
    """
    if not isinstance(TASKS[task], GridTask):
        return {"untrained": None}
    worker = Process(OURS, pythons[OURS], cores)
    reached = worker.ask("reach", task=task, distances=DISTANCES)
    worker.close()
    return dict(zip(["untrained", *(f"TV {x}" for x in DISTANCES)], reached, strict=True))


def placed(
    workers: list[Process], weights: list[Any] | None, cells: list[list[int]]
) -> dict[str, float]:
    """The mean number of actions of each library, once all have the same policy.

    Args:
        workers: all of them.
        weights: those of the policy, or none.
        cells: where its logits are compared.
    """
    answers = {w.name: w.ask("place", weights=weights, cells=cells) for w in workers}
    logits = [np.array(answer["logits"]) for answer in answers.values()]
    # Of actions that exist: torchgfn gives all.
    apart = max((float(np.abs(one - logits[0]).max(initial=0)) for one in logits), default=0.0)
    assert apart < 1e-3, f"the policies differ by {apart} nats"
    return {name: answer["actions"] for name, answer in answers.items()}


def rates(
    table: Table,
    what: Mapping[str, Any],
    blocks: Mapping[str, list[dict[str, float]]],
    actions: Mapping[str, float],
    clock: str,
) -> None:
    """Adds one row per library; a ratio is taken within rounds, so that noise cancels.

    Args:
        table: of rates.
        what: task, state, batch and work.
        blocks: of each library, one a round.
        actions: the mean number of each library.
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
            "actions": actions[name],
        }
        table.add({**what, **row})


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--gfnx", type=Path, help="virtual environment with gfnx")
    command_line.add_argument("--torchgfn", type=Path, help="virtual environment with torchgfn")
    command_line.add_argument(
        "--clock", action="store_true", help="ratios by the clock, as where a GPU works"
    )
    command_line.add_argument("--tasks", nargs="+", choices=TASKS, default=list(COMMON))
    command_line.add_argument("--batches", nargs="+", type=int, default=[16, 256])
    command_line.add_argument("--rounds", type=int, default=5)
    command_line.add_argument("--seconds", type=float, default=0.4, help="length of a block")
    command_line.add_argument("--cores", nargs="+", type=int, default=[0], help="cores to run on")
    options = command_line.parse_args()
    options.cores = set(options.cores)
    pythons = {OURS: sys.executable}
    for name in ("gfnx", "torchgfn"):
        if (folder := getattr(options, name)) is not None:
            pythons[name] = str(folder / "bin" / "python")
    compare(pythons, options)


if __name__ == "__main__":
    main()
