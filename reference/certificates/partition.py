"""Rigorous bounds of `Z` by best-first search.

The problem bounds the mass below a state by `log_mass_bound(state)`, at least `log sum of R(x)`
over the terminal states `x` below, in nats. The search sums the terminal states that it meets, and
bounds the frontier: `sum over met <= Z <= sum over met + sum of the bounds`. In a graph that is no
tree, the bounds of states that share terminals add up, so that the upper bound is loose.
"""

import heapq
import math
import time
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from reference.certificates.betting import Interval
from reference.contract.errors import InputError
from reference.contract.user_code import Of, called, number_or_infinite
from reference.fields.field import log_float
from reference.problems.closed_form import Enclosure
from reference.problems.enumeration import AskedProblem, exponential

S_contra = TypeVar("S_contra", bound=Hashable, contravariant=True)

# A bound that is a sum may be below it by the rounding of logarithms.
SURPLUS = 1 + Fraction(1, 2**20)


@runtime_checkable
class Bounding(Protocol[S_contra]):
    """A problem that bounds the mass below a state."""

    def log_mass_bound(self, state: S_contra) -> float:
        """An upper bound of `log sum of R(x)` over the terminal states below, in nats."""
        ...


class Search(NamedTuple):
    """An interval of `log Z`, nats, from states that were opened and terminals that were summed."""

    log_z: Interval
    expanded: int
    terminals: int


def bound_partition(
    problem: Any, gap: float = 1e-3, most: int = 100_000, seconds: float = 10.0
) -> Search:
    """Bounds of `log Z` by best-first search.

    Args:
        problem: has `log_mass_bound`.
        gap: the width at which it stops, in nats.
        most: the most states that are opened.
        seconds: the most wall time.

    Raises:
        InputError: if a bound is no number, or lies below the reward of a terminal state, or of
            several together.
    """
    end = time.monotonic() + seconds
    met, open_sum = Fraction(0), Fraction(0)
    seen = {problem.initial}
    queue: list[tuple[float, int, Hashable, Fraction]] = []
    expanded = terminals = 0

    def push(state: Hashable) -> Fraction:
        log_bound = _log_bound(problem, state)
        bound = _up(log_bound)
        heapq.heappush(queue, (-log_bound, len(seen), state, bound))
        return bound

    graph: AskedProblem[Any] = AskedProblem(problem)
    open_sum += push(graph.initial)
    most_mass = open_sum
    while queue and expanded < most and time.monotonic() < end:
        _, _, state, bound = heapq.heappop(queue)
        open_sum -= bound
        expanded += 1
        before = met
        for child in graph.children(state):
            if child in seen:
                continue
            seen.add(child)
            if graph.children(child):
                open_sum += push(child)
                continue
            reward = graph.reward(child)
            if reward > _up(_log_bound(problem, child)):
                raise InputError(
                    f"log_mass_bound({child!r}) is below log R of that terminal state: it must "
                    "bound the mass below a state from above"
                )
            met += reward
            terminals += 1
        for at, mass, largest in ((state, met - before, bound), (graph.initial, met, most_mass)):
            if mass > largest * SURPLUS:
                raise InputError(
                    f"log_mass_bound({at!r}) is {_log_bound(problem, at):.6g}, but the terminal "
                    f"states below have log R of {log_float(mass):.6g} together: it must bound "
                    "their sum, and not the largest"
                )
        if expanded % 64 == 0 and met and open_sum < met * Fraction(math.expm1(gap)):
            break
    low = Enclosure.log_of(met) if met else Enclosure(-math.inf, 0.0)
    high = Enclosure.log_of(met + open_sum)
    # A reward given by its logarithm has a relative error of at most 2^-51.
    log_z = Interval(low.value - low.error - 2.0**-50, high.value + high.error + 2.0**-50)
    return Search(log_z, expanded, terminals)


def _log_bound(problem: Any, state: Hashable) -> float:
    bound = called(type(problem).__name__, "log_mass_bound", problem.log_mass_bound, state)
    value = number_or_infinite(bound, Of("log_mass_bound", state))
    if value == math.inf:
        raise InputError(
            f"log_mass_bound({state!r}) is {value}, but must be a number of nats, or minus infinity"
        )
    return value


def _up(log_bound: float) -> Fraction:
    """A fraction that is at least the bound before its rounding."""
    if log_bound == -math.inf:
        return Fraction(0)
    return exponential(Fraction(log_bound) + Fraction(1, 2**45)) * (1 + Fraction(1, 2**50))
