"""Formulas in conjunctive normal form (DIMACS), and the list of their solutions.

The search is that of Davis, Logemann and Loveland (1962): it sets a variable, sets all that this
implies, and goes back where a clause has no true literal left. It learns nothing, so that it is
made for formulas with few solutions, and not for hard ones; these are compiled into a circuit.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from reference.errors import InputError, plain
from reference.files import read_file
from reference.problems.columns import DECIMAL
from reference.problems.solutions import COUNT, INTEGER, Literals, Solution

COMPILE = "compile it with c2d or d4, and give the circuit (.nnf)"
# The weight of a literal, as in the model counting competition; for c2d it is a comment.
WEIGHT = re.compile(r"c\s+p\s+weight\s+(-?[0-9]+)\s+(\S+)\s+0\s*", re.ASCII)
# What begins as a weight, here or for other programs, in whatever case, as no comment does; and the
# variables by which others count.
WEIGHTED = re.compile(r"c\s+(p\s+weights?\s|weights?\s+[-+.0-9])", re.IGNORECASE)
KEPT = re.compile(r"c\s+(ind|p\s+show)\s", re.IGNORECASE)
# Decisions between two looks at the clock.
LOOKED = 1_024


class Formula(NamedTuple):
    """A formula in conjunctive normal form: its variables with weights, and clauses of literals.

    Its file says that solutions are counted by the variables in `kept`; by all if that is empty.
    """

    literals: Literals
    clauses: Sequence[tuple[int, ...]]
    kept: Set[int] = frozenset()

    @classmethod
    def read(cls, path: Path) -> "Formula":
        """A formula from a DIMACS file, with the lines `c p weight LITERAL WEIGHT 0`.

        Lines `c ind` and `c p show` name the variables by which solutions are counted. Raises
        InputError, with the line, if the file cannot be read or breaks a rule.
        """
        source = repr(str(path))
        numbers, header, weights = list[int](), list[int](), dict[int, Fraction]()
        kept = set[int]()
        # Spaces before a line are no part of it: weights are comments, which none would miss.
        for line, text in enumerate(map(str.strip, text_of(path).splitlines()), 1):
            words = text.split()
            if words == ["%"]:  # the end of a file of SATLIB
                break
            if words[:1] == ["c"]:
                if KEPT.match(text):
                    kept |= {int(word) for word in words[2:] if COUNT.fullmatch(word)} - {0}
                if WEIGHTED.match(text):
                    weight = WEIGHT.fullmatch(text)
                    if weight is None or not (
                        INTEGER.fullmatch(weight[1]) and DECIMAL.fullmatch(weight[2])
                    ):
                        raise refused(source, line, text, "c p weight LITERAL DECIMAL 0")
                    if int(weight[1]) in weights:
                        raise refused(source, line, text, "one weight for each literal")
                    weights[int(weight[1])] = Fraction(weight[2])
            elif words[:1] == ["p"] and not header:
                is_header = words[1:2] == ["cnf"] and len(words) == 4
                if not (is_header and all(map(COUNT.fullmatch, words[2:]))):
                    raise refused(source, line, text, "p cnf VARIABLES CLAUSES")
                header = [*map(int, words[2:])]
            elif words:
                if not header or not all(map(INTEGER.fullmatch, words)):
                    wanted = "literals, and 0 at the end of a clause"
                    raise refused(source, line, text, wanted if header else "p cnf first")
                numbers += map(int, words)
                if any(abs(number) > header[0] for number in numbers[-len(words) :]):
                    raise refused(source, line, text, f"the variables 1 to {header[0]}")
        if not header:
            raise InputError(f"{source} has no line p cnf VARIABLES CLAUSES: is it in DIMACS?")
        ends = [-1, *(place for place, number in enumerate(numbers) if not number)]
        clauses = [tuple(numbers[a + 1 : b]) for a, b in pairwise(ends)]
        if numbers[-1:] not in ([], [0]) or len(clauses) != header[1]:
            raise InputError(
                f"{source} has {len(clauses):,} clauses that end with 0, but its header says "
                f"{header[1]:,}: it is cut off, or the header is wrong"
            )
        return cls(Literals(header[0], weights, source), clauses, kept)

    def solutions(self, most: int, seconds: float) -> list[Solution]:
        """All solutions, at most so many, within so many seconds of wall time.

        Raises InputError, with how many were counted, if there are none or more, or time is over.
        """
        listed: list[Solution] = []
        source, end = self.literals.source, time.monotonic() + seconds
        for decisions, solution in _Search(self).steps():
            if solution:
                listed.append(solution)
            if len(listed) > most:
                raise InputError(
                    f"{source} has more than {most:,} solutions ({len(listed):,} were counted): "
                    f"list more (--max-states), or {COMPILE}"
                )
            if not decisions % LOOKED and time.monotonic() > end:
                raise InputError(
                    f"{source}: {len(listed):,} solutions were counted in {seconds:g} s, and there "
                    f"may be more: allow more --seconds, or {COMPILE}"
                )
        if self.kept and len({self._projected(x) for x in listed}) < len(listed):
            raise InputError(
                f"{source} counts solutions by {len(self.kept):,} of its variables (c ind, c p "
                "show), and two of them agree there, so that a law on these is another than on "
                "all: leave these lines out, or give the list of values as the support"
            )
        if not listed:
            raise InputError(f"{source} has no solution (0 were counted): there is no law on it")
        return listed

    def _projected(self, solution: Solution) -> Solution:
        return tuple(literal for literal in solution if abs(literal) in self.kept)


def text_of(path: Path) -> str:
    """The text of a file of a solver or compiler; raises InputError if there is none."""
    try:
        return read_file(path, follow=True).decode("ascii", "strict")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is no text of a formula ({error})") from None


def refused(source: str, line: int, text: str, wanted: str) -> InputError:
    """The error for a line that breaks the format of its file."""
    return InputError(f"{source}, line {line} is {plain(text)!r}, but must be {wanted}")


class _Search:
    """A depth-first search through the assignments of a formula.

    Two literals of each clause are watched: one of them is true, or neither is false (Moskewicz et
    al., 2001).
    """

    def __init__(self, formula: Formula):
        self._values = [0] * (formula.literals.variables + 1)
        self._trail: list[int] = []
        self._propagated = 0
        self._watched: dict[int, list[list[int]]] = defaultdict(list)
        self._consistent = True
        uses: Counter[int] = Counter()
        for clause in formula.clauses:
            literals = [*dict.fromkeys(clause)]
            uses.update(map(abs, literals))
            if any(-literal in literals for literal in literals):
                continue
            if len(literals) < 2:
                self._consistent &= bool(literals) and self._set(literals[0])
            for literal in literals[:2] if len(literals) > 1 else ():
                self._watched[literal].append(literals)
        self._order = sorted(range(1, len(self._values)), key=lambda v: -uses[v])

    def steps(self) -> Iterator[tuple[int, Solution]]:
        """The number of decisions after each, with a solution if it was the last, else `()`."""
        open_: list[tuple[int, int]] = []
        place, decisions, consistent = 0, 0, self._consistent
        while True:
            solution: Solution = ()
            if consistent and self._propagate():
                while place < len(self._order) and self._values[self._order[place]]:
                    place += 1
                if place < len(self._order):
                    open_.append((len(self._trail), place))
                    consistent = self._set(self._order[place])
                    continue
                solution = tuple(v * value for v, value in enumerate(self._values) if v)
            decisions += 1
            yield decisions, solution
            if not open_:
                return
            size, place = open_.pop()
            literal = self._trail[size]
            for undone in self._trail[size:]:
                self._values[abs(undone)] = 0
            del self._trail[size:]
            self._propagated = size
            consistent = self._set(-literal)

    def _set(self, literal: int) -> bool:
        """Makes a literal true; False if it is false already."""
        value, sign = self._values[abs(literal)], 1 if literal > 0 else -1
        if not value:
            self._values[abs(literal)] = sign
            self._trail.append(literal)
        return value in (0, sign)

    def _propagate(self) -> bool:
        """Makes true what is implied; False if a clause has no true literal left."""
        values = self._values
        while self._propagated < len(self._trail):
            false = -self._trail[self._propagated]
            self._propagated += 1
            clauses, kept = self._watched[false], list[list[int]]()
            self._watched[false] = kept
            for number, clause in enumerate(clauses):
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                first = clause[0]
                other = next(
                    (i for i in range(2, len(clause)) if values[abs(clause[i])] * clause[i] >= 0), 0
                )
                if values[abs(first)] * first > 0 or not other:
                    kept.append(clause)
                    if not self._set(first):
                        kept += clauses[number + 1 :]
                        return False
                else:
                    clause[1], clause[other] = clause[other], false
                    self._watched[clause[1]].append(clause)
        return True
