"""Processor seconds of the reference: `python benchmarks/exact.py [--lifts]`, a Markdown table.

`--lifts` adds the check of all 438,805 lifts of the graphs with six states, which takes minutes.
"""

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from math import prod
from typing import Any

from benchmarks.harness import (
    Spread,
    Table,
    in_turns,
    machine,
    parser,
    processor_seconds,
    wall_seconds,
)
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
from verify.lib.small_scope import isomorphism_classes, lifts

ROUNDS = 7


def enumeration(table: Table) -> None:
    """States per second of `enumerate_dag`."""
    problems: list[tuple[str, Problem[Any]]] = [
        ("SIX6, both ends", TableSequences.six6()),
        ("strings of length 10 over 4 letters, appended", Sequences("ACGT", 10, "append")),  # type: ignore[list-item]
        *((f"grid 16, dimension {d}", Grid(16, d)) for d in (2, 3, 4)),
    ]
    for name, problem in problems:
        states = len(enumerate_dag(problem).labels)
        times = [processor_seconds(partial(enumerate_dag, problem)) for _ in range(3)]
        rates = [states / seconds for seconds in times]
        table.show(f"enumeration, {name}: {states:,} states", Spread(rates, "states/s"))


def imports(table: Table) -> None:
    """The seconds that `import reference` adds to the start of Python."""

    def started(code: str) -> float:
        return wall_seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    codes = ("pass", "import reference")
    times = in_turns({code: partial(started, code) for code in codes}, ROUNDS)
    added = [full - empty for empty, full in zip(*(times[code] for code in codes), strict=True)]
    table.show("import reference", Spread(added, "s"))


def balance_holds(dag: PointedDAG[Any], weights: Sequence[int], rewards: Sequence[int]) -> bool:
    """True if the `p_F` forced by `p_B = w / sum of w` and R is normalised and has `p_T = R / Z`.

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


def all_lifts(table: Table) -> None:
    """The balance of a random rational `p_B` on every lift of every graph with six states."""
    rng = random.Random(0)
    classes = list[PointedDAG[Any]]()

    def graphs() -> None:
        classes.extend(dag for dag, _ in isomorphism_classes(6))

    def checked(holds: Callable[..., bool], every: int) -> int:
        count = 0
        for dag in classes[::every]:
            for lifted in islice(lifts(dag), 0, None, every):
                weights = rng.choices(range(1, 10), k=len(lifted.dag.edges))
                rewards = rng.choices(range(1, 10), k=len(lifted.dag.terminals))
                assert holds(lifted.dag, weights, rewards)
                count += 1
        return count

    taken = processor_seconds(graphs)
    table.show(f"all {len(classes):,} graphs with six states", Spread([taken], "s"))
    counts = list[int]()
    taken = processor_seconds(lambda: counts.append(checked(balance_holds, 1)))
    assert counts == [438_805]
    table.show("all their 438,805 lifts, made and checked in integers", Spread([taken], "s"))
    table.show("the same, per second", Spread([counts[0] / taken], "lifts/s"))
    taken = processor_seconds(lambda: counts.append(checked(balance_holds_in_fractions, 20)))
    name = f"{counts[1]:,} of them, by the reference's own policies"
    table.show(name, Spread([counts[1] / taken], "lifts/s"))


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("--lifts", action="store_true", help="also all lifts with six states")
    options = command.parse_args()
    table = Table("python benchmarks/exact.py --lifts", options.out, machine("numpy"))
    enumeration(table)
    imports(table)
    if options.lifts:
        all_lifts(table)
