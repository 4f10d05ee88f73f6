"""Tasks that are posteriors given data: a user's CSV file, or data made by a seed.

Imports no JAX, so that the command line answers at once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.tasks.task import BuiltIn
from reference.arguments import require
from reference.errors import InputError
from reference.problems import (
    HyperGPrior,
    StructureLearning,
    VariableSelection,
    ZellnerPrior,
)
from reference.problems.columns import Table, read_table
from reference.problems.dag_limits import dag_count
from reference.problems.network_scores import Score, numbers_to_score
from reference.problems.random_networks import GraphLaw

PRIORS = {"zellner": ZellnerPrior(), "hyper-g": HyperGPrior()}


@dataclass(frozen=True)
class _Posterior(BuiltIn):
    """A posterior given the data of a file, or of a generator."""

    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})
    inputs: ClassVar[Mapping[str, str]] = MappingProxyType({"data": "data.csv"})

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

    def columns(self) -> tuple[str, ...]:
        """The names that states have numbers for."""
        return self.table().names

    def texts(self, states: Iterable[Any]) -> list[str]:
        """States with the columns of the file in place of their numbers."""
        if self.data is None:
            return super().texts(states)
        names = self.columns()
        return [re.sub(r"\d+", lambda place: names[int(place[0])], str(x)) for x in states]

    def facts(self, source: str = "") -> dict[str, str]:
        """What the file holds: rows, columns and checksum.

        Args:
            source: the file that it is a copy of.
        """
        if self.data is None:
            return {}
        table = self.table()
        held = f"{len(table.rows):,} rows of {len(table.names)} columns, {', '.join(table.names)}"
        file = f"{Path(source or self.data).name} (SHA-256 {table.digest[:16]})"
        return {"data": f"{file}: {held}"}

    def remarks(self) -> list[str]:
        """What is likely a mistake in the file."""
        return [] if self.data is None else self.table().remarks()


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

    score: Score = "auto"
    """bge: of numbers, moved and scaled to mean 0 and variance 1; bdeu: of categories; auto: bge,
    but asks where a file looks like categories."""
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
            require(self, "score", self.score != "bdeu", "be bge: generated data are numbers")
            # Runs of before `auto` have what it stands for here.
            object.__setattr__(self, "score", "auto")
        super().check()

    def make_problem(self) -> StructureLearning:
        """The posterior."""
        if self.data is None:
            return _generated(self.nodes, self.rows, self.graphs, self.data_seed, self.max_parents)
        return StructureLearning.from_csv(self.data, self.score, self.max_parents)

    def facts(self, source: str = "") -> dict[str, str]:
        """What the file holds, and by which score and prior it is judged."""
        if self.data is None:
            return {"score": "bge"}
        score = f"{self.score}, as asked for"
        if self.score == "auto":
            numbers_to_score(self.table(), self.score)
            score = "bge, as all columns hold numbers; categories need --score bdeu"
        return {"score": score, **super().facts(source), "prior": "all graphs equally probable"}

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
        return VariableSelection.from_csv(self.data, self.outcome, PRIORS[self.prior])

    def columns(self) -> tuple[str, ...]:
        """All but the outcome."""
        names = self.table().names
        return tuple(name for name in names if name != (self.outcome or names[-1]))

    def facts(self, source: str = "") -> dict[str, str]:
        """What the file holds, and which of its columns the others explain."""
        facts = super().facts(source)
        return facts and {**facts, "outcome": self.outcome or self.table().names[-1]}

    def states(self) -> int:
        """Sets, finished or not."""
        count = self.variables if self.data is None else len(self.table().names) - 1
        return int(2 ** (count + 1))
