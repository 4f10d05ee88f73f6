"""The hard-core model: independent sets of a graph, with exact `Z` by transfer matrices."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

from reference.contract.errors import InputError, TooLargeError, check_fields, check_integer, plain
from reference.problems.base import Order, PlaceByPlace
from reference.problems.closed_form import Summed, check_count, seeded

MAX_VERTICES = 1_024
# The largest number of entries of all transfer matrices; a square of 16 x 16 has 690,046.
MAX_ENTRIES = 2**20


class Sites(NamedTuple):
    """A state: each vertex is 1, occupied, 0, empty, or -1 where not decided."""

    values: tuple[int, ...]

    def __str__(self) -> str:
        return "".join("?.o"[value + 1] for value in self.values)


@dataclass(frozen=True)
class HardCore(PlaceByPlace[Sites], Summed):
    """`R(x) = fugacity^(number of occupied vertices)` on the independent sets of a graph.

    No two neighbours, the pairs of `edges`, are occupied. Vertices are decided one by one, in any
    order or from first to last (a tree): empty, or occupied if no neighbour is. The fugacity is
    above 0; with 1 all sets are equally probable.
    """

    vertices: int
    edges: tuple[tuple[int, int], ...]
    fugacity: Fraction = Fraction(1)
    order: Order = "any"

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        check_integer("HardCore", "the number of vertices", self.vertices, 1, most=MAX_VERTICES)
        for edge in self.edges:
            if not 0 <= min(edge) < max(edge) < self.vertices:
                raise InputError(
                    f"HardCore: the edge {edge} must join two of the vertices 0 to "
                    f"{self.vertices - 1}"
                )
        if self.fugacity <= 0:
            raise InputError(f"HardCore: the fugacity is {plain(self.fugacity)}: give one above 0")

    @classmethod
    def strip(
        cls, rows: int = 6, columns: int = 6, fugacity: float = 1.0, order: Order = "any"
    ) -> Self:
        """A grid of neighbours to the right and below, numbered row by row.

        Args:
            rows: the number of rows.
            columns: the number of columns; log Z takes a transfer matrix of a row, so that this is
                the shorter side.
            fugacity: the weight of an occupied vertex; with 1 all independent sets are equally
                probable.
            order: decide vertices in any order, or row by row (a tree).
        """
        for name, side in (("rows", rows), ("columns", columns)):
            check_integer("HardCore.strip", f"the number of {name}", side, 1, most=MAX_VERTICES)
        down = [(v, v + columns) for v in range((rows - 1) * columns)]
        right = [(v, v + 1) for v in range(rows * columns) if (v + 1) % columns]
        return cls(rows * columns, (*down, *right), Fraction(fugacity), order)

    @classmethod
    def minimal(cls) -> Self:
        """A path of four vertices with fugacity 3/2, in any order."""
        return cls(4, ((0, 1), (1, 2), (2, 3)), Fraction(3, 2))

    @property
    def initial(self) -> Sites:
        """No vertex decided."""
        return Sites((-1,) * self.vertices)

    def choices(self, values: tuple[int, ...], place: int) -> tuple[int, ...]:
        """Empty, and occupied if no neighbour is."""
        return (0, 1) if all(values[u] < 1 for u in self._neighbours[place]) else (0,)

    def reward(self, terminal: Sites) -> Fraction:
        """`fugacity^(number of occupied vertices)`."""
        return self.fugacity ** sum(terminal.values)

    @property
    def _weight(self) -> tuple[int, int]:
        """The weights of an empty and of an occupied vertex, as integers."""
        return self.fugacity.denominator, self.fugacity.numerator

    @cached_property
    def _neighbours(self) -> tuple[tuple[int, ...], ...]:
        pairs = {*self.edges, *((v, u) for u, v in self.edges)}
        return tuple(tuple(u for u, w in pairs if w == v) for v in range(self.vertices))

    @cached_property
    def _kept(self) -> tuple[int, ...]:
        """For each k, the bit mask of those of the first k vertices with a neighbour beyond."""
        last = [max(row, default=0) for row in self._neighbours]
        return tuple(
            sum(1 << u for u in range(k) if last[u] >= k) for k in range(self.vertices + 1)
        )

    def moves(self, vertex: int, occupied: int) -> Iterator[tuple[int, int]]:
        """The values that vertex k can have, and the set that later vertices then see.

        The vertices before it are decided; the `occupied` ones with neighbours from k on are bits.
        """
        yield 0, occupied & self._kept[vertex + 1]
        if not any(occupied >> u & 1 for u in self._neighbours[vertex]):
            yield 1, (occupied | 1 << vertex) & self._kept[vertex + 1]

    @cached_property
    def completions(self) -> tuple[dict[int, int], ...]:
        """The transfer matrices, multiplied from the last vertex on.

        Entry k has, for each set of occupied vertices that later ones see (see `moves`), the sum of
        the weights of the settings of the vertices from k on, times the denominator of the fugacity
        for each of them. Raises TooLargeError if there are more than 2^20 sets.
        """
        seen: list[dict[int, int]] = [{0: 1}]
        for k in range(self.vertices):
            seen.append(dict.fromkeys((m for mask in seen[k] for _, m in self.moves(k, mask)), 1))
            if sum(map(len, seen)) > MAX_ENTRIES:
                raise TooLargeError(
                    f"HardCore: vertices before number {k + 1} with neighbours beyond have more "
                    f"than {MAX_ENTRIES:,} independent sets in all: number the vertices along the "
                    "shorter side of a strip (fewer columns than rows)"
                )
        weight = self._weight
        for k in reversed(range(self.vertices)):
            for mask in seen[k]:
                seen[k][mask] = sum(weight[x] * seen[k + 1][m] for x, m in self.moves(k, mask))
        return tuple(seen)

    def z(self) -> Fraction:
        """`Z`, the independence polynomial at the fugacity."""
        return Fraction(self.completions[0][0], self.fugacity.denominator**self.vertices)

    def occupation_probabilities(self) -> tuple[Fraction, ...]:
        """For each vertex, the probability that it is occupied."""
        weight = self._weight
        before, result = {0: 1}, []
        for k in range(self.vertices):
            after, occupied = dict.fromkeys(self.completions[k + 1], 0), 0
            for mask, count in before.items():
                for x, m in self.moves(k, mask):
                    after[m] += count * weight[x]
                    occupied += x * count * weight[x] * self.completions[k + 1][m]
            before = after
            result.append(Fraction(occupied, self.completions[0][0]))
        return tuple(result)

    def quantities(self, terminal: Sites) -> dict[str, float]:
        """Indicators of the occupied vertices, by number."""
        return {f"vertex {v}": float(value) for v, value in enumerate(terminal.values)}

    # Features that `pdai certify --features` takes by this name of every problem that has some.
    indicators = quantities

    def quantity_means(self) -> dict[str, Fraction]:
        """The expectations of the quantities: the probabilities of occupation."""
        return {f"vertex {v}": p for v, p in enumerate(self.occupation_probabilities())}

    def sample(self, count: int, seed: int) -> list[Sites]:
        """Independent samples of the target, vertex by vertex, drawn with integers alone."""
        rng, weight = seeded(seed), self._weight
        samples = []
        for _ in range(check_count(count)):
            mask, values = 0, []
            for k in range(self.vertices):
                moves = dict(self.moves(k, mask))
                empty = weight[0] * self.completions[k + 1][moves[0]]
                values.append(int(rng.randrange(self.completions[k][mask]) >= empty))
                mask = moves[values[-1]]
            samples.append(Sites(tuple(values)))
        return samples
