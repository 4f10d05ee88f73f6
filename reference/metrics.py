"""Distances between laws on the terminal states."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from reference.errors import InputError

T = TypeVar("T", Fraction, float)
Floats = npt.NDArray[np.float64]


def normalize(rewards: Sequence[T]) -> tuple[T, ...]:
    """The target law `pi(x) = R(x) / sum of R`.

    Raises:
        InputError: if the rewards sum to zero.
    """
    total = sum(rewards[1:], start=rewards[0])
    if not total > 0:
        raise InputError("the rewards sum to zero, so there is no target law: make one positive")
    return tuple(reward / total for reward in rewards)


def total_variation(p: Sequence[T], q: Sequence[T]) -> T:
    """`TV(p, q) = (1/2) sum |p(x) - q(x)|`, exact on exact numbers."""
    _same_length(p, q)
    differences = [abs(a - b) for a, b in zip(p, q, strict=True)]
    return sum(differences[1:], start=differences[0]) / 2


def kl_divergence(p: Sequence[T], q: Sequence[T]) -> float:
    """`KL(p || q) = sum p(x) log(p(x) / q(x))` in nats, infinite where q has a zero p lacks."""
    _same_length(p, q)
    terms = []
    for a, b in zip(p, q, strict=True):
        if a > 0 and not b > 0:
            return math.inf
        if a > 0:
            terms.append(float(a) * math.log(a / b))
    return math.fsum(terms)


def fcs(p: Sequence[T], q: Sequence[T], batch_size: int) -> T:
    """FCS (eq:fcsa) with uniform batches, exact: the mean over every batch of distinct `x`.

    `TV(p|B, q|B)` averaged over all sets `B` of `batch_size` terminals, where `p|B` is `p`
    conditioned on `B`. (Silva et al., 2025.)

    Raises:
        InputError: if a batch has probability zero under `p` or `q`, so that conditioning on it
            is undefined, or if `batch_size` does not lie between 1 and the number of terminals.
    """
    _same_length(p, q)
    if not 1 <= batch_size <= len(p):
        raise InputError(f"batch_size is {batch_size}, but must lie between 1 and {len(p)}")
    values = []
    for batch in combinations(range(len(p)), batch_size):
        part_p, part_q = [p[i] for i in batch], [q[i] for i in batch]
        if not (sum(part_p) > 0 and sum(part_q) > 0):
            raise InputError(
                f"the batch {batch} has probability zero, so FCS is undefined: use larger batches"
            )
        values.append(total_variation(normalize(part_p), normalize(part_q)))
    return sum(values[1:], start=values[0]) / len(values)


@dataclass(frozen=True)
class Estimate:
    """A sample mean with its standard error."""

    mean: float
    standard_error: float


def uniform_batches(
    terminals: int, batch_size: int, batches: int, seed: int
) -> npt.NDArray[np.int64]:
    """`batches` sets of distinct terminals, drawn uniformly; shape (batches, batch_size)."""
    rng = np.random.default_rng(seed)
    size = min(batch_size, terminals)
    return np.stack([rng.choice(terminals, size, replace=False) for _ in range(batches)])


def fcs_estimate(p: Floats, q: Floats, batches: npt.NDArray[np.int64]) -> Estimate:
    """FCS (eq:fcsa) averaged over given batches, with the standard error over batches.

    A batch to which `p` or `q` gives no probability (an empirical `p` may) counts as 1, the
    largest distance, when one of them does, and 0 when neither does.

    Args:
        p: probabilities, shape (terminals,).
        q: probabilities, shape (terminals,).
        batches: terminal numbers, shape (batches, batch_size), at least two batches.
    """
    parts_p, parts_q = p[batches], q[batches]
    sums_p, sums_q = parts_p.sum(1, keepdims=True), parts_q.sum(1, keepdims=True)
    conditional_p = np.divide(parts_p, sums_p, out=np.zeros_like(parts_p), where=sums_p > 0)
    conditional_q = np.divide(parts_q, sums_q, out=np.zeros_like(parts_q), where=sums_q > 0)
    values = np.abs(conditional_p - conditional_q).sum(1) / 2
    values = np.where((sums_p > 0)[:, 0] == (sums_q > 0)[:, 0], values, 1.0)
    error = values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(float(values.mean()), float(error))


def _same_length(p: Sequence[object], q: Sequence[object]) -> None:
    if len(p) != len(q) or not len(p):
        raise InputError(
            f"laws on {len(p)} and {len(q)} states cannot be compared: give both on the same, "
            "non-empty list of states"
        )
