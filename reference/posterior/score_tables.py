"""Tables of local log scores: checked, and moved to 0 at a best graph."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, shown
from reference.posterior.best_graphs import Floats, best_graph
from reference.posterior.dag_limits import check_affordable
from reference.posterior.dyadic_weights import BITS, LOG_2, dyadic_weights


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

    Raises InputError if the score of an allowed family is not finite.
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
    weights, shifts = zip(*map(dyadic_weights, scores), strict=True)
    return weights, shifts
