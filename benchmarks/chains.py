"""Markov chains over graphs, stored beside the networks of study:posterior_edges.

`python benchmarks/chains.py` runs those that the file of results lacks, in an hour of two cores.
A chain moves graphs edge by edge (`GraphTarget`), or orders (`OrderTarget`); its first fifth is
discarded.
"""

import argparse
import time
from functools import cache, partial
from itertools import groupby, islice
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from pdai.distributed.engine import LocalProcesses, Task, bring_to_end
from pdai.experiments import EXPERIMENTS
from pdai.experiments.probes import distance, marginals_of, spread_of_draws
from pdai.experiments.results import RESULTS, Run, load, save
from pdai.experiments.running import default_jobs
from pdai.experiments.trainings import config_of
from reference.posterior import StructureLearning
from reference.posterior.mcmc import GraphTarget, OrderTarget, chain, linear_extensions

STUDY = EXPERIMENTS["study:posterior_edges"]
# Some 20 and 50 processor seconds, chosen before any network with memory was timed.
STATES = {
    "5 variables": {"structure MCMC": 800_000, "order MCMC": 4_000_000},
    "11 variables, 3 parents": {"structure MCMC": 600_000, "order MCMC": 1_500_000},
    "14 variables, 3 parents": {"structure MCMC": 600_000, "order MCMC": 1_500_000},
}
# The share of a chain that is discarded, and the steps between orders that give a graph.
BURN_IN, APART = 0.2, 20

Floats = npt.NDArray[np.float64]


def by_edges(problem: StructureLearning, states: int, rng: Random) -> dict[str, Floats]:
    """The fraction of the states with each edge."""
    total, first = np.zeros((problem.nodes, problem.nodes)), round(BURN_IN * states)
    # A repeated state is added once, with its count.
    for graph, repeated in groupby(islice(chain(GraphTarget(problem), rng), first, states)):
        total += sum(1 for _ in repeated) * adjacency(graph)
    return {"learned": total / (states - first)}


def by_orders(problem: StructureLearning, states: int, rng: Random) -> dict[str, Floats]:
    """Graphs drawn given orders, weighed by `1 / L(G)`; unweighed, they have another law."""
    target = OrderTarget(problem)
    weighed, plain = (np.zeros((problem.nodes, problem.nodes)) for _ in range(2))
    weights, count = 0.0, 0
    for order in islice(chain(target, rng), round(BURN_IN * states), states, APART):
        graph = target.draw(order, rng)
        seen, weight = adjacency(graph), 1 / linear_extensions(graph)
        weighed += weight * seen
        plain += seen
        weights += weight
        count += 1
    return {"learned": weighed / weights, "unweighed": plain / count}


WALKERS = {"structure MCMC": by_edges, "order MCMC": by_orders}


def adjacency(parents: tuple[int, ...]) -> Floats:
    """1 in row u, column v for an edge from u to v."""
    masks = np.array(parents)
    return (masks >> np.arange(len(parents))[:, None] & 1).astype(float)


def walked(row: str, model: str, problem: StructureLearning, states: int, seed: int) -> Run:
    """A chain as it is stored, with processor seconds in the place of those of training."""
    exact, started = marginals_of(problem), time.process_time()
    marginals = WALKERS[model](problem, states, Random(seed))
    seconds = time.process_time() - started
    errors = {name: distance(value, exact) for name, value in marginals.items()}
    measured = {"exact": spread_of_draws(exact), "processor": seconds, **errors}
    return Run(
        row, model, seed, {"moves": states, "seed": seed}, parameters=0, seconds=seconds,
        learned={}, uniform={}, exact=None, tv_kind="unknown", log_z=problem.log_z().value,
        curve=[], probes=[{"step": states, **measured}], law=None,
    )  # fmt: skip


def main(path: Path = RESULTS / f"{STUDY.slug}.json") -> None:
    """Runs the chains that a file of results lacks, and stores each as it ends."""
    runs = load(path)
    done = {(run.row, run.model, run.seed) for run in runs}
    configs = {cell.row: config_of(cell.config) for cell in STUDY.runnable if cell.config}
    problem = cache(lambda row: configs[row].problem())
    tasks = {
        f"{row}, {model}, seed {seed}": Task(partial(walked, row, model, problem(row), n), seed, {})
        for row, of in STATES.items()
        for model, n in of.items()
        for seed in STUDY.seeds
        if (row, model, seed) not in done
    }
    with LocalProcesses(default_jobs(), pinned=True) as workers:
        for ended in bring_to_end(tasks, workers, print):
            if ended.error:
                raise ended.error
            runs.append(ended.result)
            save(path, STUDY, runs)
            print(f"{ended.name}: {ended.result.value('edges'):.4f}", flush=True)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
