"""A spurious minimum in small rationals, with its exact terminal law."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import softmax

from fast.checking.instances import describe
from fast.checking.landscape import Landscape
from fast.checking.search import Minimum
from fast.laws.enumeration import Floats
from reference.fields.field import RATIONAL
from reference.marginals import marginal
from reference.metrics import total_variation
from reference.policies import ForwardPolicy

# Two losses in float64 are equal up to this: residuals in a mean of squares are then below 1e-10
# nats.
CERTAIN = 1e-24

# Denominators tried for a free row, for a row that the other rows determine, and as a last resort.
COARSE, FINE, LAST = (2, 3, 4, 6, 10), (100, 1_000, 10_000), 1_000_000


@dataclass(frozen=True)
class Counterexample:
    """A policy with a loss no larger than the balanced policy's, whose law is not the target.

    Attributes:
        instance: its name.
        graph: the lifted DAG, as text.
        rewards: `R(x)` by terminal.
        p_f: the rows of `p_F` with several children, exactly, by lifted state.
        p_b: the rows of `p_B` that the search chose, by lifted state; without them it is uniform.
        law: `p_T`, exactly, by terminal.
        target: `R / Z`, exactly, by terminal.
        loss: the loss at these rows, in float64, with the best flows and log Z.
        balanced_loss: the loss of the balanced policy.
        is_certain: whether the loss at these rows is the least one up to rounding.
    """

    instance: str
    graph: str
    rewards: dict[str, Fraction]
    p_f: dict[str, tuple[Fraction, ...]]
    p_b: dict[str, tuple[Fraction, ...]]
    law: dict[str, Fraction]
    target: dict[str, Fraction]
    loss: float
    balanced_loss: float
    is_certain: bool

    @property
    def distance(self) -> Fraction:
        """The total variation between law and target, exactly."""
        tv: Fraction = total_variation(tuple(self.law.values()), tuple(self.target.values()))
        return tv

    def rows(self) -> dict[str, str]:
        """Names and values, as text."""
        return {
            "lifted state graph": f"{self.graph} ({self.instance})",
            "rewards": _named(self.rewards),
            **{f"p_B of {state}": _row_text(row) for state, row in self.p_b.items()},
            **{f"p_F at {state}": _row_text(row) for state, row in self.p_f.items()},
            "p_T, exactly": _named(self.law),
            "R / Z, exactly": _named(self.target),
            "loss of these rows, in float64": f"{self.loss:.2g}",
            "loss of the balanced policy": f"{self.balanced_loss:.2g}",
        }


def counterexample(landscape: Landscape, minimum: Minimum) -> Counterexample:
    """A spurious minimum with its rows rounded one by one; after each, the rest is minimised again.

    A free row takes the smallest denominator. A row that others force may already be rational; if
    it is irrational, small rows are taken whose loss is no larger than the balanced policy's. The
    rows of `p_B` come first, as they force those of `p_F`.
    """
    vector = landscape.polished(minimum.vector, np.arange(len(minimum.vector)))
    certain = min(landscape.floor, landscape.graded(vector)[0]) + CERTAIN
    least = min(0.05, minimum.distance / 2)
    shares, loss = _rounded(landscape, vector, certain, least)
    if loss > certain:
        small, its = _rounded(landscape, vector, landscape.floor, least)
        if its <= landscape.floor:
            shares, loss = small, its
    return at_rows(landscape, shares, loss, certain)


def _rounded(
    landscape: Landscape, vector: Floats, level: float, least: float
) -> tuple[list[tuple[Fraction, ...]], float]:
    """Rational rows near a minimum, and their loss.

    Their loss is at most `level`, unless only the nearest rationals are left, and their total
    variation from the target at least `least`.
    """
    free = np.arange(len(vector))
    rounded: dict[int, tuple[Fraction, ...]] = {}
    for number, row in enumerate(landscape.rows):
        free = np.setdiff1d(free, row.places)
        vector = landscape.polished(vector, np.union1d(free, row.places))
        for candidate in _candidates(vector[row.places]):
            tried = vector.copy()
            tried[row.places] = np.log([float(share) for share in candidate])
            tried = landscape.polished(landscape.minimum(tried, free), free)
            rounded[number] = candidate
            if landscape.graded(tried)[0] <= level and landscape.distance(tried) >= least:
                break
        vector = tried
    return [rounded[number] for number in range(len(landscape.rows))], landscape.graded(vector)[0]


def _candidates(logits: Floats) -> Iterator[tuple[Fraction, ...]]:
    """Rows of positive rationals near a soft-max, the simplest first; the last is the nearest."""
    # No row is deterministic, as no soft-max is.
    share = np.maximum(softmax(logits), 2 / LAST)
    share = share / share.sum()
    seen = set()
    for denominator in (*COARSE, *FINE, LAST):
        parts = [Fraction(float(p)).limit_denominator(denominator) for p in share[:-1]]
        row = (*parts, 1 - sum(parts, start=Fraction(0)))
        error = max(abs(float(p) - q) for p, q in zip(row, share, strict=True))
        is_near = denominator not in FINE or error < 1e-7
        if min(row) > 0 and is_near and row not in seen:
            seen.add(row)
            yield row


def at_rows(
    landscape: Landscape, rounded: Sequence[tuple[Fraction, ...]], loss: float, level: float
) -> Counterexample:
    """The counterexample with given rational rows, one for each of `landscape.rows`.

    Args:
        landscape: the loss on a small lift.
        rounded: the rational rows, one for each of `landscape.rows`.
        loss: the loss at these rows.
        level: the largest loss at which they count as a minimum.
    """
    instance = landscape.instance
    dag = instance.lifted.dag
    values = [Fraction(1)] * len(dag.edges)
    forward: dict[str, tuple[Fraction, ...]] = {}
    backward: dict[str, tuple[Fraction, ...]] = {}
    for row, shares in zip(landscape.rows, rounded, strict=True):
        if row.is_forward:
            forward[row.label] = shares
            for edge, share in zip(dag.out_edges[row.node], shares, strict=True):
                values[edge] = share
        else:
            backward[row.label] = shares
    names = [instance.names[x] for x in dag.terminals]
    return Counterexample(
        instance=instance.name,
        graph=describe(instance),
        rewards=dict(zip(names, instance.rewards, strict=True)),
        p_f=forward,
        p_b=backward,
        law=dict(zip(names, marginal(ForwardPolicy(dag, RATIONAL, values)), strict=True)),
        target=dict(zip(names, instance.target, strict=True)),
        loss=loss,
        balanced_loss=landscape.floor,
        is_certain=loss <= level,
    )


def _row_text(row: Sequence[Fraction]) -> str:
    return f"({', '.join(map(str, row))})"


def _named(values: dict[str, Fraction]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())
