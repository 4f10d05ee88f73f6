"""Seconds until the samplers of gfnx, torchgfn and this project are near: see the README here.

    python benchmarks/peers/time_to_tv.py --gfnx ENV --torchgfn ENV [--seeds 3] [--seconds 20]

The hypergrids that all three have, by the rows of `benchmarks/time_to_tv.py`: TV of terminal cells
is exact, from `p_F` in every cell. torchgfn trains as its own script for this task, with a learned
`p_B` and clipped gradients; gfnx as `tasks.py` says, with the batch of its script; this project
with the defaults of `pdai train grid`, and by the first round of its `--tv`. All are pinned to the
cores that this process may use.
"""

import os
from collections.abc import Iterator, Sequence

import numpy as np
from run import Process
from tasks import TASKS, GridTask

from benchmarks.harness import Spread, Table, machine, parser
from benchmarks.time_to_tv import DISTANCES, Curve, curve, grid_distance, row_of
from fast.training import trainer
from fast.training.compose import configure
from pdai.goal import first_steps

# num_envs of `baselines/tb_hypergrid.py`, and batch_size of `train_hypergrid_simple.py`.
BATCHES = {"gfnx": 16, "torchgfn": 16}


def peer_curve(
    worker: Process, name: str, seed: int, limit: float
) -> Iterator[tuple[float, float]]:
    """Processor seconds and TV, at powers of two times a hundred steps.

    No more steps after the limit, or below the least distance.
    """
    task = TASKS[name]
    assert isinstance(task, GridTask)
    cells = np.indices((task.side,) * task.dimension).reshape(task.dimension, -1).T
    spent, step, tv = worker.ask("begin", task=name, batch=BATCHES[worker.name], seed=seed), 0, 1.0
    log_rewards = np.array(worker.ask("log_rewards", terminals=cells.tolist()))
    while spent < limit and tv >= DISTANCES[-1]:
        more = max(100, step)
        spent += worker.ask("go_on", steps=more)
        step += more
        rows = np.array(worker.ask("log_p_f", cells=cells.tolist()))
        tv = grid_distance(cells, log_rewards, rows)
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
    for name, task in TASKS.items():
        if not isinstance(task, GridTask) or not name.startswith(asked.only):
            continue
        options = {"task": "grid", "side": task.side, "dimension": task.dimension}
        default = configure(**options).optimiser.steps
        ours = {"pdai": default, "pdai, first round of --tv": first_steps(default)}
        for sampler, steps in ours.items():
            curves: list[Curve] = []
            for seed in range(asked.seeds):
                # Each seed compiles anew, as it does with the others.
                trainer._programs.cache_clear()
                curves.append(list(curve({**options, "steps": steps}, seed)))
            table.add(row_of(name, sampler, curves) | compiling(curves))
        for library in BATCHES:
            if (folder := getattr(asked, library)) is None:
                continue
            worker = Process(library, f"{folder}/bin/python", os.sched_getaffinity(0))
            curves = [
                list(peer_curve(worker, name, seed, asked.seconds)) for seed in range(asked.seeds)
            ]
            worker.close()
            table.add(row_of(name, library, curves) | compiling(curves))


if __name__ == "__main__":
    main()
