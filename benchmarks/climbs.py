"""Can a posterior over graphs be reached by edges that pay at once?

`python benchmarks/climbs.py [SEED...]`, with seeds of the data.

A sampler that adds edges learns from the graphs that it meets. From no edges on, climbs take any
edge that makes log R larger, drawn uniformly, until none does; beside them, climbs that may also
remove and turn edges. A climb arrives if its log R is at least that of one exact draw in twenty.
"""

from random import Random
from typing import Any

from benchmarks.harness import Table, parser
from reference.posterior import StructureLearning
from reference.posterior.mcmc import GraphTarget, Parents

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
        better = [(weight, other) for other in near if (weight := target.log_weight(other)) > value]
        if not better:
            return value
        value, state = rng.choice(better)


def edges(graph: Parents) -> int:
    """Their number."""
    return sum(mask.bit_count() for mask in graph)


def measured(nodes: int, most: int | None, seed: int) -> dict[str, Any]:
    """One row."""
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
    command.add_argument("seeds", nargs="*", type=int, help="of the data, instead of 0 and 1")
    options = command.parse_args()
    table = Table("python benchmarks/climbs.py", options.out)
    for nodes, most, seeds in INSTANCES:
        for seed in options.seeds or seeds:
            table.add(measured(nodes, most, seed))
