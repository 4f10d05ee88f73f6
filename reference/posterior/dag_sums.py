"""Sums over all directed acyclic graphs of a product of local weights.

A weight `w_v(P)` for each node v and parent set P makes `w(G) = prod over v of w_v(Pa_v)` of every
DAG. Sets of nodes are bit masks throughout. Inclusion and exclusion over sinks sums `w(G)` over all
DAGs in `3^n` terms (Robinson, 1973; Tian and He, UAI 2009); from the other side, the sum is over
the layers that may follow, and a DAG is drawn layer by layer (Talvitie, Vuoksenmaa and Koivisto,
UAI 2019).
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from random import Random

Integers = list[int]


class DagSums:
    """Sums over all DAGs, in `3^n` terms, of weights `w_v(P) >= 0`.

    There is a row for each node v, with an entry for each of the `2^n` masks P, 0 if v is in P.
    """

    def __init__(self, weights: Sequence[Sequence[int]]) -> None:
        self.weights = weights
        self.nodes = len(weights)
        self.full = 2**self.nodes - 1
        # The layers that may follow U and its last layer L, with cumulative sums.
        self._layers: dict[tuple[int, int], tuple[Integers, Integers]] = {}

    @cached_property
    def within(self) -> list[Integers]:
        """`W_v(U)`, the sum of `w_v(P)` over `P <= U`; one row per node."""
        return [subset_sums(row, self.nodes) for row in self.weights]

    @cached_property
    def below(self) -> Integers:
        """`A(S)`, the sum over the DAGs on S with all parents in S.

        If T are some of the sinks of a DAG on S, the rest is a DAG on `U = S - T`, and the nodes of
        T have parents in U. Each DAG has `sum over T of (-1)^(|T| + 1) = 1` over the sets T of its
        sinks that are not empty, hence

            A(S) = sum over T of (-1)^(|T| + 1) A(S - T) prod over v in T of W_v(S - T).
        """
        sums = [1] + [0] * self.full
        for placed in range(self.full):
            places, terms = [placed], [sums[placed]]
            for v in self._others(placed):
                weight = -self.within[v][placed]
                places += [place | 1 << v for place in places]
                terms += [term * weight for term in terms]
            for place, term in zip(places[1:], terms[1:], strict=True):
                sums[place] -= term
        return sums

    @cached_property
    def above(self) -> Integers:
        """`H(U)`, the sum over all choices of parents for the nodes outside of U.

        Edges among these nodes close no cycle; edges from U are free. Inclusion and exclusion
        over the nodes T whose parents all lie in U:

            H(U) = sum over T of (-1)^(|T| + 1) H(U + T) prod over v in T of W_v(U).
        """
        sums = [0] * self.full + [1]
        for placed in range(self.full - 1, -1, -1):
            # The entry for the empty T is still 0.
            sums[placed] = -self._alternating(sums, placed, placed)
        return sums

    @cached_property
    def total(self) -> int:
        """The sum of `w(G)` over all DAGs."""
        return int(self.below[self.full])

    @property
    def edges(self) -> list[Integers]:
        """The sums of `w(G)` over the DAGs with an edge; rows are the starts of edges."""
        return self._marginals[0]

    @property
    def ancestors(self) -> list[Integers]:
        """The sums over the DAGs with a path from u, the row, to v; over all if `u = v`."""
        return self._marginals[1]

    @cached_property
    def _marginals(self) -> tuple[list[Integers], list[Integers]]:
        """The sums over the DAGs with an edge, and with a path; rows are the starts.

        The total is linear in `w_v`, so that the sum over DAGs with `Pa_v` in a family of sets is
        `sum over U of D_v(U)` times the sum of `w_v` over the sets of the family that lie in U. For
        the sets with the member u, that is `W_v(U) - W_v(U - u)`. The graphs in which U is all that
        v does not reach have the sum `D_v(U) W_v(U)`: a path leads from v to all nodes outside.
        """
        edges = [[0] * self.nodes for _ in range(self.nodes)]
        paths = [[0] * self.nodes for _ in range(self.nodes)]
        for placed in range(self.full):
            others = self._others(placed)
            for v, derivative in self._derivatives(placed):
                here = self.within[v][placed]
                for u in _members(placed):
                    edges[u][v] += derivative * (here - self.within[v][placed ^ 1 << u])
                for u in others:
                    paths[v][u] += derivative * here
        return edges, paths

    def _derivatives(self, placed: int) -> list[tuple[int, int]]:
        """`D_v(U)`, the derivative of the total in `W_v(U)`, for each node v outside of U.

        It is `A(U) sum over T with v of (-1)^(|T| + 1) H(U + T) prod over t in T - v of W_t(U)`:
        the terms of `H(U)` that have the factor `W_v(U)`, without it.
        """
        others = self._others(placed)
        terms, weights = self._terms(self.above, placed), [self.within[v][placed] for v in others]
        derivatives = []
        for j in reversed(range(len(others))):
            (share,) = folded(terms[len(terms) // 2 :], weights[:j])
            derivatives.append((others[j], self.below[placed] * share))
            terms = folded(terms, weights[j : j + 1])
        return derivatives

    def after(self, placed: int, last: int) -> int:
        """`G(U, L)`: like `H(U)`, where every first node outside of U has a parent in L, part of U.

        A first node is one without parents outside of U. Inclusion and exclusion over the first
        nodes without a parent in L, whose parents lie in `U - L`.
        """
        return self._alternating(self.above, placed, placed & ~last)

    def _alternating(self, sums: Integers, placed: int, parents: int) -> int:
        """`sum over T of (-1)^|T| sums(U + T) prod over v in T of W_v(parents)`, T outside of U."""
        weights = [self.within[v][parents] for v in self._others(placed)]
        return folded(self._terms(sums, placed), weights)[0]

    def _terms(self, sums: Integers, placed: int) -> Integers:
        """`sums(U + T)` for the sets T outside of U; each node doubles the list."""
        places = [placed]
        for v in self._others(placed):
            places += [place | 1 << v for place in places]
        return [sums[place] for place in places]

    def draw(self, rng: Random) -> tuple[int, ...]:
        """The parents of each node of a DAG, with probability `w(G)` over the total, exactly.

        Layers are drawn first: the nodes without parents, then nodes with a parent in the layer
        before and none after, and so on. The parents of each node are drawn last.
        """
        parents = [0] * self.nodes
        placed = last = 0
        while placed != self.full:
            layer = self._draw_layer(placed, last, rng)
            for v in _members(layer):
                parents[v] = self._draw_parents(v, placed, last, rng)
            placed, last = placed | layer, layer
        return tuple(parents)

    def _draw_layer(self, placed: int, last: int, rng: Random) -> int:
        row = self._layers.get((placed, last))
        if row is None:
            layers, terms = [0], [1]
            for v in self._others(placed):
                weight = self.attached(v, placed, last)
                layers += [layer | 1 << v for layer in layers]
                terms += [term * weight for term in terms]
            ways = [
                term * self.after(placed | layer, layer)
                for layer, term in zip(layers[1:], terms[1:], strict=True)
            ]
            row = self._layers[placed, last] = layers[1:], list(accumulate(ways))
        layers, sums = row
        return layers[bisect_right(sums, rng.randrange(sums[-1]))]

    def attached(self, v: int, placed: int, last: int) -> int:
        """The sum of `w_v(P)` over `P <= U` that meet L; if U is empty, `w_v` of the empty set.

        Args:
            v: the node.
            placed: U, a bit mask.
            last: L, part of U.
        """
        here = self.within[v][placed]
        return here - self.within[v][placed & ~last] if placed else here

    def _draw_parents(self, v: int, placed: int, last: int, rng: Random) -> int:
        below, row = rng.randrange(self.attached(v, placed, last)), self.weights[v]
        chosen = placed
        # All subsets of `placed`, from itself down to the empty set.
        while True:
            if chosen & last or not placed:
                below -= row[chosen]
                if below < 0:
                    return chosen
            chosen = chosen - 1 & placed

    def _others(self, nodes: int) -> Integers:
        return [v for v in range(self.nodes) if not nodes >> v & 1]


def folded(terms: Integers, weights: Sequence[int]) -> Integers:
    """`terms[T]` times `prod over v in T of -weights[v]`, summed over the sets T of the last nodes.

    Each weight halves the list, the last one first.
    """
    for weight in reversed(weights):
        half = len(terms) // 2
        terms = [a - weight * b for a, b in zip(terms[:half], terms[half:], strict=True)]
    return terms


def subset_sums(values: Sequence[int], nodes: int) -> Integers:
    """For each mask U, the sum of `values` over its submasks."""
    sums = list(values)
    for v in range(nodes):
        bit = 1 << v
        for mask in range(len(sums)):
            if mask & bit:
                sums[mask] += sums[mask ^ bit]
    return sums


def _members(mask: int) -> Integers:
    return [v for v in range(mask.bit_length()) if mask >> v & 1]
