"""The target of a problem, as far as it is known: its states, its distribution, its `log Z`."""

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from reference.balance import log_float
from reference.certificates.betting import Interval
from reference.certificates.listed import ListedLaw
from reference.certificates.partition import Bounding, bound_partition
from reference.certificates.state_texts import FOLLOWED, StateTexts
from reference.certificates.statement import FLOAT_INPUT, Kind
from reference.contract.errors import InputError, TooLargeError, shown
from reference.contract.user_code import are_rational, called, exact, number_or_infinite
from reference.dag import PointedDAG
from reference.metrics import normalize
from reference.problems.base import is_ours
from reference.problems.enumeration import enumerate_dag, enumerate_rewards
from reference.rows.functions import WaysBack
from reference.rows.walks import LogRewards

# The time limit of a search for bounds of log Z, in seconds.
SEARCH = 10.0
# The largest difference of two numbers for log Z, relative to its size: float32.
SAME_LOG_Z = 1e-5


@dataclass
class Target:
    """The target of a problem.

    Attributes:
        problem: the problem; None where only log Z or samples are given.
        max_states: the largest number of states to enumerate.
        seconds: the time limit of the search for log Z.
        known_rewards: the rewards of all terminal states, if these are enumerated already.
    """

    problem: Any
    max_states: int
    seconds: float
    known_rewards: Sequence[Fraction] | None = None

    def dag(self) -> PointedDAG[Any]:
        """The enumerated graph; raises TooLargeError if it is too large."""
        if isinstance(self._dag, TooLargeError):
            raise self._dag
        return self._dag

    @cached_property
    def _dag(self) -> PointedDAG[Any] | TooLargeError:
        try:
            return enumerate_dag(self.problem, self.max_states)
        except TooLargeError as error:
            return error

    @cached_property
    def rewards(self) -> Sequence[Fraction]:
        """`R(x)` of every terminal state; raises TooLargeError."""
        return self.known_rewards or enumerate_rewards(self.problem, self.dag())

    def probabilities(self) -> Mapping[Hashable, Fraction] | None:
        """`pi(x)` of every terminal state; None if they are too many, or there is no problem."""
        return self._probabilities

    @cached_property
    def _probabilities(self) -> Mapping[Hashable, Fraction] | None:
        if isinstance(self.problem, ListedLaw):
            return self.problem.listed()
        if self.problem is None or isinstance(self._dag, TooLargeError):
            return None
        labels = [self._dag.labels[x] for x in self._dag.terminals]
        return dict(zip(labels, normalize(self.rewards), strict=True))

    @property
    def kind(self) -> Kind:
        """The evidence for its enumerated distribution."""
        is_law = isinstance(self.problem, ListedLaw)
        rewards = self.problem.weights.values() if is_law else self.rewards
        return "exact" if are_rational(rewards) else FLOAT_INPUT

    def outside(self, states: Sequence[Any]) -> Sequence[bool] | None:
        """For each state whether it has the probability 0; None if that is not known."""
        if (known := self.probabilities()) is not None:
            return [state not in known for state in states]
        return None

    def strange(self, outside: Sequence[Hashable]) -> Sequence[Hashable]:
        """Those outside of the target to which a law gives no weight, not even 0."""
        excluded = self.problem.excluded if isinstance(self.problem, ListedLaw) else ()
        return [x for x in outside if x not in excluded]

    def check_terminals(self, name: str, states: Sequence[Hashable]) -> None:
        """Checks that states are terminal states of the problem, as far as these are known.

        Raises InputError if a state is not terminal; `name` is that of the states.
        """
        if not states or self.problem is None:
            return
        known, reward, ways = self.probabilities(), LogRewards(self.problem), WaysBack(self.problem)
        for state in states:
            try:
                reward(state)
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
            if known is None:
                ways.check(state, name)
            elif state not in known:
                raise InputError(
                    f"{name} has {shown(state)}, which is none of the problem's {len(known):,} "
                    "terminal states: write it as the problem does"
                )

    def check_drawn(self, name: str, draws: Sequence[Hashable]) -> None:
        """Checks the first distinct ones of many draws, as `check_terminals` does."""
        self.check_terminals(name, [*dict.fromkeys(draws)][:FOLLOWED])

    def texts(self) -> StateTexts:
        """The reader of terminal states in files of samples."""
        return StateTexts(self.problem, self.probabilities())

    @property
    def _has_log_z(self) -> bool:
        return callable(getattr(self.problem, "log_z", None))

    @property
    def is_searched(self) -> bool:
        """True if `log_z` is a search with the problem's bounds of subtrees."""
        return not self._has_log_z and isinstance(self.problem, Bounding)

    @property
    def is_told(self) -> bool:
        """True if `log_z` rests on a method of a user's problem, which nothing proves."""
        return (self._has_log_z or self.is_searched) and not is_ours(self.problem)

    def log_z(self) -> Interval | None:
        """An interval that contains `log Z`, in nats: the problem's, searched or summed, if any."""
        name = type(self.problem).__name__
        if self.is_searched:
            log_z = bound_partition(self.problem, seconds=min(SEARCH, self.seconds)).log_z
            if self.is_told:
                self.check_log_z(log_z, f"log Z by {name}.log_mass_bound(state)")
            return log_z
        if self._has_log_z:
            with suppress(TooLargeError):
                log_z = log_z_interval(called(name, "log_z", self.problem.log_z), f"{name}.log_z()")
                if self.is_told:
                    self.check_log_z(log_z, f"{name}.log_z()")
                return log_z
        return self._summed_log_z()

    def check_log_z(self, log_z: Interval, name: str, same: float = SAME_LOG_Z) -> None:
        """Checks a `log Z` in nats that is given against that of the problem, where it is known.

        Raises InputError if they differ by more than `same`, relative to its size.
        """
        is_own = self._has_log_z and not self.is_told
        own = self.log_z() if is_own else self._summed_log_z()
        if own is None or not (-math.inf < log_z.low <= log_z.high < math.inf):
            return
        slack = same * (1 + max(map(abs, own)))
        if log_z.high < own.low - slack or log_z.low > own.high + slack:
            value = " to ".join(dict.fromkeys(f"{bound:.9g}" for bound in log_z))
            raise InputError(
                f"{name} is {value}, but all rewards of the problem sum to a log Z of "
                f"{own.low:.9g}: correct one of them, or leave log Z out"
            )

    def _summed_log_z(self) -> Interval | None:
        """`log Z` from all rewards, as states may be few even if histories are many."""
        if self.problem is None:
            return None
        try:
            total = sum(self.rewards, start=Fraction(0))
        except TooLargeError:
            return None
        value = log_float(total)
        # The difference of two logarithms of integers, each within units of its size.
        error = 2.0**-49 * (math.log(total.numerator) + math.log(total.denominator) + 1)
        return Interval(value - error, value + error)


def log_z_interval(given: Any, name: str) -> Interval:
    """The interval of a user's `log Z`, given as a number, two bounds, or an `Enclosure`.

    Raises InputError if it is not one of these, or NaN.
    """
    if hasattr(given, "error"):  # an Enclosure
        error = given.error * (1 + 2.0**-40)
        return Interval(given.value - error, given.value + error)
    two = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and np.ndim(given)
    if two and len(given) != 2:
        raise InputError(f"{name} is {shown(given)}: give a number, or a lower and an upper one")
    low, high = (number_or_infinite(value, name) for value in (given if two else (given, given)))
    if math.isfinite(low) and low > exact(given[0] if two else given, name):
        low = math.nextafter(low, -math.inf)
    if math.isfinite(high) and high < exact(given[1] if two else given, name):
        high = math.nextafter(high, math.inf)
    return Interval(low, high)
