"""Problems enumerated: their states, rewards and ends, with limits on a search that has no end."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from random import Random
from sys import getsizeof
from typing import Any, Generic, TypeVar

import numpy as np

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_hashable,
    check_integer,
    checked,
    plain,
    shown,
)
from reference.contract.files import memory_in_use, memory_of_machine
from reference.contract.user_code import (
    ASKED_AGAIN,
    Asked,
    Float64,
    Of,
    digits_lost,
    exact,
    same_states,
)
from reference.dag import PointedDAG, check_distinct, numbered_dag
from reference.problems.base import MAX_LOG_REWARD, MAX_NODES, Problem
from reference.problems.members import check_members

S = TypeVar("S", bound=Hashable)

# Limit of an enumeration, and the number of states between checks of clock and memory.
MAX_SECONDS, LOOKED = 600.0, 1_024
# Random walks that are compared with the listed states take at most so many steps together.
MOST_STEPS = 20_000
# To 52 decimals, so that its multiples by integers of 7 digits are correct to 45 decimals.
LOG_2 = Fraction("0.6931471805599453094172321214581765680755001343602552")

# A longer trajectory is taken to have no end; so is one of a tenth of that length whose states have
# grown to GROWN bytes, as states that hold their own past do.
LONGEST, GROWN = 100_000, 2**28
# The length from which walks are checked for an end.
LONG = 200
# A single state of more bytes, or nested deeper, is taken to grow without end: a comparison or a
# print must go through all of it.
LARGEST_STATE, DEEPEST_STATE = 2**24, 400


class Growth:
    """Limits on a search through a user's graph, so that an endless search ends with a message."""

    def __init__(self, name: str, seconds: float):
        self.name, self.seconds = name, seconds
        self._start, self._before = time.monotonic(), memory_in_use()

    def check(
        self, depth: int, state: Any, path: Sequence[Any] | Callable[[], Sequence[Any]]
    ) -> None:
        """Checks that a search may go on, at the last state of the longest path.

        Args:
            depth: the number of steps of the path.
            state: its last state.
            path: some of its states, for messages, or a function that returns them.

        Raises:
            InputError: if the path counts as endless.
            TooLargeError: if time or memory is used up.
        """
        if _is_vast(state):
            raise InputError(
                f"{self.name}: the states of the path {_arrows(path)} grow to more than "
                f"{LARGEST_STATE // 2**20} MiB, or are nested deeper than {DEEPEST_STATE}: does "
                "each hold the one before? Give every state an end, such as a largest length; or "
                "write it shorter, such as a flat tuple"
            )
        size = memory_in_use() - self._before
        if depth > LONGEST or (depth > LONGEST // 10 and size > GROWN):
            raise InputError(
                f"{self.name}: the path {_arrows(path)} has more than {depth - 1:,} steps, so the "
                "state graph has no end, or a cycle: give every state an end, such as a largest "
                "length or a stop action"
            )
        # Later computations on the states take several times as much.
        spent = time.monotonic() - self._start
        if spent > self.seconds or size > memory_of_machine() // 4:
            used = f"{spent:,.0f} s" if spent > self.seconds else f"{size // 2**20:,} MiB"
            raise TooLargeError(
                f"{self.name} is too large: {used} were used up at depth {depth:,}, on the path "
                f"{_arrows(path)}: is there an end to it? If so, give more seconds, or a smaller "
                "instance"
            )


def parts_of(state: Any) -> Iterable[Any]:
    """The elements of a tuple or frozen set, the fields of a dataclass; empty for other states."""
    if isinstance(state, tuple | frozenset):
        return state
    if is_dataclass(state) and not isinstance(state, type):
        return [getattr(state, field.name) for field in fields(state)]
    return ()


def _holds_float(state: Any) -> bool:
    """True for a float, and a state with one in it."""
    return isinstance(state, float | np.floating) or any(map(_holds_float, parts_of(state)))


def _rounded(state: Any) -> Any:
    """A state whose floats have 12 digits, or 5 in float32; equal up to rounding if that is."""
    if isinstance(state, float | np.floating):
        return round(float(f"{state:.{12 if isinstance(state, float) else 5}g}"), 14)
    if isinstance(state, frozenset):
        return frozenset(map(_rounded, state))
    parts = [*map(_rounded, parts_of(state))]
    return (type(state), *parts) if parts else state


def _is_vast(state: Any) -> bool:
    """True if a state of nested tuples, sets or dataclasses is too large, by its printed size."""
    size, level, depth = 0, [state], 0
    while level and depth <= DEEPEST_STATE:
        following: list[Any] = []
        for part in level:
            size += getsizeof(part, 64) if isinstance(part, str | bytes | int | tuple) else 64
            if size > LARGEST_STATE:
                return True
            following += parts_of(part)
        level, depth = following, depth + 1
    return depth > DEEPEST_STATE


def _arrows(path: Sequence[Any] | Callable[[], Sequence[Any]]) -> str:
    path = path() if callable(path) else path
    return " -> ".join([*map(shown, path[:3]), "...", shown(path[-1])])


class AskedProblem(Generic[S]):
    """A problem of at most so many states, whose results are checked, some by a second call."""

    def __init__(self, problem: Any, most: int = MAX_NODES):
        self.name, self.most = type(problem).__name__, most
        self._problem = problem

    @property
    def initial(self) -> S:
        """`s_o`."""
        state: S = self._problem.initial
        return state

    @cached_property
    def children(self) -> Asked[tuple[S, ...]]:
        """The children of a state, in order, cut after `most + 1`."""
        return Asked(self.name, "children", self._problem.children, self._row, same_states)

    @cached_property
    def reward(self) -> Asked[Fraction]:
        """`R(x)`, exact, or within 2^-51 of `exp(log R)`."""
        if hasattr(self._problem, "log_reward"):
            return Asked(self.name, "log_reward", self._problem.log_reward, _from_logarithm)
        return Asked(self.name, "reward", self._problem.reward, positive_reward)

    def ask_again(self) -> None:
        """Repeats the first hundred calls of each method that was asked, as `Asked.ask_again`."""
        for name in ("children", "reward"):
            if name in vars(self):
                vars(self)[name].ask_again()

    def random_walk(self, rng: Random, growth: Growth) -> list[S]:
        """A path from `s_o` to an end, each child as likely; refused if it has no end."""
        path = [self.initial]
        while children := self.children(path[-1]):
            path.append(rng.choice(children))
            if len(path) > LONG:
                growth.check(len(path), path[-1], path)
        return path

    def lost(self, terminal: S) -> float:
        """The relative rounding of a reward that is a float nearly 0; 0 of other rewards."""
        has_log = hasattr(self._problem, "log_reward")
        return 0.0 if has_log else digits_lost(self._problem.reward(terminal))

    def _row(self, answer: Any, state: S) -> tuple[S, ...]:
        if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
            raise InputError(
                f"{self.name}: children({shown(state)}) is {shown(answer)}, but must be a tuple of "
                "states, () if and only if the state is terminal; a set has another order in every "
                "process: sort it"
            )
        # Cut while the children are listed, as there may be a billion.
        row = tuple(islice(answer, self.most + 1))
        # One that is not hashable is named where it is numbered.
        with suppress(TypeError):
            check_distinct(state, row)
        return row


@checked
def enumerate_dag(problem: Problem[S], max_nodes: int = MAX_NODES) -> PointedDAG[S]:
    """Every state of a problem, as a validated pointed DAG.

    Raises TooLargeError if there are more than `max_nodes` states, or they take ten minutes or a
    quarter of the memory, InputError if the states do not form a pointed DAG.
    """
    check_integer("enumerate_dag", "max_nodes", max_nodes, 1, most=10**12)
    check_members(problem, with_reward=False)
    asked: AskedProblem[S] = AskedProblem(problem, max_nodes)
    growth = Growth(asked.name, MAX_SECONDS)
    states, number = [asked.initial], {asked.initial: 0}
    rows: list[tuple[int, ...]] = []
    depth = 0
    try:
        while len(rows) < len(states):
            depth += 1
            for state in states[len(rows) :]:
                if len(rows) < LOOKED or not len(rows) % LOOKED:
                    growth.check(depth, state, lambda: _path_to_last(states, rows))
                row = []
                for child in asked.children(state):
                    try:
                        v = number.setdefault(child, len(states))
                    except TypeError:
                        check_hashable(f"a child of {shown(state)}", child)
                        raise
                    if v == len(states):
                        states.append(child)
                    row.append(v)
                rows.append(tuple(row))
                if len(states) > max_nodes or len(row) > max_nodes:
                    raise TooLargeError(
                        f"{asked.name} has more than {max_nodes:,} states (stopped at depth "
                        f"{depth}), too many to enumerate: use a smaller instance; or write an "
                        "environment, trained with `pdai train custom --environment MODULE:NAME` "
                        "and bounded by `pdai certify`, which enumerate nothing; or raise "
                        "`max_nodes` (`max_states` of pdai.solve, --max-states of commands, of "
                        "`pdai inspect` --max-nodes)"
                    )
    finally:
        # Also where the search ends early, as a random answer may be why.
        asked.children.ask_again()
    for node, state in enumerate(states):
        if number.get(state) != node:
            raise InputError(
                f"{asked.name}: the state {shown(state)} was changed after it was listed: "
                "children(state) must leave states as they are; copy, or use tuples"
            )
    return numbered_dag(states, rows, initial=asked.initial)


def _path_to_last(states: list[S], rows: list[tuple[int, ...]]) -> list[S]:
    """A path from the initial state to the state that is expanded next."""
    path = [len(rows)]
    for node in reversed(range(len(rows))):
        if path[-1] in rows[node]:
            path.append(node)
    return [states[node] for node in reversed(path)]


@checked
def enumerate_rewards(problem: Problem[S], dag: PointedDAG[S]) -> tuple[Fraction, ...]:
    """`R(x)`, one per `dag.terminals`: exact, or within 2^-51 of `exp(log R)` (`exponential`).

    Raises InputError if a reward is not a positive finite number, or its logarithm not a finite
    one; if all have underflowed; if equal states have other children or rewards; or if two
    terminal states differ by rounding alone.
    """
    check_members(problem)
    asked = AskedProblem[S](problem)
    rewards = tuple(asked.reward(dag.labels[x]) for x in dag.terminals)
    most = max(rewards)
    best = dag.labels[dag.terminals[rewards.index(most)]]
    if asked.lost(best):
        raise InputError(
            f"the largest reward, of {shown(best)}, is {float(most)}, so near to 0 that the float "
            "has lost digits: give its logarithm as log_reward(terminal) instead of reward"
        )
    _check_rounding(asked.name, [dag.labels[x] for x in dag.terminals])
    asked.ask_again()
    # A lift has states that are not the problem's.
    if dag.labels[0] == asked.initial:
        for v, other in met_again(asked, dag):
            if not dag.children[v]:
                one, two = asked.reward(dag.labels[v]), asked.reward(other)
                # Equal sets may be added up in another order.
                if abs(one - two) * 1_000 > one + two:
                    raise _told_apart(asked.name, dag.labels[v], other, "rewards")
    return rewards


def _check_rounding(name: str, terminals: Sequence[S]) -> None:
    """Refuses two terminal states that are floats of one number, such as 0.3 and 0.1 + 0.2."""
    if not any(map(_holds_float, terminals[:: max(1, len(terminals) // LOOKED)])):
        return
    met: dict[Any, S] = {}
    for x in terminals:
        if (first := met.setdefault(_rounded(x), x)) is not x:
            raise InputError(
                f"{name}: the terminal states {shown(first)} and {shown(x)} differ by rounding "
                "alone, but count as two: let states hold whole numbers, or round(x, 9)"
            )


def met_again(asked: AskedProblem[S], dag: PointedDAG[S]) -> Iterator[tuple[int, S]]:
    """The nodes on a hundred random walks, each with the equal state that the walk met.

    Raises InputError if that has other children.
    """

    def walks() -> Iterator[tuple[int, S]]:
        rng = Random(0)
        for _ in range(ASKED_AGAIN):
            state, children = asked.initial, asked.children(dag.labels[0])
            while children:
                node = dag.index[state]
                children = asked.children(state)
                if {*children} != {dag.labels[v] for v in dag.children[node]}:
                    raise _told_apart(asked.name, dag.labels[node], state, "children")
                yield node, state
                state = rng.choice(children) if children else state

    return islice(walks(), MOST_STEPS)


def _told_apart(name: str, listed: object, other: object, what: str) -> InputError:
    return InputError(
        f"{name}: the states {shown(listed)} and {shown(other)} are equal, but have other {what}: "
        "equal states are one, so let __eq__ and __hash__ compare all that children and reward "
        "read; 1, True and 1.0 are equal too, and named tuples of two classes"
    )


def exact_reward(problem: Problem[S], terminal: S) -> Fraction:
    """`R(x)` by the method `reward` or `log_reward`; raises as `enumerate_rewards` does."""
    return AskedProblem[S](problem).reward(terminal)


def positive_reward(value: Any, terminal: object) -> Fraction:
    """A reward as a `Fraction`; raises InputError if it is negative, zero, NaN or infinite."""
    fraction = exact(value, Of("the reward", terminal))
    if fraction < 0:
        raise InputError(
            f"the reward of {shown(terminal)} is {plain(value)}, but rewards are unnormalised "
            "probabilities and cannot be negative: if it is a logarithm, name the method "
            "log_reward(terminal); else shift it"
        )
    if fraction == 0:
        raise InputError(
            f"the reward of {shown(terminal)} is 0, and no balance condition has log 0: leave it "
            "out of all children, as no target state has probability 0; if a posterior has "
            "underflowed, give its logarithm as log_reward(terminal) instead of reward"
        )
    return fraction


def _from_logarithm(value: Any, terminal: object) -> Fraction:
    log = exact(value, Of("the log_reward", terminal))
    if abs(log) > MAX_LOG_REWARD:
        raise InputError(
            f"the log_reward of {shown(terminal)} is {plain(value)} nats, but must be at most "
            f"{MAX_LOG_REWARD:,} in size: add the same number to all, which only changes Z"
        )
    return exponential(log)


def exponential(power: Fraction) -> Fraction:
    """`exp(power)` with 53 significant bits and any exponent, so that nothing underflows.

    `2^k exp(r)` with `power = k log 2 + r` and `|r| <= log(2) / 2`: one rounding of r and the
    error of `math.exp`, at most a unit in the last place, make the relative error at most 2^-51.
    """
    k = round(power / LOG_2)
    return Float64(Fraction(math.exp(power - k * LOG_2)) * Fraction(2) ** k)
