"""The problems of `reference.problems` as array code."""

from collections.abc import Callable, Mapping
from typing import Any

from fast.environments.base import AbstractEnvironment, Encoding
from fast.environments.bits import BitEnvironment
from fast.environments.graphs import GraphEnvironment
from fast.environments.grid import GridEnvironment
from fast.environments.ising import IsingEnvironment
from fast.environments.lines import LinesEnvironment
from fast.environments.loading import load_environment
from fast.environments.preference import PreferenceEnvironment
from fast.environments.random_walk import WalkEnvironment
from fast.environments.sequences import SequenceEnvironment
from fast.environments.sets import SetEnvironment
from fast.environments.structure import StructureEnvironment
from fast.environments.tabular import TabularEnvironment
from fast.environments.variables import SelectionEnvironment
from reference.errors import InputError
from reference.problems import (
    BitSequences,
    EdgeAddition,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Preference,
    Sets,
    StructureLearning,
    SyntheticSequences,
    TableSequences,
    VariableSelection,
)

AnyProblem = (
    BitSequences
    | EdgeAddition
    | Grid
    | Ising
    | LazyRandomWalk
    | Lines
    | Preference
    | Sets
    | StructureLearning
    | SyntheticSequences
    | TableSequences
    | VariableSelection
)

_MAKERS: Mapping[type, Callable[..., AbstractEnvironment[Any]]] = {
    BitSequences: BitEnvironment.from_problem,
    EdgeAddition: GraphEnvironment.from_problem,
    Grid: GridEnvironment.from_problem,
    Ising: IsingEnvironment.from_problem,
    LazyRandomWalk: WalkEnvironment.from_problem,
    Lines: LinesEnvironment.from_problem,
    Preference: PreferenceEnvironment.from_problem,
    Sets: SetEnvironment.from_problem,
    StructureLearning: StructureEnvironment.from_problem,
    SyntheticSequences: SequenceEnvironment.from_problem,
    TableSequences: SequenceEnvironment.from_problem,
    VariableSelection: SelectionEnvironment.from_problem,
}


def make_environment(
    problem: AnyProblem, encoding: Encoding = "one-hot", **seen: Any
) -> AbstractEnvironment[Any]:
    """The environment of a problem.

    Args:
        problem: the problem.
        encoding: the code of the numbers that a state is made of.
        seen: what else its environment is told of how states are seen, such as `coarse`.

    Raises:
        InputError: if there is no environment for problems of that very class (a subclass may have
            another reward), or it does not have that encoding.
    """
    make = _MAKERS.get(type(problem))
    if make is None:
        known = ", ".join(kind.__name__ for kind in _MAKERS)
        raise InputError(
            f"there is no environment for the problem {type(problem).__name__}, only for {known}: "
            "enumerate it with `TabularEnvironment.from_problem`, or write an environment"
        )
    return make(problem, encoding, **seen)


__all__ = [
    "AbstractEnvironment",
    "AnyProblem",
    "BitEnvironment",
    "Encoding",
    "GraphEnvironment",
    "GridEnvironment",
    "IsingEnvironment",
    "LinesEnvironment",
    "PreferenceEnvironment",
    "SelectionEnvironment",
    "SequenceEnvironment",
    "SetEnvironment",
    "StructureEnvironment",
    "TabularEnvironment",
    "WalkEnvironment",
    "load_environment",
    "make_environment",
]
