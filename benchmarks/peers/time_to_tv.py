"""Seconds until the samplers of gfnx, torchgfn and this project are near: see the README here.

    python benchmarks/peers/time_to_tv.py --gfnx ENV --torchgfn ENV [--seeds 3] [--seconds 20]

Tasks that all three have, by the rows of `benchmarks/time_to_tv.py`: TV of terminal states is
exact, from `p_F` in every state. The others train as their own scripts do, this project with the
defaults of `pdai train`, and by the first round of its `--tv`. All are pinned to the cores that
this process may use.
"""

import os
from collections.abc import Iterator, Sequence

from run import Process
from tasks import TASKS, BitTask, IsingTask, Task

from benchmarks.certify.cases import six6_task
from benchmarks.harness import Spread, Table, machine, parser
from benchmarks.time_to_tv import DISTANCES, Curve, curve, row_of
from fast.training import trainer
from fast.training.compose import configure
from pdai.goal import first_steps

# num_envs of the scripts of gfnx, and batch_size of those of torchgfn.
BATCH, PEERS = 16, ("gfnx", "torchgfn")
# The default of the task here.
COUPLING = 0.4


def tasks() -> dict[str, tuple[Task, dict[str, object]]]:
    """Each task as the others have it, and its options here."""
    options = {"task": "bits", "length": 16, "word": 4}
    torus = {"rows": 3, "columns": 3, "coupling": COUPLING}
    ours = configure(**options).task.make_problem()
    modes = tuple(tuple(map(int, mode)) for mode in ours.modes)
    bits = BitTask(4, 4, modes, float(ours.exponent))
    return {
        "hypergrid 16^2": (TASKS["hypergrid 16^2"], {"task": "grid", "side": 16}),
        "hypergrid 8^4": (TASKS["hypergrid 8^4"], {"task": "grid", "side": 8, "dimension": 4}),
        "SIX6, left to right": (six6_task(), {"task": "six6", "build": "append"}),
        "bits 16, words of 4": (bits, options),
        "Ising, torus 3^2": (IsingTask(3, COUPLING), {"task": "torus", **torus}),
    }


def peer_curve(
    worker: Process, task: Task, seed: int, limit: float
) -> Iterator[tuple[float, float]]:
    """Processor seconds and TV, at powers of two times a hundred steps.

    No more steps after the limit, or below the least distance.
    """
    spent = worker.ask("begin", kind=type(task).__name__, fields=list(task), batch=BATCH, seed=seed)
    step, tv = 0, 1.0
    while spent < limit and tv >= DISTANCES[-1]:
        more = max(100, step)
        spent += worker.ask("go_on", steps=more)
        step += more
        tv = worker.ask("tv")
        yield spent, tv


def compiling(curves: Sequence[Curve]) -> dict[str, str]:
    """The seconds by which the first hundred steps, and what precedes them, exceed the second."""
    return {"compiling, s": str(Spread([2 * one[0][0] - one[1][0] for one in curves]))}


def main() -> None:
    """Prints a row for each task and library."""
    command = parser(__doc__)
    command.add_argument("--gfnx", help="folder of a virtual environment, if it is measured")
    command.add_argument("--torchgfn", help="folder of a virtual environment, if it is measured")
    command.add_argument("--only", default="", help="tasks whose names begin so")
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--seconds", type=float, default=20, help="no more steps after these")
    asked = command.parse_args()
    table = Table("python benchmarks/peers/time_to_tv.py", asked.out, machine("jax"))
    for name, (task, options) in tasks().items():
        if not name.startswith(asked.only):
            continue
        default = configure(**options).optimiser.steps
        ours = {"pdai": default, "pdai, first round of --tv": first_steps(default)}
        for sampler, steps in ours.items():
            curves: list[Curve] = []
            for seed in range(asked.seeds):
                # Each seed compiles anew, as it does with the others.
                trainer._programs.cache_clear()
                curves.append(list(curve({**options, "steps": steps}, seed)))
            table.add(row_of(name, sampler, curves) | compiling(curves))
        for library in PEERS:
            if (folder := getattr(asked, library)) is None:
                continue
            worker = Process(library, f"{folder}/bin/python", os.sched_getaffinity(0))
            curves = [
                list(peer_curve(worker, task, seed, asked.seconds)) for seed in range(asked.seeds)
            ]
            worker.close()
            table.add(row_of(name, library, curves) | compiling(curves))


if __name__ == "__main__":
    main()
