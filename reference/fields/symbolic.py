"""Rational functions as numbers: an identity in them holds for all policies and rewards at once.

Built on sympy's sparse fraction fields, not on its expressions, which are 15 to 20 times slower.

>>> from reference import ForwardPolicy, marginal, pointed_dag
>>> from reference.fields.symbolic import Symbolic
>>> field = Symbolic("p")
>>> (p,) = field.symbols
>>> dag = pointed_dag({"o": ["a", "x"], "a": ["x", "y"], "x": [], "y": []})
>>> marginal(ForwardPolicy.from_rows(dag, field, {"o": {"a": p, "x": 1 - p}, "a": {"y": 1}}))
(-p + 1, p)
"""

from fractions import Fraction
from typing import Any

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_integer,
    check_type,
    plain,
    shown,
)
from reference.fields.field import RATIONAL, ExactField, T

# Fraction arithmetic takes 45 s for the flows of the complete DAG with 8 states (27 edges, 22
# parameters), 0.06 s for the one with 6; beyond 24 parameters it does not end.
MAX_PARAMETERS = 24


class FunctionField(ExactField[T]):
    """Functions of named parameters, which stand for positive numbers.

    There is no order, so that "positive" means "not the zero function", and no check that `1 - p`
    is at least zero: identities need none.
    """

    def positive(self, value: T) -> bool:
        """True unless it is the zero function."""
        return bool(value != self.zero)

    def nonnegative(self, value: T) -> bool:
        """Always true: signs of functions are not decided here."""
        return True


class Symbolic(FunctionField[Any]):
    """The field of rational functions with integer coefficients in named parameters.

    Args:
        names: the parameters, separated by blanks or commas.

    Raises:
        TooLargeError: if there are more than `max_parameters`.
    """

    name = "symbolic"
    element = "a rational function"

    def __init__(self, names: str, max_parameters: int = MAX_PARAMETERS) -> None:
        check_type("Symbolic", "names", names, str)
        check_integer("Symbolic", "max_parameters", max_parameters, 1)
        listed = names.replace(",", " ").split()
        if not listed or len(set(listed)) != len(listed):
            raise InputError(
                f"the parameters are {shown(names)}, but must be one or more distinct names"
            )
        for name in listed:
            if not name.isidentifier():
                raise InputError(f"the parameter {name!r} is no name: use letters and digits")
        if len(listed) > max_parameters:
            raise TooLargeError(
                f"{len(listed)} parameters are asked for, and at most {max_parameters} are "
                "computed with symbolically: use a smaller DAG, random rationals, or raise "
                "`max_parameters`"
            )
        # Loaded here, so that `help(reference)` works where sympy is not installed.
        from sympy import ZZ
        from sympy.polys.fields import FracElement, field

        self._element, self._field = FracElement, field(",".join(listed), ZZ)[0]
        self.symbols: tuple[Any, ...] = self._field.gens

    def convert(self, value: int | Fraction | float) -> Any:
        """A constant function; elements of this field are passed through."""
        if self.contains(value):
            return value
        if isinstance(value, self._element):
            raise InputError(
                f"{plain(value)} belongs to another symbolic field: create all parameters in one "
                "Symbolic"
            )
        fraction = RATIONAL.convert(value)
        return self._field(fraction.numerator) / self._field(fraction.denominator)

    def contains(self, value: object) -> bool:
        """True for a rational function of exactly these parameters."""
        return isinstance(value, self._element) and value.field is self._field
