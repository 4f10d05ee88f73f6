"""Markov chains whose stationary law is a posterior over graphs, to compare samplers with.

The Metropolis-Hastings rule on a finite graph of neighbours (Hastings, 1970): from a state `a` one
of its neighbours `b` is proposed, each with probability `1 / |N(a)|`, and accepted with probability
`min(1, w(b) |N(a)| / (w(a) |N(b)|))`. The law proportional to w is then reversible, hence
stationary; it is the only one if all states are connected.

Order MCMC: the weight of an order is that of all graphs that it extends, `prod over v of
W_v(before v)` with `W_v(U)` the sum of `w_v(P)` over `P <= U`. A graph drawn given the order has
the law proportional to `R(G) L(G)`, `L` the number of orders that extend it, and not `R(G)`
(Friedman and Koller, 2003); the weight `1 / L(G)` corrects this (Ellis and Wong, 2008).
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations
from random import Random
from typing import Any, Generic, TypeVar

from reference.posterior import StructureLearning
from reference.posterior.dag_sums import subset_sums
from reference.posterior.networks import all_ancestors

State = TypeVar("State", bound=Hashable)
Parents = tuple[int, ...]
Order = tuple[int, ...]


class Target(ABC, Generic[State]):
    """An unnormalised law `w` on states that have neighbours, mutual ones."""

    @abstractmethod
    def start(self, rng: Random) -> State:
        """The first state of a chain."""

    @abstractmethod
    def neighbours(self, state: State) -> Sequence[State]:
        """The states that may be proposed, each once; never the state itself."""

    @abstractmethod
    def log_weight(self, state: State) -> float:
        """`log w`, nats, in float64."""


def chain(target: Target[State], rng: Random) -> Iterator[State]:
    """The states of a chain after each step, without end; a state repeats where it stays."""
    state = target.start(rng)
    near, log_weight = target.neighbours(state), target.log_weight(state)
    while True:
        # A state without neighbours is the only state.
        if near:
            other = near[rng.randrange(len(near))]
            around, value = target.neighbours(other), target.log_weight(other)
            log_ratio = value - log_weight + math.log(len(near) / len(around))
            # `1 - random()` is in (0, 1].
            if math.log(1 - rng.random()) < log_ratio:
                state, near, log_weight = other, around, value
        yield state


class GraphTarget(Target[Parents]):
    """`w(G) = R(G)`; the neighbours have one edge more, one less, or one turned round.

    Madigan and York (1995); with the numbers of neighbours in the ratio, as these differ between
    graphs, Giudici and Castelo (2003). A graph is the bit mask of the parents of each node.
    """

    def __init__(self, problem: StructureLearning) -> None:
        self.problem = problem
        self.logs = _logs(problem.weights, problem.shifts)

    def start(self, rng: Random) -> Parents:
        """The graph without edges."""
        return (0,) * self.problem.nodes

    def neighbours(self, state: Parents) -> list[Parents]:
        """The acyclic graphs that keep to the limit on parents."""
        behind = all_ancestors(state)
        near = []
        for v, mask in enumerate(state):
            for u in range(len(state)):
                here = 1 << u
                if mask & here:
                    near.append(_with(state, v, mask ^ here))
                    # The reversed edge closes a cycle with any other path from u to v.
                    rest = mask ^ here
                    others = any(rest >> w & 1 and behind[w] & here for w in range(len(state)))
                    if not others and self._may(u, state[u] | 1 << v):
                        near.append(_with(_with(state, v, rest), u, state[u] | 1 << v))
                elif u != v and not behind[u] >> v & 1 and self._may(v, mask | here):
                    near.append(_with(state, v, mask | here))
        return near

    def log_weight(self, state: Parents) -> float:
        """`log R(G)`, nats."""
        return sum(row[mask] for row, mask in zip(self.logs, state, strict=True))

    def _may(self, node: int, mask: int) -> bool:
        return self.problem.weights[node][mask] > 0


def _with(state: Parents, node: int, mask: int) -> Parents:
    return (*state[:node], mask, *state[node + 1 :])


class OrderTarget(Target[Order]):
    """Orders of the nodes; the neighbours have two nodes exchanged."""

    def __init__(self, problem: StructureLearning) -> None:
        self.problem = problem
        self.sums = [subset_sums(row, problem.nodes) for row in problem.weights]
        self.logs = _logs(self.sums, problem.shifts)
        self._families: dict[tuple[int, int], tuple[list[int], list[int]]] = {}

    def start(self, rng: Random) -> Order:
        """An order drawn uniformly."""
        return tuple(rng.sample(range(self.problem.nodes), self.problem.nodes))

    def neighbours(self, state: Order) -> Sequence[Order]:
        """The `n (n - 1) / 2` neighbours, each computed when it is used."""
        return Exchanges(state)

    def log_weight(self, state: Order) -> float:
        """The log of the sum of `R(G)` over the graphs that the order extends, nats."""
        return sum(self.logs[v][before] for v, before in _places(state))

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

    def __getitem__(self, number: Any) -> Any:
        i, j = self.pairs[number]
        exchanged = list(self.order)
        exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
        return tuple(exchanged)


@cache
def pairs_below(count: int) -> tuple[tuple[int, int], ...]:
    """The pairs `i < j` of numbers below a count."""
    return tuple(combinations(range(count), 2))


def parts(mask: int) -> list[int]:
    """All submasks of a mask, including itself and 0."""
    subsets = [mask]
    while subsets[-1]:
        subsets.append(subsets[-1] - 1 & mask)
    return subsets


def linear_extensions(parents: Sequence[int]) -> int:
    """The number of orders of the nodes of an acyclic graph, each after its parents; `2^n` sums."""
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
    return list(zip(order, accumulate((1 << v for v in order), initial=0), strict=False))


def _logs(rows: Sequence[Sequence[int]], shifts: Sequence[int]) -> list[list[float]]:
    """`log(numerator / 2^shift)`, of integers of any size, with a shift for each row."""
    return [
        [math.log(n) - shift * math.log(2) if n else -math.inf for n in row]
        for row, shift in zip(rows, shifts, strict=True)
    ]
