"""Local log scores as the weights of families, rounded once to integers over powers of two."""

import math
from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

import numpy as np

from reference.errors import InputError, check_integer, check_type, shown
from reference.problems.columns import column_names
from reference.problems.dag_limits import (
    check_affordable,
    check_max_parents,
    check_size,
    possible_families,
)
from reference.problems.dag_sums import heaviest_dag
from reference.problems.dyadic_weights import BITS, LOG_2, dyadic_weights


class FamilyWeights(NamedTuple):
    """The fields of `StructureLearning`."""

    weights: tuple[tuple[int, ...], ...]
    shifts: tuple[int, ...]
    max_parents: int
    names: tuple[str, ...]
    offset: float


def rounded_scores(
    owner: str, scores: object, names: Sequence[str] | None, max_parents: int | None
) -> FamilyWeights:
    """Log scores against those of the best graph, as dyadic numbers.

    Args:
        owner: the caller, for messages.
        scores: nats, shape (n, 2^n).
        names: of the variables.
        max_parents: the most parents of a node; no limit by default.

    Raises:
        InputError: if the scores are of another shape, or one that is read is not finite.
        TooLargeError: if the integers do not fit into memory.
    """
    try:
        # A wider float may become infinite here, and is refused below.
        with np.errstate(over="ignore"):
            table = np.array(scores, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{owner}: scores are {shown(scores)}, but must be numbers") from None
    n = len(table) if table.ndim == 2 else 0
    if table.ndim != 2 or not n or table.shape[1] != 2 ** min(n, 60):
        raise InputError(
            f"{owner}: the scores have the shape {table.shape}, but must have (n, 2^n): a row "
            "for each node, a column for the bit mask of each parent set"
        )
    check_size(n)
    most = check_max_parents(max_parents, n)
    columns = column_names(owner, names, n)
    allowed = possible_families(n, most)
    for name, row, may in zip(columns, table, allowed, strict=True):
        for mask in np.flatnonzero(may & ~np.isfinite(row))[:1]:
            raise InputError(
                f"{owner}: the log score of {name!r} with parents {int(mask):#b} is "
                f"{row[mask]}, but must be finite: mend it, or lower max_parents"
            )
    table = np.where(allowed, table, -np.inf)
    best = heaviest_dag(table.tolist(), times=add, one=0.0)
    base = table[np.arange(n), list(best)]
    table -= base[:, None]
    # Checked before the integers take memory.
    check_affordable(n, int((table[allowed].max() - table[allowed].min()) / LOG_2) + BITS)
    weights, shifts = zip(*map(dyadic_weights, table), strict=True)
    return FamilyWeights(weights, shifts, most, columns, math.fsum(base))


def check_weights(owner: str, weights: Any, shifts: Any, max_parents: int, names: Any) -> None:
    """Checks that weights are positive integers where a family is possible, and 0 elsewhere.

    Raises:
        InputError: if they are not, or there are not n rows of `2^n` weights and n shifts.
    """
    n = check_size(len(names))
    column_names(owner, names, n)
    check_integer(owner, "max_parents", max_parents, 0)
    for row in weights:
        check_type(owner, "a row of weights", row, tuple)
    if [*map(len, weights)] != [2**n] * n or len(shifts) != n:
        raise InputError(
            f"{owner}: weights must be {n} rows of 2^{n} integers, and shifts {n} integers, for "
            f"{n} names"
        )
    for shift in shifts:
        check_integer(owner, "a shift", shift, 0)
    for name, row, may in zip(
        names, weights, possible_families(n, max_parents).tolist(), strict=True
    ):
        for mask, (weight, possible) in enumerate(zip(row, may, strict=True)):
            if not isinstance(weight, int) or (weight > 0) != possible or weight < 0:
                raise InputError(
                    f"{owner}: the weight of {name!r} with parents {mask:#b} is "
                    f"{shown(weight)}, but must be a positive integer where a node has at most "
                    f"{max_parents} parents, not itself, and 0 elsewhere"
                )
