"""Large certificates, and what checking them costs: `python -m tests.certificates.large`.

Prints a Markdown table: a policy on SIX6 (every state), and on its histories (a row each), with
random rows that are soft-max in float64, rounded to 53 bits. CPU seconds and peak memory are those
of the checker's process; `--python` times the check in Python too, which takes minutes.
"""

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reference.certificates import Header, Inner, Terminal, check_certificate, find_checker
from reference.certificates.check import Walk
from reference.certificates.format import Relation, Row, write_rows
from reference.certificates.problem import state_label
from reference.certificates.table import depth_first
from reference.problems import TableSequences, enumerate_dag, enumerate_rewards

BITS = 53


class Table(NamedTuple):
    """Nodes in order, each with its label and children, and the reward numerators of terminals."""

    labels: list[str]
    children: list[tuple[int, ...]]
    rewards: dict[int, int]
    common: int


def table_of(kind: str) -> Table:
    """The states of SIX6, both ends, or its histories; depth-first, terminal states last."""
    problem = TableSequences.six6("prepend-append")
    dag = enumerate_dag(problem)
    if kind == "states":
        order = depth_first(dag)
        place = {node: number for number, node in enumerate(order)}
        children = [tuple(sorted(place[v] for v in dag.children[u])) for u in order]
    else:
        inner = sum(count for count, row in zip(dag.path_counts, dag.children, strict=True) if row)
        place = {x: inner + i for i, x in enumerate(dag.terminals)}
        order, children = [], []

        def below(node: int) -> int:
            here = len(order)
            order.append(node)
            children.append(())
            row = dag.children[node]
            children[here] = tuple(sorted(place[v] if v in place else below(v) for v in row))
            return here

        below(0)
        order += dag.terminals
        children += [()] * len(dag.terminals)
    values = enumerate_rewards(problem, dag)
    common = math.lcm(*(value.denominator for value in values))
    rewards = {place[x]: int(v * common) for x, v in zip(dag.terminals, values, strict=True)}
    return Table([state_label(dag.labels[u]) for u in order], children, rewards, common)


def rows(table: Table, *, dyadic: bool) -> Iterator[Row]:
    """Random rows: over 2^53, or integer weights 1 to 999 over their sums."""
    rng = np.random.default_rng(0)
    for node, (label, children) in enumerate(zip(table.labels, table.children, strict=True)):
        if not children:
            yield Terminal(label, table.rewards[node])
            continue
        if dyadic:
            weights = np.exp(rng.normal(size=len(children)))
            numerators = np.maximum(weights / weights.sum() * 2**BITS, 1).astype(np.int64)
            numerators[numerators.argmax()] += 2**BITS - int(numerators.sum())
        else:
            numerators = rng.integers(1, 1_000, size=len(children))
        listed = numerators.tolist()
        yield Inner(label, sum(listed), tuple(zip(children, listed, strict=True)))


def write(path: Path, table: Table, relation: Relation, scale: int | None, *, dyadic: bool) -> str:
    """Writes the certificate, and says what it claims."""
    total = sum(table.rewards.values())
    walk = Walk(len(table.labels), total, scale)
    for row in rows(table, dyadic=dyadic):
        walk.step(row)
    low, high = walk.total_variation()
    value = low if relation == "=" else Fraction(int(high * 10**12) + 1, 10**12)
    fields = (len(table.labels), scale, total, table.common, relation)
    header = Header("SIX6", *fields, value.numerator, value.denominator)
    write_rows(path, header, rows(table, dyadic=dyadic))
    return f"TV {relation} {float(value):.9f}"


# In a small process of its own: a program counts the memory of the one that started it as its own.
MEASURE = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)
"""


def measure(program: Path, path: Path) -> tuple[int, float, float]:
    """The exit status of the checker, its CPU seconds, and its peak memory in megabytes."""
    command = [sys.executable, "-I", "-S", "-c", MEASURE, program, path]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    status, seconds, memory = run.stdout.split()
    return int(status), float(seconds), float(memory)


def main() -> None:
    """Prints the table."""
    program = find_checker()
    assert program is not None, "build pdai-check first"
    print("| table | nodes | edges | file, MB | claim | written, s | checked, CPU s | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    cases: list[tuple[str, Relation, int | None, bool]] = [
        ("rows over 2^53, exact", "=", None, True),
        ("rows over 2^53, exact", "<=", None, True),
        ("rows over 2^53, rounded to 10^-40", "<=", 10**40, True),
        ("unrelated denominators, rounded to 10^-40", "<=", 10**40, False),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "certificate")
        for name in ("states", "histories"):
            table = table_of(name)
            edges = sum(map(len, table.children))
            for kind, relation, scale, dyadic in cases:
                clock = time.perf_counter()
                claim = write(path, table, relation, scale, dyadic=dyadic)
                written = time.perf_counter() - clock
                status, seconds, memory = measure(program, path)
                assert status == 0, status
                print(
                    f"| SIX6, {name}, {kind} | {len(table.labels):,} | {edges:,} | "
                    f"{path.stat().st_size / 1e6:.1f} | {claim} | {written:.0f} | {seconds:.1f} | "
                    f"{memory:.0f} |",
                    flush=True,
                )
                if "--python" in sys.argv:
                    clock = time.process_time()
                    assert check_certificate(path).accepted
                    print(f"| the same in Python | | | | | | {time.process_time() - clock:.1f} | |")


if __name__ == "__main__":
    main()
