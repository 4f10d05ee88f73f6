"""Tasks that are posteriors given data: a user's CSV file, or data made by a seed.

Imports no JAX, so that the command line answers at once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.encoding import GraphCode
from fast.tasks.task import BuiltIn
from reference.contract.errors import InputError, require
from reference.posterior import HyperGPrior, StructureLearning, VariableSelection, ZellnerPrior
from reference.posterior.columns import Table, read_table
from reference.posterior.dag_limits import dag_count
from reference.posterior.network_scores import Score, choose_score
from reference.posterior.random_networks import GraphLaw
from reference.problems import Order

PRIORS = {"zellner": ZellnerPrior(), "hyper-g": HyperGPrior()}


@dataclass(frozen=True)
class _Posterior(BuiltIn):
    """A posterior given the data of a file, or generated data."""

    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"loss": "log_variance"})
    inputs: ClassVar[Mapping[str, str]] = MappingProxyType({"data": "data.csv"})

    data: Path | None = None
    """A CSV file whose first line names the columns; data are generated if there is none."""

    def check(self) -> None:
        """Makes generated data; a file is not read here, only when the problem is made.

        Raises InputError if the generator refuses its options, or one is set together with a file.
        """
        if self.data is None:
            super().check()
            return
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in self.generated and value != field.default:
                raise InputError(
                    f"{field.name} is {value!r} with the data of {str(self.data)!r}, which are not "
                    f"generated: leave {field.name} out, or leave out data"
                )

    def table(self) -> Table:
        """The table of the file."""
        assert self.data is not None
        return read_table(self.data)

    def columns(self) -> tuple[str, ...]:
        """The names behind the numbers in states."""
        return self.table().names

    def texts(self, states: Iterable[Any]) -> list[str]:
        """States with the columns of the file in place of their numbers."""
        if self.data is None:
            return super().texts(states)
        names = self.columns()
        return [re.sub(r"\d+", lambda place: names[int(place[0])], str(x)) for x in states]

    def facts(self, source: str = "") -> dict[str, str]:
        """Rows, columns and checksum of the file, by the name of its source if it is a copy."""
        if self.data is None:
            return {}
        table = self.table()
        held = f"{len(table.rows):,} rows of {len(table.names)} columns, {', '.join(table.names)}"
        file = f"{Path(source or self.data).name} (SHA-256 {table.digest[:16]})"
        return {"data": f"{file}: {held}"}

    def remarks(self) -> list[str]:
        """Likely mistakes in the file."""
        return [] if self.data is None else self.table().remarks()


# Every configuration makes its problem to check the options, which takes seconds on 14 variables.
@lru_cache(maxsize=8)
def _generated(order: Order, *options: Any) -> StructureLearning:
    return _ordered(StructureLearning.random(*options), order)


def _ordered(problem: StructureLearning, order: Order) -> StructureLearning:
    return problem if order == problem.order else replace(problem, order=order)


@dataclass(frozen=True)
class StructureTask(_Posterior):
    """Structure learning: the posterior of the graph of a Bayesian network, edge by edge.

    The data are a file, or drawn from a random linear Gaussian network. Log Z, the probability of
    every edge and the best graph are exact: see docs/posteriors.md.
    """

    name: ClassVar[str] = "structure"
    # Few paths lead to good graphs through good ones: docs/posteriors.md compares these options.
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            **_Posterior.defaults,
            "anneal": 0.6,
            "anneal_from": 1e-4,
            "replay": "annealed",
            "penalty": "huber",
            "rule": "muon",
        }
    )
    has_graphs: ClassVar[bool] = True
    has_networks: ClassVar[bool] = True
    generated: ClassVar[tuple[str, ...]] = ("nodes", "rows", "graphs", "data_seed")
    seen: ClassVar[tuple[str, ...]] = ("graph_code",)

    score: Score = "auto"
    """bge: for numbers, moved and scaled to mean 0 and variance 1; bdeu: for categories; auto: bdeu
    where all columns are text, else bge; refused where numbers look like categories."""
    bins: int | None = None
    """Cut each column with more different numbers than this into so many classes, at quantiles, and
    score categories."""
    levels: tuple[str, ...] = ()
    """Levels of a column, with those that no row has, as "size=small,large"; it is not cut."""
    max_parents: int | None = None
    """Largest number of parents of a node; no limit by default."""
    order: Order = "fixed"
    """The order in which edges are added: any, or the parents of the first column, then those of
    the second, and so on, so that a single path leads to each graph."""
    graph_code: GraphCode = "ahead"
    """Features of a graph: its edges, or also those that edges to come depend on, the edges to the
    variable at hand, and the paths from it and later ones."""
    nodes: int = 5
    """Variables of the generated network; 29,281 graphs on 5, 543 on 4."""
    rows: int = 100
    """Observations of the generated network."""
    graphs: GraphLaw = "erdos-renyi"
    """Law of its graph, which has one edge for each node in expectation."""
    data_seed: int = 0
    """Seed of graph, coefficients and observations."""

    def check(self) -> None:
        """Checks the score as well: generated data are numbers.

        Raises InputError, as for every posterior, or if generated data are to be scored as
        categories.
        """
        if self.data is None:
            require(self, "score", self.score != "bdeu", "be bge: generated data are numbers")
            for name in ("bins", "levels"):
                require(self, name, not getattr(self, name), "be left out: it is for a file")
            # Runs stored before `auto` existed have bge here.
            object.__setattr__(self, "score", "auto")
        super().check()

    def make_problem(self) -> StructureLearning:
        """The posterior."""
        if self.data is None:
            options = self.nodes, self.rows, self.graphs, self.data_seed, self.max_parents
            return _generated(self.order, *options)
        problem = StructureLearning.from_table(self.table(), self.score, self.max_parents)
        return _ordered(problem, self.order)

    def table(self) -> Table:
        """The table of the file, as categories if there are bins or levels."""
        return super().table().categories(self.bins, self.levels)

    def remarks(self) -> list[str]:
        """Likely mistakes in the file."""
        if self.data is None:
            return []
        score = choose_score(self.table(), self.score)
        return self.table().remarks(as_categories=score.name == "bdeu")

    def facts(self, source: str = "") -> dict[str, str]:
        """Contents of the file, and the score and prior used for it."""
        if self.data is None:
            return {"score": "bge"}
        table = self.table()
        score = "{}, {}".format(*choose_score(table, self.score))
        facts = {"score": score, **super().facts(source), **table.facts}
        return {**facts, "prior": "all graphs equally probable"}

    def states(self) -> int:
        """The number of graphs, finished or not."""
        return 2 * dag_count(self.nodes if self.data is None else len(self.table().names))


@dataclass(frozen=True)
class VariablesTask(_Posterior):
    """Variable selection: the posterior of the set of regressors of a linear regression."""

    name: ClassVar[str] = "variables"
    generated: ClassVar[tuple[str, ...]] = ("variables", "rows", "data_seed")

    outcome: str = ""
    """The column that the others explain; the last one by default."""
    prior: Literal["zellner", "hyper-g"] = "zellner"
    """Prior of the coefficients: g is the number of rows, or random (Liang et al., 2008)."""
    variables: int = 10
    """Generated columns; every third one matters."""
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
        """The columns other than the outcome."""
        names = self.table().names
        return tuple(name for name in names if name != (self.outcome or names[-1]))

    def facts(self, source: str = "") -> dict[str, str]:
        """Contents of the file, and the column that the others explain."""
        facts = super().facts(source)
        return facts and {**facts, "outcome": self.outcome or self.table().names[-1]}

    def states(self) -> int:
        """The number of sets, finished or not."""
        count = self.variables if self.data is None else len(self.table().names) - 1
        return int(2 ** (count + 1))
