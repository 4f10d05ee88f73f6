"""Samplers of the solutions of a formula, beside all solutions, which python-sat lists.

A file in DIMACS may have lines `x1 2 -3 0`, true if an odd number of the literals is, and lines
`c ind 1 2 0` or `c p show 1 2 0` with the variables by which solutions are told apart.

    python -m examples.sat_samplers formula.cnf > solutions.txt
    pdai certify samples.txt --law uniform --support solutions.txt
"""

import sys
from itertools import count
from pathlib import Path
from typing import NamedTuple

from pysat.solvers import Solver

from reference import InputError

Solution = tuple[int, ...]


class Formula(NamedTuple):
    """Clauses, lines of XOR, and the variables by which solutions are told apart."""

    variables: int
    clauses: list[list[int]]
    odd: list[list[int]]
    shown: list[int]


def read(path: Path) -> Formula:
    """A formula in DIMACS, with lines of XOR and of shown variables."""
    variables, parts = 0, {"": [[]], "x": [[]], "shown": [[]]}
    for line in path.read_text().splitlines():
        kind, words = "", line.split()
        match words:
            case ["p", "cnf", number, _]:
                variables = int(number)
                continue
            case ["c", "ind", *words] | ["c", "p", "show", *words]:
                kind = "shown"
            case ["%", *_]:
                break
            case ["c", *_]:
                continue
        if line.startswith("x"):
            kind, words = "x", line[1:].split()
        for literal in map(int, words):
            if abs(literal) > variables and kind != "shown":
                raise InputError(f"{path}: {line!r} is not of the {variables} variables before it")
            if literal:
                parts[kind][-1].append(literal)
            else:
                parts[kind].append([])
    if parts[""][-1] or parts["x"][-1]:
        raise InputError(f"{path}: the last clause does not end with 0: is the file whole?")
    shown = sorted({v for part in parts["shown"] for v in part})
    clauses, odd = parts[""][:-1], parts["x"][:-1]
    return Formula(variables, clauses, odd, shown or [*range(1, variables + 1)])


def listed(formula: Formula, most: int = 100_000) -> list[Solution]:
    """All solutions, as literals of the shown variables; raises InputError if they are too many."""
    solutions: list[Solution] = []
    with Solver(bootstrap_with=formula.clauses) as solver:
        fresh = count(formula.variables + 1)
        for literals in formula.odd:
            a, *others = literals
            for b in others:
                # A new variable is the XOR of the two before it.
                c = next(fresh)
                for clause in ([-a, -b, -c], [a, b, -c], [a, -b, c], [-a, b, c]):
                    solver.add_clause(clause)
                a = c
            solver.add_clause([a])
        while solver.solve():
            if len(solutions) == most:
                raise InputError(f"the formula has more than {most:,} solutions: allow more")
            true = {*solver.get_model()}
            solutions.append(tuple(v if v in true else -v for v in formula.shown))
            solver.add_clause([-literal for literal in solutions[-1]])
    return solutions


if __name__ == "__main__":
    for solution in listed(read(Path(sys.argv[1]))):
        print(*solution, 0)
