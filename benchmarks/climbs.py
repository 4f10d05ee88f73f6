"""Can a posterior over graphs be reached by edges that pay at once?

`python benchmarks/climbs.py`, or with seeds of the data.

A sampler that adds edges learns from the graphs that it meets. From no edges on, climbs take any
edge that makes log R larger, drawn uniformly, until none does; beside them, climbs that may also
remove and turn edges. A climb arrives if its log R is at least that of one exact draw in twenty.
"""

import sys
from random import Random

from reference.mcmc import GraphTarget, Parents
from reference.problems import StructureLearning

CLIMBS, DRAWS = 200, 400
# Variables, most parents, seeds of the data.
INSTANCES = ((5, None, (0, 1)), (8, None, (0, 1)), (11, 3, (0, 1)))


def climb(target: GraphTarget, rng: Random, *, adding: bool) -> float:
    """Where a climb ends, nats."""
    state = target.start(rng)
    value = target.log_weight(state)
    while True:
        near = [
            other for other in target.neighbours(state) if not adding or edges(other) > edges(state)
        ]
        better = [(found, other) for other in near if (found := target.log_weight(other)) > value]
        if not better:
            return value
        value, state = rng.choice(better)


def edges(graph: Parents) -> int:
    """How many there are."""
    return sum(mask.bit_count() for mask in graph)


def measure(nodes: int, most: int | None, seed: int) -> None:
    """One row."""
    problem = StructureLearning.random(nodes, seed=seed, max_parents=most)
    target, rng = GraphTarget(problem), Random(0)
    drawn = sorted(target.log_weight(graph.parents) for graph in problem.sample(DRAWS, seed=0))
    cells = [f"{drawn[DRAWS // 2]:.1f}", f"{drawn[DRAWS // 20]:.1f}"]
    for adding in (True, False):
        ends = sorted(climb(target, rng, adding=adding) for _ in range(CLIMBS))
        arrived = sum(end >= drawn[DRAWS // 20] for end in ends) / CLIMBS
        cells += [f"{ends[CLIMBS // 2]:.1f}", f"{arrived:.0%}"]
    print("| " + " | ".join([f"{nodes}", f"{most or '-'}", f"{seed}", *cells]) + " |", flush=True)


if __name__ == "__main__":
    heads = ["n", "parents", "data", "exact draws, median", "5 %"]
    heads += ["adding, median", "arrived", "also removing and turning, median", "arrived"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    for nodes, most, seeds in INSTANCES:
        for seed in seeds if len(sys.argv) < 2 else map(int, sys.argv[1:]):
            measure(nodes, most, seed)
