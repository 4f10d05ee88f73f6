"""The problems of `reference.problems` as array code."""

from typing import Any

from fast.environments.base import AbstractEnvironment, Encoding
from fast.environments.grid import GridEnvironment
from fast.environments.lines import LinesEnvironment
from fast.environments.sequences import SequenceEnvironment
from reference.problems import Grid, Lines, SyntheticSequences, TableSequences

AnyProblem = Lines | Grid | SyntheticSequences | TableSequences


def make_environment(
    problem: AnyProblem, encoding: Encoding = "one-hot"
) -> AbstractEnvironment[Any]:
    """The environment of a problem."""
    if isinstance(problem, Lines):
        return LinesEnvironment.from_problem(problem, encoding)
    if isinstance(problem, Grid):
        return GridEnvironment.from_problem(problem, encoding)
    return SequenceEnvironment.from_problem(problem, encoding)


__all__ = [
    "AbstractEnvironment",
    "AnyProblem",
    "Encoding",
    "GridEnvironment",
    "LinesEnvironment",
    "SequenceEnvironment",
    "make_environment",
]
