"""Rational numbers on the edges of a `LevelDAG`, as integers over one denominator per row."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from reference.errors import InputError
from reference.levels import Indices, LevelDAG, Renumbering, Rows

# Python integers, of any size, as NumPy objects.
Integers = npt.NDArray[Any]


def integers(numbers: Iterable[int]) -> Integers:
    """An array of Python integers."""
    return np.array(list(numbers), object)


def checked_numerators(
    name: str,
    values: Sequence[Fraction] | Sequence[int],
    count: int,
    per: str,
    kind: type[Fraction] | type[int],
) -> Integers:
    """The numerators of `count` numbers >= 0, one `per` something, all of one type.

    Raises:
        InputError: if there are too few or too many, or one has another type or is negative.
    """
    if len(values) != count:
        raise InputError(
            f"{len(values)} {name} for a graph of {count} {per}s: give one per {per}, in the given "
            "order"
        )
    for other in set(map(type, values)) - {kind}:
        raise InputError(
            f"the {name} hold a {other.__name__}, but exact sums need each to be of type "
            f"{kind.__name__}: convert it, or use reference.float_sums"
        )
    numerators = integers(value.numerator for value in values)
    if numerators.min() < 0:
        place = int(np.argmin(numerators))
        raise InputError(
            f"the {name} hold {values[place]} at {per} {place}, but must be >= 0: correct it"
        )
    return numerators


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """Rational numbers >= 0 on the edges of a graph, as integers over one denominator per row.

    Build one with `from_fractions` or `from_weights`, which check it.

    Attributes:
        graph: the DAG.
        rows: what a row is: the edges that leave a node ("forward", as in `p_F`), or those that
            enter it ("backward", as in `p_B`).
        numerators: shape `(edges,)`, by the graph's own numbers.
        denominators: shape `(nodes,)`, by the graph's own numbers; 1 for an empty row.
    """

    graph: LevelDAG
    rows: Rows
    numerators: Integers
    denominators: Integers

    @classmethod
    def from_fractions(cls, graph: LevelDAG, rows: Rows, values: Sequence[Fraction]) -> Self:
        """The given numbers, one per given edge; rows need not sum to one.

        Raises:
            InputError: if there are too few or too many, or one is negative or not a `Fraction`.
        """
        top = checked_numerators("values", values, len(graph.children), "edge", Fraction)
        first, edges = _row_edges(graph, rows)
        bottom = integers(value.denominator for value in values)[graph.edges][edges]
        listed, owners = bottom.tolist(), np.flatnonzero(np.diff(first))
        bounds = zip(first[owners].tolist(), first[owners + 1].tolist(), strict=True)
        common = np.ones(len(first) - 1, object)
        common[owners] = [math.lcm(*listed[start:stop]) for start, stop in bounds]
        numerators = top[graph.edges]
        numerators[edges] *= np.repeat(common, np.diff(first)) // bottom
        return cls(graph, rows, numerators, common)

    @classmethod
    def from_weights(cls, graph: LevelDAG, rows: Rows, weights: Sequence[int]) -> Self:
        """The policy `w / sum of its row`, from an integer weight >= 0 per given edge.

        Raises:
            InputError: if there are too few or too many, one is negative or not an `int`, or those
                of a row are all zero.
        """
        given = checked_numerators("weights", weights, len(graph.children), "edge", int)
        numerators = given[graph.edges]
        totals = _row_sums(graph, rows, numerators)
        if not totals.all():
            node = graph.given_node(int(np.argmin(totals)))
            raise InputError(
                f"the {rows} weights of node {node} sum to 0, so they cannot be normalised: give "
                "at least one a positive weight"
            )
        return cls(graph, rows, numerators, totals)

    def check_policy(self) -> None:
        """Checks that the numbers of every row sum to one, exactly.

        Raises:
            InputError: if those of a row do not.
        """
        totals = _row_sums(self.graph, self.rows, self.numerators)
        wrong = totals != self.denominators
        if wrong.any():
            node = int(np.argmax(wrong))
            raise InputError(
                f"the {self.rows} row of node {self.graph.given_node(node)} sums to "
                f"{Fraction(totals[node], self.denominators[node])}, not to 1: normalise it, or "
                "use from_weights"
            )


def _row_edges(graph: LevelDAG, rows: Rows) -> tuple[Indices, Renumbering]:
    """Where each row starts, and the edges row after row."""
    if rows == "forward":
        return graph.first, slice(None)
    return graph.in_edges.indptr, graph.in_edges.data


def _row_sums(graph: LevelDAG, rows: Rows, numerators: Integers) -> Integers:
    """The sum of each row, 1 for an empty one."""
    first, edges = _row_edges(graph, rows)
    sums = np.ones(len(first) - 1, object)
    owners = np.flatnonzero(np.diff(first))
    sums[owners] = np.add.reduceat(numerators[edges], first[owners])
    return sums
