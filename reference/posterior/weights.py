"""Local log scores as weights: checked, moved to 0 at a best graph, and rounded once.

Everything after is exact, as the rounded weights are integers over powers of two.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, shown
from reference.posterior.best_graphs import Floats, best_graph
from reference.posterior.dag_limits import check_affordable

BITS = 24
LOG_2 = math.log(2)


class Dyadics(NamedTuple):
    """Positive numbers `mantissas 2^exponents`, mantissas from `2^23` on, below `2^24`."""

    mantissas: npt.NDArray[np.int64]
    exponents: npt.NDArray[np.int64]


def dyadic_exponentials(logs: Floats) -> Dyadics:
    """`exp(log)` of finite nats to 24 bits, with an exponent of any size, so that none is 0."""
    whole = np.rint(logs / LOG_2)
    fractions, more = np.frexp(np.exp(logs - whole * LOG_2))
    mantissas = np.rint(np.ldexp(fractions, BITS)).astype(np.int64)
    # 1 where a mantissa is rounded up to the next power of two.
    up = mantissas >> BITS
    return Dyadics(mantissas >> up, whole.astype(np.int64) + more - BITS + up)


def _dyadic_weights(log_weights: Floats) -> tuple[tuple[int, ...], int]:
    """The rounded exponentials of nats as integers over one power `2^shift`; 0 for -inf."""
    present = log_weights > -math.inf
    rounded = dyadic_exponentials(log_weights[present])
    shift = max(0, -int(rounded.exponents.min()))
    numerators = [0] * len(log_weights)
    for place, m, e in zip(np.flatnonzero(present), *map(np.ndarray.tolist, rounded), strict=True):
        numerators[place] = m << e + shift
    return tuple(numerators), shift


def score_table(owner: str, scores: object) -> Floats:
    """Local log scores, nats, shape (n, 2^n), by masks of parents; raises InputError if not."""
    try:
        # A wider float may become infinite here, and is refused later.
        with np.errstate(over="ignore"):
            table = np.array(scores, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{owner}: scores are {shown(scores)}, but must be numbers") from None
    n = len(table) if table.ndim == 2 else 0
    if not n or table.shape[1] != 2 ** min(n, 60):
        raise InputError(
            f"{owner}: the scores have the shape {table.shape}, but must have (n, 2^n): a row "
            "for each node, a column for the bit mask of each parent set"
        )
    return table


def relative_scores(
    owner: str, table: Floats, names: Sequence[str], allowed: npt.NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Scores less those of a best graph, -inf where a family is not allowed; and its log score.

    Args:
        owner: the name that messages use.
        table: local log scores, nats, shape (n, 2^n).
        names: the names of the nodes.
        allowed: true where a family is allowed, of that shape.

    Raises:
        InputError: if the score of an allowed family is not finite.
    """
    for name, row, may in zip(names, table, allowed, strict=True):
        for mask in np.flatnonzero(may & ~np.isfinite(row))[:1]:
            raise InputError(
                f"{owner}: the log score of {name!r} with parents {int(mask):#b} is "
                f"{row[mask]}, but must be finite: correct it, or lower max_parents"
            )
    table = np.where(allowed, table, -np.inf)
    best = best_graph(list(table))
    base = table[np.arange(len(table)), list(best.parents)]
    return table - base[:, None], math.fsum(base)


def integer_weights(scores: Floats) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The weights of relative scores, each row as integers over its own power of two.

    Raises TooLargeError before they are computed if their sums do not fit into memory.
    """
    spread = scores[scores > -np.inf]
    check_affordable(len(scores), int((spread.max() - spread.min()) / LOG_2) + BITS)
    weights, shifts = zip(*map(_dyadic_weights, scores), strict=True)
    return weights, shifts
