"""What a sampling problem is, and how it becomes a pointed DAG with rewards."""

import inspect
import math
import traceback
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import islice
from numbers import Rational, Real
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from reference.arguments import checked
from reference.dag import PointedDAG, numbered_dag
from reference.errors import (
    InputError,
    TooLargeError,
    check_hashable,
    check_integer,
    check_takes,
    plain,
    shown,
)
from reference.files import memory_of_machine

S = TypeVar("S", bound=Hashable)

# Whether a reward multiplies positive weights, or adds them up.
RewardForm = Literal["product", "sum"]

MAX_NODES = 2_000_000
# What Python holds of a state, at the least: its label, its number, its children.
BYTES_PER_STATE = 200
# Beyond, a single fraction has a million bits.
MAX_LOG_REWARD = 1_000_000
# To 52 decimals, so that its multiples by integers of 7 digits are good to 45.
LOG_2 = Fraction("0.6931471805599453094172321214581765680755001343602552")


class StateGraph(Protocol[S]):
    """A state graph given by the children of each state."""

    @property
    def initial(self) -> S:
        """The initial state `s_o`."""
        ...

    def children(self, state: S) -> Sequence[S]:
        """The states one step away, without repetition; `()` if and only if terminal."""
        ...


class Rewarded(StateGraph[S], Protocol[S]):
    """A problem that gives its reward."""

    def reward(self, terminal: S) -> Fraction | float | int:
        """`R(x) > 0`; the target is `pi(x) = R(x) / Z`. A float is the dyadic rational it is."""
        ...


class LogRewarded(StateGraph[S], Protocol[S]):
    """A problem that gives the logarithm of its reward, which may be beyond the range of floats."""

    def log_reward(self, terminal: S) -> Fraction | float | int:
        """`log R(x)`, nats."""
        ...


# A sampling problem: thirty lines of plain Python suffice for one of your own.
Problem = Rewarded[S] | LogRewarded[S]


def check_members(problem: object, *, with_reward: bool = True) -> None:
    """Checks that an object has what a problem has.

    Args:
        problem: the object.
        with_reward: whether a reward is needed, which a state graph alone does without.

    Raises:
        InputError: if it lacks a member, or has both `reward` and `log_reward`.
    """
    kind = type(problem).__name__
    if isinstance(problem, type):
        raise InputError(
            f"{problem.__name__} is a class, but must be a problem: make one, {problem.__name__}()"
        )
    has = "a problem has initial, children(state) and reward(terminal) or log_reward(terminal)"
    for member in ("initial", "children"):
        if not hasattr(problem, member):
            raise InputError(f"{shown(problem)} is a {kind} without the member {member!r}: {has}")
    rules = [name for name in ("reward", "log_reward") if hasattr(problem, name)]
    if with_reward and not rules:
        raise InputError(f"{shown(problem)} is a {kind} without the member 'reward': {has}")
    if len(rules) == 2:
        raise InputError(
            f"{shown(problem)} is a {kind} with both reward and log_reward, which might disagree: "
            "keep one"
        )
    if inspect.ismethod(problem.initial):  # type: ignore[attr-defined]
        raise InputError(
            f"{kind}: initial is a method, but must be the initial state itself: make it an "
            "attribute or a property"
        )
    for member in ("children", *rules):
        check_takes(f"{kind}: {member}", getattr(problem, member), 1)


@checked
def enumerate_dag(problem: Problem[S], max_nodes: int = MAX_NODES) -> PointedDAG[S]:
    """Every state of a problem, as a validated pointed DAG.

    Raises:
        TooLargeError: if there are more than `max_nodes` states.
        InputError: if the states do not form a pointed DAG.
    """
    check_integer("enumerate_dag", "max_nodes", max_nodes, 1, most=10**12)
    check_members(problem, with_reward=False)
    check_hashable("the initial state", problem.initial)
    # However many are asked for, more than memory holds are not listed.
    max_nodes = min(max_nodes, memory_of_machine() // BYTES_PER_STATE)
    states, number = [problem.initial], {problem.initial: 0}
    rows: list[tuple[int, ...]] = []
    depth = 0
    while len(rows) < len(states):
        depth += 1
        for state in states[len(rows) :]:
            row = []
            children = problem.children(state)
            if not isinstance(children, Sequence) or isinstance(children, str | bytes):
                raise InputError(
                    f"{type(problem).__name__}: children({shown(state)}) is {shown(children)}, "
                    "but must be a "
                    "tuple of states, () if and only if the state is terminal; a set has another "
                    "order in every process: sort it"
                )
            # Cut while they are listed: a row may have a billion.
            for child in islice(children, max_nodes + 1):
                try:
                    v = number.setdefault(child, len(states))
                except TypeError:
                    check_hashable(f"a child of {shown(state)}", child)
                    raise
                if v == len(states):
                    states.append(child)
                row.append(v)
                if max(len(states), len(row)) > max_nodes:
                    raise TooLargeError(
                        f"{type(problem).__name__} has more than {max_nodes:,} states (stopped at "
                        f"depth {depth}), too many to enumerate: use a smaller instance; or write "
                        "an environment, trained with `pdai train custom --environment MODULE:NAME`"
                        " and bounded by `pdai certify`, which enumerate nothing; or raise "
                        "`max_nodes` (on the command line --max-states, of `pdai inspect` "
                        "--max-nodes)"
                    )
            rows.append(tuple(row))
    for node, state in enumerate(states):
        if number.get(state) != node:
            raise InputError(
                f"{type(problem).__name__}: the state {shown(state)} was changed after it was "
                "listed: children(state) must leave states as they are; copy, or use tuples"
            )
    return numbered_dag(states, rows, initial=problem.initial)


@checked
def enumerate_rewards(problem: Problem[S], dag: PointedDAG[S]) -> tuple[Fraction, ...]:
    """`R(x)`, one per `dag.terminals`: exact, or within 2^-51 of `exp(log R)` (`exponential`).

    Raises:
        InputError: if a reward is not a positive finite number, or its logarithm not a finite one.
    """
    check_members(problem)
    return tuple(exact_reward(problem, dag.labels[x]) for x in dag.terminals)


def exact_reward(problem: Problem[S], terminal: S) -> Fraction:
    """`R(x)` of a problem, from whichever of `reward` and `log_reward` it has.

    Raises:
        InputError: as `enumerate_rewards`.
    """
    name = "log_reward" if hasattr(problem, "log_reward") else "reward"
    try:
        given = getattr(problem, name)(terminal)
    except InputError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"{type(problem).__name__}: {name}({shown(terminal)}) raises {type(error).__name__}, "
            f"{error} ({last.filename}, line {last.lineno}): is this a terminal state of it?"
        ) from error
    if name == "log_reward":
        value = _finite("log_reward", given, terminal)
        if abs(value) > MAX_LOG_REWARD:
            raise InputError(
                f"the log_reward of {shown(terminal)} is {plain(given)} nats, but must be at most "
                f"{MAX_LOG_REWARD:,} in size: add the same number to all, which only changes Z"
            )
        return exponential(value)
    return positive_reward(given, terminal)


def positive_reward(value: Any, terminal: object) -> Fraction:
    """A reward as a `Fraction`, checked: the logarithm of it must exist.

    Raises:
        InputError: if it is negative, zero, NaN or infinite.
    """
    fraction = _finite("reward", value, terminal)
    if fraction < 0:
        raise InputError(
            f"the reward of {shown(terminal)} is {plain(value)}, but rewards are unnormalised "
            "probabilities "
            "and cannot be negative: shift or exponentiate it"
        )
    if fraction == 0:
        raise InputError(
            f"the reward of {shown(terminal)} is 0, where the balance losses need log R: leave it "
            "out "
            "of all children, as no target state has probability 0; if a posterior has "
            "underflowed, give its logarithm as log_reward(terminal) instead of reward"
        )
    return fraction


def _finite(name: str, value: Any, terminal: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"the {name} of {shown(terminal)} is {shown(value)}, a {type(value).__name__}, but "
            "must be a "
            "number: return a Fraction, an int or a float"
        )
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        raise InputError(
            f"the {name} of {shown(terminal)} is {plain(value)}, but must be a finite number: "
            "check the "
            "computation, or cap it; a terminal that cannot occur is left out of all children"
        )
    if isinstance(value, np.floating):
        return Fraction(*value.as_integer_ratio())
    return Fraction(value) if isinstance(value, Rational) else Fraction(float(value))


def exponential(power: Fraction) -> Fraction:
    """`exp(power)` with 53 significant bits and any exponent, so that nothing underflows.

    `2^k exp(r)` with `power = k log 2 + r` and `|r| <= log(2) / 2`: one rounding of r and the
    error of `math.exp`, at most a unit in the last place, make the relative error at most 2^-51.
    """
    k = round(power / LOG_2)
    return Fraction(math.exp(power - k * LOG_2)) * Fraction(2) ** k


def dyadic(value: float, bits: int = 24) -> Fraction:
    """`value` rounded to `bits` significant bits: the number that float32 can hold too."""
    check_integer("dyadic", "bits", bits, 1, most=1000)
    try:
        mantissa, exponent = math.frexp(value)
        return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)
    except (TypeError, ValueError, ArithmeticError):
        raise InputError(
            f"dyadic: value is {shown(value)} and bits {shown(bits)}, but must be a finite number "
            "and an integer"
        ) from None
