"""The sampling problems: the one definition of each task."""

from reference.problems.base import (
    Problem,
    dyadic,
    enumerate_dag,
    enumerate_rewards,
    positive_reward,
)
from reference.problems.grid import Cell, Grid
from reference.problems.lines import Lines
from reference.problems.sequences import (
    Build,
    Sequences,
    SyntheticSequences,
    TableSequences,
)

__all__ = [
    "Build",
    "Cell",
    "Grid",
    "Lines",
    "Problem",
    "Sequences",
    "SyntheticSequences",
    "TableSequences",
    "dyadic",
    "enumerate_dag",
    "enumerate_rewards",
    "positive_reward",
]
