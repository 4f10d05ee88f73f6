"""Trajectories drawn from somebody's sampler, with their probabilities."""

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from reference.certificates.importance import Walks
from reference.certificates.policies import BackwardRows, ForwardRows, History, Row
from reference.certificates.rows import choose
from reference.errors import InputError
from reference.fields.field import gamma
from reference.problems.base import exact_reward
from reference.problems.closed_form import Enclosure

# Longer walks are taken to go on for ever.
LONGEST = 100_000


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


class Walker:
    """The sampler given by rows, on a problem in plain Python.

    Args:
        problem: the state graph and the reward.
        forward: the rows of `p_F`.
        backward: the rows of `p_B`; None where every state has one parent, or where only ends are
            asked for.
        seed: of the draws.
    """

    def __init__(
        self, problem: Any, forward: ForwardRows, backward: BackwardRows | None, seed: int
    ):
        self.problem, self.forward, self.backward = problem, forward, backward
        self.rng = np.random.default_rng(seed)
        self._missed: tuple[Hashable, Hashable] | None = None
        self._rewards: dict[Hashable, Enclosure] = {}

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`."""
        numbers = [_Numbers() for _ in range(count)]
        histories = self.paths(count, numbers)
        for history, number in zip(histories, numbers, strict=True):
            self._go_back(history, number)
        return self._walks([history[-1] for history in histories], numbers)

    def paths(self, count: int, numbers: "Sequence[_Numbers]" = ()) -> list[History]:
        """Fresh trajectories of `p_F` as states, `s_o, ..., x`."""
        histories: list[History] = [(self.problem.initial,)] * count
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
            going = [i for i in going if self.problem.children(histories[i][-1])]
            if going and len(histories[going[0]]) > LONGEST:
                raise InputError(
                    f"a trajectory has more than {LONGEST:,} steps: the state graph has a cycle, "
                    "or is too deep to be certified"
                )
        return histories

    def with_backward(self, backward: BackwardRows) -> "Walker":
        """The same sampler, beside another `p_B`; it goes on with the same random numbers."""
        other = Walker(self.problem, self.forward, backward, 0)
        other.rng = self.rng
        return other

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state.

        Raises:
            InputError: if one is not terminal, or cannot be reached.
        """
        numbers = [_Numbers() for _ in terminals]
        for x, number in zip(terminals, numbers, strict=True):
            path: list[Hashable] = [x]
            self.reward(x)
            while path[-1] != self.problem.initial:
                if self.backward is None:
                    raise no_parents(self.problem)
                row = self.backward.row(path[-1])
                path.append(row.others[choose(row.values, row.sums, self.rng)])
            self._follow(tuple(reversed(path)), number)
        return self._walks(list(terminals), numbers)

    def follow(self, trajectories: Sequence[History]) -> Walks:
        """The numbers of given trajectories, `s_o, ..., x`."""
        numbers = [_Numbers() for _ in trajectories]
        for history, number in zip(trajectories, numbers, strict=True):
            self._follow(history, number)
        return self._walks([history[-1] for history in trajectories], numbers)

    def findings(self) -> Sequence[str]:
        """How far rows were off, and a child that the sampler never goes to."""
        found = []
        if self.forward.largest_gap:
            found.append(
                f"rows were off from one by {self.forward.largest_gap:.1e} at most, and were "
                "normalised exactly: certified is the normalised sampler"
            )
        if self._missed is not None:
            found.append(
                f"p_F gives zero to the child {self._missed[1]!r} of {self._missed[0]!r}: all "
                "trajectories through that step are missed, and their share counts as TV"
            )
        return found

    def reward(self, terminal: Hashable) -> Enclosure:
        """`log R(x)`, in nats, with a proved error.

        Raises:
            InputError: if the state is not a terminal one, or its reward no positive number.
        """
        if terminal not in self._rewards:
            try:
                children = self.problem.children(terminal)
            except (TypeError, ValueError, AttributeError, LookupError) as error:
                raise InputError(
                    f"{terminal!r} is no state of {type(self.problem).__name__} ({error!r}): give "
                    "states as the problem writes them"
                ) from None
            if children:
                raise InputError(f"{terminal!r} is not terminal: it has the children {children!r}")
            if len(self._rewards) > 1_000_000:
                self._rewards.clear()
            log = Enclosure.log_of(exact_reward(self.problem, terminal))
            # A reward that is given by its logarithm is known within 2^-51 of itself.
            self._rewards[terminal] = Enclosure(log.value, log.error + 2.0**-50)
        return self._rewards[terminal]

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
