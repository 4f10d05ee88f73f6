"""Samplers in plain Python: trajectories drawn from rows, with their probabilities."""

import math
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from reference.contract.errors import InputError, shown
from reference.contract.user_code import NORMAL
from reference.problems.closed_form import Enclosure
from reference.problems.enumeration import LONG, AskedProblem, Growth
from reference.rows.functions import FLOATS, KEPT, BackwardRows, ForwardRows, History
from reference.rows.importance import Walks
from reference.rows.sums import ExactPath, PathSums

# The number of first ends walked back.
RETURNS = 100
# To count a backward policy: trajectories per step, as in the training of a network; and the weight
# of the uniform policy at every state, so that no parent is excluded.
TRAJECTORIES, PRIOR = 256, 1.0


class Sampler(ABC):
    """A sampler that can be certified: it draws trajectories and knows their probabilities."""

    @abstractmethod
    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`; with their ends, if requested."""

    @abstractmethod
    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state."""

    @abstractmethod
    def findings(self) -> Sequence[str]:
        """Remarks on the rows that were met, in sentences."""


class LogRewards:
    """`log R(x)`, nats, with a proved error; without a problem, another program's is trusted."""

    def __init__(self, problem: Any):
        self.graph: Any = None if problem is None else AskedProblem(problem)
        self._known: dict[Hashable, Enclosure] = {}

    def __call__(self, terminal: Hashable) -> Enclosure:
        """The log reward of a state; raises InputError if it is not terminal, or R not positive."""
        if terminal not in self._known:
            if children := self.graph.children(terminal):
                raise InputError(
                    f"{shown(terminal)} is not terminal: it has the children {shown(children)}"
                )
            if len(self._known) > KEPT:
                self._known.clear()
            log = Enclosure.log_of(reward := self.graph.reward(terminal))
            # A reward given by its logarithm has a relative error of at most 2^-51.
            lost = self.graph.lost(terminal) if reward < NORMAL else 0.0
            self._known[terminal] = Enclosure(log.value, log.error + 2.0**-50 + 2 * lost)
        return self._known[terminal]

    def confirm(self, terminal: Hashable, given: float, tolerance: float, where: str) -> Enclosure:
        """The log reward of a terminal state; raises InputError if another program's disagrees.

        Args:
            terminal: the state.
            given: the other program's log reward, in nats.
            tolerance: the most by which it may differ, in nats.
            where: the name of the other program in messages, such as "library".
        """
        if self.graph is None:
            return Enclosure(given, tolerance)
        own = self(terminal)
        if not abs(own.value - given) <= tolerance:
            raise InputError(
                f"log R({shown(terminal)}) is {given:.9g} in the {where}, {own.value:.9g} in the "
                "problem: certify against the reward that was trained on, or correct one of them"
            )
        return own


class Walker(Sampler):
    """The sampler given by rows of `p_F` and `p_B`, on a problem in plain Python.

    Walks of more than 200 steps count as endless after some seconds. `exact_paths` receives each
    trajectory drawn, with its exact probabilities; None if they are not needed.
    """

    def __init__(
        self,
        problem: Any,
        forward: ForwardRows,
        backward: BackwardRows,
        seed: int,
        seconds: float = 600.0,
    ):
        self.problem, self.forward, self.backward = problem, forward, backward
        self.rng, self.seconds = np.random.default_rng(seed), seconds
        self.reward = LogRewards(problem)
        self.exact_paths: list[ExactPath] | None = None
        self._missed: tuple[Hashable, Hashable] | None = None
        self._returned = False

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`."""
        sums = PathSums(count, self.exact_paths)
        histories = self.paths(count, sums)
        if not self._returned:
            # A backward walk that never reaches the initial state takes mass from the others.
            aside = np.random.default_rng(0)
            for history in histories[:RETURNS]:
                self._way_back(history[-1], aside)
            self._returned = True
        return self._walks(histories, sums)

    def paths(self, count: int, sums: PathSums | None = None) -> list[History]:
        """Fresh trajectories of `p_F` as states, `s_o, ..., x`, with their log-probabilities."""
        graph, growth = self.forward.graph, Growth(self.forward.graph.name, self.seconds)
        histories: list[History] = [(graph.initial,)] * count
        going = list(range(count))
        while going:
            rows = self.forward.rows([histories[i] for i in going])
            chosen = [row.draw(self.rng) for row in rows]
            if sums is not None:
                logs = [row.logs[to] for row, to in zip(rows, chosen, strict=True)]
                sums.add(sums.log_p_f, going, logs, max(len(row.values) for row in rows))
                entries = (row.exact[to] for row, to in zip(rows, chosen, strict=True))
                sums.keep(sums.log_p_f, going, entries)
            for i, row, to in zip(going, rows, chosen, strict=True):
                if -math.inf in row.logs and self._missed is None:
                    self._missed = (histories[i][-1], row.others[row.logs.index(-math.inf)])
                histories[i] = (*histories[i], row.others[to])
            going = [i for i in going if graph.children(histories[i][-1])]
            if going and len(path := histories[going[0]]) > LONG:
                growth.check(len(path), path[-1], path)
        return histories

    def reversed(self, steps: int, seconds: float = math.inf) -> "Walker":
        """The sampler with a `p_B` that is counted from its trajectories, for fresh trajectories.

        `p_B(u | v) = (n(u -> v) + 1 / parents) / (n(v) + 1)`: the reversal of a Markovian sampler
        in the limit, for which TV of trajectories is TV of terminal states; a valid `p_B` in any
        case. It continues with the same random numbers. A step has 256 trajectories; drawing stops
        after some seconds.
        """
        parents = self.backward.parents
        counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
        end = time.monotonic() + seconds
        for _ in takewhile(lambda _: time.monotonic() < end, range(steps)):
            for path in self.paths(TRAJECTORIES):
                for before, after in pairwise(path):
                    counts[after][before] += 1

        def p_b(state: Hashable) -> Mapping[Hashable, float]:
            row, seen = parents(state), counts[state]
            total = seen.total() + PRIOR
            return {parent: (seen[parent] + PRIOR / len(row)) / total for parent in row}

        rows = BackwardRows(self.problem, p_b, self.backward.dag)
        other = Walker(self.problem, self.forward, rows, 0, self.seconds)
        other.rng = self.rng
        return other

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One `tau ~ p_B(. | x)` for each terminal state; raises InputError for another state."""
        histories, sums = [], PathSums(len(terminals))
        for x in terminals:
            self.reward(x)
            histories.append(self._way_back(x, self.rng))
        for at, step in _steps(histories):
            rows = self.forward.rows([histories[i][:step] for i in at])
            pairs = zip(rows, at, strict=True)
            logs = [row.logs[row.others.index(histories[i][step])] for row, i in pairs]
            sums.add(sums.log_p_f, at, logs, max(len(row.values) for row in rows))
        return self._walks(histories, sums)

    def _way_back(self, terminal: Hashable, rng: np.random.Generator) -> History:
        """A trajectory `tau ~ p_B(. | x)`, from its beginning."""
        growth = Growth(f"{self.forward.graph.name}, by its parents", self.seconds)
        path = [terminal]
        while path[-1] != self.forward.graph.initial:
            row = self.backward.row(path[-1])
            path.append(row.others[row.draw(rng)])
            if len(path) > LONG and not len(path) % LONG:
                growth.check(len(path), path[-1], path)
        return tuple(reversed(path))

    def findings(self) -> Sequence[str]:
        """The rounding of the rows, and a child that the sampler never goes to.

        Raises InputError if a function answers otherwise when it is asked again.
        """
        for asked in (self.forward, self.backward, self.reward.graph):
            asked.ask_again()
        floats = self.forward.floats()
        findings = [FLOATS.format(floats)] if floats else []
        if self._missed is not None:
            findings.append(
                f"p_F gives zero to the child {self._missed[1]!r} of {self._missed[0]!r}: all "
                "trajectories through that step are missed, and their share counts as TV"
            )
        return findings

    def _walks(self, histories: Sequence[History], sums: PathSums) -> Walks:
        """The trajectories as numbers, with `log p_B`, which is added to the sums."""
        for at, step in _steps(histories):
            rows = [self.backward.row(histories[i][step]) for i in at]
            logs, chosen = [], []
            for i, row in zip(at, rows, strict=True):
                before, after = histories[i][step - 1 : step + 1]
                if before not in row.others:
                    raise InputError(
                        f"{before!r} is not among the parents of {after!r}, so the mass of p_B is "
                        "not one: fix parents(state)"
                    )
                chosen.append(row.others.index(before))
                logs.append(row.logs[chosen[-1]])
            sums.add(sums.log_p_b, at, logs, max(len(row.values) for row in rows))
            entries = (row.exact[to] for row, to in zip(rows, chosen, strict=True))
            sums.keep(sums.log_p_b, at, entries)
        terminals = [history[-1] for history in histories]
        return sums.walks(terminals, [self.reward(x) for x in terminals])


def _steps(histories: Sequence[History]) -> Iterator[tuple[list[int], int]]:
    """For each step, the trajectories that have it, and its number from 1 on."""
    for step in range(1, max(map(len, histories), default=0)):
        yield [i for i, history in enumerate(histories) if len(history) > step], step


class SeveralPaths(Sampler):
    """A sampler of ends, each with K >= 1 paths; `log_p_f - log_p_b` of its draws is `log q`.

    For `x` drawn along `tau_0 ~ p_F`, and `tau_1 ... tau_{K-1} ~ p_B(. | x)`, let
    `q = (1/K) sum over k of p_F(tau_k) / p_B(tau_k | x)`. With the drawn path at a random place, x
    and its paths have the density `q prod of p_B(tau_k | x)`, and `pi(x) prod of p_B(tau_k | x)`
    under the target. So `E[(1 - pi(x) / q)_+]` is the TV of x with its paths, at least that of x,
    and at most that with fewer paths (claim several-paths-tv-bound). For `K = 1` it is the TV of
    trajectories.
    """

    def __init__(self, sampler: Sampler, count: int):
        self.sampler, self.count = sampler, count

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh terminal states of `p_F`, each with its trajectory and `K - 1` backward ones."""
        first = self.sampler.draw(count, labels=True)
        if not len(first.error):
            return first
        others = (self.sampler.draw_backward(first.terminals) for _ in range(self.count - 1))
        return averaged([first, *others])

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """K trajectories `tau ~ p_B(. | x)` for each terminal state."""
        return averaged([self.sampler.draw_backward(terminals) for _ in range(self.count)])

    def findings(self) -> Sequence[str]:
        """The remarks of the sampler."""
        return self.sampler.findings()


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
