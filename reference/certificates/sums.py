"""Batches of rows closed to exact probabilities, and the sums of their logarithms along paths."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reference.errors import InputError
from reference.fields.field import gamma

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def closed_rows(log_p: Floats, mask: Any) -> Floats:
    """Rows of probabilities of which the largest is one minus the others (`exact_row`).

    Args:
        log_p: logarithms of normalised probabilities, in nats, shape (rows, n).
        mask: where a probability may be positive, at least once per row.

    Raises:
        InputError: if one is NaN or infinite.
    """
    rows: Floats = np.where(mask, np.exp(np.minimum(log_p, 1.0)), 0.0)
    if not np.isfinite(rows).all():
        raise InputError("the network gives a row with NaN: training diverged; look at its losses")
    at, largest = np.arange(len(rows)), rows.argmax(1)
    rows[at, largest] = 0.0
    rows[at, largest] = np.maximum(1 - rows.sum(1), 0.0)
    return rows


def soft_rows(logits: Any, mask: Any) -> Floats:
    """The soft-max over what a mask allows, in float64, closed.

    Raises:
        InputError: if a logit is NaN or infinite, or a row has no legal entry.
    """
    wide: Floats = np.where(mask, np.asarray(logits, np.float64), -np.inf)
    largest = wide.max(1, keepdims=True)
    if not np.isfinite(largest).all():
        raise InputError(
            "the network gives a row whose logits are NaN or infinite, or without a legal action: "
            "check the mask, and whether training diverged"
        )
    shifted = wide - largest
    total = np.log(np.exp(shifted).sum(1, keepdims=True))
    return closed_rows(shifted - total, mask)


class PathSums:
    """`log p_F` and `log p_B` along a batch of trajectories, and what rounding may do to them.

    Args:
        count: how many trajectories.
    """

    def __init__(self, count: int):
        self.log_p_f, self.log_p_b, self.size = np.zeros((3, count))
        self.widest = 0

    def forward(self, rows: Floats, chosen: Ints, active: Any) -> None:
        """A step of those that are active."""
        self.log_p_f += self._counted(rows, chosen, active)

    def backward(self, rows: Floats, chosen: Ints, active: Any) -> None:
        """The way back of such a step."""
        self.log_p_b += self._counted(rows, chosen, active)

    def _counted(self, rows: Floats, chosen: Ints, active: Any) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(rows[np.arange(len(active)), chosen[: len(active)]])
        used: Floats = np.where(active, logs, 0.0)
        self.size += np.where(active & np.isfinite(used), 1 + np.abs(used), 0.0)
        self.widest = max(self.widest, 2 * rows.shape[1])
        return used

    def error(self, log_reward: Floats) -> Floats:
        """By how much `log R + log p_B - log p_F` may be off, without the error of `log R`.

        The largest of n probabilities is off by 2 n roundings at most, logarithms by two units, and
        each step adds a sum; `size` is at least the number of steps and the sum of all `|log p|`.
        """
        roundings = self.widest + int(self.size.max(initial=0)) + 12
        return gamma(roundings) * (self.size + np.abs(log_reward) + 1)
