"""Circuits in deterministic decomposable negation normal form: laws on the solutions of a formula.

A node is a literal, a conjunction of nodes without common variables (decomposable), or a
disjunction of nodes of which no two hold together (deterministic). Then the weight of all solutions
is the product over a conjunction and the sum over a disjunction (Darwiche, 2001). A variable that a
branch of a disjunction leaves out is free in it, and its two weights are added: this is the weight
of the smooth circuit, in which all branches have the same variables.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.errors import InputError
from reference.problems.circuit_files import Node, read_circuit
from reference.problems.closed_form import Summed, check_count, seeded
from reference.problems.solutions import Literals, Solution

# The endings of files of circuits.
CIRCUITS = (".nnf", ".ddnnf")
# Branches with at most this many variables are compared by all their assignments.
TABLED = 14
# Values of nodes that are held at once, in bytes.
BLOCK = 2**26


class _Known(NamedTuple):
    """The variables below a node, and those true, or false, in all its solutions, if it has one."""

    scope: int
    true: int
    false: int
    open: bool


class _Given(dict[int, int]):
    """Weights of literals, of which some are changed, and all others are the usual ones."""

    def __init__(self, usual: Mapping[int, int]):
        super().__init__()
        self._usual = usual

    def __missing__(self, literal: int) -> int:
        return self._usual[literal]

    def product(self, variables: Iterable[int]) -> int:
        """The weight of all assignments of variables that are free."""
        return math.prod(self[v] + self[-v] for v in variables)


class Circuit(Summed):
    """The solutions of a circuit, with a weight that is a product over literals, as a problem.

    A state has the literals of the first variables, in order; a child has one more. Each terminal
    state has one trajectory, and `p_F` is known exactly (`row`). Each node comes after its
    children; the last is the root. Raises InputError if a node breaks a rule, with its name; or if
    all solutions have the weight 0.
    """

    initial: Solution = ()

    def __init__(self, nodes: Sequence[Node], literals: Literals):
        self.literals, self._nodes = literals, nodes
        known: list[_Known] = []
        # For each node, the children that have solutions, and the variables that each leaves out.
        self._branches: list[list[tuple[int, tuple[int, ...]]]] = []
        self.filled = 0
        for node in nodes:
            known.append(self._known(node, known))
            scope = known[-1].scope
            branches = [
                (child, _bits(scope & ~known[child].scope) if node.kind == "or" else ())
                for child in node.children
                if known[child].open
            ]
            self.filled += sum(len(left_out) > 0 for _, left_out in branches)
            # Children with few variables come first, as these exclude a conjunction sooner.
            self._branches.append(sorted(branches, key=lambda x: known[x[0]].scope.bit_count()))
        self._scopes = [each.scope for each in known]
        self._free = _bits((2 << literals.variables) - 2 & ~known[-1].scope)
        # The weight below each node.
        self._values = self._evaluated(literals.scaled)
        if not self._mass(()):
            raise InputError(f"{literals.source} has no solution with a weight above 0")

    @classmethod
    def read(
        cls,
        path: str | Path,
        weights: Mapping[int, Fraction] | None = None,
        variables: int | None = None,
    ) -> "Circuit":
        """A circuit from a file of c2d or d4, with weights of literals; 1 for others.

        The number of variables is by default that of the file, or the largest in it. Raises
        InputError as the constructor does, or if the file breaks its format.
        """
        nodes, largest = read_circuit(Path(path))
        source = repr(str(path))
        if variables is not None and variables < largest:
            raise InputError(f"{source} has {largest} variables, but {variables} are asked for")
        return cls(nodes, Literals(variables or largest, weights or {}, source))

    def children(self, state: Solution) -> list[Solution]:
        """The states with one literal more that a solution begins with."""
        if len(state) == self.literals.variables:
            return []
        v = len(state) + 1
        return [child for child in ((*state, -v), (*state, v)) if self._mass(child)]

    def parents(self, state: Solution) -> list[Solution]:
        """The state with one literal less."""
        return [state[:-1]] if state else []

    def reward(self, solution: Solution) -> Fraction:
        """The product of the weights of the literals; 0 for what is no solution."""
        return self.literals.weight(solution) if self._mass(solution) else Fraction(0)

    def parse(self, text: object) -> Solution:
        """The solution that a sample means, as `Literals.read` reads it."""
        return self.literals.read(text)

    def row(self, state: Solution) -> dict[Solution, Fraction]:
        """The exact `p_F` of the children of a state."""
        below = {child: self._mass(child) for child in self.children(state)}
        total = sum(below.values())
        return {child: Fraction(mass, total) for child, mass in below.items()}

    def z(self) -> Fraction:
        """The weight of all solutions; their number if all weights are 1."""
        return Fraction(self._mass(()), self.literals.unit)

    def count(self) -> int:
        """The number of solutions with a weight above 0."""
        is_above = {literal: int(w > 0) for literal, w in self.literals.scaled.items()}
        return self._evaluated(is_above)[-1] * _Given(is_above).product(self._free)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self._nodes)

    def marginals(self, literals: Iterable[int] = ()) -> list[Fraction]:
        """The probability that each variable is true, in order, together with some literals.

        One pass from the root gives the factor of each node in the weight of all solutions.
        """
        given = _Given(self.literals.scaled)
        given.update({-x: 0 for x in literals})
        values = self._evaluated(given)
        masses = [0] * (self.literals.variables + 1)
        factors = [0] * len(values)
        factors[-1] = given.product(self._free)

        def add_free(mass: int, variables: Iterable[int]) -> None:
            for v in variables if mass else ():
                masses[v] += mass * given[v] // (given[v] + given[-v])

        add_free(factors[-1] * values[-1], self._free)
        for i in reversed(range(len(values))):
            node, mass = self._nodes[i], factors[i] * values[i]
            if not mass:
                continue
            if node.kind == "literal":
                masses[max(0, node.literal)] += mass
            for child, left_out in self._branches[i]:
                if node.kind == "and":
                    factors[child] += mass // values[child]
                elif part := factors[i] * given.product(left_out):
                    factors[child] += part
                    add_free(part * values[child], left_out)
        return [Fraction(mass, self._mass(())) for mass in masses[1:]]

    def holds(self, samples: Sequence[Solution]) -> npt.NDArray[np.bool_]:
        """For each assignment of all variables, whether its weight is above 0."""
        answers = [np.zeros(0, bool)]
        scaled, size = self.literals.scaled, max(1, BLOCK // len(self._nodes))
        for start in range(0, len(samples), size):
            true = np.array(samples[start : start + size]).T > 0
            sides = {v: row if v > 0 else ~row for i, row in enumerate(true, 1) for v in (i, -i)}
            root = self._joined(range(self.size), sides, np.full(true.shape[1], True))
            excluded = [sides[x] for x, weight in scaled.items() if not weight]
            answers.append(root & ~reduce(or_, excluded, ~root))
        return np.concatenate(answers)

    def sample(self, count: int, seed: int) -> list[Solution]:
        """Independent solutions from the exact law, drawn with integers."""
        rng = seeded(seed)
        return [next(self._solutions(rng)) for _ in range(check_count(count))]

    def listed(self, most: int) -> Mapping[Hashable, Fraction] | None:
        """`pi` of every solution; None if there are more than `most`."""
        if self.count() > most:
            return None
        weight, total = self.literals.weight, self.z()
        return {solution: weight(solution) / total for solution in self._solutions()}

    def _solutions(self, rng: Random | None = None) -> Iterator[Solution]:
        """All solutions; with a generator one solution, drawn with its weight.

        An agenda holds nodes and free variables, these as negative numbers, as a linked list.
        """
        values, scaled = self._values, self.literals.scaled
        start: Any = None
        for entry in (*(-v for v in self._free), len(self._nodes) - 1):
            start = (entry, start)
        todo: list[tuple[Any, Solution]] = [(start, ())]
        while todo:
            agenda, solution = todo.pop()
            if agenda is None:
                yield tuple(sorted(solution, key=abs))
                continue
            entry, rest = agenda
            options: list[tuple[int, Any, Solution]] = []
            if entry < 0:
                options = [(scaled[x], rest, (*solution, x)) for x in (entry, -entry)]
            elif self._nodes[entry].kind == "literal":
                todo.append((rest, (*solution, self._nodes[entry].literal)))
            elif self._nodes[entry].kind == "and":
                for child, _ in self._branches[entry]:
                    rest = (child, rest)
                todo.append((rest, solution))
            else:
                for child, left_out in self._branches[entry]:
                    more, weight = (child, rest), values[child]
                    for v in left_out:
                        more, weight = (-v, more), weight * (scaled[v] + scaled[-v])
                    options.append((weight, more, solution))
            todo += _chosen([option for option in options if option[0]], rng)

    def _mass(self, literals: Iterable[int]) -> int:
        """The weight of all solutions with these literals, in units of `1 / literals.unit`.

        Only nodes above them are evaluated, and none below what is excluded.
        """
        weights = _Given(self.literals.scaled)
        weights.update({-x: 0 for x in literals})
        above = sum(1 << abs(x) for x in weights)
        values: dict[int, int] = {}
        todo = [len(self._nodes) - 1]
        while todo:
            i = todo[-1]
            if not self._scopes[i] & above:
                values[i] = self._values[i]
            elif self._nodes[i].kind == "literal":
                values[i] = weights[self._nodes[i].literal]
            else:
                is_sum, total = self._nodes[i].kind == "or", int(self._nodes[i].kind == "and")
                for child, left_out in self._branches[i]:
                    if not (is_sum or total):
                        break
                    if child not in values:
                        todo.append(child)
                        break
                    if is_sum:
                        total += values[child] * weights.product(left_out)
                    else:
                        total *= values[child]
                if todo[-1] != i:
                    continue
                values[i] = total
            todo.pop()
        return values[len(self._nodes) - 1] * weights.product(self._free)

    def _evaluated(self, weights: Mapping[int, int]) -> list[int]:
        """The weight below each node, from the weights of literals."""
        given, values = _Given(weights), list[int]()
        for node, branches in zip(self._nodes, self._branches, strict=True):
            if node.kind == "literal":
                values.append(weights[node.literal])
            elif node.kind == "and":
                is_open = len(branches) == len(node.children)
                values.append(math.prod(values[child] for child, _ in branches) if is_open else 0)
            else:
                terms = (values[child] * given.product(left_out) for child, left_out in branches)
                values.append(sum(terms))
        return values

    def _known(self, node: Node, known: Sequence[_Known]) -> _Known:
        """Facts about a node, after a check of its rule."""
        if node.kind == "literal":
            bit = 1 << abs(node.literal)
            return _Known(bit, bit if node.literal > 0 else 0, bit if node.literal < 0 else 0, True)
        below = [known[child] for child in node.children]
        if node.kind == "and":
            self._check_decomposable(node, below)
            scope, true, false = (reduce(or_, (each[i] for each in below), 0) for i in range(3))
            return _Known(scope, true, false, all(each.open for each in below))
        below = [each for each in below if each.open]
        self._check_deterministic(node, known)
        if not below:
            return _Known(0, 0, 0, False)
        true, false = (reduce(and_, (each[i] for each in below)) for i in (1, 2))
        return _Known(reduce(or_, (each.scope for each in below)), true, false, True)

    def _check_decomposable(self, node: Node, below: Sequence[_Known]) -> None:
        seen = 0
        for child, each in zip(node.children, below, strict=True):
            if shared := _bits(seen & each.scope):
                raise InputError(
                    f"{self.literals.source}: {node.name} is not decomposable: its branch "
                    f"{self._nodes[child].name} has the variable {shared[0]}, as another branch has"
                )
            seen |= each.scope

    def _check_deterministic(self, node: Node, known: Sequence[_Known]) -> None:
        branches = [child for child in node.children if known[child].open]
        for number, one in enumerate(branches):
            for other in branches[:number]:
                a, b = known[one], known[other]
                if a.true & b.false or a.false & b.true:
                    continue
                names = f"its branches {self._nodes[other].name} and {self._nodes[one].name}"
                what = f"{self.literals.source}: {node.name} is not deterministic: {names}"
                scope = _bits(a.scope | b.scope)
                if len(scope) > TABLED:
                    raise InputError(
                        f"{what} are not seen to exclude each other: no literal of one is denied "
                        f"by the other, and their {len(scope)} variables have too many values"
                    )
                if self._table(one, scope) & self._table(other, scope):
                    raise InputError(f"{what} have a solution in common, which would count twice")

    def _table(self, root: int, scope: Sequence[int]) -> int:
        """The solutions of a node as the bits of an integer, one for each assignment."""
        full = (1 << (1 << len(scope))) - 1
        false = {v: full // ((1 << (1 << i)) + 1) for i, v in enumerate(scope)}
        needed, todo = {root}, [root]
        while todo:
            fresh = {*self._nodes[todo.pop()].children} - needed
            needed |= fresh
            todo += fresh
        sides = {x: off if x < 0 else full & ~off for v, off in false.items() for x in (v, -v)}
        table: int = self._joined(sorted(needed), sides, full)
        return table

    def _joined(self, nodes: Sequence[int], sides: Mapping[int, Any], true: Any) -> Any:
        """The truth of the last of some nodes, as bits or arrays, from that of each literal."""
        values: dict[int, Any] = {}
        for i in nodes:
            node = self._nodes[i]
            below = (values[child] for child in node.children)
            if node.kind == "literal":
                values[i] = sides[node.literal]
            elif node.kind == "and":
                values[i] = reduce(and_, below, true)
            else:
                values[i] = reduce(or_, below, true ^ true)
        return values[nodes[-1]]


def _chosen(
    options: Sequence[tuple[int, Any, Solution]], rng: Random | None
) -> Iterator[tuple[Any, Solution]]:
    """All options; with a generator one of them, drawn with its weight."""
    if rng is None or len(options) < 2:
        yield from (option[1:] for option in options)
        return
    place = rng.randrange(sum(option[0] for option in options))
    for weight, *option in options:
        if place < weight:
            yield option[0], option[1]
            return
        place -= weight


def _bits(number: int) -> tuple[int, ...]:
    """The places of the bits that are set."""
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return tuple(places)
