"""Solutions of Boolean formulas, written as solvers write them, and weights of literals.

A solution is the tuple of its literals in order: `(1, -2, 3)` makes the variables 1 and 3 true.
"""

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from reference.errors import InputError, plain, shown
from reference.user_code import Of, exact

Solution = tuple[int, ...]

# Bounded, as Python reads no integer of thousands of digits.
INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
# What other programs put around and between the literals of a solution.
BRACKETS = str.maketrans("()[],", "     ")


class Literals:
    """The variables 1 to n >= 1 of a formula, with the weights of their literals.

    Both literals of a variable have weights, at least 0, or none, which is 1; as integers, in
    `scaled`, they are multiplied by the `unit` of their variable. The source is the formula, as
    messages name it. Raises InputError if there are no variables, or a weight breaks a rule.
    """

    def __init__(self, variables: int, weights: Mapping[int, object], source: str):
        if variables < 1:
            raise InputError(f"{source} has no variables, so that there is nothing to draw")
        self.variables, self.source = variables, source
        self.scaled: dict[int, int] = {}
        self.unit = 1
        for literal in weights:
            if not 1 <= abs(literal) <= variables:
                raise InputError(
                    f"a weight is given to {literal}, but the variables of {source} are 1 to "
                    f"{variables}: leave it out"
                )
            if -literal not in weights:
                raise InputError(
                    f"{literal} has a weight, and {-literal} has none: give each variable two "
                    "weights, or none, which is 1 for both"
                )
        for v in range(1, variables + 1):
            pair = [self._weight(literal, weights.get(literal, 1)) for literal in (v, -v)]
            common = math.lcm(*(weight.denominator for weight in pair))
            self.unit *= common
            self.scaled[v], self.scaled[-v] = (int(weight * common) for weight in pair)

    def _weight(self, literal: int, given: object) -> Fraction:
        weight = exact(given, Of("the weight of the literal", literal))
        if weight < 0:
            raise InputError(
                f"the weight of the literal {literal} is {plain(weight)}, but must be at least 0"
            )
        return weight

    def weight(self, solution: Iterable[int]) -> Fraction:
        """The product of the weights of a solution's literals."""
        return Fraction(math.prod(map(self.scaled.__getitem__, solution)), self.unit)

    def read(self, sample: object) -> Solution:
        """The solution that a sample means.

        A sample has the literals of all variables in any order, or a 0 or 1 for each variable, as a
        text, which may begin with `v` and end with ` 0`, or as a sequence. Raises InputError if a
        variable has no value or two, or is none of the formula.
        """
        numbers = self._numbers(sample)
        if len(numbers) == self.variables and {0, 1}.issuperset(numbers):
            return tuple(v if bit else -v for v, bit in enumerate(numbers, 1))
        if len(numbers) > 1 and numbers[-1] == 0:
            numbers = numbers[:-1]
        solution = tuple(sorted(numbers, key=abs))
        places = [abs(literal) for literal in solution]
        if places == [*range(1, self.variables + 1)]:
            return solution
        counted = {v: places.count(v) for v in {*places}}
        wrong = next((v for v in counted if not 1 <= v <= self.variables), None)
        twice = next((v for v in counted if counted[v] > 1), None)
        if wrong is not None:
            why = f"has the variable {wrong}, and the variables are 1 to {self.variables}"
        elif twice is not None:
            why = f"has the variable {twice} twice"
        else:
            v = next(v for v in range(1, self.variables + 1) if v not in counted)
            why = f"has no value of the variable {v} of {self.variables}"
        raise InputError(
            f"the sample {shown(sample)} of {self.source} {why}: write every variable once, as "
            "literals (1 -2 3 0) or as bits (101)"
        )

    def _numbers(self, sample: object) -> list[int]:
        if isinstance(sample, str):
            words = sample.translate(BRACKETS).split()
            words = words[1:] if words[:1] == ["v"] else words
            if len(words) == 1 and len(words[0]) == self.variables and set(words[0]) <= {*"01"}:
                words = [*words[0]]
            if words and all(map(INTEGER.fullmatch, words)):
                return [*map(int, words)]
        elif isinstance(sample, Iterable):
            numbers = [*sample]
            if all(hasattr(number, "__index__") for number in numbers):
                return [int(number) for number in numbers]
        raise InputError(
            f"the sample {shown(sample)} is no solution of {self.source}: write its literals "
            "(1 -2 3 0), or a bit for each variable (101)"
        )
