"""Order MCMC: a chain of orders of the nodes, the parents of each summed exactly.

The weight of an order is that of all graphs that it extends, `prod over v of W_v(before v)` with
`W_v(U)` the sum of `w_v(P)` over `P <= U`. A graph drawn given the order has the law proportional
to `R(G) L(G)`, `L` the number of orders that extend it, and not `R(G)` (Friedman and Koller, 2003);
the weight `1 / L(G)` mends it (Ellis and Wong, 2008).
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations
from random import Random
from typing import overload

from reference.mcmc.metropolis import Target
from reference.mcmc.scores import log_of
from reference.problems import StructureLearning
from reference.problems.dag_sums import subset_sums

Order = tuple[int, ...]


class OrderTarget(Target[Order]):
    """Orders of the nodes; the neighbours have two nodes exchanged."""

    def __init__(self, problem: StructureLearning) -> None:
        self.problem = problem
        self.sums = [subset_sums(row, problem.nodes) for row in problem.weights]
        self.logs = [
            [log_of(value, shift) for value in row]
            for row, shift in zip(self.sums, problem.shifts, strict=True)
        ]
        self._families: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def start(self, rng: Random) -> Order:
        """An order drawn uniformly."""
        return tuple(rng.sample(range(self.problem.nodes), self.problem.nodes))

    def neighbours(self, state: Order) -> Sequence[Order]:
        """`n (n - 1) / 2` of them, each made when it is asked for."""
        return Exchanges(state)

    def weight(self, state: Order) -> Fraction:
        """The sum of `R(G)` over the graphs that the order extends, times a power of two."""
        value = 1
        for v, before in _places(state):
            value *= self.sums[v][before]
        return Fraction(value)

    def log_weight(self, state: Order) -> float:
        """Its logarithm without that power, nats."""
        return sum(self.logs[v][before] for v, before in _places(state))

    def edge_probabilities(self, state: Order) -> list[list[Fraction]]:
        """The probability of each edge given the order; the row is where it starts."""
        found = [[Fraction(0)] * len(state) for _ in state]
        for v, before in _places(state):
            row = self.sums[v]
            for u in range(len(state)):
                if before >> u & 1:
                    found[u][v] = 1 - Fraction(row[before ^ 1 << u], row[before])
        return found

    def draw(self, state: Order, rng: Random) -> Order:
        """The parents of each node of a graph that the order extends, drawn in proportion to R."""
        parents = [0] * len(state)
        for v, before in _places(state):
            masks, sums = self._family(v, before)
            parents[v] = masks[bisect_right(sums, rng.randrange(sums[-1]))]
        return tuple(parents)

    def _family(self, node: int, before: int) -> tuple[list[int], list[int]]:
        """The parent sets among nodes that come before, with cumulative weights."""
        if (node, before) not in self._families:
            masks = parts(before)
            row = self.problem.weights[node]
            self._families[node, before] = masks, list(accumulate(row[mask] for mask in masks))
        return self._families[node, before]


class Exchanges(Sequence[Order]):
    """An order with each pair of its places exchanged."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.pairs = pairs_below(len(order))

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, number: int) -> Order: ...
    @overload
    def __getitem__(self, number: slice) -> list[Order]: ...
    def __getitem__(self, number: int | slice) -> Order | list[Order]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        i, j = self.pairs[number]
        exchanged = list(self.order)
        exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
        return tuple(exchanged)


@cache
def pairs_below(count: int) -> tuple[tuple[int, int], ...]:
    """The pairs `i < j` of numbers below a count."""
    return tuple(combinations(range(count), 2))


def parts(mask: int) -> list[int]:
    """All masks that are part of one, itself and 0 included."""
    found = [mask]
    while found[-1]:
        found.append(found[-1] - 1 & mask)
    return found


def linear_extensions(parents: Sequence[int]) -> int:
    """In how many orders of the nodes of an acyclic graph each comes after its parents.

    Over the sets that hold the parents of their nodes, as many as `2^n`.
    """
    full = 2 ** len(parents) - 1

    @cache
    def ways(placed: int) -> int:
        if placed == full:
            return 1
        return sum(
            ways(placed | 1 << v)
            for v, mask in enumerate(parents)
            if not placed >> v & 1 and not mask & ~placed
        )

    return ways(0)


def _places(order: Order) -> list[tuple[int, int]]:
    """Each node with the mask of those before it."""
    masks = accumulate((1 << v for v in order), initial=0)
    return list(zip(order, masks, strict=False))
