"""Time and memory of exact posteriors over DAGs: `python benchmarks/posteriors.py 5 8 11 14`.

One Markdown row for each number of variables, on data of 200 rows. Each size runs in a process of
its own, which tells the largest memory it had. Seconds are of the processor, as others may share
it, and of one call after the other, so that what a later one shares with an earlier one is not
counted again. `sample` is of 100 graphs, ancestors are left out beyond 11 variables.
"""

import multiprocessing
import resource
from functools import partial
from typing import Any

from benchmarks.harness import Table, machine, parser, processor_seconds
from reference.posterior import StructureLearning

ROWS = 200
MOST_FOR_ANCESTORS = 11


def measured(nodes: int) -> dict[str, Any]:
    """One row."""
    made = list[StructureLearning]()
    scored = processor_seconds(lambda: made.append(StructureLearning.random(nodes, ROWS)))
    (problem,) = made
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


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("sizes", nargs="+", type=int, help="numbers of variables")
    options = command.parse_args()
    table = Table("python benchmarks/posteriors.py", options.out, machine("numpy"))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for size in options.sizes:
            table.add(pool.apply(measured, [size]))
