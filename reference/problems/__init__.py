"""The sampling problems: the one definition of each task."""

from reference.problems.base import (
    Order,
    Problem,
    RewardForm,
    dyadic,
    enumerate_dag,
    enumerate_rewards,
    exact_reward,
    positive_reward,
)
from reference.problems.bits import BitSequences
from reference.problems.closed_form import ClosedForm, Enclosure, closed_form
from reference.problems.factors import Factored, restrict, split
from reference.problems.graphs import EdgeAddition, Graph
from reference.problems.grid import Cell, Grid, Landscape
from reference.problems.ising import Ising
from reference.problems.lines import Lines
from reference.problems.networks import Network
from reference.problems.preference import Preference
from reference.problems.random_walk import LazyRandomWalk
from reference.problems.regression_priors import HyperGPrior, ZellnerPrior
from reference.problems.selections import Selection
from reference.problems.sequences import Build, Sequences, SyntheticSequences
from reference.problems.sets import Sets
from reference.problems.structure import StructureLearning
from reference.problems.tables import TableSequences
from reference.problems.variables import VariableSelection

__all__ = [
    "BitSequences",
    "Build",
    "Cell",
    "ClosedForm",
    "EdgeAddition",
    "Enclosure",
    "Factored",
    "Graph",
    "Grid",
    "HyperGPrior",
    "Ising",
    "Landscape",
    "LazyRandomWalk",
    "Lines",
    "Network",
    "Order",
    "Preference",
    "Problem",
    "RewardForm",
    "Selection",
    "Sequences",
    "Sets",
    "StructureLearning",
    "SyntheticSequences",
    "TableSequences",
    "VariableSelection",
    "ZellnerPrior",
    "closed_form",
    "dyadic",
    "enumerate_dag",
    "enumerate_rewards",
    "exact_reward",
    "positive_reward",
    "restrict",
    "split",
]
