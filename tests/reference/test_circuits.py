"""Formulas and circuits: their solutions, weights, samples and rows, beside all assignments."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import pytest

import pdai
from reference import RATIONAL, ForwardPolicy, InputError, enumerate_dag, enumerate_rewards
from reference.certificates import check_certificate, write_certificate
from reference.loading import as_problem
from reference.problems.circuits import Circuit
from reference.problems.formulas import Formula
from reference.problems.solutions import Literals, Solution
from tests.refusals import refused, refuses

# The example of d4's own description: (1 or 2 or 3), where a solution of a literal ends early.
D4 = "o 1 0\no 2 0\no 3 0\nt 4 0\n3 4 -2 3 0\n3 4 2 0\n2 3 -1 0\n2 4 1 0\n1 2 0\n"
# (1 and 2) or (not 1 and not 2), as c2d writes it.
C2D = "nnf 7 6 2\nL 1\nL 2\nA 2 0 1\nL -1\nL -2\nA 2 3 4\nO 1 2 2 5\n"
Clauses = Sequence[tuple[int, ...]]


def some_clauses(seed: int) -> tuple[int, Clauses]:
    """A random formula: its number of variables and its clauses."""
    rng = Random(seed)
    n = rng.randint(1, 7)
    sizes = [rng.randint(1, 3) for _ in range(rng.randint(0, 9))]
    return n, [tuple(rng.choice((-1, 1)) * rng.randint(1, n) for _ in range(k)) for k in sizes]


def brute(n: int, clauses: Clauses) -> list[Solution]:
    every = product(*((-v, v) for v in range(1, n + 1)))
    return [x for x in every if all(set(clause) & {*x} for clause in clauses)]


def dimacs(n: int, clauses: Clauses, weights: str = "") -> str:
    lines = (" ".join(map(str, (*clause, 0))) for clause in clauses)
    return "\n".join([f"p cnf {n} {len(clauses)}", *lines, weights])


def d4_lines(clauses: Clauses) -> Iterator[str]:
    """A circuit as d4 writes it: decisions on the first variable that is left."""
    numbers: dict[Clauses, int] = {}

    def node(clauses: Clauses) -> Iterator[str]:
        numbers[clauses] = number = len(numbers) + 1
        if () in clauses or not clauses:
            yield f"{'f' if clauses else 't'} {number} 0"
            return
        yield f"o {number} 0"
        v = min(abs(x) for clause in clauses for x in clause)
        for x in (v, -v):
            left = [tuple(y for y in clause if y != -x) for clause in clauses if x not in clause]
            below = tuple(sorted({*left}))
            if below not in numbers:
                yield from node(below)
            yield f"{number} {numbers[below]} {x} 0"

    return node(tuple(sorted({*clauses})))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.catches(
    "The search for solutions takes what it implied before it went back as implied still.",
    "reference/problems/formulas.py",
    "            self._propagated = size",
    "            self._propagated = len(self._values)",
)
def test_all_solutions_are_listed(file: Path) -> None:
    satisfiable = 0
    for seed in range(120):
        n, clauses = some_clauses(seed)
        file.write_text(dimacs(n, clauses))
        formula, expected = Formula.read(file), brute(n, clauses)
        if expected:
            assert sorted(formula.solutions(200, 60.0)) == sorted(expected)
            satisfiable += 1
        else:
            refused(r"no solution \(0 were counted\)", formula.solutions, 200, 60.0)
    assert 30 < satisfiable < 120


@pytest.mark.catches(
    "A variable that a branch leaves out is not free in it.",
    "reference/problems/circuits.py",
    'if node.kind == "or" else ())',
    'if node.kind == "none" else ())',
)
def test_a_circuit_of_d4_has_the_solutions_of_its_formula(file: Path) -> None:
    filled = 0
    for seed in range(60):
        n, clauses = some_clauses(seed)
        rng = Random(seed)
        thirds = {x: rng.randint(seed % 2, 4) for v in range(1, n + 1) for x in (v, -v)}
        weights = {x: Fraction(number, 3) for x, number in thirds.items()}
        file.write_text("\n".join(d4_lines(clauses)))
        expected = {x: math.prod(weights[y] for y in x) for x in brute(n, clauses)}
        expected = {x: weight for x, weight in expected.items() if weight}
        if not expected:
            refused("no solution with a weight above 0", Circuit.read, file, weights, n)
            continue
        circuit = Circuit.read(file, weights, n)
        filled += circuit.filled
        assert circuit.z() == sum(expected.values())
        assert circuit.count() == len(expected)
        law = circuit.listed(len(expected))
        assert law == {x: weight / circuit.z() for x, weight in expected.items()}
        assert circuit.listed(len(expected) - 1) is None
        for literals in ((), (1,), (-n,)):
            held = {x: p for x, p in law.items() if {*literals} <= {*x}}
            sums = [sum(p for x, p in held.items() if x[v] > 0) for v in range(n)]
            assert circuit.marginals(literals) == sums
        every = [*product(*((-v, v) for v in range(1, n + 1)))]
        assert circuit.holds(every).tolist() == [x in expected for x in every]
    assert filled > 10


def test_a_circuit_of_c2d_is_read(file: Path) -> None:
    file.write_text(C2D)
    circuit = Circuit.read(file, {1: Fraction(1, 4), -1: Fraction(3, 4)})
    assert circuit.listed(2) == {(1, 2): Fraction(1, 4), (-1, -2): Fraction(3, 4)}
    assert circuit.filled == 0


@pytest.mark.catches(
    "A solution is drawn with equal chances for the branches of a node.",
    "reference/problems/circuits.py",
    "rng.randrange(sum(option[0] for option in options))",
    "sum(o[0] for o in options[:-1]) * rng.randrange(2)",
)
def test_its_rows_and_samples_have_its_law(file: Path) -> None:
    file.write_text(D4)
    circuit = Circuit.read(file, {2: 3, -2: 1})
    dag = enumerate_dag(circuit)
    p_f = ForwardPolicy.from_rows(dag, RATIONAL, {x: circuit.row(x) for x in dag.labels})
    claim = write_certificate(file, p_f, enumerate_rewards(circuit, dag))
    assert str(claim) == "TV = 0"
    assert check_certificate(file).accepted
    samples = circuit.sample(20_000, 3)
    assert pdai.certify(samples, circuit).interval.high < 0.05
    assert pdai.certify(pdai.solve(circuit, out=file.parent / "solved")).interval.high < 1e-12


@pytest.mark.parametrize(
    "sample",
    [
        *[(1, -2, 3), (3, 1, -2), [1, 0, 1], (True, False, True)],
        *["1 -2 3 0", "v 3 1 -2 0", "(1, -2, 3)", "101", "1, 0, 1"],
    ],
)
def test_solutions_are_read_as_solvers_write_them(sample: object) -> None:
    assert Literals(3, {}, "it").read(sample) == (1, -2, 3)


test_what_is_no_solution_is_refused = refuses(
    Literals(3, {}, "it").read,
    ("1 -2", "has no value of the variable 3 of 3"),
    ("1 -2 2", "has the variable 2 twice"),
    ("1 -2 3 4 0", "has the variable 4, and the variables are 1 to 3"),
    *((sample, "is no solution") for sample in ("one", 3, (0.5, 1, 2))),
)


# More digits than Python reads as an integer.
MANY = "1" * 5_000

# Formulas that are refused, with what is said of them.
FORMULAS = [
    (f"p cnf {MANY} 1\n1 0\n", "must be p cnf VARIABLES"),
    (f"p cnf 3 1\n{MANY} 0\n", "must be literals, and 0"),
    (f"c p weight {MANY} 1 0\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    (f"c p weight 1 0.{MANY} 0\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    ("1 0\n", "line 1 is '1 0', but must be p cnf first"),
    ("p sat 3 1\n", "must be p cnf VARIABLES CLAUSES"),
    ("", "has no line p cnf VARIABLES CLAUSES"),
    ("p cnf 2 1\nx1 2 0\n", "line 2 is 'x1 2 0', but must be literals"),
    ("p cnf 2 1\n1 3 0\n", "line 2 is '1 3 0', but must be the variables 1 to 2"),
    ("p cnf 2 2\n1 2 0\n", "has 1 clauses that end with 0, but its header says 2"),
    ("p cnf 2 1\n1 2 0\n1\n", "it is cut off"),
    ("p cnf 0 0\n", "has no variables"),
    ("p cnf 2 2\n1 0\n-1 0\n", r"has no solution \(0 were counted\)"),
    ("p cnf 20 1\n1 2 0\n", r"more than 1,000 solutions \(1,001 were counted\).*compile it"),
    ("c p weight 1 nan 0\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    ("c p weight 1 0.5\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    ("c weights 0.5 0.5\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    ("c p Weight 1 0.5 0\np cnf 1 0\n", "must be c p weight LITERAL DECIMAL 0"),
    ("c IND 1 0\np cnf 2 1\n1 2 0\n", "counts solutions by 1 of its variables"),
    ("c ind 1 0\np cnf 2 1\n1 2 0\n", "counts solutions by 1 of its variables"),
    ("c p show 2 0\np cnf 2 0\n", "counts solutions by 1 of its variables"),
    ("c p weight 1 0.5 0\np cnf 1 0\n", "1 has a weight, and -1 has none"),
    ("  c p weight 1 0.5 0\np cnf 1 0\n", "1 has a weight, and -1 has none"),
    ("c p weight 1 2 0\nc p weight -1 -2 0\np cnf 1 0\n", "of the literal -1 is -2, but must be"),
    ("c p weight 5 2 0\np cnf 1 0\n", "a weight is given to 5, but the variables"),
]


@pytest.mark.parametrize(("text", "message"), FORMULAS)
def test_a_wrong_formula_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    refused(message, lambda: Formula.read(file).solutions(1_000, 60.0))


def test_a_formula_may_name_variables_that_tell_its_solutions_apart(file: Path) -> None:
    file.write_text("c weights follow\nc ind 1 0\nc ind 2 0\np cnf 3 2\n1 -3 0\n-1 3 0\n")
    assert len(Formula.read(file).solutions(1_000, 60.0)) == 4


def test_a_search_ends_in_time(file: Path) -> None:
    file.write_text("p cnf 30 0\n")
    with pytest.raises(InputError, match=r"[1-9]\d* solutions were counted in 0 s"):
        Formula.read(file).solutions(10**9, 0.0)


# Circuits that are refused, with what is said of them.
CIRCUITS = [
    (f"nnf 1 0 {MANY}\nL 1\n", "must be nnf NODES EDGES"),
    (f"nnf 1 0 1\nL {MANY}\n", "must be L LITERAL"),
    ("", "is empty"),
    ("nnf 1 0\nL 1\n", "must be nnf NODES EDGES VARIABLES"),
    ("nnf 2 0 1\nL 1\n", "has 1 nodes, but its header says 2"),
    ("nnf 1 0 1\nL 2\n", "line 2 is 'L 2', but must be L and a literal of the 1 variables"),
    ("nnf 2 1 1\nL 1\nA 1 2\n", "line 3 is 'A 1 2', but must be .* of nodes before it"),
    ("nnf 1 0 1\nB 1\n", "line 2 is 'B 1', but must be"),
    ("nnf 2 2 1\nL 1\nA 2 0 0\n", r"node 1 \(line 3\) is not decomposable.*the variable 1"),
    (
        "nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n",
        r"node 2 \(line 4\) is not deterministic: its branches node 0 \(line 2\) and node 1 "
        r"\(line 3\) have a solution in common",
    ),
    ("nnf 1 0 1\nO 0 0\n", "has no solution with a weight above 0"),
    ("o 1 0\nt 2 0\n1 2 1\n", "line 3 is '1 2 1', but must be"),
    ("o 1 0\no 1 0\n", "line 2 .* with a new node"),
    ("o 1 0\n1 2 1 0\n", "line 2: there is no node 2"),
    ("t 1 0\no 2 0\n1 2 1 0\n", r"node 1 is a constant \(t\), and has no edges"),
    ("o 1 0\nt 2 0\n", r"has 2 nodes that no edge enters \(1, 2\)"),
    ("o 1 0\no 2 0\no 3 0\n1 2 1 0\n2 3 2 0\n3 2 3 0\n", "is below itself"),
    ("o 1 0\nt 2 0\n1 2 1 0\n1 2 2 0\n", r"node 1 \(line 1\) is not deterministic"),
    ("o 1 0\no 2 0\nt 3 0\n2 3 1 0\n1 2 1 0\n", r"edge 1 2 \(line 5\) is not decomposable"),
]


@pytest.mark.parametrize(("text", "message"), CIRCUITS)
def test_a_wrong_circuit_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    refused(message, Circuit.read, file)


@pytest.mark.catches(
    "Branches that share no denied literal are taken to exclude each other.",
    "reference/problems/circuits.py",
    "if self._table(one, scope) & self._table(other, scope):",
    "if self._table(one, scope) & self._table(other, scope) & 0:",
)
def test_branches_without_a_denied_literal_are_compared_by_their_solutions(file: Path) -> None:
    # 1 xor 2, and its opposite: no literal is known in either.
    xor = "L 1\nL -1\nL 2\nL -2\nA 2 0 3\nA 2 1 2\nO 1 2 4 5\nA 2 0 2\nA 2 1 3\nO 1 2 7 8\n"
    file.write_text(f"nnf 11 14 2\n{xor}O 0 2 6 9\n")
    assert Circuit.read(file).count() == 4
    file.write_text(f"nnf 11 14 2\n{xor}O 0 2 6 7\n")
    assert Circuit.read(file).count() == 3
    file.write_text(f"nnf 11 14 2\n{xor}O 0 2 6 4\n")
    refused(r"node 10 \(line 12\) is not deterministic", Circuit.read, file)


def test_branches_with_too_many_variables_are_named(file: Path) -> None:
    pairs = ["o 1 0", "o 2 0", "o 3 0", "t 4 0", "1 2 0", "1 3 0"]
    literals = " ".join(map(str, range(3, 20)))
    for node, v in ((2, 1), (3, 2)):
        pairs += [f"{node} 4 {v} {literals} 0", f"{node} 4 {-v} {literals} 0"]
    file.write_text("\n".join(pairs))
    refused(r"node 1 .* not seen to exclude .* 19 variables", Circuit.read, file)


class Marked(Circuit):
    """Reads texts in a way of its own, of which no number is made."""

    def parse(self, text: str) -> Solution:
        return super().parse(text.removeprefix("s "))


def test_a_subclass_may_read_texts_in_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "x.nnf").write_text(D4)
    circuit = as_problem(Marked.read(tmp_path / "x.nnf"))
    draws = [f"s {' '.join(map(str, x))}" for x in circuit.sample(99, 0)]
    (tmp_path / "s.txt").write_text("\n".join(draws))
    assert pdai.certify(tmp_path / "s.txt", circuit).interval.low == 0
