"""The laws that samples are certified against without a problem, by the way they are given."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from reference.certificates.listed import ListedLaw, read_weights, uniform_on
from reference.errors import InputError, check_list, check_type
from reference.problems.circuits import CIRCUITS, Circuit
from reference.problems.formulas import Formula
from reference.problems.solutions import INTEGER, Literals

UNIFORM = "uniform"
# The endings of files of formulas.
FORMULAS = (".cnf", ".dimacs")

Law = ListedLaw | Circuit


def law_of(
    law: str | Path | Mapping[Hashable, Any],
    support: str | Path | Sequence[Hashable] | None = None,
    solutions: str | Path | None = None,
    *,
    most: int = 100_000,
    seconds: float = 60.0,
) -> Law:
    """The law that `certify` is given.

    It is `uniform`; weights by value; a file of values with weights or log weights; a circuit; or a
    formula, with the weights of literals that its file has. The support of the uniform law is a
    sequence, or a file with a value in each line. With `solutions`, a formula in DIMACS or a
    circuit of c2d or d4 (.nnf) whose solutions are the values, a file gives weights of literals. At
    most so many solutions of a formula are listed, in so many seconds. Raises InputError if a file
    breaks a rule, a value is repeated or has no weight, or the parts given do not make one law.
    """
    check_type("the target", "law", law, (str, Path, Mapping))
    check_type("the target", "solutions", solutions, (str, Path, NoneType))
    if support is not None and (solutions is not None or law != UNIFORM):
        raise InputError(
            "the support is of the uniform law, and the law or its solutions have values of their "
            "own: leave one of the two out"
        )
    if isinstance(law, str | Path) and Path(law).suffix in (*CIRCUITS, *FORMULAS):
        if solutions is not None:
            raise InputError(
                f"{str(law)!r} has solutions of its own: leave the others out, or give weights of "
                "literals as the law"
            )
        return _on_solutions(Path(law), None, most, seconds)
    if solutions is not None:
        return _on_solutions(Path(solutions), _literal_weights(law), most, seconds)
    if isinstance(law, Mapping):
        return ListedLaw(law)
    if law != UNIFORM:
        return ListedLaw(read_weights(Path(law), "value"))
    if support is None:
        raise InputError(
            "the law is uniform, but over which values? Give its support (--support FILE), or "
            "solutions"
        )
    if isinstance(support, str | Path):
        return uniform_on(Path(support))
    return ListedLaw.uniform(check_list("the target", "support", support))


def _literal_weights(law: str | Path | Mapping[Hashable, Any]) -> Mapping[int, Any]:
    """The weights of literals that a law gives; none are 1."""
    if law == UNIFORM:
        return {}
    if not isinstance(law, Mapping):
        law = read_weights(Path(law), "literal")
    weights: dict[int, Any] = {}
    for literal, weight in law.items():
        if not INTEGER.fullmatch(str(literal)) or not int(str(literal)):
            raise InputError(
                f"a weight is given to {literal!r}, but with solutions the law has weights of "
                "literals, such as -3: leave the solutions out, or give these"
            )
        if int(str(literal)) in weights:
            raise InputError(f"the literal {int(str(literal))} has two weights: give it one")
        weights[int(str(literal))] = weight
    return weights


def _on_solutions(path: Path, weights: Mapping[int, Any] | None, most: int, seconds: float) -> Law:
    if path.suffix in CIRCUITS:
        return Circuit.read(path, weights)
    formula = Formula.read(path)
    literals = formula.literals
    if weights is not None:
        literals = Literals(literals.variables, weights, literals.source)
    listed = formula.solutions(most, seconds)
    return ListedLaw({x: literals.weight(x) for x in listed}, parse=literals.read)
