"""The exact sampler of an enumerated problem: flows by one backward pass, in arrays.

A flow is a float64 with an integer exponent of its own, so that no reward overflows, and every
error is relative: a sum of non-negative numbers has no cancellation.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from reference.contract.errors import InputError, check_value
from reference.dag import PointedDAG
from reference.fields.field import gamma
from reference.problems.closed_form import Enclosure
from reference.rows.exact import ExactSampler, Floats, Ints, choose_all, exact_row, exact_sampler

# The backward policies of exact samplers.
Backward = Literal["uniform", "entropy"]

LOG_2 = math.log(2.0)
# Exponents beyond these differences are zero beside the largest, below 2^-1000.
_FAR = 2_000


class Scaled(NamedTuple):
    """Non-negative numbers `value * 2^exponent`, with `value` zero or in [1/2, 1)."""

    value: Floats
    exponent: Ints

    @classmethod
    def of(cls, numbers: Sequence[Fraction]) -> "Scaled":
        """Rationals, each correctly rounded to 53 bits."""
        value, exponent = np.empty(len(numbers)), np.zeros(len(numbers), np.int64)
        for place, number in enumerate(numbers):
            top, bottom = number.numerator, number.denominator
            shift = top.bit_length() - bottom.bit_length() if top else 0
            # Python divides integers with one rounding, where the quotient is near one.
            value[place] = top / (bottom << shift) if shift > 0 else (top << -shift) / bottom
            exponent[place] = shift
        return cls(value, exponent).normal()

    def normal(self) -> "Scaled":
        """The same numbers with values in [1/2, 1)."""
        value, more = np.frexp(self.value)
        return Scaled(value, np.where(value == 0, 0, self.exponent + more))

    def at(self, places: Ints) -> "Scaled":
        """The numbers in these places."""
        return Scaled(self.value[places], self.exponent[places])

    def over(self, numbers: "Scaled") -> "Scaled":
        """The quotients, each with one rounding."""
        return Scaled(self.value / numbers.value, self.exponent - numbers.exponent).normal()

    def sums(self, starts: Ints) -> tuple["Scaled", Floats]:
        """The sum of each segment, none empty, and every number's share of its own segment."""
        lengths = np.diff(np.append(starts, len(self.value)))
        # A zero has no exponent to compare.
        exponent = np.where(self.value == 0, np.iinfo(np.int64).min // 4, self.exponent)
        largest = np.maximum.reduceat(exponent, starts)
        below = np.maximum(exponent - np.repeat(largest, lengths), -_FAR).astype(np.int32)
        parts = np.ldexp(self.value, below)
        totals = np.add.reduceat(parts, starts)
        with np.errstate(invalid="ignore"):
            shares: Floats = parts / np.repeat(totals, lengths)
        return Scaled(totals, np.where(totals == 0, 0, largest)).normal(), shares

    def log(self) -> Floats:
        """Natural logarithms; minus infinity of zero."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.value) + LOG_2 * self.exponent
        return logs


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """A pointed DAG in arrays; node 0 is `s_o`.

    The edges of node u are those from `offsets[u]` to `offsets[u + 1]`, and lead to `children`.
    """

    offsets: Ints
    children: Ints

    @classmethod
    def of(cls, dag: PointedDAG[Any]) -> "GraphArrays":
        """The arrays of an enumerated DAG, with its numbers of nodes and edges."""
        counts = np.fromiter(map(len, dag.children), np.int64, len(dag.children))
        flat = chain.from_iterable(dag.children)
        children = np.fromiter(flat, np.int64, int(counts.sum()))
        return cls(np.concatenate([[0], counts.cumsum()]), children)

    @cached_property
    def counts(self) -> Ints:
        """The number of children of each node."""
        return np.diff(self.offsets)

    @cached_property
    def parent_counts(self) -> Ints:
        """The number of parents of each node."""
        return np.bincount(self.children, minlength=len(self.counts))

    @cached_property
    def terminals(self) -> Ints:
        """The nodes without children, in increasing order."""
        return np.flatnonzero(self.counts == 0)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The nodes by the length of a longest path from `s_o`; raises InputError for a cycle."""
        waiting, level, levels = self.parent_counts.copy(), np.zeros(1, np.int64), []
        while len(level):
            levels.append(level)
            entered = self.children[self.edges(level)]
            np.subtract.at(waiting, entered, 1)
            level = np.unique(entered[waiting[entered] == 0])
        if sum(map(len, levels)) != len(self.counts):
            raise InputError("GraphArrays: the graph has a cycle, or nodes that s_o does not reach")
        return tuple(levels)

    def edges(self, nodes: Ints) -> Ints:
        """The edges that leave these nodes, in order."""
        counts = self.counts[nodes]
        starts = self.offsets[nodes] - (counts.cumsum() - counts)
        first: Ints = np.repeat(starts, counts)
        return first + np.arange(len(first))

    def inner_levels(self) -> Iterator[tuple[Ints, Ints, Ints]]:
        """From the last level to the first: its inner nodes, their edges, and where each begins."""
        for level in reversed(self.levels):
            nodes = level[self.counts[level] > 0]
            if len(nodes):
                counts = self.counts[nodes]
                yield nodes, self.edges(nodes), counts.cumsum() - counts

    def path_counts(self) -> Scaled:
        """The number of trajectories from `s_o` to each node, within `roundings` of one level."""
        order = np.argsort(self.children, kind="stable")
        parents = np.repeat(np.arange(len(self.counts)), self.counts)[order]
        into = GraphArrays(np.concatenate([[0], self.parent_counts.cumsum()]), parents)
        paths = Scaled(np.full(len(self.counts), 0.5), np.ones(len(self.counts), np.int64))
        for level in self.levels[1:]:
            counts = into.counts[level]
            above = into.children[into.edges(level)]
            total, _ = paths.at(above).sums(counts.cumsum() - counts)
            paths.value[level], paths.exponent[level] = total
        return paths

    def law(self, rows: Floats) -> Floats:
        """The probability of visiting each node under `p_F`, one number per edge, in float64."""
        visits = np.zeros(len(self.counts))
        visits[0] = 1.0
        for nodes in self.levels:
            edges = self.edges(nodes)
            mass = np.repeat(visits[nodes], self.counts[nodes]) * rows[edges]
            np.add.at(visits, self.children[edges], mass)
        return visits


@dataclass(frozen=True, eq=False)
class ExactFlows:
    """The sampler that a backward policy and the rewards force (col:tb), in float64.

    `p_F(s'|s)` is proportional to a weight of `s'` alone. For the uniform `p_B` that is
    `F(s') / (number of parents of s')`. For the `p_B` of most entropy, which gives all trajectories
    to `x` the same probability, it is `H(s')`, with `H(x) = R(x) / N(x)`,
    `H(s) = sum of H over the children`, and `N(x)` the number of trajectories to `x`. (Madan et
    al., 2023; Mohammadpour et al., 2024.) `rows` has `p_F`, one number per edge; the exact row is
    that of `reference.rows.exact.exact_row`. `log Z`, in nats, has a proved error, and
    `tv_bound` is a proved bound of `TV(p_T, R / Z)` for the exact rows.
    """

    graph: GraphArrays
    rows: Floats
    backward: Backward
    log_z: Enclosure
    tv_bound: float

    @classmethod
    def of(
        cls, graph: GraphArrays, rewards: Sequence[Fraction], backward: Backward = "uniform"
    ) -> "ExactFlows":
        """Computes the flows for `p_B` and `R(x) >= 0`.

        Let u be the unit roundoff, n the most children, k the most parents, T the longest
        trajectory. A sum of n numbers has n roundings, a weight k + 1 and its row n + 2. Errors of
        the flows themselves cancel along a trajectory, as `F(s')` is in one row above and in the
        next one below; so `p_T(x)` is within a relative `gamma(T (n + k + 4) + 4)` of the target
        for the exact rows of the flows, and TV within twice that; rounding a row moves TV by
        `gamma(n + 2)` per step.

        Args:
            graph: the enumerated graph.
            rewards: `R(x)` of each terminal.
            backward: `p_B`.

        Raises:
            InputError: if all rewards are zero.
        """
        check_value("solve", "p_b", backward, Backward)
        if not any(rewards):
            raise InputError(
                "the rewards are all zero, so there is no law to sample: make one positive"
            )
        nodes = len(graph.counts)
        weight = Scaled(np.zeros(nodes), np.zeros(nodes, np.int64))
        divisor = Scaled(
            np.maximum(graph.parent_counts, 1).astype(float), np.zeros_like(graph.counts)
        )
        ends = divisor if backward == "uniform" else graph.path_counts()
        terminals, rounded = graph.terminals, Scaled.of(rewards)
        weight.value[terminals], weight.exponent[terminals] = rounded.over(ends.at(terminals))
        rows = np.zeros(len(graph.children))
        total = rounded
        for inner, edges, starts in graph.inner_levels():
            total, rows[edges] = weight.at(graph.children[edges]).sums(starts)
            through = total.over(divisor.at(inner)) if backward == "uniform" else total
            weight.value[inner], weight.exponent[inner] = through
        most, parents = int(graph.counts.max()), int(graph.parent_counts.max())
        steps = len(graph.levels) - 1
        roundings = steps * (3 * most + 2 * parents + 11) + 8
        log = float(total.log()[0])
        error = 2 * gamma(steps * (most + parents + 4) + 4) + gamma(8) * (abs(log) + 1)
        # Rows whose flow is zero are never visited.
        rows = np.where(np.isnan(rows), 1 / np.repeat(graph.counts, graph.counts), rows)
        return cls(graph, rows, backward, Enclosure(log, error), min(1.0, gamma(roundings)))

    @cached_property
    def log_backward(self) -> Floats:
        """Per node, the logarithm of what a trajectory through it multiplies `p_B(tau|x)` by."""
        if self.backward == "uniform":
            return -np.log(np.maximum(self.graph.parent_counts, 1))
        inner = np.zeros(len(self.graph.counts))
        ends = self.graph.terminals
        inner[ends] = -self.graph.path_counts().at(ends).log()
        return inner

    def exact(self, dag: PointedDAG[Any]) -> ExactSampler:
        """The exact rows on the enumerated graph of which these are the flows."""
        starts = self.graph.offsets.tolist()

        def rows(paths: list[list[int]]) -> Iterator[list[Fraction]]:
            for (node,) in paths:
                yield exact_row(self.rows[starts[node] : starts[node + 1]].tolist())

        return exact_sampler(dag, rows, len(dag.labels), is_markovian=True)

    def draw(self, count: int, rng: np.random.Generator) -> "Drawn":
        """Independent trajectories, with exactly the probabilities of the exact rows."""
        graph = self.graph
        node = np.zeros(count, np.int64)
        log_p_f, log_p_b = np.zeros(count), np.zeros(count)
        steps: list[Ints] = []
        while (walking := np.flatnonzero(graph.counts[node])).size:
            step = np.full(count, -1, np.int64)
            lengths = graph.counts[node[walking]]
            for length in np.unique(lengths):
                at = walking[lengths == length]
                edges = graph.offsets[node[at]][:, None] + np.arange(length)
                step[at] = choose_all(self.rows[edges], rng)
            taken = graph.offsets[node[walking]] + step[walking]
            node[walking] = graph.children[taken]
            log_p_f[walking] += np.log(self.rows[taken])
            log_p_b[walking] += self.log_backward[node[walking]]
            steps.append(step)
        return Drawn(node, np.stack(steps, 1), log_p_f, log_p_b)


class Drawn(NamedTuple):
    """Trajectories: their ends, steps, `log p_F(tau)` and `log p_B(tau | x)`, in nats.

    A step is the place of the next state among the children, -1 after the end; shape (trajectories,
    longest).
    """

    ends: Ints
    steps: Ints
    log_p_f: Floats
    log_p_b: Floats
