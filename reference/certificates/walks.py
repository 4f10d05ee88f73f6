"""Trajectories drawn from somebody's sampler, with their probabilities."""

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from reference.certificates.importance import Walks
from reference.certificates.policies import KEPT, BackwardRows, ForwardRows, History, Row
from reference.certificates.rows import choose
from reference.errors import InputError, shown
from reference.fields.field import gamma
from reference.problems.base import AskedProblem
from reference.problems.closed_form import Enclosure
from reference.user_code import Growth

# From so many steps on, a walk is asked whether it ends; and how many first ends are walked back.
LONG, RETURNS = 200, 100


class Sampler(Protocol):
    """What can be certified: it draws trajectories and knows their probabilities."""

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`; with their ends, if these are asked for."""
        ...

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state."""
        ...

    def findings(self) -> Sequence[str]:
        """What was noticed of the rows on the way, in sentences."""
        ...


class LogRewards:
    """`log R(x)` of a problem, in nats, with a proved error; those that were asked for are kept.

    Args:
        problem: the problem.
    """

    def __init__(self, problem: Any):
        self.graph: AskedProblem[Any] = AskedProblem(problem)
        self._known: dict[Hashable, Enclosure] = {}

    def __call__(self, terminal: Hashable) -> Enclosure:
        """That of a terminal state.

        Raises:
            InputError: if the state is not a terminal one, or its reward no positive number.
        """
        if terminal not in self._known:
            if children := self.graph.children(terminal):
                raise InputError(
                    f"{shown(terminal)} is not terminal: it has the children {shown(children)}"
                )
            if len(self._known) > KEPT:
                self._known.clear()
            log = Enclosure.log_of(self.graph.reward(terminal))
            # A reward that is given by its logarithm is known within 2^-51 of itself.
            self._known[terminal] = Enclosure(log.value, log.error + 2.0**-50)
        return self._known[terminal]

    def confirm(self, terminal: Hashable, given: float, tolerance: float, where: str) -> Enclosure:
        """The same, with which another program's must agree.

        Args:
            terminal: the terminal state.
            given: its log reward there, in nats.
            tolerance: by how much it may differ.
            where: the other program in messages, such as "library".

        Raises:
            InputError: if it does not.
        """
        own = self(terminal)
        if not abs(own.value - given) <= tolerance:
            raise InputError(
                f"log R({shown(terminal)}) is {given:.9g} in the {where}, {own.value:.9g} in the "
                "problem: certify against the reward that was trained on, or correct one of them"
            )
        return own


class Walker:
    """The sampler given by rows, on a problem in plain Python.

    Args:
        problem: the state graph and the reward.
        forward: the rows of `p_F`.
        backward: the rows of `p_B`; None where every state has one parent, or where only ends are
            asked for.
        seed: of the draws.
        seconds: after which walks of more than 200 steps are taken to have no end.
    """

    def __init__(
        self,
        problem: Any,
        forward: ForwardRows,
        backward: BackwardRows | None,
        seed: int,
        seconds: float = 600.0,
    ):
        self.problem, self.forward, self.backward = problem, forward, backward
        self.rng, self.seconds = np.random.default_rng(seed), seconds
        self.reward = LogRewards(problem)
        self._missed: tuple[Hashable, Hashable] | None = None
        self._returned = False

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`."""
        numbers = [_Numbers() for _ in range(count)]
        histories = self.paths(count, numbers)
        for history, number in zip(histories, numbers, strict=True):
            self._go_back(history, number)
        if not self._returned and self.backward is not None:
            # A way back that never comes to the initial state takes mass from the others.
            aside = np.random.default_rng(0)
            for history in histories[:RETURNS]:
                self._way_back(history[-1], aside)
            self._returned = True
        return self._walks([history[-1] for history in histories], numbers)

    def paths(self, count: int, numbers: "Sequence[_Numbers]" = ()) -> list[History]:
        """Fresh trajectories of `p_F` as states, `s_o, ..., x`."""
        graph, growth = self.forward.graph, Growth(self.forward.graph.name, self.seconds)
        histories: list[History] = [(graph.initial,)] * count
        going = list(range(count))
        while going:
            rows = self.forward.rows([histories[i] for i in going])
            for i, row in zip(going, rows, strict=True):
                chosen = choose(row.values, row.sums, self.rng)
                if 0.0 in row.values and self._missed is None:
                    self._missed = (histories[i][-1], row.others[row.values.index(0.0)])
                if numbers:
                    numbers[i].forward(row, chosen)
                histories[i] = (*histories[i], row.others[chosen])
            going = [i for i in going if graph.children(histories[i][-1])]
            if going and len(path := histories[going[0]]) > LONG:
                growth.check(len(path), path)
        return histories

    def with_backward(self, backward: BackwardRows) -> "Walker":
        """The same sampler, beside another `p_B`; it goes on with the same random numbers."""
        other = Walker(self.problem, self.forward, backward, 0, self.seconds)
        other.rng = self.rng
        return other

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state.

        Raises:
            InputError: if one is not terminal, or cannot be reached.
        """
        numbers = [_Numbers() for _ in terminals]
        for x, number in zip(terminals, numbers, strict=True):
            self.reward(x)
            self._follow(self._way_back(x, self.rng), number)
        return self._walks(list(terminals), numbers)

    def _way_back(self, terminal: Hashable, rng: np.random.Generator) -> History:
        """A trajectory `tau ~ p_B(. | x)`, from its beginning."""
        if self.backward is None:
            raise no_parents(self.problem)
        growth = Growth(f"{self.forward.graph.name}, by its parents", self.seconds)
        path = [terminal]
        while path[-1] != self.forward.graph.initial:
            row = self.backward.row(path[-1])
            path.append(row.others[choose(row.values, row.sums, rng)])
            if len(path) > LONG and not len(path) % LONG:
                growth.check(len(path), path)
        return tuple(reversed(path))

    def follow(self, trajectories: Sequence[History]) -> Walks:
        """The numbers of given trajectories, `s_o, ..., x`."""
        numbers = [_Numbers() for _ in trajectories]
        for history, number in zip(trajectories, numbers, strict=True):
            self._follow(history, number)
        return self._walks([history[-1] for history in trajectories], numbers)

    def findings(self) -> Sequence[str]:
        """How far rows were off, and a child that the sampler never goes to."""
        findings = self.forward.findings()
        if self._missed is not None:
            findings.append(
                f"p_F gives zero to the child {self._missed[1]!r} of {self._missed[0]!r}: all "
                "trajectories through that step are missed, and their share counts as TV"
            )
        return findings

    def _follow(self, history: History, number: "_Numbers") -> None:
        for step in range(1, len(history)):
            [row] = self.forward.rows([history[:step]])
            if history[step] not in row.others:
                raise InputError(
                    f"a trajectory goes {history[step - 1]!r} -> {history[step]!r}, which is no "
                    "edge: check its states"
                )
            number.forward(row, row.others.index(history[step]))
        self._go_back(history, number)

    def _go_back(self, history: History, number: "_Numbers") -> None:
        if self.backward is None:
            return
        for before, after in pairwise(history):
            row = self.backward.row(after)
            if before not in row.others:
                raise InputError(
                    f"{before!r} is not among the parents of {after!r}, so the mass of p_B is not "
                    "one: fix parents(state)"
                )
            number.backward(row, row.others.index(before))

    def _walks(self, terminals: list[Hashable], numbers: "list[_Numbers]") -> Walks:
        rewards = [self.reward(x) for x in terminals]
        return Walks(
            terminals,
            np.array([number.log_p_f for number in numbers]),
            np.array([number.log_p_b for number in numbers]),
            np.array([reward.value for reward in rewards]),
            np.array(
                [n.error(r) for n, r in zip(numbers, rewards, strict=True)],
            ),
        )


class _Numbers:
    """The sums along one trajectory."""

    def __init__(self) -> None:
        self.log_p_f, self.log_p_b = 0.0, 0.0
        self.size, self.roundings = 0.0, 0

    def forward(self, row: Row, chosen: int) -> None:
        self.log_p_f += row.logs[chosen]
        self._count(row, row.logs[chosen])

    def backward(self, row: Row, chosen: int) -> None:
        self.log_p_b += row.logs[chosen]
        self._count(row, row.logs[chosen])

    def _count(self, row: Row, log: float) -> None:
        if math.isfinite(log):
            self.size += 1 - log
        # The largest of n probabilities is one minus the others: 2 n roundings of itself at most.
        self.roundings = max(self.roundings, 2 * len(row.values))

    def error(self, log_reward: Enclosure) -> float:
        """What rounding did to the sums: logarithms within two units, and a sum per step.

        `size` is at least the number of steps, and at least the sum of all `|log p|`.
        """
        roundings = self.roundings + int(self.size) + 12
        return gamma(roundings) * (self.size + abs(log_reward.value) + 1) + log_reward.error


def no_parents(problem: Any) -> InputError:
    """What is said of a problem whose backward policy cannot be had."""
    return InputError(
        f"{type(problem).__name__} is too large to enumerate and has no parents(state), which p_B "
        "needs: give it that method, the states one step before (in a tree, a single one)"
    )


def parents_of(problem: Any) -> Callable[[Any], Sequence[Hashable]] | None:
    """The parents of states as the problem itself gives them; None if it does not."""
    given = getattr(problem, "parents", None)
    return given if callable(given) else None
