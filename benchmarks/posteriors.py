"""Time and memory of exact posteriors over DAGs: `python benchmarks/posteriors.py 5 8 11 14`.

One Markdown row for each number of variables, on data of 200 rows. Each size runs in a process of
its own, which tells the largest memory it had. Seconds are of the processor, as others may share
it, and of one call after the other, so that what a later one shares with an earlier one is not
counted again. `sample` is of 100 graphs, ancestors are left out beyond 11 variables.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from reference.problems import StructureLearning

ROWS = 200
MOST_FOR_ANCESTORS = 11


def seconds(action: Callable[[], Any]) -> str:
    """Processor time of one call."""
    started = time.process_time()
    action()
    return f"{time.process_time() - started:.3g}"


def measure(nodes: int) -> None:
    """One row."""
    started = time.process_time()
    problem = StructureLearning.random(nodes, ROWS)
    scored = time.process_time() - started
    bits = max(max(row).bit_length() for row in problem.weights)
    times = [
        seconds(problem.z),
        seconds(problem.edge_marginals),
        seconds(problem.ancestor_marginals) if nodes <= MOST_FOR_ANCESTORS else "-",
        seconds(problem.mode),
        seconds(lambda: problem.sample(100, seed=0)),
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = [f"{nodes}", f"{3**nodes:,}", f"{bits:,}", f"{scored:.3g}", *times, f"{peak:,.0f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:]]
    if len(sizes) == 1:
        measure(sizes[0])
    else:
        print("| n | terms | bits | scores, s | Z | edges | ancestors | mode | sample | MiB |")
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
        for size in sizes:
            subprocess.run([sys.executable, __file__, str(size)], check=True)
