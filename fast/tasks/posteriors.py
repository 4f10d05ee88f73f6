"""Tasks that are posteriors given data: a user's CSV file, or data made by a seed.

Imports no JAX, so that the command line answers at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.tasks.options import require
from fast.tasks.task import BuiltIn
from reference.errors import InputError
from reference.problems import (
    HyperGPrior,
    StructureLearning,
    VariableSelection,
    ZellnerPrior,
)
from reference.problems.columns import Table, codes_of, numbers_of, read_table
from reference.problems.dag_limits import dag_count
from reference.problems.random_networks import GraphLaw

PRIORS = {"zellner": ZellnerPrior(), "hyper-g": HyperGPrior()}


@dataclass(frozen=True)
class _Posterior(BuiltIn):
    """A posterior given the data of a file, or of a generator."""

    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})
    inputs: ClassVar[Mapping[str, str]] = MappingProxyType({"data": "data.csv"})
    # Options of the generator alone.
    generated: ClassVar[tuple[str, ...]] = ()

    data: Path | None = None
    """A CSV file whose first line names the columns; data are generated if there is none."""

    def check(self) -> None:
        """Options of the generator; a file is not read before it is needed, to ask for help.

        Raises:
            InputError: if the generator refuses them, or there is a file, which needs none.
        """
        usual = {field.name: field.default for field in fields(self)}
        for name in self.generated if self.data is not None else ():
            if getattr(self, name) != usual[name]:
                raise InputError(
                    f"{name} is {getattr(self, name)!r} with the data of {str(self.data)!r}, which "
                    f"are not generated: leave {name} out, or leave out data"
                )
        if self.data is None:
            super().check()

    def table(self) -> Table:
        """The table of the file."""
        assert self.data is not None
        return read_table(self.data)


# Every configuration with these options checks them by making it: seconds for 14 variables.
_generated = lru_cache(maxsize=8)(StructureLearning.random)


@dataclass(frozen=True)
class StructureTask(_Posterior):
    """Structure learning: the posterior of the graph of a Bayesian network, edge by edge.

    Of a file's columns, or of a random linear Gaussian network. Log Z, the probability of every
    edge and the best graph are exact: see docs/posteriors.md.
    """

    name: ClassVar[str] = "structure"
    # Few paths lead to good graphs through good ones: docs/posteriors.md has five seeds of each.
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {**_Posterior.defaults, "epsilon": 1.0, "epsilon_until": 0.8}
    )
    has_graphs: ClassVar[bool] = True
    has_networks: ClassVar[bool] = True
    generated: ClassVar[tuple[str, ...]] = ("nodes", "rows", "graphs", "data_seed")

    score: Literal["bge", "bdeu"] = "bge"
    """Of numbers, moved and scaled to mean 0 and variance 1, or of categories."""
    max_parents: int | None = None
    """The most parents of a node; no limit by default."""
    nodes: int = 5
    """Variables of the generated network; 29,281 graphs on 5, 543 on 4."""
    rows: int = 100
    """Observations of it."""
    graphs: GraphLaw = "erdos-renyi"
    """How its graph is drawn, with one edge for each node."""
    data_seed: int = 0
    """Seed of graph, coefficients and observations."""

    def check(self) -> None:
        """Refuses categories of what is generated, which are numbers.

        Raises:
            InputError: as every task with a generator, or if these are asked for.
        """
        if self.data is None:
            require(self, "score", self.score == "bge", "be bge: generated data are numbers")
        super().check()

    def make_problem(self) -> StructureLearning:
        """The posterior."""
        if self.data is None:
            return _generated(self.nodes, self.rows, self.graphs, self.data_seed, self.max_parents)
        table = self.table()
        if self.score == "bdeu":
            codes = codes_of(table)
            return StructureLearning.discrete(codes, table.names, self.max_parents)
        numbers = numbers_of(table, repr(str(self.data)))
        return StructureLearning.gaussian(numbers, table.names, self.max_parents)

    def states(self) -> int:
        """Graphs, finished or not."""
        return 2 * dag_count(self.nodes if self.data is None else len(self.table().names))


@dataclass(frozen=True)
class VariablesTask(_Posterior):
    """Variable selection: the posterior of the set of regressors of a linear regression."""

    name: ClassVar[str] = "variables"
    generated: ClassVar[tuple[str, ...]] = ("variables", "rows", "data_seed")

    outcome: str = ""
    """The column that the others explain; the last one by default."""
    prior: Literal["zellner", "hyper-g"] = "zellner"
    """Of the coefficients: with g the number of rows, or with a random g (Liang et al., 2008)."""
    variables: int = 10
    """Columns that are generated, of which one in three matters."""
    rows: int = 100
    """Observations."""
    data_seed: int = 0
    """Seed of the columns and their coefficients."""

    def make_problem(self) -> VariableSelection:
        """The posterior."""
        if self.data is None:
            return VariableSelection.random(
                self.variables, self.rows, self.data_seed, PRIORS[self.prior]
            )
        table = self.table()
        numbers, chosen = numbers_of(table, repr(str(self.data))), self.outcome or table.names[-1]
        if chosen not in table.names:
            raise InputError(
                f"outcome is {chosen!r}, but the columns of {str(self.data)!r} are "
                f"{', '.join(table.names)}"
            )
        place = table.names.index(chosen)
        names = tuple(name for name in table.names if name != chosen)
        others = [j for j in range(len(table.names)) if j != place]
        return VariableSelection.regression(
            numbers[:, others], numbers[:, place], names, PRIORS[self.prior]
        )

    def states(self) -> int:
        """Sets, finished or not."""
        count = self.variables if self.data is None else len(self.table().names) - 1
        return int(2 ** (count + 1))
