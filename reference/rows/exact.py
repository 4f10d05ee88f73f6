"""Exact rows: closed rows of floats, exact draws from them, and samplers that are enumerated.

A row of floats, of a network or a function, is normalised in float64. Each probability is read as
the dyadic rational that it is, except the largest, which is one minus the others. Rows then sum to
one exactly, and all denominators are powers of two. Every regime closes rows here; rows of rational
numbers are one or refused, and stay as they are.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError
from reference.dag import PointedDAG
from reference.fields.field import RATIONAL
from reference.lifted import Forgetful, History, LiftedDAG, lift
from reference.policies import ForwardPolicy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# From k to a uniform integer of k bits, such as secrets.randbits.
Bits = Callable[[int], int]
# The largest error of the sum of a row, per entry: a few roundings of float32.
FLOAT32 = 2.0**-23


def unit_row(row: Sequence[float], what: object) -> list[float]:
    """The closed row of a row of probabilities in float64, one per child.

    Raises InputError, with a name such as "the row of 'aab'", if a number is no probability, or the
    sum is not one up to float32.
    """
    total = math.fsum(row) if all(map(math.isfinite, row)) else math.nan
    if not total > 0 or min(row) < 0:
        raise InputError(
            f"{what} is {list(row)}, but must be finite numbers >= 0 with a positive "
            "sum: check the mask, and the network for NaN, or say that it gives logits"
        )
    if abs(total - 1) > FLOAT32 * (len(row) + 2):
        raise InputError(
            f"{what} sums to {total:.9g}, not to 1, and rounding explains "
            f"{FLOAT32 * (len(row) + 2):.1g} at most: normalise it, or say that it gives logits"
        )
    return _close(np.array([[p / total for p in row]]))[0].tolist()  # type: ignore[no-any-return]


def soft_row(logits: Sequence[float], what: object) -> list[float]:
    """The soft-max of logits, as `unit_row`; minus infinity is a zero, NaN an InputError."""
    if not math.isfinite(max(logits)) or any(map(math.isnan, logits)):
        raise InputError(
            f"{what} has the logits {list(logits)}, but must have numbers, one of "
            "them finite: check the mask, and the network for NaN"
        )
    return soft_rows([logits], True)[0].tolist()  # type: ignore[no-any-return]


def closed_rows(log_p: Floats, mask: Any) -> Floats:
    """Rows of probabilities in float64, closed: the largest is one minus the others.

    `log_p` are logarithms of normalised probabilities, in nats, shape (rows, n); one may be
    positive where `mask` says so, at least once per row. Raises InputError for NaN.
    """
    rows: Floats = np.where(mask, np.exp(np.minimum(log_p, 1.0)), 0.0)
    if not np.isfinite(rows).all():
        raise InputError("the network gives a row with NaN: training diverged; look at its losses")
    return _close(rows)


def soft_rows(logits: Any, mask: Any) -> Floats:
    """The soft-max over legal entries, closed; raises InputError for NaN or a row without one."""
    wide: Floats = np.where(mask, np.asarray(logits, np.float64), -np.inf)
    largest = wide.max(1, keepdims=True)
    if not np.isfinite(largest).all():
        raise InputError(
            "the network gives a row whose logits are NaN or infinite, or without a legal action: "
            "check the mask, and whether training diverged"
        )
    shifted = wide - largest
    return closed_rows(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)), mask)


def _close(rows: Floats) -> Floats:
    """Sets the largest entry of each row to one minus the others, in place; returns the array."""
    at, largest = np.arange(len(rows)), rows.argmax(1)
    rows[at, largest] = 0.0
    rows[at, largest] = np.maximum(1 - rows.sum(1), 0.0)
    return rows


def exact_row(row: Sequence[float]) -> list[Fraction]:
    """The exact probabilities of a closed row, with the sum one."""
    exact = [Fraction(p) for p in row]
    largest = row.index(max(row))
    exact[largest] = exact_entry(row, largest)
    return exact


def exact_entry(row: Sequence[float], place: int) -> Fraction:
    """The number of `exact_row` at one place."""
    if place != row.index(max(row)):
        return Fraction(row[place])
    ratios = [p.as_integer_ratio() for at, p in enumerate(row) if p and at != place]
    common = max((d for _, d in ratios), default=1)  # all are powers of two
    return Fraction(common - sum(n * (common // d) for n, d in ratios), common)


class ExactSampler(NamedTuple):
    """The exact rows of a sampler on the enumerated graph, or on its lift by the history."""

    lifted: LiftedDAG[Any]
    forward: ForwardPolicy[Fraction]


def exact_sampler(
    dag: PointedDAG[Any],
    rows: Callable[[list[list[int]]], Iterable[Sequence[Fraction]]],
    max_nodes: int,
    *,
    is_markovian: bool,
) -> ExactSampler:
    """A sampler in exact rows, on every state or on every history.

    Histories are compared, and no latents of a network, whose floats may differ where they are one.

    Args:
        dag: the enumerated graph of the problem.
        rows: from all paths, as nodes from `s_o` on, or the last node alone if Markovian, to the
            row of each, in the order of the children.
        max_nodes: the most states of the lift.
        is_markovian: True if a row depends on the state alone.

    Raises:
        TooLargeError: if the lift has more states than `max_nodes`.
    """
    lifted = lift(dag, Forgetful() if is_markovian else History(), max_nodes)
    inner = [node for node, row in enumerate(lifted.dag.children) if row]
    if is_markovian:
        paths = [[lifted.projection[node]] for node in inner]
    else:
        paths = [[0, *map(dag.index.__getitem__, lifted.dag.labels[node][1])] for node in inner]
    values = [Fraction(0)] * len(lifted.dag.edges)
    for node, row in zip(inner, rows(paths), strict=True):
        edges = lifted.dag.out_edges[node]
        values[edges.start : edges.stop] = row
    return ExactSampler(lifted, ForwardPolicy(lifted.dag, RATIONAL, values))


def choose(
    row: Sequence[float],
    sums: Sequence[float],
    rng: np.random.Generator,
    exact: Sequence[Fraction] | None = None,
) -> int:
    """A number drawn with exactly the probabilities of `exact_row`, if random bits are fair.

    A uniform number of 53 bits decides, unless it lies within rounding of a boundary of the partial
    sums. Then more bits are drawn, until exact arithmetic decides.

    Args:
        row: a closed row, or the floats next to exact probabilities.
        sums: its partial sums.
        rng: gives the random bits.
        exact: the exact probabilities; by default those of the closed row.
    """
    uniform, window = rng.random(), (len(row) + 2) * 2.0**-52
    first = bisect_right(sums, uniform - window)
    if first == bisect_right(sums, uniform + window):
        return first
    return _choose_exactly(exact_row(row) if exact is None else exact, uniform, rng)


def choose_all(rows: Floats, rng: np.random.Generator) -> Ints:
    """The choices of `choose` in each of many rows of one length, shape (count, children)."""
    count, children = rows.shape
    sums: Floats = rows.cumsum(1)
    uniform: Floats = np.asarray(rng.random(count))[:, None]
    window = (children + 2) * 2.0**-52
    first: Ints = (sums <= uniform - window).sum(1)
    for at in np.flatnonzero(first != (sums <= uniform + window).sum(1)).tolist():
        first[at] = _choose_exactly(exact_row(rows[at].tolist()), float(uniform[at, 0]), rng)
    return first


def _choose_exactly(exact: Sequence[Fraction], low: float, rng: np.random.Generator) -> int:
    """The choice at a uniform number that lies in `[low, low + 2^-53)`, bit by bit."""
    common = math.lcm(*(p.denominator for p in exact))
    sums = [*accumulate(p.numerator * (common // p.denominator) for p in exact)]
    return place(common, sums, lambda _: int(rng.integers(2)), int(low * 2**53), 53)


def place(denominator: int, sums: list[int], bits: Bits, low: int = 0, taken: int = 0) -> int:
    """The index of the share that bits lead to, of shares that end at `sums / denominator`.

    Args:
        denominator: the denominator of all shares.
        sums: the end of each share, as a numerator.
        bits: gives random bits.
        low: what the bits taken so far leave is from here to `low + 1`, in units of `2^-taken`.
        taken: their number.
    """
    while True:
        first = bisect_right(sums, low * denominator >> taken)
        if first == bisect_left(sums, -(-(low + 1) * denominator >> taken)):
            return first
        low, taken = 2 * low + bits(1), taken + 1
