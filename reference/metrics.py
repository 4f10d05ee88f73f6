"""Distances between distributions on the terminal states."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, check_integer, check_seed, checked, plain, shown
from reference.fields.field import log_float

# Distances need an order, which rationals and floats have.
Ordered = TypeVar("Ordered", Fraction, float)
Floats = npt.NDArray[np.float64]

# Tolerance of the sum of float probabilities, computed in float32 along long trajectories.
ROUNDED = 1e-3


@checked
def normalize(rewards: Sequence[Ordered]) -> tuple[Ordered, ...]:
    """The target `pi(x) = R(x) / sum of R`; raises InputError unless it is a law.

    Integers are taken for fractions.
    """
    numbers: Any = [Fraction(r) if type(r) is int else r for r in rewards]
    _check_law("rewards", numbers)
    total = sum(numbers[1:], start=numbers[0])
    if not total > 0:
        raise InputError("the rewards sum to zero, so there is no target law: make one positive")
    return tuple(reward / total for reward in numbers)


@checked
def total_variation(p: Sequence[Ordered], q: Sequence[Ordered]) -> Ordered:
    """`TV(p, q) = (1/2) sum |p(x) - q(x)|`, exact on exact numbers."""
    _check_pair(p, q)
    return _distance(p, q)


@checked
def kl_divergence(p: Sequence[Ordered], q: Sequence[Ordered]) -> float:
    """`KL(p || q) = sum p(x) log(p(x) / q(x))` in nats, infinite where q has a zero p lacks.

    It is summed as `sum of (p log(p/q) - p + q)`, plus the difference of the totals: no term is
    negative, so nothing cancels however close the distributions are.
    """
    _check_pair(p, q)
    terms: list[float] = []
    for a, b in zip(p, q, strict=True):
        if a > 0 and not b > 0:
            return math.inf
        if b > 0:
            terms.append(_divergence(a, b))
    gap = sum(p[1:], start=p[0]) - sum(q[1:], start=q[0])
    return math.fsum([*terms, float(gap)])


@checked
def fcs(p: Sequence[Ordered], q: Sequence[Ordered], batch_size: int) -> Ordered:
    """FCS (eq:fcsa) with uniform batches, exact: the mean over every batch of distinct `x`.

    `TV(p|B, q|B)` averaged over all sets `B` of `batch_size` terminals, where `p|B` is `p`
    conditioned on `B`. (Silva et al., 2025.)

    Args:
        p: the one law, a number per terminal.
        q: the other.
        batch_size: the number of terminals in a batch.

    Raises:
        InputError: if a batch has probability zero under `p` or `q`, or there is no such batch.
    """
    _check_pair(p, q)
    if not 1 <= batch_size <= len(p):
        raise InputError(f"batch_size is {batch_size}, but must lie between 1 and {len(p)}")
    values = [_on_batch(p, q, batch) for batch in combinations(range(len(p)), batch_size)]
    return sum(values[1:], start=values[0]) / len(values)


@checked
def fcs_under(
    p: Sequence[Ordered], q: Sequence[Ordered], batches: Mapping[tuple[int, ...], Ordered]
) -> Ordered:
    """FCS (eq:fcsa) under any distribution of batches, exact: `sum of r(B) TV(p|B, q|B)`.

    Args:
        p: the one law, a number per terminal.
        q: the other.
        batches: `r(B)`, of sum one, for each batch, a tuple of distinct terminals.

    Raises:
        InputError: if a batch repeats a terminal or has probability zero, or `r` is no law.
    """
    _check_pair(p, q)
    weights = list(batches.values())
    _check_law("the law of batches", weights)
    total = sum(weights[1:], start=weights[0])
    if total != 1 and not abs(total - 1) <= len(weights) * 2.0**-53:
        raise InputError(f"the law of batches sums to {plain(total)}, not to 1: normalise it")
    values = []
    for batch, weight in batches.items():
        members = set(batch)
        if not batch or len(members) < len(batch) or members - set(range(len(p))):
            raise InputError(
                f"fcs_under: the batch {batch} must be distinct numbers of terminals below {len(p)}"
            )
        values.append(weight * _on_batch(p, q, batch))
    return sum(values[1:], start=values[0])


@dataclass(frozen=True)
class Estimate:
    """A sample mean with its standard error."""

    mean: float
    standard_error: float


@checked
def uniform_batches(
    terminals: int, batch_size: int, batches: int, seed: int
) -> npt.NDArray[np.int64]:
    """Sets of distinct terminals, drawn uniformly; shape (batches, batch_size).

    Args:
        terminals: the number of terminals.
        batch_size: the number in a set; all of them if there are fewer.
        batches: the number of sets.
        seed: the seed.
    """
    counts = {"terminals": terminals, "batch_size": batch_size, "batches": batches}
    for name, value in counts.items():
        check_integer("uniform_batches", name, value, 1, most=10**9)
    check_seed("uniform_batches", seed)
    rng = np.random.default_rng(seed)
    size = min(batch_size, terminals)
    return np.stack([rng.choice(terminals, size, replace=False) for _ in range(batches)])


def fcs_estimate(p: Floats, q: Floats, batches: npt.NDArray[np.int64]) -> Estimate:
    """FCS (eq:fcsa) averaged over given batches, with the standard error over batches.

    A batch to which `p` or `q` gives no probability (an empirical `p` may) counts as 1, the largest
    distance, if the other is positive on it, and as 0 if neither is.

    Args:
        p: probabilities, shape (terminals,).
        q: probabilities, shape (terminals,).
        batches: terminal numbers, shape (batches, batch_size), at least two batches.
    """
    p, q = _weights("p", p), _weights("q", q)
    chosen = np.asarray(batches)
    fits = chosen.ndim == 2 and len(chosen) >= 2 and chosen.shape[1] and chosen.dtype.kind in "iu"
    if len(p) != len(q) or not fits or chosen.min() < 0 or chosen.max() >= len(p):
        raise InputError(
            f"fcs_estimate: batches have shape {chosen.shape} and type {chosen.dtype}, and p and q "
            f"{len(p)} and {len(q)} numbers: give at least two rows of numbers of terminals, and "
            "two laws of the same terminals"
        )
    parts_p, parts_q = p[chosen], q[chosen]
    sums_p, sums_q = parts_p.sum(1, keepdims=True), parts_q.sum(1, keepdims=True)
    conditional_p = np.divide(parts_p, sums_p, out=np.zeros_like(parts_p), where=sums_p > 0)
    conditional_q = np.divide(parts_q, sums_q, out=np.zeros_like(parts_q), where=sums_q > 0)
    values = np.abs(conditional_p - conditional_q).sum(1) / 2
    values = np.where((sums_p > 0)[:, 0] == (sums_q > 0)[:, 0], values, 1.0)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))


def _weights(name: str, values: object) -> Floats:
    """Numbers proportional to probabilities; raises InputError if they are not probabilities."""
    try:
        # A value of a wider float type may be infinite as float64.
        with np.errstate(over="ignore"):
            weights = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"fcs_estimate: {name} is no array of numbers ({error})") from None
    if weights.ndim != 1 or not (weights >= 0).all():
        raise InputError(f"fcs_estimate: {name} must be a row of numbers >= 0")
    if not np.isfinite(weights).all():
        raise InputError(f"fcs_estimate: {name} has an entry that is not finite")
    return weights


def _divergence(a: Ordered, b: Ordered) -> float:
    """`a log(a/b) - a + b` for `b > 0`, without cancellation."""
    if a == 0:
        return float(b)
    excess = float((a - b) / b) if a <= 2 * b else math.inf
    if abs(excess) < 1e-3:
        # (1 + r) log(1 + r) - r = sum over k >= 2 of (-r)^k / (k (k - 1)); eight terms suffice.
        return float(b) * math.fsum((-excess) ** k / (k * (k - 1)) for k in range(2, 10))
    is_near = -0.5 <= excess <= 1
    log = math.log1p(excess) if is_near else log_float(a) - log_float(b)
    return float(a) * log - float(a - b)


def _distance(p: Sequence[Ordered], q: Sequence[Ordered]) -> Ordered:
    differences = [abs(a - b) for a, b in zip(p, q, strict=True)]
    return sum(differences[1:], start=differences[0]) / 2


def _on_batch(p: Sequence[Ordered], q: Sequence[Ordered], batch: tuple[int, ...]) -> Ordered:
    part_p, part_q = [p[i] for i in batch], [q[i] for i in batch]
    if not (sum(part_p) > 0 and sum(part_q) > 0):
        raise InputError(
            f"the batch {batch} has probability zero, so FCS is undefined: use larger batches"
        )
    return _distance(normalize(part_p), normalize(part_q))


def _check_pair(p: Sequence[Any], q: Sequence[Any]) -> None:
    _check_law("p", p)
    _check_law("q", q)
    if len(p) != len(q):
        raise InputError(
            f"laws on {len(p)} and {len(q)} states cannot be compared: give both on the same, "
            "non-empty list of states"
        )
    for name, law in (("p", p), ("q", q)):
        total = sum(law[1:], start=law[0])
        if total != 1 and (isinstance(total, Fraction) or not abs(total - 1) <= ROUNDED):
            raise InputError(
                f"{name} sums to {plain(total)}, not to 1, so it is no law: normalize it"
            )


def _check_law(name: str, law: Sequence[Any]) -> None:
    """Checks for numbers >= 0, all rational or all float: mixed sums would silently be floats."""
    values = list(law)
    if not values:
        raise InputError(f"{name} is empty: give a number per state")
    kind = Fraction if isinstance(values[0], Fraction) else float
    for x, value in enumerate(values):
        if not isinstance(value, kind):
            raise InputError(
                f"{name}[{x}] is {shown(value)}, a {type(value).__name__}, but a law is all "
                "Fractions or all floats: convert it"
            )
        if not 0 <= value < math.inf:
            raise InputError(f"{name}[{x}] is {plain(value)}, but must be a finite number >= 0")
