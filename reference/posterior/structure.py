"""Structure learning: the posterior of the directed acyclic graph of a Bayesian network."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from reference.contract.errors import InputError, check_integer, check_type, check_value, shown
from reference.posterior.best_graphs import best_graph
from reference.posterior.columns import (
    Table,
    column_names,
    data_names,
    levels,
    read_table,
    standard_columns,
)
from reference.posterior.dag_limits import (
    check_affordable,
    check_max_parents,
    check_size,
    possible_families,
)
from reference.posterior.dag_sums import DagSums
from reference.posterior.network_scores import (
    Score,
    bdeu_scores,
    bge_scores,
    choose_score,
    table_scores,
)
from reference.posterior.networks import Network, all_ancestors, edge_indicators
from reference.posterior.random_networks import GraphLaw, random_network
from reference.posterior.weights import integer_weights, relative_scores, score_table
from reference.problems.base import Order
from reference.problems.closed_form import Summed, check_count, seeded


@dataclass(frozen=True)
class StructureLearning(Summed):
    """Directed acyclic graphs with a modular reward: `R(G) = prod over v of w_v(Pa_v)`.

    `w_v(P) = exp(score_v(P) - score_v(Pa*_v))`, rounded to 24 bits once: these integers over powers
    of two, row v over `2^shifts[v]` by the bit mask of P, are the instance, and everything after is
    exact; 0 stands where P holds v or too many nodes. `G*` is the best graph of the scores, so that
    `log R` is near 0 where the mass is, however many observations there are, and float32 resolves
    it there; `log R + offset`, nats, is the log score of a graph up to that rounding. An action
    adds an edge that closes no cycle and gives no node too many parents, or stops; edges come in
    any order, or as the parents of the first node, then those of the second, and so on, from the
    first parent to the last (a tree of graphs).
    """

    weights: tuple[tuple[int, ...], ...] = field(repr=False)
    shifts: tuple[int, ...] = field(repr=False)
    max_parents: int
    names: tuple[str, ...]
    offset: float = 0.0
    order: Order = "any"
    # The function with the same features as `quantities`, by number.
    indicators = staticmethod(edge_indicators)

    def __post_init__(self) -> None:
        owner = "StructureLearning"
        for field_name in ("weights", "shifts", "names"):
            check_type(owner, field_name, getattr(self, field_name), tuple)
        check_type(owner, "offset", self.offset, float)
        check_value(owner, "order", self.order, Order)
        n = check_size(len(self.names))
        column_names(owner, self.names, n)
        check_integer(owner, "max_parents", self.max_parents, 0)
        for row in self.weights:
            check_type(owner, "a row of weights", row, tuple)
        if [*map(len, self.weights)] != [2**n] * n or len(self.shifts) != n:
            raise InputError(
                f"{owner}: weights must be {n} rows of 2^{n} integers, and shifts {n} integers, "
                f"for {n} names"
            )
        for shift in self.shifts:
            check_integer(owner, "a shift", shift, 0)
        allowed = possible_families(n, self.max_parents).tolist()
        for name, row, may in zip(self.names, self.weights, allowed, strict=True):
            for mask, (weight, possible) in enumerate(zip(row, may, strict=True)):
                if not isinstance(weight, int) or (weight > 0) != possible or weight < 0:
                    raise InputError(
                        f"{owner}: the weight of {name!r} with parents {mask:#b} is "
                        f"{shown(weight)}, but must be a positive integer where a node has at most "
                        f"{self.max_parents} parents, not itself, and 0 elsewhere"
                    )

    @classmethod
    def from_scores(
        cls, scores: object, names: Sequence[str] | None = None, max_parents: int | None = None
    ) -> Self:
        """The posterior of local log scores.

        Args:
            scores: nats, shape (n, 2^n): row v, column P for the parents in the bit mask P (bit u
                stands for node u). Entries where P holds v, or too many nodes, are not read.
            names: the names of the nodes, by default "0", "1", ...
            max_parents: the largest number of parents of a node; no limit by default.

        Raises:
            InputError: if the scores have another shape, or a score that is read is not finite.
            TooLargeError: if the integer weights do not fit into memory.
        """
        owner = "StructureLearning.from_scores"
        table = score_table(owner, scores)
        n = check_size(len(table))
        most = check_max_parents(max_parents, n)
        variables = column_names(owner, names, n)
        table, offset = relative_scores(owner, table, variables, possible_families(n, most))
        return cls(*integer_weights(table), most, variables, offset)

    @classmethod
    def gaussian(
        cls,
        data: object,
        names: Sequence[str] | None = None,
        max_parents: int | None = None,
        alpha_mu: float = 1.0,
        alpha_w: float | None = None,
    ) -> Self:
        """The posterior given real data, by the BGe score, with equal prior of all graphs.

        Args:
            data: one observation per row, shape (N, n). Columns are moved and scaled to mean 0 and
                variance 1, for which the prior is meant.
            names: the names of the columns, by default "0", "1", ...
            max_parents: the largest number of parents of a node; no limit by default.
            alpha_mu: the weight of the prior mean, as in `bge_scores`.
            alpha_w: the degrees of freedom, as in `bge_scores`.

        Raises:
            InputError: if a value is missing, a column constant or a combination of others, or
                there are too many columns.
        """
        owner = "StructureLearning.gaussian"
        labels = data_names(owner, data, names)
        check_size(len(labels))
        columns = standard_columns(owner, data, labels)
        most = check_max_parents(max_parents, len(labels))
        return cls.from_scores(bge_scores(columns, most, alpha_mu, alpha_w), labels, most)

    @classmethod
    def discrete(
        cls,
        data: object,
        names: Sequence[str] | None = None,
        max_parents: int | None = None,
        sample_size: float = 1.0,
    ) -> Self:
        """The posterior given categories, by the BDeu score, with equal prior of all graphs.

        Args:
            data: categories as text or as numbers, shape (N, n).
            names: the names of the columns, by default "0", "1", ...
            max_parents: the largest number of parents of a node; no limit by default.
            sample_size: the equivalent sample size of the prior.

        Raises:
            InputError: if a value is missing, a column constant, one number written in two ways, or
                there are too many columns.
        """
        owner = "StructureLearning.discrete"
        labels = data_names(owner, data, names)
        check_size(len(labels))
        codes = levels(owner, data, labels)
        most = check_max_parents(max_parents, len(labels))
        return cls.from_scores(bdeu_scores(codes, most, sample_size), labels, most)

    @classmethod
    def from_csv(
        cls, path: str | Path, score: Score = "auto", max_parents: int | None = None
    ) -> Self:
        """The posterior given the columns of a CSV file whose first line names them.

        Args:
            path: the file.
            score: `bge` for numbers, `bdeu` for categories; `auto` decides by `choose_score`.
            max_parents: the largest number of parents of a node; no limit by default.

        Raises:
            InputError: as `read_table`, `choose_score` and `table_scores` do.
        """
        check_value("StructureLearning.from_csv", "score", score, Score)
        return cls.from_table(read_table(Path(path)), score, max_parents)

    @classmethod
    def from_table(
        cls, table: Table, score: Score = "auto", max_parents: int | None = None
    ) -> Self:
        """The posterior given a table; errors as for `from_csv`.

        Args:
            table: the data.
            score: as for `from_csv`.
            max_parents: the largest number of parents of a node; no limit by default.
        """
        most = check_max_parents(max_parents, check_size(len(table.names)))
        scores = table_scores(table, choose_score(table, score).name, most)
        return cls.from_scores(scores, table.names, most)

    @classmethod
    def random(
        cls,
        nodes: int,
        rows: int = 100,
        graphs: GraphLaw = "erdos-renyi",
        seed: int = 0,
        max_parents: int | None = None,
    ) -> Self:
        """The posterior given data of a network that `random_network` draws.

        Args:
            nodes: the number of variables.
            rows: the number of observations.
            graphs: the law of its graph.
            seed: the seed of graph, coefficients and observations.
            max_parents: the largest number of parents of a node; no limit by default.
        """
        check_size(nodes)
        return cls.gaussian(random_network(nodes, rows, seed, graphs).data, max_parents=max_parents)

    @classmethod
    def uniform(cls, nodes: int, max_parents: int | None = None) -> Self:
        """The uniform posterior: `Z` is the number of graphs."""
        return cls.from_scores(np.zeros((check_size(nodes), 2**nodes)), max_parents=max_parents)

    @classmethod
    def minimal(cls) -> Self:
        """Three nodes: 25 graphs."""
        return cls.random(3, rows=20)

    @property
    def nodes(self) -> int:
        """n, the number of variables."""
        return len(self.names)

    @property
    def initial(self) -> Network:
        """The graph without edges."""
        return Network((0,) * self.nodes)

    def children(self, state: Network) -> tuple[Network, ...]:
        """The finished graph, and all graphs with one more edge, a later one in the fixed order."""
        parents = state.parents
        if state.stopped:
            return ()
        behind = all_ancestors(parents)
        placed = [(v, u) for u, v in state.edges] if self.order == "fixed" else []
        last = max(placed, default=(0, -1))
        longer = (
            Network((*parents[:v], parents[v] | 1 << u, *parents[v + 1 :]))
            for v in range(self.nodes)
            for u in range(self.nodes)
            # Ancestors of u, and u itself: an edge from u to these would close a cycle.
            if (v, u) > last
            and not behind[u] >> v & 1
            and not parents[v] >> u & 1
            and self.weights[v][parents[v] | 1 << u]
        )
        return (Network(parents, True), *longer)

    def parents(self, state: Network) -> tuple[Network, ...]:
        """The unfinished graph, or all graphs with one edge less, the last in the fixed order."""
        if state.stopped:
            return (Network(state.parents),)
        masks, edges = state.parents, sorted((v, u) for u, v in state.edges)
        return tuple(
            Network((*masks[:v], masks[v] ^ 1 << u, *masks[v + 1 :]))
            for v, u in (edges if self.order == "any" else edges[-1:])
        )

    def reward(self, terminal: Network) -> Fraction:
        """`R(G)`, the product of the weights of its families."""
        weight = math.prod(
            row[mask] for row, mask in zip(self.weights, terminal.parents, strict=True)
        )
        return Fraction(weight, 2 ** sum(self.shifts))

    def z(self) -> Fraction:
        """`Z`, the sum over all graphs, in `3^n` terms; TooLargeError beyond the memory."""
        return Fraction(self._sums.total, 2 ** sum(self.shifts))

    def edge_marginals(self) -> tuple[tuple[Fraction, ...], ...]:
        """The probability of each edge; the row is the start of the edge."""
        return self._shares(self._sums.edges)

    def ancestor_marginals(self) -> tuple[tuple[Fraction, ...], ...]:
        """The probability of a path from u, the row, to v; 1 if u is v."""
        return self._shares(self._sums.ancestors)

    def quantities(self, terminal: Network) -> dict[str, float]:
        """Indicators of the edges of a graph, by the names of the variables."""
        return dict(zip(self._edge_names, edge_indicators(terminal).values(), strict=True))

    def quantity_means(self) -> dict[str, Fraction]:
        """The expectations of the quantities: the edge marginals."""
        rows, nodes = self.edge_marginals(), range(self.nodes)
        means = [rows[u][v] for u in nodes for v in nodes if u != v]
        return dict(zip(self._edge_names, means, strict=True))

    def mode(self) -> Network:
        """A most probable graph."""
        rows = [np.array(row, object) for row in self.weights]
        return Network(best_graph(rows, times=np.multiply, one=1).parents, True)

    def sample(self, count: int, seed: int) -> list[Network]:
        """Independent samples of the posterior, drawn with integers alone."""
        rng = seeded(seed)
        return [Network(self._sums.draw(rng), True) for _ in range(check_count(count))]

    def _shares(self, sums: list[list[int]]) -> tuple[tuple[Fraction, ...], ...]:
        return tuple(tuple(Fraction(x, self._sums.total) for x in row) for row in sums)

    @cached_property
    def _edge_names(self) -> tuple[str, ...]:
        """The names of the edges, in the order of `edge_indicators`."""
        return tuple(f"{u} -> {v}" for u in self.names for v in self.names if u != v)

    @cached_property
    def _sums(self) -> DagSums:
        check_affordable(self.nodes, max(max(row).bit_length() for row in self.weights))
        return DagSums(self.weights)
