"""Time and memory of exact posteriors over DAGs: `python benchmarks/posteriors.py 5 8 11 14`.

One Markdown row for each number of variables, on data of 200 rows. Each size runs in a process of
its own, which tells the largest memory it had. Seconds are of the processor, as others may share
it, and of one call after the other, so that what a later one shares with an earlier one is not
counted again. `sample` is of 100 graphs, ancestors are left out beyond 11 variables.

`--climbs` asks whether a posterior can be reached by edges that pay at once, as a sampler that adds
edges learns from the graphs that it meets. From no edges on, climbs take any edge that makes log R
larger, drawn uniformly, until none does; beside them, climbs that may also remove and turn edges. A
climb arrives if its log R is at least that of one exact draw in twenty.
"""

import multiprocessing
import resource
from functools import partial
from random import Random
from typing import Any

from benchmarks.harness import Table, machine, parser, processor_seconds
from reference.posterior import StructureLearning
from reference.posterior.mcmc import GraphTarget

ROWS, MOST_FOR_ANCESTORS = 200, 11
CLIMBS, DRAWS = 200, 400
# Variables, and most parents.
CLIMBED = ((5, None), (8, None), (11, 3))


def measured(nodes: int) -> dict[str, Any]:
    """The row of a number of variables."""
    problems = list[StructureLearning]()
    scored = processor_seconds(lambda: problems.append(StructureLearning.random(nodes, ROWS)))
    (problem,) = problems
    calls = {
        "Z": problem.z,
        "edges": problem.edge_marginals,
        "ancestors": problem.ancestor_marginals if nodes <= MOST_FOR_ANCESTORS else None,
        "mode": problem.mode,
        "sample": partial(problem.sample, 100, seed=0),
    }
    return {
        "n": nodes,
        "terms": 3**nodes,
        "bits": max(max(row).bit_length() for row in problem.weights),
        "scores, s": scored,
        **{name: call and processor_seconds(call) for name, call in calls.items()},
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def climb(target: GraphTarget, rng: Random, *, adding: bool) -> float:
    """Where a climb ends, nats."""
    state = target.start(rng)
    value = target.log_weight(state)
    while True:
        edges = sum(mask.bit_count() for mask in state)
        near = target.neighbours(state)
        if adding:
            near = [graph for graph in near if sum(mask.bit_count() for mask in graph) > edges]
        better = [(weight, graph) for graph in near if (weight := target.log_weight(graph)) > value]
        if not better:
            return value
        value, state = rng.choice(better)


def climbed(nodes: int, most: int | None, seed: int) -> dict[str, Any]:
    """The row of climbs on the data of a seed."""
    problem = StructureLearning.random(nodes, seed=seed, max_parents=most)
    target, rng = GraphTarget(problem), Random(0)
    drawn = sorted(target.log_weight(graph.parents) for graph in problem.sample(DRAWS, seed=0))
    row: dict[str, Any] = {"n": nodes, "parents": most or "-", "data": seed}
    row |= {"exact draws, median": f"{drawn[DRAWS // 2]:.1f}", "5 %": f"{drawn[DRAWS // 20]:.1f}"}
    for name, adding in (("adding", True), ("also removing and turning", False)):
        ends = sorted(climb(target, rng, adding=adding) for _ in range(CLIMBS))
        arrived = sum(end >= drawn[DRAWS // 20] for end in ends) / CLIMBS
        row[f"{name}, median"] = f"{ends[CLIMBS // 2]:.1f}"
        row[f"{name}, arrived"] = f"{arrived:.0%}"
    return row


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("numbers", nargs="*", type=int, help="variables; of climbs, data seeds")
    command.add_argument("--climbs", action="store_true", help="climbs, by default of seeds 0, 1")
    options = command.parse_args()
    if options.climbs:
        table = Table("python benchmarks/posteriors.py --climbs", options.out)
        for nodes, most in CLIMBED:
            for seed in options.numbers or (0, 1):
                table.add(climbed(nodes, most, seed))
    else:
        table = Table("python benchmarks/posteriors.py", options.out, machine("numpy"))
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            for size in options.numbers:
                table.add(pool.apply(measured, [size]))
