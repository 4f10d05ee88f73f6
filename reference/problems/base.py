"""What a sampling problem is, and how it becomes a pointed DAG with rewards."""

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from reference.dag import PointedDAG, pointed_dag
from reference.errors import InputError, TooLargeError

S = TypeVar("S", bound=Hashable)

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
    children: dict[S, tuple[S, ...]] = {}
    layer, depth = [problem.initial], 0
    while layer:
        following: dict[S, None] = {}
        for state in layer:
            children[state] = tuple(problem.children(state))
            following.update(dict.fromkeys(children[state]))
            if len(children) > max_nodes:
                raise TooLargeError(
                    f"{type(problem).__name__} has more than {max_nodes:,} states (stopped at "
                    f"depth {depth}), too many to enumerate: use a smaller instance, or raise "
                    "`max_nodes`"
                )
        layer = [state for state in following if state not in children]
        depth += 1
    return pointed_dag(children, initial=problem.initial)


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
    if isinstance(value, float) and not math.isfinite(value):
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
    return Fraction(value)


def dyadic(value: float, bits: int = 24) -> Fraction:
    """`value` rounded to `bits` significant bits: the number that float32 can hold too."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)
