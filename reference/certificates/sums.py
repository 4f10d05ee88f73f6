"""Sums of log-probabilities along a batch of trajectories, with a bound of their rounding."""

from typing import Any

import numpy as np

from reference.certificates.rows import Floats, Ints
from reference.fields.field import gamma


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
