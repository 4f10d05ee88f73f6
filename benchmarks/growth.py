"""Processor seconds as a problem grows: `python benchmarks/growth.py [--only columns]`.

A step is one of a training by default, in five blocks of 20 after the first 100; of networks, with
40,000 parameters and no table. A posterior is of 200 rows of a random network, at most four parents
each, in a process of its own. A certificate is of samples of the uniform law of 100 values beside
that law. The slope is that of log seconds in log size since the row before; of columns, it is what
one more multiplies seconds by.
"""

import math
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pdai
from benchmarks.harness import Spread, Table, machine, parser, processor_seconds
from fast.environments import make_environment
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from reference.posterior.random_networks import random_network

STEPS, ROUNDS = 20, 5
BATCHES, POSTERIOR = (16, 64, 256, 1_024), "columns of a posterior"
NETWORKS = {"Markovian": "markov", "GRU": "gru", "minGRU": "mingru"}
# Without a table, which a path-dependent network has not at equal parameters.
EQUAL = {"table_rows": 0, "parameters": 40_000, "batch": 128, "hidden_layers": 2}


def step(**options: Any) -> Spread:
    """Processor seconds of a training step, from step 101 on."""
    config = configure(**options)
    trainer = make_trainer(config, make_environment(config.problem()))
    box = [trainer.advance(trainer.init(), 100)[0]]

    def go() -> Any:
        box[0], info = trainer.advance(box[0], STEPS)
        return info

    times = [processor_seconds(go) / STEPS for _ in range(ROUNDS)]
    jax.clear_caches()
    return Spread(times, "s")


def posterior(columns: int) -> dict[str, float]:
    """Processor seconds of each part of a posterior."""
    data, answers = random_network(columns, 200, 0).data, list[Any]()
    scores = processor_seconds(lambda: answers.append(pdai.posterior(data, max_parents=4)))
    law = answers[0].posterior
    edges = processor_seconds(lambda: law.edges)
    return {"scores": scores, "edges": edges, "best": processor_seconds(lambda: law.best(5))}


def certificate(samples: int) -> Spread:
    """Processor seconds of a certificate."""
    values = [str(value) for value in range(100)]
    drawn = np.random.default_rng(0).choice(values, samples)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples.csv"
        file.write_text("value\n" + "\n".join(drawn) + "\n")
        certify = partial(pdai.certify, file, weights=dict.fromkeys(values, 1.0))
        return Spread([processor_seconds(certify) for _ in range(3)], "s")


def grown(measure: Callable[[int], Spread], sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """A row for each size, with the slope since the one before."""
    before: tuple[int, float] | None = None
    for size in sizes:
        seconds = measure(size)
        slope = None
        if before is not None:
            slope = math.log(seconds.median / before[1]) / math.log(size / before[0])
        before = size, seconds.median
        yield {"size": size, "seconds": seconds, "slope": slope}


# What grows, its sizes, and what is measured.
GROWING: dict[str, tuple[tuple[int, ...], Callable[[int], Spread]]] = {
    "samples of a certificate": ((10_000, 100_000, 1_000_000), certificate),
    "batch, grid 16^2": (BATCHES, lambda size: step(task="grid", batch=size)),
    "batch, SIX6": (BATCHES, lambda size: step(task="six6", **EQUAL | {"batch": size})),
    "side, grid": ((8, 16, 32), lambda size: step(task="grid", side=size)),
    "dimension, grid": ((2, 3, 4), lambda size: step(task="grid", side=8, dimension=size)),
}


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--only", default="", help="what begins so")
    command.add_argument("--columns", nargs="+", type=int, default=[8, 12, 14, 16, 20])
    asked = command.parse_args()
    table = Table("python benchmarks/growth.py", asked.out, machine("jax", "numpy"))
    if "columns of a posterior".startswith(asked.only):
        before = None
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            for columns in asked.columns:
                row = pool.apply(posterior, [columns])
                total = sum(row.values())
                slope = before and (total / before[1]) ** (1 / (columns - before[0]))
                before = columns, total
                table.add({"size": columns, **row, "all": total, "slope": slope}, POSTERIOR)
    for what, (sizes, measure) in GROWING.items():
        if what.startswith(asked.only):
            for row in grown(measure, sizes):
                table.add({"what": what, **row}, "steps and certificates")
    if "network".startswith(asked.only):
        for task in ("grid", "six6"):
            times = {name: step(task=task, dynamics=x, **EQUAL) for name, x in NETWORKS.items()}
            for name, seconds in times.items():
                share = times["Markovian"].median / seconds.median
                row = {"task": task, "network": name, "seconds": seconds}
                table.add({**row, "rate over Markovian": share}, "networks")


if __name__ == "__main__":
    main()
