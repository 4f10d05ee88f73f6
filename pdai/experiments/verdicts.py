"""Verdicts by the rule of `texts/rule.md`: of a row, and of all rows of an experiment together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

from scipy.special import stdtrit

from pdai.experiments.base import Pair
from pdai.experiments.frames import Results


class Outcome(Enum):
    """The verdict of one row on a claim of the paper."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    OPPOSITE = "opposite"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"
    NOT_TESTABLE = "not testable as stated"
    OPEN = "not run"


class Standing(Enum):
    """The second of two columns compared with the first, in one row."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"


class Group(Enum):
    """The verdict of all rows of an experiment together."""

    REPRODUCED = "Reproduced in every row that can tell"
    PARTLY = "Reproduced in some rows, undecided in others"
    DIRECTION = "Direction only"
    MIXED = "Reproduced in some rows, the opposite in others"
    PARTLY_OPPOSITE = "The opposite in some rows, undecided in others"
    OPPOSITE = "The opposite in every row that can tell"
    UNDECIDED = "Undecided"
    NO_HEADROOM = "No headroom"
    NOT_TESTABLE = "Not testable as stated"
    OPEN = "Not run yet, or for the smaller part"


class Difference(NamedTuple):
    """The second column minus the first, paired by seed: mean, and interval of 95 %."""

    mean: float
    low: float
    high: float

    def text(self, digits: int) -> str:
        """The mean and its interval."""
        return f"{self.mean:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


@dataclass(frozen=True)
class Comparison:
    """Two columns in one row: the paper says that the second is better, or no different."""

    results: Results
    row: str
    pair: Pair

    @cached_property
    def paired(self) -> Any:
        """The metric of the two columns, for the seeds that both have."""
        wide = self.results.at(self.row).pivot(index="seed", columns="model", values="learned")
        return wide.reindex(columns=[*self.pair]).dropna().to_numpy().T

    @cached_property
    def cells(self) -> Any:
        """The mean of each column, and the mean floor of its samples; 0 if all laws are exact."""
        means = self.results.at(self.row).groupby("model")[["learned", "floor"]].mean()
        return means.reindex([*self.pair]).to_numpy().T

    @property
    def least(self) -> float:
        """The value below which the columns count as equal, if one is sampled and one exact.

        It is the value of exact sampling; ratios are formed after raising both values to it.
        """
        floors = self.cells[1]
        return float(floors.max()) if floors.min() == 0 else 0.0

    @cached_property
    def gap(self) -> Difference | None:
        """The paired difference; None with fewer than three common seeds.

        The interval is Student's: with as few seeds, quantiles of bootstrap means lie too close
        together (at normal differences they cover 84 % with five, 76 % with three). A sampled
        distance is at least the true one on average, and at most the floor of its samples above
        it. Where one column is sampled and the other exact, the interval is wider by the floor.
        """
        values = self.paired[1] - self.paired[0]
        if len(values) < 3:
            return None
        mean, count = float(values.mean()), len(values)
        half = float(stdtrit(count - 1, 0.975) * values.std(ddof=1) / count**0.5)
        above, below = self.cells[1]
        excess = float(below - above)
        return Difference(mean, mean - half - max(excess, 0.0), mean + half + max(-excess, 0.0))

    @cached_property
    def standing(self) -> Standing | None:
        """The second column compared with the first; None with fewer than three common seeds.

        A difference decides if its interval excludes zero, and if it is not negligible.
        """
        if self.gap is None:
            return None
        mean, low, high = self.gap
        if abs(mean) >= self.results.measure.negligible and (low > 0 or high < 0):
            return Standing.BETTER if self.results.sign * mean < 0 else Standing.WORSE
        is_hopeless = self.is_at_the_floor() or self.is_without_power()
        return Standing.NO_HEADROOM if is_hopeless else Standing.UNDECIDED

    @cached_property
    def outcome(self) -> Outcome:
        """The verdict."""
        experiment, limit = self.results.experiment, self.results.experiment.reaches
        if experiment.not_testable:
            return Outcome.NOT_TESTABLE
        if self.gap is None or self.standing is None:
            return Outcome.OPEN
        is_tie = experiment.expects == "equal" or self.row in experiment.ties
        if self.standing in (Standing.UNDECIDED, Standing.NO_HEADROOM):
            # If both are exact and the target is uniform, the untrained policy is exact as well.
            is_equal = self.is_at_the_floor() or (
                max(-self.gap.low, self.gap.high) <= self.results.measure.negligible
                and self.standing is Standing.UNDECIDED
            )
            return Outcome.REPRODUCED if is_tie and is_equal else Outcome(self.standing.value)
        if is_tie or self.standing is Standing.WORSE:
            return Outcome.OPPOSITE
        is_short = limit is not None and self.cells[0, 1] > limit
        return Outcome.DIRECTION if is_short else Outcome.REPRODUCED

    def is_at_the_floor(self) -> bool:
        """True if even the worse of two columns is as good as possible, or negligibly worse.

        The floor of a column is that of its samples; the floor of an exact law is zero.
        """
        results, optimum = self.results, self.results.experiment.optimum
        if self.row not in optimum and results.sign < 0:
            return False
        means, floors = self.cells
        gaps = results.sign * (means - optimum.get(self.row, floors))
        return bool(gaps.max() <= results.measure.negligible)

    def is_without_power(self) -> bool:
        """True if no model improves on the untrained policy, or all are stuck far from the target.

        Models are stuck if they do not differ, and keep more than half of the untrained policy's
        distance, where a distance is measured.
        """
        results, negligible = self.results, self.results.measure.negligible
        before, runs = results.untrained(self.row), results.at(self.row)
        values = runs.learned[runs.model.isin(self.pair)].dropna()
        # No comparison with an unknown distance is true.
        if (results.sign * (before - values) <= negligible).all():
            return True
        is_one_place = values.max() - values.min() <= negligible
        return bool(is_one_place and results.sign > 0 and values.min() > before / 2)

    @property
    def size(self) -> float:
        """The ratio of the second mean to the first; their difference where higher is better.

        If one is sampled and one exact, means below that of exact sampling are raised to it.
        """
        return self._relation(*(max(mean, self.least) for mean in self.cells[0].tolist()))

    @property
    def papers_size(self) -> float | None:
        """The size of the paper's effect, whichever form of the second column is judged."""
        experiment = self.results.experiment
        first, second = (experiment.quoted.get((self.row, name)) for name in experiment.compared)
        if first is None or second is None:
            return experiment.claimed_ratio if self.pair == experiment.compared else None
        return self._relation(first.mean, second.mean)

    def _relation(self, first: float, second: float) -> float:
        if self.results.sign < 0:
            return second - first
        return second / first if first > 0 else nan


def judged(results: Results) -> dict[Pair, list[Comparison]]:
    """The comparisons in all rows that have both columns, by judged pair.

    The pairs are those that have runs, or else the first.
    """
    experiment = results.experiment
    pairs = [pair for pair in experiment.judged if set(pair) <= set(results.models)]
    return {
        pair: [
            Comparison(results, row, pair)
            for row in experiment.rows
            if {(row, model) for model in pair} <= experiment.places
        ]
        for pair in pairs or [experiment.compared]
    }


def group(outcomes: Sequence[Outcome]) -> Group:
    """The verdict of rows together. Rows without headroom decide nothing.

    Nothing is decided while most rows have no runs.
    """
    if outcomes.count(Outcome.OPEN) > len(outcomes) / 2:
        return Group.OPEN
    kinds = set(outcomes) - {Outcome.OPEN, Outcome.NO_HEADROOM}
    if Outcome.NOT_TESTABLE in kinds:
        return Group.NOT_TESTABLE
    decided, is_partly = kinds - {Outcome.UNDECIDED}, Outcome.UNDECIDED in kinds
    if not decided:
        if is_partly:
            return Group.UNDECIDED
        return Group.NO_HEADROOM if Outcome.NO_HEADROOM in outcomes else Group.OPEN
    if decided == {Outcome.REPRODUCED}:
        return Group.PARTLY if is_partly else Group.REPRODUCED
    if decided == {Outcome.OPPOSITE}:
        return Group.PARTLY_OPPOSITE if is_partly else Group.OPPOSITE
    return Group.MIXED if Outcome.OPPOSITE in decided else Group.DIRECTION


def counts(outcomes: Sequence[Outcome]) -> str:
    """The number of rows by verdict, such as "opposite in 2, undecided in 1 of 3 rows"."""
    of = Counter(outcomes)
    listed = ", ".join(f"{kind.value} in {of[kind]}" for kind in Outcome if of[kind])
    if not outcomes:
        return "not run yet"
    return f"{listed} of {len(outcomes)} row{'s' * (len(outcomes) != 1)}"


def against(pair: Pair) -> str:
    """A pair in words, such as "SRWM against Markovian"."""
    return f"{pair[1]} against {pair[0]}"


def in_a_line(results: Results) -> str:
    """The verdicts of an experiment, such as "SRWM against Markovian: opposite in 2 of 2 rows"."""
    if results.experiment.not_testable:
        return "not testable as stated"
    return "; ".join(
        f"{against(pair)}: {counts([row.outcome for row in rows])}"
        for pair, rows in judged(results).items()
    )
