"""How fast the reference is: `python tests/benchmarks/exact.py [--lifts]`, a Markdown table.

What is compared runs in one process, interleaved in rounds, so that a busy machine disturbs both
alike; the median over rounds is shown with the smallest and the largest. `--lifts` adds the check
of all 438,805 lifts of the graphs with six states, which takes minutes.
"""

import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    PointedDAG,
    Problem,
    enumerate_dag,
    float_sums,
    flows,
    forward_from_backward,
    integer_sums,
    path_sums,
)
from reference.integer_rows import IntegerRows
from reference.levels import LevelDAG
from reference.partitions import lifts
from reference.problems import Grid, Sequences, TableSequences
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


def ratio(name: str, slow: Sequence[float], fast: Sequence[float]) -> None:
    """One row: how many times as fast."""
    show(name, [a / b for a, b in zip(slow, fast, strict=True)], "x")


def layered_edges(levels: int, width: int) -> tuple[Any, Any]:
    """A source, then `levels` levels; four children each, scattered over the next level."""
    rng = np.random.default_rng(0)
    parents = [np.zeros(width, np.int32)]
    children = [np.arange(1, width + 1, dtype=np.int32)]
    places = np.arange(width)[:, None] + [0, 1, width // 3, width // 2]
    for level in range(1, levels):
        start = 1 + (level - 1) * width
        parents.append(np.repeat(np.arange(start, start + width, dtype=np.int32), 4))
        scattered = rng.permutation(width)[places % width]
        children.append((start + width + scattered).ravel().astype(np.int32))
    return np.concatenate(parents), np.concatenate(children)


def float_marginals() -> None:
    """Path sums of 10^7 edges, against scipy.sparse used directly on each level."""
    parents, children = layered_edges(21, 125_000)
    weights = np.random.default_rng(1).integers(1, 10, len(parents)).astype(np.float64)
    values = weights / np.bincount(parents, weights)[parents]
    tracemalloc.start()
    graph = LevelDAG.from_edges(parents, children)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    float_sums.path_sums(graph, values)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    own = graph.first.nbytes + graph.children.nbytes
    name = f"float64 path sums, {len(values):,} edges"
    show(f"{name}: peak memory with the graph, over the graph", [(own + peak) / own], "x")

    levels = list(pairwise(graph.starts.tolist()))

    def matrix(level: int) -> Any:
        (begin, end), (start, stop) = levels[level], levels[level + 1]
        edges = slice(graph.first[begin], graph.first[end])
        rows = graph.first[begin : end + 1] - graph.first[begin]
        return sparse.csr_array(
            (values[edges], children[edges] - start, rows), shape=(end - begin, stop - start)
        )

    def plain() -> Any:
        sums = np.ones(1)
        for level in range(graph.depth):
            sums = sums @ matrix(level)
        return sums

    ready = [matrix(level).T.tocsr() for level in range(graph.depth)]

    def products() -> Any:
        sums = np.ones(1)
        for by_child in ready:
            sums = by_child @ sums
        return sums

    np.testing.assert_allclose(
        plain(), float_sums.path_sums(graph, values)[graph.terminals], rtol=1e-12
    )
    times = interleaved(
        ours=lambda: float_sums.path_sums(graph, values),
        plain=plain,
        products=products,
        build=lambda: LevelDAG.from_edges(parents, children),
        check=lambda: float_sums.check_policy(graph, values, "forward"),
    )
    show(name, [len(values) / t for t in times["ours"]], "edges/s")
    ratio(f"{name}: speed over scipy.sparse, one matrix per level", times["plain"], times["ours"])
    ratio(f"{name}: over its products alone, matrices ready", times["products"], times["ours"])
    show("building and checking that graph", times["build"], "s")
    show("checking the rows of that policy", times["check"], "s")


def exact_marginals() -> None:
    """Path sums in integers, against `fractions.Fraction`."""
    parents, children = layered_edges(20, 1_300)
    rows: list[list[int]] = [[] for _ in range(1 + int(children.max()))]
    for u, v in zip(parents.tolist(), children.tolist(), strict=True):
        rows[u].append(v)
    layered = PointedDAG(tuple(range(len(rows))), tuple(map(tuple, rows)))
    for name, dag in (
        (f"layered, {len(parents):,} edges", layered),
        ("grid 30", enumerate_dag(Grid(30))),
        ("grid 60", enumerate_dag(Grid(60))),
    ):
        weights = random.Random(0).choices(range(1, 10), k=len(dag.edges))
        policy = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        graph = LevelDAG.from_dag(dag)
        given = IntegerRows.from_fractions(graph, "forward", policy.values)
        sums = integer_sums.path_sums(given)
        exact = path_sums(policy)
        assert sums.fractions(dag.terminals) == tuple(exact[x] for x in dag.terminals)
        times = interleaved(
            fraction=lambda p=policy: path_sums(p),  # type: ignore[misc]
            convert=lambda g=graph, p=policy: IntegerRows.from_fractions(g, "forward", p.values),  # type: ignore[misc]
            weights=lambda g=graph, w=weights: IntegerRows.from_weights(g, "forward", w),  # type: ignore[misc]
            sums=lambda r=given: integer_sums.path_sums(r),  # type: ignore[misc]
            reduce=lambda s=sums, d=dag: s.fractions(d.terminals),  # type: ignore[misc]
        )

        def plus(*parts: str, times: dict[str, list[float]] = times) -> list[float]:
            return [sum(row) for row in zip(*(times[part] for part in parts), strict=True)]

        bits = max(number.bit_length() for number in sums.denominators)
        reduced = max(value.denominator.bit_length() for value in exact)
        label = f"exact path sums, {name}"
        print(f"| {label}: bits of the common denominator | {bits} | reduced: {reduced} |")
        ratio(f"{label}: speed over Fraction", times["fraction"], times["sums"])
        ratio(f"{label}: conversion counted", times["fraction"], plus("convert", "sums"))
        ratio(f"{label}: from integer weights", times["fraction"], plus("weights", "sums"))
        ratio(
            f"{label}: conversion and terminals as Fractions counted",
            times["fraction"],
            plus("convert", "sums", "reduce"),
        )


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
    float_marginals()
    exact_marginals()
    enumeration()
    imports()
    if "--lifts" in sys.argv[1:]:
        all_lifts()
