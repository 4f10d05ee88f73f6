"""How fast the reference is: `python benchmarks/exact.py [--lifts]`, a Markdown table.

What is compared runs in one process, interleaved in rounds, so that a busy machine disturbs both
alike; the median over rounds is shown with the smallest and the largest. `--lifts` adds the check
of all 438,805 lifts of the graphs with six states, which takes minutes.
"""

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice
from math import prod
from typing import Any

from reference import (
    RATIONAL,
    BackwardPolicy,
    PointedDAG,
    Problem,
    enumerate_dag,
    flows,
    forward_from_backward,
    path_sums,
)
from reference.problems import Grid, Sequences, TableSequences
from verify.lib.partitions import lifts
from verify.lib.small_scope import isomorphism_classes

ROUNDS = 7


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(**actions: Callable[[], Any]) -> dict[str, list[float]]:
    """Wall times of each, one of each per round."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return times


def show(name: str, values: Sequence[float], unit: str) -> None:
    """One row: median (least to largest)."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"| {name} | {middle:.3g} {unit} | {low:.3g} to {high:.3g} |", flush=True)


def enumeration() -> None:
    """States per second of `enumerate_dag`."""
    problems: list[tuple[str, Problem[Any]]] = [
        ("SIX6, both ends", TableSequences.six6()),
        ("strings of length 10 over 4 letters, appended", Sequences("ACGT", 10, "append")),  # type: ignore[list-item]
        *((f"grid 16, dimension {d}", Grid(16, d)) for d in (2, 3, 4)),
    ]
    for name, problem in problems:
        states = len(enumerate_dag(problem).labels)
        times = [seconds(lambda p=problem: enumerate_dag(p)) for _ in range(3)]  # type: ignore[misc]
        show(f"enumeration, {name}: {states:,} states", [states / t for t in times], "states/s")


def imports() -> None:
    """How much `import reference` adds to the start of Python."""
    runs = {
        name: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
        for name, code in (("empty", "pass"), ("full", "import reference"))
    }
    times = interleaved(**runs)
    show(
        "import reference",
        [full - empty for full, empty in zip(times["full"], times["empty"], strict=True)],
        "s",
    )


def balance_holds(dag: PointedDAG[Any], weights: Sequence[int], rewards: Sequence[int]) -> bool:
    """Whether the `p_F` forced by `p_B = w / sum of w` and R is normalised and has `p_T = R / Z`.

    Flows and visits are computed from `p_B` and from `p_F`, as by `reference.solve` and
    `reference.marginals`, in integers over the product of all row sums: every division by such
    a sum is exact, because no path meets a state twice.
    """
    totals = [1] + [0] * (len(dag.labels) - 1)
    for (_, v), w in zip(dag.edges, weights, strict=True):
        totals[v] += w
    scale = prod(totals)
    flow = [0] * len(totals)
    for x, reward in zip(dag.terminals, rewards, strict=True):
        flow[x] = reward * scale
    through = [0] * len(weights)
    for e in range(len(weights) - 1, -1, -1):
        u, v = dag.edges[e]
        through[e] = weights[e] * (flow[v] // totals[v])
        flow[u] += through[e]
    # p_F = through / flow of the parent.
    inner = [u for u, row in enumerate(dag.children) if row]
    leaving = [0] * len(totals)
    scale = prod(flow[u] for u in inner)
    visits = [scale] + [0] * (len(totals) - 1)
    for (u, v), f in zip(dag.edges, through, strict=True):
        leaving[u] += f
        visits[v] += visits[u] // flow[u] * f
    return all(leaving[u] == flow[u] for u in inner) and all(
        visit * flow[0] == f * scale for visit, f in zip(visits, flow, strict=True)
    )


def balance_holds_in_fractions(
    dag: PointedDAG[Any], weights: Sequence[int], rewards: Sequence[int]
) -> bool:
    """The same by the functions of the reference."""
    p_b = BackwardPolicy.from_weights(dag, RATIONAL, weights)
    exact = tuple(map(Fraction, rewards))
    p_f, z = forward_from_backward(p_b, exact)
    return all(u * z == f for u, f in zip(path_sums(p_f), flows(p_b, exact), strict=True))


def all_lifts() -> None:
    """The balance of a random rational `p_B` on every lift of every graph with six states."""
    rng = random.Random(0)
    started = time.perf_counter()
    classes = [dag for dag, _ in isomorphism_classes(6)]
    show(f"all {len(classes):,} graphs with six states", [time.perf_counter() - started], "s")
    started, count = time.perf_counter(), 0
    for dag in classes:
        for lifted in lifts(dag):
            weights = rng.choices(range(1, 10), k=len(lifted.dag.edges))
            rewards = rng.choices(range(1, 10), k=len(lifted.dag.terminals))
            assert balance_holds(lifted.dag, weights, rewards)
            count += 1
    assert count == 438_805
    taken = time.perf_counter() - started
    show(f"all their {count:,} lifts, made and checked in integers", [taken], "s")
    show("the same, per second", [count / taken], "lifts/s")
    started, count = time.perf_counter(), 0
    for dag in classes[::20]:
        for lifted in islice(lifts(dag), 0, None, 20):
            weights = rng.choices(range(1, 10), k=len(lifted.dag.edges))
            rewards = rng.choices(range(1, 10), k=len(lifted.dag.terminals))
            assert balance_holds_in_fractions(lifted.dag, weights, rewards)
            count += 1
    taken = time.perf_counter() - started
    show(f"{count:,} of them, by the reference's own policies", [count / taken], "lifts/s")


if __name__ == "__main__":
    print("| what | median | range |\n|---|---|---|")
    enumeration()
    imports()
    if "--lifts" in sys.argv[1:]:
        all_lifts()
