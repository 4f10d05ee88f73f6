"""The target of a problem, as far as it is known: its states, its distribution, its `log Z`."""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any
from unicodedata import normalize as normalize_text

import numpy as np

from reference.certificates.betting import Interval
from reference.certificates.listed import ListedLaw
from reference.certificates.partition import Bounding, bound_partition
from reference.certificates.recorded import read_record
from reference.certificates.state_texts import FOLLOWED, StateTexts
from reference.certificates.statement import FLOAT_INPUT, Kind
from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_hashable,
    check_integer,
    check_sequence,
    shown,
)
from reference.contract.tables import NOTHING, SAMPLES, UNSEEN, Shape
from reference.contract.user_code import are_rational, called, exact, number_or_infinite
from reference.dag import PointedDAG
from reference.fields.field import log_float
from reference.metrics import normalize
from reference.problems.base import is_ours
from reference.problems.closed_form import ClosedForm, Enclosure
from reference.problems.enumeration import enumerate_dag, enumerate_rewards
from reference.rows.functions import WaysBack
from reference.rows.walks import LogRewards

# Any kind of number, such as one of NumPy or JAX.
Real = float | Fraction | Decimal
# The time limit of a search for bounds of log Z, in seconds.
SEARCH = 10.0
# The largest difference of two numbers for log Z, relative to its size: float32.
SAME_LOG_Z = 1e-5
# What two programs put around one value; and numbers, which they may round to float32.
AROUND = " \t\r\n\"'\xa0\u3000" + UNSEEN
ROUNDED = re.compile(r"-?(?<!\d)\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")
LEAST, MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


@dataclass
class Target:
    """The target of a problem, and what a user states of it.

    Raises InputError if a statement breaks a rule.

    Attributes:
        problem: the problem, or a law; None where only log Z or samples are given.
        max_states: the largest number of states to enumerate.
        seconds: the time limit of the search for log Z.
        stated: log Z in nats as stated, or two bounds of it.
        draws: independent samples of the target, or a file of them.
        shape: what is looked for in files of samples.
        if_independent: whether samples are taken for independent, untested.
        known_rewards: the rewards of all terminal states, if these are enumerated already.
    """

    problem: Any
    max_states: int
    seconds: float
    stated: Any = None
    draws: Sequence[Hashable] | str | Path | None = None
    shape: Shape = SAMPLES
    if_independent: bool = False
    known_rewards: Sequence[Fraction] | None = None

    def __post_init__(self) -> None:
        check_integer("certify", "max_states", self.max_states, 1, most=10**12)
        if isinstance(self.problem, ListedLaw):
            # A function that is certified is asked at every value.
            self.max_states = max(self.max_states, len(self.problem.weights) + 1)
        if self.stated is not None:
            self.stated = log_z_interval(self.stated, "log_z")
        if self.draws is not None and not isinstance(self.draws, str | Path):
            check_sequence("certify", "target", self.draws)
            if not len(self.draws):
                raise InputError("target is empty, but must be samples of the target: leave it out")
            for state in self.draws:
                check_hashable("a sample of the target", state)

    @cached_property
    def samples(self) -> Sequence[Hashable] | None:
        """The samples of the target that are stated; raises InputError if a file breaks a rule."""
        if isinstance(self.draws, str | Path):
            # Another seed than that of the sampler's samples, which must not be ordered alike.
            record = read_record(Path(self.draws), self.texts(), self.shape, seed=1)
            if record.conditions:
                raise InputError(
                    f"{str(self.draws)!r} has weights, but samples of the target must be drawn "
                    "from it: give them as they were drawn, or the law"
                )
            return record.terminals
        return self.draws

    def samples_or_own(self, count: int, seed: int) -> Sequence[Hashable] | None:
        """The samples that are stated, or else as many of the problem's own; None without any."""
        if self.samples is None and isinstance(self.problem, ClosedForm):
            return self.problem.sample(count, seed)
        return self.samples

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

    @cached_property
    def probabilities(self) -> Mapping[Hashable, Fraction] | None:
        """`pi(x)` of every terminal state; None if they are too many, or there is no problem."""
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
        known, reward, ways = self.probabilities, LogRewards(self.problem), WaysBack(self.problem)
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
        return StateTexts(self.problem, self.probabilities)

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
        """Checks a stated `log Z` against that of the problem, where it is known.

        Args:
            log_z: its bounds, in nats.
            name: its name in messages.
            same: the largest difference, relative to its size.

        Raises InputError if they differ by more.
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
    if isinstance(given, Enclosure):
        error = given.error * (1 + 2.0**-40)
        return Interval(given.value - error, given.value + error)
    two = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and np.ndim(given)
    ends = [number_or_infinite(value, name) for value in (given if two else (given, given))]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise InputError(f"{name} is {shown(given)}, but must be a finite number, or two bounds")
    low, high = ends
    if math.isfinite(low) and low > exact(given[0] if two else given, name):
        low = math.nextafter(low, -math.inf)
    if math.isfinite(high) and high < exact(given[1] if two else given, name):
        high = math.nextafter(high, math.inf)
    return Interval(low, high)


def check_outside(outside: Iterable[Hashable], target: Iterable[Hashable]) -> None:
    """Checks samples that are none of the values of the target.

    Raises InputError if one may be a value of the target, written otherwise, or a missing one.
    """
    texts = {_bare(x): x for x in target}
    for x in dict.fromkeys(outside):
        if (alike := _bare(x)) in texts:
            raise InputError(
                f"the sample {shown(x)} is not in the target, but {shown(texts[alike])} is, and "
                "may be the same value: write both as the same text or the same type of number"
            )
        if not NOTHING.isdisjoint(part.lower() for part in alike):
            raise InputError(
                f"the sample {shown(x)} is not in the target, and may stand for a missing one: "
                "leave such samples out, or write them otherwise"
            )


def _bare(x: Hashable) -> tuple[str, ...]:
    """The parts of a tuple, or of another value the one, as `_bare_text` has them."""
    return tuple(map(_bare_text, x if isinstance(x, tuple) else (x,)))


def _bare_text(x: Hashable) -> str:
    """A value as text, without what two programs may write otherwise."""
    text = normalize_text("NFC", str(x)).strip(AROUND)
    return ROUNDED.sub(lambda number: _narrow(float(number[0])), text)


def _narrow(number: float) -> str:
    """A number as float32 has it, or as it is beyond the range of float32."""
    fits = number == 0 or LEAST <= abs(number) <= MOST
    return f"{(np.float32(number) if fits else number) + 0:.9g}"
