"""`pdai.posterior`: the exact answer to a table of data, without training. Imports no JAX."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pdai.posteriors.tasks import PRIORS
from reference.contract.errors import InputError, checked, no_such, plain
from reference.contract.files import sha256
from reference.contract.tables import check_unmasked, columns_html, framed
from reference.contract.text import at_most, html_page, small
from reference.posterior.columns import Levels, Table, read_table, table_of
from reference.posterior.dag_floats import Progress
from reference.posterior.graph_posterior import GraphPosterior, NamedEdge
from reference.posterior.network_scores import ChosenScore, Score, choose_score
from reference.posterior.networks import Network
from reference.posterior.variables import VariableSelection

Columns = dict[str, list[Any]]
# Up to here paths take seconds.
MOST_FOR_PATHS = 16
# The most pairs of columns that the answer in words names.
MOST_PAIRS = 16
FORMULAS = {
    "bge": "BGe: Gaussian, columns moved and scaled to mean 0 and variance 1",
    "bdeu": "BDeu: categories, equivalent sample size 1",
    "zellner": "linear regression, coefficients with Zellner's prior, g the number of rows",
    "hyper-g": "linear regression, coefficients with the hyper-g prior, a = 3",
}


@checked
def posterior(
    data: Any,
    outcome: str | None = None,
    score: Score = "auto",
    *,
    max_parents: int | None = None,
    forbid: Sequence[NamedEdge] = (),
    require: Sequence[NamedEdge] = (),
    bins: int | None = None,
    levels: Levels = (),
    drop_missing: bool = False,
    prior: Literal["zellner", "hyper-g"] = "zellner",
    progress: Progress = lambda share, word: None,
) -> "GraphAnswer | SelectionAnswer":
    """The exact posterior given a table: of the graph, or of the columns that explain an outcome.

    Args:
        data: the path of a file, a pandas frame, or a matrix.
        outcome: the column that the others explain; without one, the posterior is over graphs.
        score: the score of graphs: `bge` for numbers, `bdeu` for categories; `auto` decides, or
            refuses if it cannot.
        max_parents: the largest number of parents of a node; no limit by default.
        forbid: edges that no graph has, as "a -> b" or ("a", "b").
        require: edges that every graph has.
        bins: cut each column of more different numbers into so many classes, at quantiles, and
            score categories.
        levels: levels of columns, with those that no row has, as a mapping of names to levels, or
            as texts such as "size=small,large".
        drop_missing: whether rows with a missing value are left out.
        prior: the prior of the coefficients, with an outcome.
        progress: called with the share of a long sum that is done, and a word for it.

    Raises:
        InputError: if nothing can be learned from the data, or an argument breaks a rule or
            belongs to the other kind of posterior.
    """
    table = table_from(data, drop_missing=drop_missing)
    if outcome is None:
        if prior != "zellner":
            raise InputError(f"prior is {prior!r}, but needs an outcome: name one, or leave it out")
        table = table.categories(bins, levels)
        chosen = choose_score(table, score)
        law = GraphPosterior.from_table(table, chosen, max_parents, forbid, require, progress)
        return GraphAnswer(table, chosen, law)
    given = {
        "max_parents": max_parents,
        "forbid": forbid,
        "require": require,
        "bins": bins,
        "levels": levels,
    }
    for name, value in {**given, "score": "" if score == "auto" else score}.items():
        if value not in (None, (), [], ""):
            raise InputError(
                f"{name} is {value!r}, but is for graphs, and there is an outcome, {outcome!r}: "
                "leave out one of the two"
            )
    if not outcome:
        raise InputError("outcome is empty, but must be the name of a column")
    return SelectionAnswer(
        table, outcome, prior, VariableSelection.from_table(table, outcome, PRIORS[prior])
    )


def table_from(data: Any, *, drop_missing: bool = False) -> Table:
    """The table of a file, a pandas frame or a matrix, perhaps without rows that miss a value.

    Raises InputError if it is none, or as `read_table` does.
    """
    if isinstance(data, str | Path):
        return read_table(Path(data), drop_missing=drop_missing)
    check_unmasked("posterior", data)
    columns = getattr(data, "columns", None)
    values = np.asarray(data, dtype=object)
    if values.ndim != 2 or len(values) < 2:
        raise InputError(
            f"posterior: the data have the shape {values.shape}, but must be the path of a CSV "
            "file, a frame or a matrix, with at least two rows"
        )
    names = [str(name) for name in (range(values.shape[1]) if columns is None else columns)]
    rows = [[str(value) for value in row] for row in values]
    for name, column in zip(names, values.T, strict=True):
        texts = {value for value in column if isinstance(value, str)}
        for value in column:
            if not isinstance(value, str) and str(value) in texts:
                raise InputError(
                    f"posterior: column {name!r} has {str(value)!r} both as a text and as another "
                    "value: write the category in one way"
                )
    digest = sha256(repr((names, rows)).encode())
    source = f"the {'matrix' if columns is None else 'frame'}, its names counted as a line"
    return table_of(source, names, rows, digest, drop_missing=drop_missing)


def _rounding(factors: int) -> str:
    """The remark on weights of 24 bits, products of which are summed.

    With `f` factors, the odds of no event change by more than `((1 + d) / (1 - d))^f`, `d = 2^-24`.
    """
    most = at_most(factors * 2.0**-24, 1)
    return f"rounding local scores to 24 bits moves a probability by at most {most}"


class Answer(ABC):
    """An exact posterior given a table."""

    table: Table

    @property
    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Data, score, prior and error, in words."""

    @property
    def remarks(self) -> list[str]:
        """Likely mistakes in the table, a sentence each."""
        return self.table.remarks()

    @abstractmethod
    def words(self) -> list[str]:
        """The answer in sentences."""

    @abstractmethod
    def tables(self) -> dict[str, Columns]:
        """The probabilities of features, by the name of the table."""

    @abstractmethod
    def best_columns(self, count: int) -> Columns:
        """The most probable objects with their probabilities, best first."""

    @abstractmethod
    def draw_columns(self, count: int, seed: int) -> Columns:
        """Independent draws, a row each, as a column of 0 and 1 for each feature."""

    def best(self, count: int = 10) -> Any:
        """The most probable objects with their probabilities, best first, as a frame."""
        return framed(self.best_columns(count))

    def sample(self, count: int, seed: int = 0) -> Any:
        """Independent draws, a row each, as a frame of 0 and 1 with a column for each feature."""
        return framed(self.draw_columns(count, seed))

    def to_frame(self, name: str | None = None) -> Any:
        """The table of that name, by default the first, as a frame."""
        tables = self.tables()
        if name is not None and name not in tables:
            raise InputError(no_such("table of the answer", name, tables))
        return framed(tables[name or next(iter(tables))])

    def _repr_html_(self) -> str:
        tables = [columns_html(name, columns) for name, columns in self.tables().items()]
        return html_page(repr(self), self.facts) + "".join(tables)

    def __repr__(self) -> str:
        # Sums may take minutes, and are left out.
        return f"{type(self).__name__}({self._data_facts(as_categories=False)['data']})"

    def _data_facts(self, *, as_categories: bool) -> dict[str, str]:
        table = self.table
        facts = {
            "data": f"{table.source}: {len(table.rows):,} rows of {len(table.names)} columns "
            f"(SHA-256 {table.digest[:16]})",
            "numbers": table.values(as_categories=as_categories),
            "warnings": "; ".join(self.remarks),
        }
        return {name: text for name, text in facts.items() if text}


class GraphAnswer(Answer):
    """The exact posterior of the graph behind a table, with the score, and why it is taken.

    Tables have the paths, which take n times as long, up to 16 columns.
    """

    def __init__(self, table: Table, score: ChosenScore, law: GraphPosterior) -> None:
        self.table, self.score, self.posterior = table, score, law
        self.has_paths = law.nodes <= MOST_FOR_PATHS

    @property
    def remarks(self) -> list[str]:
        """Likely mistakes in the table, a sentence each."""
        return self.table.remarks(as_categories=self.score.name == "bdeu")

    @property
    def edges(self) -> Any:
        """The probability of each edge, as a frame; the row is its start."""
        return self._matrix(self.posterior.edges)

    @property
    def ancestors(self) -> Any:
        """The probability of a path from the row to the column, as a frame; 1 from a to a."""
        return self._matrix(self.posterior.ancestors)

    def tables(self) -> dict[str, Columns]:
        """The probability of each edge, and of a path between each two columns, largest first."""
        tables = {"edges": self._pairs(self.posterior.edges)}
        if self.has_paths:
            tables["ancestors"] = self._pairs(self.posterior.ancestors)
        return tables

    @property
    def facts(self) -> dict[str, str]:
        """Data, score, prior and error, in words."""
        law = self.posterior
        rules = {
            "most parents": str(law.max_parents) if law.max_parents < law.nodes - 1 else "",
            "forbidden": ", ".join(self._named(Network(law.rules.forbidden))),
            "required": ", ".join(self._named(Network(law.rules.required))),
        }
        # Edges first: their sums have log Z as well.
        expected_edges, log_z = law.expected_edges, law.log_z()
        return {
            **self._data_facts(as_categories=self.score.name == "bdeu"),
            **self.table.facts,
            "score": f"{FORMULAS[self.score.name]}; {self.score.reason}",
            "prior": "all graphs that keep to the limits equally probable",
            **{name: text for name, text in rules.items() if text},
            "log of the sum of scores": f"{log_z.value + law.offset:.6f} nats",
            "error": self._errors(),
            "expected edges": f"{expected_edges:.3f}",
        }

    def _errors(self) -> str:
        law = self.posterior
        if law.is_exact:
            return f"none of the sums of these scores, in integers; {_rounding(law.nodes)}"
        paths = f", of a path {at_most(law.ancestor_error, 1)}" if self.has_paths else ""
        return (
            f"proved: of an edge at most {at_most(law.error, 1)}{paths}; draws, in total "
            f"variation, {at_most(law.draw_error, 1)}; {_rounding(law.nodes)}"
        )

    def words(self) -> list[str]:
        """The answer in sentences."""
        names, edges = self.table.names, self.posterior.edges
        either = [
            (float(edges[u, v] + edges[v, u]), u, v)
            for u in range(len(names))
            for v in range(u + 1, len(names))
        ]
        sure = sum(p > 0.95 for p, _, _ in either)
        open_pairs = sum(0.05 <= p <= 0.95 for p, _, _ in either)
        sentences = [
            f"{sure} of {len(either)} pairs of columns are joined by an edge with a probability "
            f"above 0.95, {open_pairs} are undecided (0.05 to 0.95)."
        ]
        # All that the first sentence counts, so that none is left to be looked for.
        named = min(max(3, sure + open_pairs), MOST_PAIRS)
        for p, u, v in sorted(either, reverse=True)[:named]:
            a, b = (u, v) if edges[u, v] >= edges[v, u] else (v, u)
            sentences.append(
                f"{names[a]} -> {names[b]} has probability {small(edges[a, b], digits=3)}, "
                f"{names[b]} -> {names[a]} {small(edges[b, a], digits=3)}, any edge between them "
                f"{small(p, digits=3)}."
            )
        sentences.append(
            "No causal effect is claimed: these are probabilities of graphs under the score and "
            "the prior, and graphs that differ by directions alone often score alike."
        )
        return sentences

    def best_columns(self, count: int) -> Columns:
        """The most probable graphs with their probabilities and edges, best first."""
        best = self.posterior.best(count)
        return {
            "rank": [*range(1, len(best) + 1)],
            "probability": [one.probability for one in best],
            "edges": [self.text(one.graph) for one in best],
        }

    def draw_columns(self, count: int, seed: int) -> Columns:
        """Independent draws, a row each, as a column of 0 and 1 for each edge."""
        drawn = [graph.parents for graph in self.posterior.sample(count, seed)]
        names = self.table.names
        return {
            f"{a} -> {b}": [parents[v] >> u & 1 for parents in drawn]
            for u, a in enumerate(names)
            for v, b in enumerate(names)
            if u != v
        }

    def text(self, graph: Network) -> str:
        """The edges of a graph by the names of the columns."""
        return ", ".join(self._named(graph)) or "no edges"

    def _matrix(self, values: npt.NDArray[np.float64]) -> Any:
        if find_spec("pandas") is None:
            return values
        import pandas

        return pandas.DataFrame(values, index=self.table.names, columns=self.table.names)

    def _pairs(self, values: npt.NDArray[np.float64]) -> Columns:
        names, nodes = self.table.names, range(len(self.table.names))
        pairs = sorted(((u, v) for u in nodes for v in nodes if u != v), key=lambda uv: -values[uv])
        return {
            "from": [names[u] for u, _ in pairs],
            "to": [names[v] for _, v in pairs],
            "probability": [float(values[pair]) for pair in pairs],
        }

    def _named(self, graph: Network) -> list[str]:
        names = self.table.names
        return [f"{names[u]} -> {names[v]}" for u, v in graph.edges]


class SelectionAnswer(Answer):
    """The exact posterior of the set of columns that explain an outcome."""

    def __init__(self, table: Table, outcome: str, prior: str, law: VariableSelection) -> None:
        self.table, self.outcome, self.prior, self.posterior = table, outcome, prior, law

    @property
    def remarks(self) -> list[str]:
        """Likely mistakes in the table, a sentence each."""
        return [
            *self.table.remarks(),
            *(
                f"column {name!r} is always one of {plain(', '.join(values))}, taken for numbers: "
                "if they are codes of categories, give a column of 0 and 1 for each but one"
                for name, values in self.table.coded().items()
                if len(values) > 2 or name == self.outcome
            ),
        ]

    @property
    def inclusion(self) -> Any:
        """The probability that each column is chosen, as a frame, the largest first."""
        return framed(self._inclusion())

    def tables(self) -> dict[str, Columns]:
        """The probability that each column is chosen, the largest first."""
        return {"inclusion": self._inclusion()}

    def _inclusion(self) -> Columns:
        means = self.posterior.quantity_means()
        order = sorted(means, key=lambda name: -means[name])
        return {"column": order, "probability": [float(means[name]) for name in order]}

    @property
    def facts(self) -> dict[str, str]:
        """Data, outcome, prior and error, in words."""
        factor = self.posterior.log_z().value + self.posterior.offset
        return {
            **self._data_facts(as_categories=False),
            "outcome": self.outcome,
            "score": FORMULAS[self.prior],
            "prior": "all sets of columns equally probable",
            "log of the sum of Bayes factors": f"{factor:.6f} nats",
            "error": f"none of the sums, in integers; {_rounding(1)}",
        }

    def words(self) -> list[str]:
        """The answer in sentences."""
        columns = self._inclusion()
        pairs = list(zip(columns["column"], columns["probability"], strict=True))
        sure = [name for name, p in pairs if p > 0.95]
        open_names = [name for name, p in pairs if 0.05 <= p <= 0.95]
        return [
            f"{len(sure)} of {len(pairs)} columns explain {self.outcome} with a probability above "
            f"0.95{': ' if sure else ''}{', '.join(sure)}; {len(open_names)} are undecided (0.05 "
            f"to 0.95){': ' if open_names else ''}{', '.join(open_names)}.",
            *(f"{name} is chosen with probability {small(p, digits=3)}." for name, p in pairs[:3]),
            "No causal effect is claimed: these are probabilities of linear models.",
        ]

    def best_columns(self, count: int) -> Columns:
        """The most probable sets with their probabilities, best first."""
        law, z = self.posterior, self.posterior.z()
        best = law.best(count)
        return {
            "rank": [*range(1, len(best) + 1)],
            "probability": [float(law.reward(one) / z) for one in best],
            "columns": [", ".join(compress(law.names, one.chosen)) or "none" for one in best],
        }

    def draw_columns(self, count: int, seed: int) -> Columns:
        """Independent draws, a row each, as a column of 0 and 1 for each column."""
        drawn, names = self.posterior.sample(count, seed), self.posterior.names
        return {name: [int(one.chosen[i]) for one in drawn] for i, name in enumerate(names)}
