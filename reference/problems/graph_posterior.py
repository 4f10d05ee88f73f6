"""The exact posterior of a directed acyclic graph: probabilities, best graphs, and draws."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.problems.best_graphs import best_graphs
from reference.problems.closed_form import Enclosure, check_count, seeded
from reference.problems.columns import Table, column_names
from reference.problems.dag_limits import (
    check_affordable,
    check_max_parents,
    check_summable,
    possible_families,
)
from reference.problems.dag_sums import DagSums
from reference.problems.dyadic_weights import BITS, LOG_2, dyadic_weights
from reference.problems.edge_rules import EdgeRules, NamedEdge
from reference.problems.network_scores import ChosenScore, table_scores
from reference.problems.networks import Network
from reference.problems.score_tables import relative_scores, score_table

Floats = npt.NDArray[np.float64]


class Likely(NamedTuple):
    """A graph and its probability."""

    graph: Network
    probability: float


class GraphPosterior:
    """The law `R(G) / Z` on the directed acyclic graphs that keep to rules, without any training.

    `R(G) = prod over v of w_v(Pa_v)`, with the weights of `StructureLearning`: `exp` of the local
    scores less those of a best graph, rounded once to 24 bits.

    Args:
        scores: local log scores, nats, as in `StructureLearning.from_scores`.
        names: the names of the variables, "0", "1", ... by default.
        max_parents: the largest number of parents of a node; no limit by default.
        forbid: edges that no graph has, as `"a -> b"` or `("a", "b")`.
        require: edges that every graph has.

    Raises:
        InputError: as `StructureLearning.from_scores` and `EdgeRules.of` do.
        TooLargeError: if there are too many variables.
    """

    def __init__(
        self,
        scores: object,
        names: Sequence[str] | None = None,
        max_parents: int | None = None,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
    ) -> None:
        owner = "GraphPosterior"
        table = score_table(owner, scores)
        self.nodes = check_summable(len(table))
        self.names = column_names(owner, names, self.nodes)
        self.max_parents = check_max_parents(max_parents, self.nodes)
        self.rules = EdgeRules.of(owner, self.names, self.max_parents, forbid, require)
        allowed = possible_families(self.nodes, self.max_parents) & self.rules.allowed()
        self.scores, self.offset = relative_scores(owner, table, self.names, allowed)

    @classmethod
    def from_table(
        cls,
        table: Table,
        score: ChosenScore,
        max_parents: int | None = None,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
    ) -> Self:
        """The posterior given a table of data.

        Args:
            table: the data.
            score: the score.
            max_parents: as for the class.
            forbid: as for the class.
            require: as for the class.

        Raises:
            InputError: as for the class, or as `table_scores` does.
            TooLargeError: as for the class.
        """
        nodes = check_summable(len(table.names))
        most = check_max_parents(max_parents, nodes)
        # Before scores are computed, which may take long.
        EdgeRules.of(table.source, table.names, most, forbid, require)
        scores = table_scores(table, score.name, most)
        return cls(scores, table.names, most, forbid, require)

    def log_z(self) -> Enclosure:
        """`log Z` of the rounded weights; with `offset`, the log of the sum of all scores, nats."""
        return Enclosure.log_of(Fraction(self._sums.total, 2 ** sum(self._shifts)))

    @property
    def error(self) -> float:
        """A bound on the error of every probability."""
        return 2.0**-53

    @cached_property
    def edges(self) -> Floats:
        """The probability of each edge; the row is its start."""
        return self._shares(self._sums.edges)

    @cached_property
    def ancestors(self) -> Floats:
        """The probability of a path from u, the row, to v; 1 if u is v."""
        return self._shares(self._sums.ancestors)

    @property
    def expected_edges(self) -> float:
        """The expected number of edges."""
        return math.fsum(self.edges.flat)

    def probability(self, graph: Network) -> float:
        """The probability of a graph."""
        rows = zip(self._weights, graph.parents, strict=True)
        weight = math.prod(row[mask] for row, mask in rows)
        return float(Fraction(weight, self._sums.total))

    def best(self, count: int) -> list[Likely]:
        """The most probable graphs, best first; all, if there are fewer.

        Graphs whose weights differ by less than a relative `1e-12` may change places.
        """
        logs = self._log_weights
        graphs = [Network(one.parents, True) for one in best_graphs(logs, check_count(count))]
        return [Likely(graph, self.probability(graph)) for graph in graphs]

    def sample(self, count: int, seed: int) -> list[Network]:
        """Independent draws of the posterior."""
        rng = seeded(seed)
        return [Network(self._sums.draw(rng), True) for _ in range(check_count(count))]

    def _shares(self, sums: list[list[int]]) -> Floats:
        return np.array([[x / self._sums.total for x in row] for row in sums])

    @cached_property
    def _dyadic(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        spread = self.scores[self.scores > -np.inf]
        check_affordable(self.nodes, int((spread.max() - spread.min()) / LOG_2) + BITS)
        return tuple(map(dyadic_weights, self.scores))

    @property
    def _weights(self) -> tuple[tuple[int, ...], ...]:
        return tuple(row for row, _ in self._dyadic)

    @property
    def _shifts(self) -> tuple[int, ...]:
        return tuple(shift for _, shift in self._dyadic)

    @property
    def _log_weights(self) -> Floats:
        return self.scores

    @cached_property
    def _sums(self) -> DagSums:
        return DagSums(self._weights)
