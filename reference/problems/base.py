"""What a sampling problem is, and how it becomes a pointed DAG with rewards."""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from reference.dag import PointedDAG, numbered_dag
from reference.errors import InputError, TooLargeError, check_hashable, check_integer

S = TypeVar("S", bound=Hashable)

# Whether a reward multiplies positive weights, or adds them up.
RewardForm = Literal["product", "sum"]

MAX_NODES = 2_000_000


class Problem(Protocol[S]):
    """A sampling problem: a state graph given by its children, and a reward on its terminals.

    Thirty lines of plain Python suffice for one of your own; `enumerate_dag` checks it.
    """

    @property
    def initial(self) -> S:
        """The initial state `s_o`."""
        ...

    def children(self, state: S) -> tuple[S, ...]:
        """The states one step away, without repetition; `()` if and only if terminal."""
        ...

    def reward(self, terminal: S) -> Fraction:
        """`R(x) > 0`, exactly; the target is `pi(x) = R(x) / Z`."""
        ...


def enumerate_dag(problem: Problem[S], max_nodes: int = MAX_NODES) -> PointedDAG[S]:
    """Every state of a problem, as a validated pointed DAG.

    Raises:
        TooLargeError: if there are more than `max_nodes` states.
        InputError: if the states do not form a pointed DAG.
    """
    check_integer("enumerate_dag", "max_nodes", max_nodes, 1, most=10**12)
    for member in ("initial", "children"):
        if not hasattr(problem, member):
            raise InputError(
                f"{problem!r} is a {type(problem).__name__} without the member {member!r}: a "
                "problem has initial, children(state) and reward(terminal)"
            )
    check_hashable("the initial state", problem.initial)
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
                    f"{type(problem).__name__}: children({state!r}) is {children!r}, but must be a "
                    "tuple of states, () if and only if the state is terminal; a set has another "
                    "order in every process: sort it"
                )
            try:
                for child in children:
                    v = number.setdefault(child, len(states))
                    if v == len(states):
                        states.append(child)
                    row.append(v)
            except TypeError:
                for child in children:
                    check_hashable(f"a child of {state!r}", child)
                raise
            rows.append(tuple(row))
            if len(states) > max_nodes:
                raise TooLargeError(
                    f"{type(problem).__name__} has more than {max_nodes:,} states (stopped at "
                    f"depth {depth}), too many to enumerate: use a smaller instance, or raise "
                    "`max_nodes` (on the command line --max-states, of `pdai inspect` --max-nodes)"
                )
    return numbered_dag(states, rows, initial=problem.initial)


def enumerate_rewards(problem: Problem[S], dag: PointedDAG[S]) -> tuple[Fraction, ...]:
    """`R(x)`, one per `dag.terminals`.

    Raises:
        InputError: if a reward is not a positive finite number.
    """
    return tuple(
        positive_reward(problem.reward(dag.labels[x]), dag.labels[x]) for x in dag.terminals
    )


def positive_reward(value: Any, terminal: object) -> Fraction:
    """A reward as a `Fraction`, checked: the logarithm of it must exist.

    Raises:
        InputError: if it is negative, zero, NaN or infinite.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f"the reward of {terminal!r} is {value!r}, a {type(value).__name__}, but must be a "
            "number: return a Fraction, an int or a float"
        )
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        raise InputError(
            f"the reward of {terminal!r} is {value}, but must be a finite number: check the "
            "computation, or cap it"
        )
    if value < 0:
        raise InputError(
            f"the reward of {terminal!r} is {value}, but rewards are unnormalised probabilities "
            "and cannot be negative: shift or exponentiate it"
        )
    if value == 0:
        raise InputError(
            f"the reward of {terminal!r} is 0, where the balance losses need log R: give it a "
            "small positive floor such as 1/1000, or remove the state"
        )
    return Fraction(value) if isinstance(value, Rational) else Fraction(float(value))


def dyadic(value: float, bits: int = 24) -> Fraction:
    """`value` rounded to `bits` significant bits: the number that float32 can hold too."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)
