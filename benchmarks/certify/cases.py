"""Samplers of gfnx and torchgfn, trained and certified: run by the Python of its environment.

    gfnx/bin/python benchmarks/certify/cases.py gfnx [CASE]...

Imports nothing but NumPy, the project's plain-Python half and the workers of `../peers`, so that
the environment of either library can run it.
"""

import importlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# The project is that of this checkout.
sys.path.insert(0, str(Path(__file__).parents[2]))

import pdai
from benchmarks.harness import Table
from benchmarks.peers.protocol import Worker
from benchmarks.peers.tasks import BitTask, GridTask, IsingTask, TableTask, Task
from reference.certificates.statement import Certificate, Regime
from reference.contract.text import small
from reference.problems import BitSequences, Cell, Grid, TableSequences

BITS = BitSequences.random(32, 4, exponent=3)
SIX6 = TableSequences.six6("append")


class Case(NamedTuple):
    """A task, and what is known of its target.

    Attributes:
        task: as the workers build it.
        steps: of training, with 64 trajectories each.
        problem: of this project, whose exact rewards count; None for the library's own.
        label: from a terminal state of the library to one of the problem.
        log_z: in nats, where there is no problem to tell it.
        regimes: beside Z, of hypergrids whose cells are few enough to ask for all rows.
    """

    task: Task
    steps: int
    problem: Any = None
    label: Any = None
    log_z: float | None = None
    regimes: tuple[Regime, ...] = ()


def cell(x: tuple[int, ...]) -> Cell:
    """A cell of the hypergrid, where the trajectory stops."""
    return Cell(tuple(map(int, x)), stopped=True)


def string(x: tuple[int, ...]) -> str:
    return "".join(format(int(word), "04b") for word in x)


def letters(x: tuple[int, ...]) -> str:
    return "".join(SIX6.alphabet[int(letter)] for letter in x)


def six6_task() -> TableTask:
    """The exact rewards of all strings, in the order of the table."""
    strings = map("".join, itertools.product(SIX6.alphabet, repeat=SIX6.length))
    logs = tuple(math.log(SIX6.reward(string)) for string in strings)
    return TableTask(len(SIX6.alphabet), SIX6.length, logs)


def log_z_of_torus(task: IsingTask) -> float:
    """`log Z` of the Ising model: the trace of a power of the transfer matrix of its rows."""
    bits = np.arange(2**task.side)[:, None] >> np.arange(task.side) & 1
    rows = 2.0 * bits - 1
    along = (rows * np.roll(rows, 1, 1)).sum(1)
    transfer = np.exp(task.coupling * (along[:, None] + rows @ rows.T))
    return float(np.log(np.trace(np.linalg.matrix_power(transfer, task.side))))


TORUS = IsingTask(6, 0.1)
CASES = {
    "hypergrid 8^2": Case(GridTask(2, 8), 1_000, Grid(8, 2), cell, regimes=("S", "E")),
    "hypergrid 8^4": Case(GridTask(4, 8), 1_500, Grid(8, 4), cell, regimes=("S", "E")),
    "hypergrid 32^4": Case(GridTask(4, 32), 200, Grid(32, 4), cell),
    "bits 32/4, any order": Case(
        BitTask(8, 4, tuple(tuple(map(int, mode)) for mode in BITS.modes), 3.0), 600, BITS, string
    ),
    "SIX6, left to right": Case(six6_task(), 2_000, SIX6, letters),
    "Ising 6 x 6, any order": Case(TORUS, 1_500, log_z=log_z_of_torus(TORUS)),
}
BATCH = 64


def of_grid(problem: Grid, logits: Callable[[Any], Any]) -> Callable[[Cell], list[float]]:
    """A library's sampler of a hypergrid as a function of this project's states.

    Args:
        problem: the hypergrid.
        logits: from all cells, shape (n, dimension), to those of `p_F` in the order of both
            libraries: an increment of each coordinate, then the exit.
    """
    cells = list(itertools.product(range(problem.side), repeat=problem.dimension))
    rows = dict(zip(cells, np.asarray(logits(np.array(cells)), float).tolist(), strict=True))

    def row(state: Cell) -> list[float]:
        *up, stop = rows[state.coordinates]
        inside = zip(up, state.coordinates, strict=True)
        return [stop, *(logit for logit, x in inside if x + 1 < problem.side)]

    return row


def certificates(worker: Worker, case: Case) -> Iterator[Certificate]:
    """In regime Z by the library's own steps, and of hypergrids in S and E by its rows."""
    sampler = worker.as_sampler(case.problem, case.label)
    yield pdai.certify(sampler, case.problem, regime="Z", log_z=case.log_z)
    if case.regimes:
        function = of_grid(case.problem, worker.grid_logits)
        for regime in case.regimes:
            yield pdai.certify(function, case.problem, gives="logits", regime=regime)


def main(library: str, *names: str) -> None:
    """Trains on each task, or on those named, and prints rows of Markdown."""
    worker = getattr(
        importlib.import_module(f"benchmarks.peers.worker_{library}"), library.capitalize()
    )()
    table = Table(f"python benchmarks/certify/cases.py {library}")
    version = " ".join(next(iter(worker.versions().items())))
    for name in names or CASES:
        case = CASES[name]
        worker.build(case.task, BATCH)
        started = time.process_time()
        worker.train(case.steps)
        begun = time.process_time()
        training = f"{version}, {case.steps:,} steps, {begun - started:.0f} s"
        for certificate in certificates(worker, case):
            ended, (low, high) = time.process_time(), certificate.interval
            row = {
                "task": name,
                "trained": training,
                "regime": certificate.regime,
                "TV": f"[{small(low, down=True)}, {small(high, down=False)}]",
                "samples": certificate.samples,
                "seconds": f"{ended - begun:.1f}",
            }
            table.add(row)
            begun = ended


if __name__ == "__main__":
    main(*sys.argv[1:])
