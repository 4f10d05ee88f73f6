"""Sums of log-probabilities along a batch of trajectories, with a bound of their rounding."""

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from reference.fields.field import gamma
from reference.problems.closed_form import Enclosure
from reference.rows.exact import Floats, Ints, exact_entry
from reference.rows.importance import Walks


class ExactPath(NamedTuple):
    """The end of a trajectory, with `p_F` and `p_B` of each step."""

    terminal: Hashable
    forward: Sequence[Fraction]
    backward: Sequence[Fraction]


class PathSums:
    """`log p_F` and `log p_B` of a batch of trajectories, summed step by step.

    `exact` receives each trajectory with its exact probabilities; None if they are not needed.
    """

    def __init__(self, count: int, exact: list[ExactPath] | None = None):
        self.log_p_f, self.log_p_b, self.size = np.zeros((3, count))
        self.widest, self._exact = 0, exact
        kept = 0 if exact is None else count
        self._forward: list[list[Fraction]] = [[] for _ in range(kept)]
        self._backward: list[list[Fraction]] = [[] for _ in range(kept)]

    def add_step(self, sums: Floats, rows: Floats, chosen: Ints, active: Any) -> None:
        """Adds the chosen entries of the active rows.

        Args:
            sums: `log_p_f` or `log_p_b`.
            rows: closed rows, shape (batch, n).
            chosen: an entry of each.
            active: whether each trajectory takes the step.
        """
        at = np.flatnonzero(active)
        with np.errstate(divide="ignore"):
            self.add(sums, at, np.log(rows[at, chosen[at]]), rows.shape[1])
        if self._exact is not None:
            self.keep(sums, at, map(exact_entry, rows[at].tolist(), chosen[at].tolist()))

    def add(self, sums: Floats, at: Any, logs: Any, width: int) -> None:
        """Adds logarithms of some trajectories, each once.

        Args:
            sums: `log_p_f` or `log_p_b`.
            at: the trajectories.
            logs: of each, in nats.
            width: the number of entries of the longest row.
        """
        sums[at] += logs
        self.size[at] += np.where(np.isfinite(logs), 1 + np.abs(logs), 0.0)
        self.widest = max(self.widest, 3 * width)

    def keep(self, sums: Floats, at: Iterable[int], entries: Iterable[Fraction]) -> None:
        """Keeps the chosen entries of exact rows, which are not computed unless they are needed.

        Args:
            sums: `log_p_f` or `log_p_b`.
            at: the trajectories.
            entries: of each.
        """
        if self._exact is not None:
            paths = self._forward if sums is self.log_p_f else self._backward
            for i, entry in zip(at, entries, strict=True):
                paths[i].append(entry)

    def error(self, log_reward: Floats) -> Floats:
        """A bound of the rounding in `log R + log p_B - log p_F`, without the error of `log R`.

        The largest of n probabilities, p, is one minus the others, which NumPy adds in pairs of
        blocks, each in eight sums. A sum of k numbers is at most `min(k p, 1)`, and all sums are at
        most `3 n (1 + |log p|) p`. Each is rounded once, so that is the number of roundings of p.
        Logarithms are off by two units, and each step adds a sum; `size` is at least the number of
        steps and the sum of all `|log p|`.
        """
        roundings = self.widest + int(self.size.max(initial=0)) + 12
        return gamma(roundings) * (self.size + np.abs(log_reward) + 1)

    def walks(self, terminals: Sequence[Hashable], rewards: Sequence[Enclosure]) -> Walks:
        """The numbers of the trajectories, given the ends and their `log R`, in nats."""
        log_reward, errors = np.array(rewards).reshape(-1, 2).T
        error = self.error(log_reward) + errors
        if self._exact is not None:
            self._exact += map(ExactPath, terminals, self._forward, self._backward)
        return Walks(terminals, self.log_p_f, self.log_p_b, log_reward, error)
