"""TV of terminal states by several backward paths of each.

For `x` drawn along `tau_0 ~ p_F`, and `tau_1 ... tau_{K-1} ~ p_B(. | x)`, let
`q = (1/K) sum over k of p_F(tau_k) / p_B(tau_k | x)`. With the drawn path at a random place, x and
its paths have the density `q prod of p_B(tau_k | x)`, and `pi(x) prod of p_B(tau_k | x)` under the
target. So `E[(1 - pi(x) / q)_+]` is the TV of x with its paths, at least that of x, and at most
that with fewer paths (claim several-paths-tv-bound). For `K = 1` it is the TV of trajectories.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from reference.rows.importance import Walks
from reference.rows.walks import Sampler


class SeveralPaths(Sampler):
    """A sampler of ends, each with K >= 1 paths; `log_p_f - log_p_b` of its draws is `log q`."""

    def __init__(self, sampler: Sampler, count: int):
        self.sampler: Any = sampler
        self.count = count

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh terminal states of `p_F`, each with its trajectory and `K - 1` backward ones."""
        first = self.sampler.draw(count, labels=True)
        if not len(first.error):
            return first  # type: ignore[no-any-return]
        others = (self.sampler.draw_backward(first.terminals) for _ in range(self.count - 1))
        return averaged([first, *others])

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """K trajectories `tau ~ p_B(. | x)` for each terminal state."""
        return averaged([self.sampler.draw_backward(terminals) for _ in range(self.count)])

    def findings(self) -> Sequence[str]:
        """The remarks of the sampler."""
        return self.sampler.findings()  # type: ignore[no-any-return]


def averaged(paths: Sequence[Walks]) -> Walks:
    """Terminal states with the mean q of `p_F / p_B` over several paths: one of each per batch."""
    if len(paths) == 1:
        return paths[0]
    ratios = np.stack([walks.log_p_f - walks.log_p_b for walks in paths])
    largest = ratios.max(0)
    is_finite = np.isfinite(largest)
    top = np.where(is_finite, largest, 0.0)
    sums = np.exp(np.where(is_finite, ratios - top, 0.0)).sum(0)
    log_q = np.where(is_finite, top + np.log(sums), largest) - math.log(len(paths))
    log_reward = paths[0].log_reward
    # The mean of exponentials is off by no more than the worst exponent, and by its own roundings.
    sizes = np.abs(top) + np.abs(log_reward) + len(paths) + 8
    error = np.max([walks.error for walks in paths], 0) + 2.0**-50 * sizes
    return Walks(paths[0].terminals, log_q, np.zeros(len(log_q)), log_reward, error)
