"""Sums over all directed acyclic graphs in double-double arithmetic, with a proved error.

The recursions are those of `DagSums`; the error is bounded in proofs_notes/dag-sums.md. All sets
U of one size are treated at once, in blocks: for each U, the numbers of all `U + T` are gathered
and folded by halving. `H(U)` and `W_v(U)` span thousands of powers of two, so that each has an
exponent of its own.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from random import Random
from typing import NamedTuple

import numpy as np

from reference.posterior.double_double import (
    LEAST_EXPONENT,
    Factors,
    Floats,
    Ints,
    U,
    Workspace,
    fold,
    fold_error,
    multiply,
    normalise,
    powers,
    subtract,
)
from reference.posterior.weights import BITS, LOG_2, dyadic_exponentials
from reference.problems.closed_form import Enclosure

# Takes the share of the work that is done, and a word for it.
Progress = Callable[[float, str], None]
# Takes some sets of one size, and the number of the lane.
Action = Callable[[Ints, int], None]

# The entries of a block: the fastest on 17 columns of powers of two from 2^12 to 2^22.
BLOCK = 2**19
# Blocks go in turn to this many threads, and each has sums of its own: no result depends on time.
LANES = 2
# From so many columns on numba saves more than it takes to load.
COMPILED_FROM = 16
# A bound on what powers of two that are cut off make of a term.
NEARLY_NOTHING = 2.0 ** (LEAST_EXPONENT + 100)
# The exponent of zero.
NOTHING = -(10**9)


class Scaled(NamedTuple):
    """Numbers `(high + low) 2^exponent`, of normal pairs with `high` from 1/2 to 1, or 0."""

    high: Floats
    low: Floats
    exponent: Ints

    @classmethod
    def of(cls, high: Floats, low: Floats, exponent: Ints) -> "Scaled":
        """Scaled forms of normal pairs of any size.

        Args:
            high: the high parts.
            low: the low parts, of that shape.
            exponent: the powers of two that they are times, of that shape.
        """
        mantissa, moved = np.frexp(high)
        zero = mantissa == 0
        places = np.where(zero, NOTHING, exponent + moved)
        return cls(mantissa, np.where(zero, 0.0, np.ldexp(low, -moved)), places)

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> "Scaled":
        """Zeros."""
        return cls(np.zeros(shape), np.zeros(shape), np.full(shape, NOTHING))

    def put(self, at: int | Ints, values: "Scaled") -> None:
        """Writes into rows, or places, of these arrays."""
        for mine, new in zip(self, values, strict=True):
            mine[at] = new


class Block(NamedTuple):
    """Sets U of one size, the m nodes outside of each, rising, and the `2^m` places of `U + T`."""

    sets: Ints
    others: Ints
    places: Ints


class DagFloats:
    """Sums over all DAGs in `3^n` terms, of the rounded weights of scores.

    Scores are log weights, nats, shape (n, 2^n); -inf for 0. `progress` is told of long sums.
    """

    def __init__(self, scores: Floats, progress: Progress = lambda share, word: None) -> None:
        self.scores, self.nodes = scores, len(scores)
        self.full = 2**self.nodes - 1
        self.progress = progress
        self.is_compiled = self.nodes >= COMPILED_FROM and find_spec("numba") is not None
        self._spaces = [Workspace() for _ in range(LANES)]
        self._kept: dict[tuple[int, ...], tuple[Ints, Floats]] = {}

    @cached_property
    def within(self) -> Scaled:
        """`W_v(U)`, the sum of `w_v(P)` over `P <= U`, shape (n, 2^n)."""
        made = Scaled.empty((self.nodes, self.full + 1))
        for v, row in enumerate(self.scores):
            made.put(v, _subset_sums(row))
        return made

    def _blocks(self, size: int) -> list[Ints]:
        """All sets of a size, in blocks."""
        masks = np.arange(self.full + 1)
        sets = masks[np.bitwise_count(masks) == size]
        parts = -(-len(sets) * 2 ** (self.nodes - size) // BLOCK)
        return np.array_split(sets, min(len(sets), parts))

    def _outside(self, sets: Ints) -> Ints:
        """The nodes outside of each of some sets of one size, rising, a row each."""
        return np.nonzero(~sets[:, None] >> np.arange(self.nodes) & 1)[1].reshape(len(sets), -1)

    def _block(self, sets: Ints, work: Workspace) -> Block:
        others = self._outside(sets)
        m = others.shape[1]
        places = work.ints("places", (len(sets), 2**m))
        places[:, 0] = sets
        for j in range(m):
            bit = np.left_shift(1, others[:, j : j + 1])
            np.add(places[:, : 2**j], bit, out=places[:, 2**j : 2 ** (j + 1)])
        return Block(sets, others, places)

    def _folded(
        self,
        sets: Ints,
        parents: Ints,
        base: Ints,
        work: Workspace,
        *,
        is_empty_term: bool = True,
        shares: bool = False,
    ) -> Floats:
        """The result of `fold` of `H(U + T)`, by the weights `W_v(parents)` of the nodes outside.

        Args:
            sets: the sets U.
            parents: a set of parents for each.
            base: the power of two by which the terms of each are divided.
            work: arrays to compute in.
            is_empty_term: whether the empty set T is a term.
            shares: as for `fold`.
        """
        if not self.is_compiled:
            high, low, by = self._entries(self._block(sets, work), parents, base, work)
            if not is_empty_term:
                high[:, 0] = low[:, 0] = 0.0
            return fold(high, low, by, work, shares=shares)
        from reference.posterior.dag_compiled import folded

        others = self._outside(sets)
        by_own = tuple(part[others, parents[:, None]] for part in self.within)
        out = np.empty((2, 1 + shares * others.shape[1], len(sets)))
        folded(sets, others, by_own, base, tuple(self._above_sums), is_empty_term, shares, out)
        return out

    def _entries(
        self, block: Block, parents: Ints, base: Ints, work: Workspace
    ) -> tuple[Floats, Floats, Factors]:
        """`H(U + T)` and the weights `W_v(parents)`, each without its power of two.

        The entries have the product of the powers of their weights, less the power of the base.
        """
        scale = powers(self._exponents(block, parents, base, work))
        high = work.floats("odd high", scale.shape)
        low = work.floats("odd low", scale.shape)
        for part, source in ((high, self._above_sums.high), (low, self._above_sums.low)):
            np.take(source, block.places, out=part, mode="clip")
            part *= scale
        at = block.others, parents[:, None]
        return high, low, Factors.of(self.within.high[at], self.within.low[at])

    def _exponents(self, block: Block, parents: Ints, base: Ints, work: Workspace) -> Ints:
        """The power of two of each term, less that of the base, shape (sets, 2^m)."""
        sums = work.ints("exponents", block.places.shape)
        sums[:, 0] = -base
        weights = self.within.exponent[block.others, parents[:, None]]
        for j in range(weights.shape[1]):
            done = 2**j
            np.add(sums[:, :done], weights[:, j : j + 1], out=sums[:, done : 2 * done])
        own = work.ints("own exponents", block.places.shape)
        np.take(self._above_sums.exponent, block.places, out=own, mode="clip")
        sums += own
        return np.minimum(sums, 1000, out=sums)

    def _run(self, sizes: Sequence[int], action: Action, word: str) -> None:
        """Does all sets of each size, one size after the other, block by block, in lanes."""
        done = 0
        with ThreadPoolExecutor(LANES) as pool:
            for size in sizes:
                blocks = self._blocks(size)
                terms = math.comb(self.nodes, size) * 2 ** (self.nodes - size)

                def lane(
                    number: int, blocks: list[Ints] = blocks, start: int = done, terms: int = terms
                ) -> None:
                    for i in range(number, len(blocks), LANES):
                        action(blocks[i], number)
                        if not number:
                            share = (start + terms * (i + 1) / len(blocks)) / 3**self.nodes
                            self.progress(share, word)

                if len(blocks) == 1:
                    lane(0)
                else:
                    list(pool.map(lane, range(LANES)))
                done += terms

    @cached_property
    def above(self) -> Scaled:
        """`H(U)`, as in `DagSums.above`."""
        return self._sum_above(None)

    @cached_property
    def firsts(self) -> Floats:
        """The probability that v comes right after U, given that U comes first, shape (n, 2^n).

        That is the share of `H(U)` in which all parents of v lie in U.
        """
        firsts = np.zeros((self.nodes, self.full + 1))
        self.above = self._sum_above(firsts)
        return firsts

    def _sum_above(self, firsts: Floats | None) -> Scaled:
        sums = self._above_sums = Scaled.empty((self.full + 1,))
        sums.put(np.array([self.full]), Scaled.of(np.ones(1), np.zeros(1), np.zeros(1, np.int64)))

        def action(sets: Ints, lane: int) -> None:
            others = self._outside(sets)
            at = others, sets[:, None]
            singles = sums.exponent[sets[:, None] | np.left_shift(1, others)]
            base = (singles + self.within.exponent[at]).max(axis=1)
            folded = self._folded(
                sets, sets, base, self._spaces[lane], is_empty_term=False, shares=firsts is not None
            )
            made = Scaled.of(-folded[0, 0], -folded[1, 0], base)
            sums.put(sets, made)
            if firsts is not None:
                shares = folded[0, :0:-1].T * self.within.high[at] / made.high[:, None]
                firsts[at] = np.ldexp(shares, (base - made.exponent)[:, None])

        self._run(range(self.nodes - 1, -1, -1), action, "sums" if firsts is None else "edges")
        return sums

    def log_total(self) -> Enclosure:
        """The log of the sum over all DAGs, nats."""
        value = math.log(float(self.above.high[0])) + LOG_2 * int(self.above.exponent[0])
        rounding = 8 * U * (1 + abs(value))
        return Enclosure(value, rounding - math.log1p(-sum_error(self.nodes)[-1]))

    @cached_property
    def closed(self) -> Floats:
        """The probability of each set U that no edge enters it: `A(U) H(U)` over the total."""
        above = self.above
        lanes = [np.zeros((3, self.full + 1)) for _ in range(LANES)]
        lanes[0][0, 0] = 1.0
        closed = np.zeros(self.full + 1)

        def action(sets: Ints, lane: int) -> None:
            work = self._spaces[lane]
            start = _added([part for sums in lanes for part in sums[:, sets]], work)
            closed[sets] = start[0] * above.high[sets] / above.high[0]
            self._add_products(sets, start, lanes[lane], work)

        self._run(range(self.nodes + 1), action, "paths")
        return closed

    def _add_products(
        self, sets: Ints, start: tuple[Floats, Floats], sums: Floats, work: Workspace
    ) -> None:
        """Adds the terms of `A(U + T)` that come from A(U), relative to `2^(H(empty) - H(U + T))`.

        Args:
            sets: the sets U.
            start: A(U), high and low parts.
            sums: the sums of A in three parts, shape (3, 2^n).
            work: arrays to compute in.
        """
        if self.is_compiled:
            from reference.posterior.dag_compiled import add_products

            others = self._outside(sets)
            high, low, power = (part[others, sets[:, None]] for part in self.within)
            powers_above = self.above.exponent
            begin = -start[0], -start[1]
            base = powers_above[sets]
            add_products(sets, others, (-high, -low, power), base, powers_above, begin, sums)
            return
        block = self._block(sets, work)
        at = block.others, block.sets[:, None]
        by = Factors.of(-self.within.high[at], -self.within.low[at])
        shape = block.places.shape
        high, low = work.floats("odd high", shape), work.floats("odd low", shape)
        high[:, 0], low[:, 0] = -start[0], -start[1]
        for j in range(block.others.shape[1]):
            done, new = np.s_[:, : 2**j], np.s_[:, 2**j : 2 ** (j + 1)]
            multiply(high[done], low[done], by.column(j), (high[new], low[new]), work)
        scale = powers(self._exponents(block, block.sets, self.above.exponent[block.sets], work))
        high *= scale
        low *= scale
        for places, *pair in zip(block.places[:, 1:], high[:, 1:], low[:, 1:], strict=True):
            _add_at(sums, places, pair, work)

    @cached_property
    def edges(self) -> Floats:
        """The probability of each edge; rows are the starts.

        With `q_v(U)` the probability that v comes right after U, it is the sum over U of
        `q_v(U) (1 - W_v(U - u) / W_v(U))`.
        """
        firsts, closed = self.firsts, self.closed
        edges = np.zeros((self.nodes, self.nodes))
        masks = np.arange(self.full + 1)
        for v in range(self.nodes):
            places = firsts[v] * closed
            high, exponent = self.within.high[v], self.within.exponent[v]
            for u in range(self.nodes):
                sets = masks[(masks >> u & 1 == 1) & (masks >> v & 1 == 0) & (high > 0)]
                rest = sets ^ 1 << u
                less = high[rest] / high[sets]
                less = np.ldexp(less, np.maximum(exponent[rest] - exponent[sets], -2000))
                edges[u, v] = (places[sets] * (1 - less)).sum()
        return np.clip(edges, 0.0, 1.0)

    @cached_property
    def ancestors(self) -> Floats:
        """The probability of a path from u to v, rows u, as in `DagSums.ancestors`."""
        paths = np.eye(self.nodes)
        masks = np.arange(self.full + 1)
        for u in range(self.nodes):
            shares = self._reaching(u)
            for v in range(self.nodes):
                if v != u:
                    paths[u, v] = shares[masks >> v & 1 == 0].sum()
        return np.clip(paths, 0.0, 1.0)

    def _reaching(self, u: int) -> Floats:
        """For each set, the probability that the nodes outside are those that u reaches."""
        shares, above, within = np.zeros(self.full + 1), self.above, self.within
        closed = self.closed

        def action(sets: Ints, lane: int) -> None:
            placed = sets[sets >> u & 1 == 1]
            if not len(placed):
                return
            outside = placed ^ 1 << u
            after = self._folded(placed, outside, above.exponent[placed], self._spaces[lane])[0, 0]
            own = after * within.high[u, outside] / above.high[outside]
            power = above.exponent[placed] + within.exponent[u, outside] - above.exponent[outside]
            shares[outside] = closed[outside] * np.ldexp(own, np.maximum(power, -2000))

        self._run(range(1, self.nodes + 1), action, f"paths from {u}")
        return shares

    def draw(self, rng: Random) -> tuple[int, ...]:
        """The parents of each node of a DAG, drawn layer by layer as in `DagSums.draw`."""
        parents = [0] * self.nodes
        placed = last = 0
        while placed != self.full:
            layers, sums = self._layers(placed, last)
            layer = int(layers[_drawn(sums, rng)])
            for v in range(self.nodes):
                if layer >> v & 1:
                    masks, weights = self._families(v, placed, last)
                    parents[v] = int(masks[_drawn(weights, rng)])
            placed, last = placed | layer, layer
        return tuple(parents)

    def _layers(self, placed: int, last: int) -> tuple[Ints, Floats]:
        """The layers that may follow, and the cumulative sums of their weights.

        After a layer L each other first node has a parent in it: over all L, with the same weights
        `W_v(placed)`, these are differences of `H(placed + L)`, `m 2^m` terms.
        """
        key = placed, last
        if key in self._kept:
            return self._kept[key]
        work, sets = self._spaces[0], np.array([placed])
        # First, as it uses the same workspace.
        base = self.above.exponent[sets]
        block = self._block(sets, work)
        others = block.others[0]
        high, low, by = self._entries(block, sets, base, work)
        for j in range(len(others)):
            halves = [part.reshape(-1, 2, 2**j) for part in (high, low)]
            first, after = [part[:, 0] for part in halves], [part[:, 1] for part in halves]
            shape = first[0].shape
            product = work.floats("product", shape), work.floats("error", shape)
            multiply(after[0], after[1], by.column(j), product, work)
            subtract((first[0], first[1]), product, (first[0], first[1]), work)
        ways = np.ones(1)
        for j, v in enumerate(others):
            attached = 1.0 - (self._ratio(v, placed & ~last, placed) if placed else 0.0)
            ways = np.concatenate([ways, ways * attached * by.high[0, j]])
        ways *= np.maximum(high[0] + low[0], 0.0)
        ways[0] = 0.0
        layers = block.places[0] ^ placed
        self._kept[key] = layers.copy(), np.cumsum(ways)
        return self._kept[key]

    def _ratio(self, v: int, part: int, whole: int) -> float:
        """`W_v(part) / W_v(whole)`, for a part of the whole."""
        high, exponent = self.within.high[v], self.within.exponent[v]
        if not high[whole]:
            return 0.0
        return math.ldexp(
            high[part] / high[whole], max(-2000, int(exponent[part] - exponent[whole]))
        )

    def _families(self, v: int, placed: int, last: int) -> tuple[Ints, Floats]:
        """The parents that v may have in the layer after `last`, with cumulative weights."""
        key = placed, last, v
        if key not in self._kept:
            masks = np.flatnonzero(self.scores[v] > -np.inf)
            masks = masks[(masks & ~placed == 0) & ((masks & last != 0) | (placed == 0))]
            rounded = dyadic_exponentials(self.scores[v, masks])
            powers_of_two = np.maximum(rounded.exponents - rounded.exponents.max(), -1000)
            weights = np.ldexp(rounded.mantissas.astype(np.float64), powers_of_two)
            self._kept[key] = masks, np.cumsum(weights)
        return self._kept[key]

    @property
    def edge_error(self) -> float:
        """A bound on the error of the probability of each edge.

        The probabilities `q_v(U)` sum to 1, and each has the errors of `A(U)`, of a share of `H(U)`
        and of Z; 40 roundings of float64 cover what is done with them.
        """
        errors, closed = sum_error(self.nodes), closed_error(self.nodes)
        each = (closed[size] + errors[self.nodes - size] for size in range(self.nodes + 1))
        return 3 * max(each) + 40 * U

    @property
    def ancestor_error(self) -> float:
        """A bound on the error of the probability of each path.

        The share of each set U has the error of `A(U)`, and that of G relative to H: the closed
        sets of a graph are at most `2^n`, here weighted by how probable they are.
        """
        errors, closed = sum_error(self.nodes), closed_error(self.nodes)
        sizes = np.bitwise_count(np.arange(self.full + 1))
        each = np.array([closed[k] + 3 * errors[self.nodes - k] for k in range(self.nodes + 1)])
        return float((self.closed * each[sizes]).sum()) + 40 * U

    @property
    def draw_error(self) -> float:
        """A bound on the total variation between the law of the draws and the posterior."""
        errors = sum_error(self.nodes)
        terms = (math.comb(self.nodes, k) * errors[self.nodes - k] for k in range(self.nodes + 1))
        return 6 * math.fsum(terms) + 2.0**-40


def _drawn(sums: Floats, rng: Random) -> int:
    """A place, in proportion to the differences of cumulative sums."""
    place = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return min(place, len(sums) - 1)


def _subset_sums(row: Floats) -> Scaled:
    """The sums of the rounded weights of a node over the parts of each set."""
    present = row > -math.inf
    rounded = dyadic_exponentials(row[present])
    high, low = np.zeros(len(row)), np.zeros(len(row))
    exponent = np.full(len(row), NOTHING)
    high[present] = np.ldexp(rounded.mantissas.astype(np.float64), -BITS)
    exponent[present] = rounded.exponents + BITS
    for u in range(len(row).bit_length() - 1):
        a, b = np.moveaxis(high.reshape(-1, 2, 2**u), 1, 0)
        c, d = np.moveaxis(low.reshape(-1, 2, 2**u), 1, 0)
        e, f = np.moveaxis(exponent.reshape(-1, 2, 2**u), 1, 0)
        most = np.maximum(e, f)
        one, other = powers(e - most), powers(f - most)
        x, y = a * one, b * other
        total = x + y
        part = total - x
        error = (x - (total - part)) + (y - part) + (c * one + d * other)
        b[...] = total + error
        d[...] = error - (b - total)
        f[...] = most
    return Scaled.of(high, low, exponent)


def _two_sum(total: Floats, term: Floats, spare: Floats) -> None:
    """Makes `total` the rounded sum of both, and `term` its error."""
    np.add(total, term, out=spare)
    part = spare - total
    term -= part
    np.subtract(spare, part, out=part)
    np.subtract(total, part, out=part)
    term += part
    total[...] = spare


def _add_at(sums: Floats, places: Ints, pair: Sequence[Floats], work: Workspace) -> None:
    """Adds pairs to sums in three parts, shape (3, 2^n), whose error is of third order."""
    shape = places.shape
    spare = work.floats("t", shape)
    parts = [work.floats(name, shape) for name in ("upper", "lower", "product")]
    for part, source in zip(parts, sums, strict=True):
        np.take(source, places, out=part, mode="clip")
    high, low = pair
    _two_sum(parts[0], high, spare)
    for term in (high, low):
        _two_sum(parts[1], term, spare)
        parts[2] += term
    for part, source in zip(parts, sums, strict=True):
        source[places] = part


def _added(parts: Sequence[Floats], work: Workspace) -> tuple[Floats, Floats]:
    """The sum of arrays as normal pairs."""
    sums = np.zeros((3, len(parts[0])))
    spare = np.zeros(len(parts[0]))
    for part in parts:
        term = part.copy()
        _two_sum(sums[0], term, spare)
        _two_sum(sums[1], term, spare)
        sums[2] += term
    normalise(sums[0], sums[1], work)
    sums[1] += sums[2]
    normalise(sums[0], sums[1], work)
    return sums[0], sums[1]


def sum_error(nodes: int) -> list[float]:
    """Bounds on the relative error of `H(U)`, for 0, 1, ... n nodes outside of U.

    A term of k of m nodes has the error of `H(U + T)`, of k weights (`5 n u^2` each) and of the
    fold; it is at most `H(U)`, of which it counts a part. Hence
    `e(m) = sum over k of C(m, k) (e(m - k) + g(m, k) + e(m - k) g(m, k))`.
    """
    errors = [0.0]
    for m in range(1, nodes + 1):
        own = [fold_error(m) + 5.1 * nodes * k * U**2 + NEARLY_NOTHING for k in range(m + 1)]
        errors.append(_next_error(errors, own))
    return errors


def closed_error(nodes: int) -> list[float]:
    """Bounds on the relative error of `A(U)`, for 0, 1, ... n nodes in U.

    As in `sum_error`; k products of pairs whose low part grows add `(4 k^2 + 4 k) u^2`, and sums in
    three parts of at most `2^n` terms `4 u^2` and what is of third order.
    """
    errors = [0.0]
    third = 2.0 ** (3 * nodes) * U**3
    for m in range(1, nodes + 1):
        own = [
            (4 * k * k + 4 * k + 5.1 * nodes * k + 8) * 1.01 * U**2 + third + NEARLY_NOTHING
            for k in range(m + 1)
        ]
        errors.append(_next_error(errors, own))
    return errors


def _next_error(errors: Sequence[float], own: Sequence[float]) -> float:
    """The error of the next sum, given those of its terms and of the operations on k nodes."""
    m = len(errors)
    return math.fsum(
        math.comb(m, k) * (errors[m - k] + own[k] + errors[m - k] * own[k]) for k in range(1, m + 1)
    )
