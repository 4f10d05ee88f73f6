"""The exact posterior of a directed acyclic graph: probabilities, best graphs, and draws."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, TooLargeError, check_list, shown
from reference.posterior.best_graphs import best_graphs
from reference.posterior.columns import Floats, Table, column_names
from reference.posterior.dag_floats import DagFloats, Progress
from reference.posterior.dag_limits import (
    check_max_parents,
    check_summable,
    possible_families,
    shown_terms,
)
from reference.posterior.dag_sums import DagSums
from reference.posterior.network_scores import ChosenScore, table_scores
from reference.posterior.networks import Network
from reference.posterior.weights import (
    LOG_2,
    dyadic_exponentials,
    integer_weights,
    relative_scores,
    score_table,
)
from reference.problems.closed_form import Enclosure, check_count, seeded

# Up to here integers answer within a second.
MOST_INTEGERS = 10
# The same within minutes, for a proof.
MOST_PROVED = 14
# An edge by the names of its ends, or as the text "a -> b".
NamedEdge = str | tuple[str, str]


class EdgeRules(NamedTuple):
    """The required and the forbidden parents of each node, as bit masks."""

    required: tuple[int, ...]
    forbidden: tuple[int, ...]

    @classmethod
    def of(
        cls,
        owner: str,
        names: Sequence[str],
        max_parents: int,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
    ) -> Self:
        """The rules of edges that are named by their ends.

        Args:
            owner: the name that messages use.
            names: the names of the nodes.
            max_parents: the largest number of parents of a node.
            forbid: the edges that no graph has.
            require: the edges that every graph has.

        Raises:
            InputError: if an edge names no two nodes, is required and forbidden, or if the required
                edges close a cycle, or give a node too many parents.
        """
        required = _masks(owner, "a required edge", names, require)
        forbidden = _masks(owner, "a forbidden edge", names, forbid)
        for v, (needed, barred) in enumerate(zip(required, forbidden, strict=True)):
            if both := needed & barred:
                u = both.bit_length() - 1
                raise InputError(
                    f"{owner}: the edge {names[u]!r} -> {names[v]!r} is required and forbidden: "
                    "leave out one of the two"
                )
            if needed.bit_count() > max_parents:
                raise InputError(
                    f"{owner}: {names[v]!r} has {needed.bit_count()} required parents, but at "
                    f"most {max_parents} are allowed: raise the limit, or require fewer"
                )
        if not _is_acyclic(required):
            edges = ", ".join(
                f"{names[u]} -> {names[v]}"
                for v, mask in enumerate(required)
                for u in range(len(names))
                if mask >> u & 1
            )
            raise InputError(
                f"{owner}: the required edges close a cycle ({edges}), but a graph has none: "
                "leave one out"
            )
        return cls(tuple(required), tuple(forbidden))

    def allowed(self) -> npt.NDArray[np.bool_]:
        """True where the parents of a bit mask keep to the rules, shape (n, 2^n)."""
        masks = np.arange(2 ** len(self.required))
        needed, barred = np.array(self.required)[:, None], np.array(self.forbidden)[:, None]
        return np.asarray((masks & needed == needed) & (masks & barred == 0), np.bool_)


class Likely(NamedTuple):
    """A graph and its probability."""

    graph: Network
    probability: float


class GraphPosterior:
    """The law `R(G) / Z` on the directed acyclic graphs that keep to rules, without any training.

    `R(G) = prod over v of w_v(Pa_v)`, with the weights of `StructureLearning`: `exp` of the local
    scores less those of a best graph, rounded once to 24 bits. Scores, names and the largest number
    of parents are as in `StructureLearning.from_scores`; edges to forbid or to require are
    `"a -> b"` or `("a", "b")`. `progress` is told how far a long sum is. Sums are in integers if it
    `is_exact`, up to 10 variables, else in double-double arithmetic, with a proved error. Raises
    InputError as `StructureLearning.from_scores` and `EdgeRules.of` do, TooLargeError for too many.
    """

    def __init__(
        self,
        scores: object,
        names: Sequence[str] | None = None,
        max_parents: int | None = None,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
        progress: Progress = lambda share, word: None,
    ) -> None:
        owner = "GraphPosterior"
        table = score_table(owner, scores)
        self.nodes = check_summable(len(table))
        self.names = column_names(owner, names, self.nodes)
        self.max_parents = check_max_parents(max_parents, self.nodes)
        self.rules = EdgeRules.of(owner, self.names, self.max_parents, forbid, require)
        allowed = possible_families(self.nodes, self.max_parents) & self.rules.allowed()
        self.scores, self.offset = relative_scores(owner, table, self.names, allowed)
        self._progress = progress
        self.is_exact = self.nodes <= MOST_INTEGERS
        # The answers of `best`, as tables, graphs and pages each ask for them.
        self._best: dict[int, list[Likely]] = {}

    @classmethod
    def from_table(
        cls,
        table: Table,
        score: ChosenScore,
        max_parents: int | None = None,
        forbid: Iterable[NamedEdge] = (),
        require: Iterable[NamedEdge] = (),
        progress: Progress = lambda share, word: None,
    ) -> Self:
        """The posterior given a table of data and a score; errors as for the class.

        Args:
            table: the data.
            score: the score.
            max_parents: the largest number of parents of a node; no limit by default.
            forbid: the edges that no graph has.
            require: the edges that every graph has.
            progress: called with the share of a long sum that is done, and a word for it.
        """
        nodes = check_summable(len(table.names), table.source)
        most = check_max_parents(max_parents, nodes)
        # Before scores are computed, which may take long.
        EdgeRules.of(table.source, table.names, most, forbid, require)
        scores = table_scores(table, score.name, most)
        return cls(scores, table.names, most, forbid, require, progress)

    def log_z(self) -> Enclosure:
        """`log Z` of the rounded weights; with `offset`, the log of the sum of all scores, nats."""
        if self.is_exact:
            return Enclosure.log_of(Fraction(self._sums.total, 2 ** sum(self._integers[1])))
        return self._floats.log_total()

    @property
    def integers(self) -> DagSums:
        """The sums in integers, up to 14 variables.

        Raises TooLargeError beyond, and if they do not fit into memory.
        """
        if self.nodes > MOST_PROVED:
            raise TooLargeError(
                f"GraphPosterior: {self.nodes} variables have {shown_terms(self.nodes)}, and a "
                f"proof needs all in integers: at most {MOST_PROVED} are taken, so leave out others"
            )
        return self._sums

    @property
    def error(self) -> float:
        """A bound on the error of the probability of each edge and each graph."""
        return 2.0**-53 if self.is_exact else self._floats.edge_error

    @property
    def ancestor_error(self) -> float:
        """A bound on the error of the probability of each path."""
        return 2.0**-53 if self.is_exact else self._floats.ancestor_error

    @property
    def draw_error(self) -> float:
        """A bound on the total variation between the law of a draw and the posterior."""
        return 0.0 if self.is_exact else self._floats.draw_error

    @cached_property
    def edges(self) -> Floats:
        """The probability of each edge; the row is its start."""
        return self._shares(self._sums.edges) if self.is_exact else self._floats.edges

    @cached_property
    def ancestors(self) -> Floats:
        """The probability of a path from u, the row, to v; 1 if u is v."""
        return self._shares(self._sums.ancestors) if self.is_exact else self._floats.ancestors

    @property
    def expected_edges(self) -> float:
        """The expected number of edges."""
        return math.fsum(self.edges.flat)

    def probability(self, graph: Network) -> float:
        """The probability of a graph."""
        logs = self.scores[np.arange(self.nodes), list(graph.parents)]
        if not (logs > -np.inf).all():
            return 0.0
        rounded = dyadic_exponentials(logs)
        weight = math.prod(rounded.mantissas.tolist())
        power = int(rounded.exponents.sum())
        if self.is_exact:
            return float(
                weight * Fraction(2) ** (power + sum(self._integers[1])) / self._sums.total
            )
        total, place = self._floats.above.high[0], int(self._floats.above.exponent[0])
        return float(Fraction(weight) * Fraction(2) ** (power - place) / Fraction(float(total)))

    def best(self, count: int) -> list[Likely]:
        """The most probable graphs, best first; all, if there are fewer.

        Graphs whose log weights differ by less than `1e-9` may change places.
        """
        if check_count(count, "best") not in self._best:
            logs = np.full_like(self.scores, -np.inf)
            present = self.scores > -np.inf
            for row, here, scores in zip(logs, present, self.scores, strict=True):
                rounded = dyadic_exponentials(scores[here])
                row[here] = np.log(rounded.mantissas) + rounded.exponents * LOG_2
            graphs = [Network(one.parents, True) for one in best_graphs(logs, count)]
            self._best[count] = [Likely(graph, self.probability(graph)) for graph in graphs]
        return list(self._best[count])

    def sample(self, count: int, seed: int) -> list[Network]:
        """Independent draws of the posterior, up to `draw_error`."""
        rng, law = seeded(seed), self._sums if self.is_exact else self._floats
        return [Network(law.draw(rng), True) for _ in range(check_count(count))]

    def _shares(self, sums: list[list[int]]) -> Floats:
        return np.array([[x / self._sums.total for x in row] for row in sums])

    @cached_property
    def _integers(self) -> tuple[DagSums, tuple[int, ...]]:
        """The sums in integers, and the power of two that each node's weights are over."""
        rows, shifts = integer_weights(self.scores)
        return DagSums(rows), shifts

    @property
    def _sums(self) -> DagSums:
        return self._integers[0]

    @cached_property
    def _floats(self) -> DagFloats:
        return DagFloats(self.scores, self._progress)


def _is_acyclic(parents: Sequence[int]) -> bool:
    left = 2 ** len(parents) - 1
    while left:
        first = [v for v, mask in enumerate(parents) if left >> v & 1 and not mask & left]
        if not first:
            return False
        left &= ~sum(1 << v for v in first)
    return True


def _masks(owner: str, kind: str, names: Sequence[str], edges: Iterable[NamedEdge]) -> list[int]:
    """The starts of edges, as a mask for each end."""
    masks = [0] * len(names)
    for edge in check_list(owner, f"{kind.removeprefix('a ')}s", edges):
        u, v = _ends(owner, kind, names, edge)
        masks[v] |= 1 << u
    return masks


def _ends(owner: str, kind: str, names: Sequence[str], edge: object) -> tuple[int, int]:
    """The numbers of the two ends. A name may hold an arrow itself."""
    pairs: list[tuple[object, object]] = []
    if isinstance(edge, str):
        parts = normalize("NFC", edge).split("->")
        for i in range(1, len(parts)):
            pairs.append(("->".join(parts[:i]).strip(), "->".join(parts[i:]).strip()))
    elif isinstance(edge, tuple | list) and len(edge) == 2:
        pairs.append((edge[0], edge[1]))
    for start, end in pairs:
        if start in names and end in names and start != end:
            return names.index(str(start)), names.index(str(end))
    raise InputError(
        f"{owner}: {kind} is {shown(edge)}, but must be written 'a -> b' with two of the columns "
        f"{', '.join(names)}"
    )
