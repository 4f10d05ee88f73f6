"""The Metropolis-Hastings rule on a finite graph of neighbours (Hastings, 1970).

From a state `a` one of its neighbours `b` is proposed, each with probability `1 / |N(a)|`, and
accepted with probability `min(1, w(b) |N(a)| / (w(a) |N(b)|))`. The law proportional to w is then
reversible, hence stationary; it is the only one if all states are connected.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Generic, TypeVar

State = TypeVar("State", bound=Hashable)


class Target(ABC, Generic[State]):
    """An unnormalised law on states that have neighbours.

    Neighbours are mutual: if b is one of a, then a is one of b.
    """

    @abstractmethod
    def start(self, rng: Random) -> State:
        """Where a chain begins."""

    @abstractmethod
    def neighbours(self, state: State) -> Sequence[State]:
        """The states that may be proposed, each once; never the state itself."""

    @abstractmethod
    def weight(self, state: State) -> Fraction:
        """`w`, positive."""

    @abstractmethod
    def log_weight(self, state: State) -> float:
        """`log w`, nats, in float64."""


def transitions(target: Target[State], state: State) -> dict[State, Fraction]:
    """The exact law of the next state, where the chain stays included."""
    near = target.neighbours(state)
    law = {state: Fraction(1)}
    for other in near:
        ratio = target.weight(other) / target.weight(state)
        ratio *= Fraction(len(near), len(target.neighbours(other)))
        law[other] = min(Fraction(1), ratio) / len(near)
        law[state] -= law[other]
    return law


def chain(target: Target[State], rng: Random) -> Iterator[State]:
    """The states of a chain after each step, without end; a state repeats where it stays."""
    state = target.start(rng)
    near, log_weight = target.neighbours(state), target.log_weight(state)
    while True:
        # A state without neighbours is the only one.
        if near:
            other = near[rng.randrange(len(near))]
            around, value = target.neighbours(other), target.log_weight(other)
            log_ratio = value - log_weight + math.log(len(near) / len(around))
            # `1 - random()` is in (0, 1].
            if math.log(1 - rng.random()) < log_ratio:
                state, near, log_weight = other, around, value
        yield state
