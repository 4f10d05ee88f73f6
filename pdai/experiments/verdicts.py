"""Verdicts by the rule of `texts/rule.md`: of a row, and of all rows of an experiment together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from pdai.experiments.frames import Difference, Pair, Results


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


@dataclass(frozen=True)
class Comparison:
    """Two columns in one row: the paper says that the second is better, or no different."""

    results: Results
    row: str
    pair: Pair

    @cached_property
    def gap(self) -> Difference | None:
        """The paired difference; None with fewer than three common seeds."""
        return self.results.difference(self.row, self.pair)

    @cached_property
    def standing(self) -> Standing | None:
        """The second column compared with the first; None with fewer than three common seeds."""
        if self.gap is None:
            return None
        if self.gap.decides:
            return Standing.BETTER if self.results.sign * self.gap.mean < 0 else Standing.WORSE
        if self.is_at_the_floor() or self.is_without_power():
            return Standing.NO_HEADROOM
        return Standing.UNDECIDED

    @cached_property
    def outcome(self) -> Outcome:
        """The verdict."""
        experiment = self.results.experiment
        if experiment.not_testable:
            return Outcome.NOT_TESTABLE
        if self.gap is None:
            return Outcome.OPEN
        if experiment.expects == "equal" or self.row in experiment.ties:
            return self._outcome_of_a_tie(self.gap)
        if self.standing is Standing.BETTER:
            ours, limit = self.results.mean(self.row, self.pair[1]), experiment.reaches
            is_short = limit is not None and ours is not None and ours > limit
            return Outcome.DIRECTION if is_short else Outcome.REPRODUCED
        if self.standing is Standing.WORSE:
            return Outcome.OPPOSITE
        is_open = self.standing is Standing.UNDECIDED
        return Outcome.UNDECIDED if is_open else Outcome.NO_HEADROOM

    def _outcome_of_a_tie(self, gap: Difference) -> Outcome:
        """The verdict on the claim that two columns do not differ."""
        if gap.decides:
            return Outcome.OPPOSITE
        # If both are exact and the target is uniform, the untrained policy is exact as well.
        if self.is_at_the_floor():
            return Outcome.REPRODUCED
        if self.is_without_power():
            return Outcome.NO_HEADROOM
        is_negligible = max(-gap.low, gap.high) <= gap.negligible
        return Outcome.REPRODUCED if is_negligible else Outcome.UNDECIDED

    def is_at_the_floor(self) -> bool:
        """True if even the worse of two columns is as good as possible, or negligibly worse.

        The floor of a column is that of its samples; the floor of an exact law is zero.
        """
        results, optimum = self.results, self.results.experiment.optimum
        if self.row not in optimum and results.sign < 0:
            return False
        gaps = [
            results.sign * (mean - optimum.get(self.row, results.floor(self.row, model)))
            for model in self.pair
            if (mean := results.mean(self.row, model)) is not None
        ]
        return len(gaps) == 2 and max(gaps) <= results.measure.negligible

    def is_without_power(self) -> bool:
        """True if no model improves on the untrained policy, or all are stuck far from the target.

        Models are stuck if they do not differ, and keep more than half of the untrained policy's
        distance, where a distance is measured.
        """
        results, negligible = self.results, self.results.measure.negligible
        before = results.untrained(self.row)
        if before is None:
            return False
        values = [value for model in self.pair for value in results.values(self.row, model)]
        if all(results.sign * (before - value) <= negligible for value in values):
            return True
        is_one_place = max(values) - min(values) <= negligible
        return is_one_place and results.sign > 0 and min(values) > before / 2

    @property
    def size(self) -> float | None:
        """The ratio of the second mean to the first; their difference where higher is better.

        If one is sampled and one exact, means below that of exact sampling are raised to it.
        """
        least = self.results.least(self.row, self.pair)
        means = [self.results.mean(self.row, model) for model in self.pair]
        return self._relation(*(None if mean is None else max(mean, least) for mean in means))

    @property
    def papers_size(self) -> float | None:
        """The size of the paper's effect, whichever form of the second column is judged."""
        experiment = self.results.experiment
        quoted = {cell.model: cell.paper for cell in experiment.cells if cell.row == self.row}
        first, second = (quoted.get(model) for model in experiment.compared)
        if first is None or second is None:
            return experiment.claimed_ratio if self.pair == experiment.compared else None
        return self._relation(first.mean, second.mean)

    def _relation(self, first: float | None, second: float | None) -> float | None:
        if first is None or second is None:
            return None
        if self.results.sign < 0:
            return second - first
        return second / first if first > 0 else None


def compared(results: Results, pair: Pair) -> list[Comparison]:
    """The comparison in each row that has both columns."""
    places = {(cell.row, cell.model) for cell in results.experiment.cells}
    return [
        Comparison(results, row, pair)
        for row in results.experiment.rows
        if {(row, model) for model in pair} <= places
    ]


def judged_pairs(results: Results) -> list[Pair]:
    """The judged pairs that have runs, or the first pair."""
    pairs = [pair for pair in results.experiment.judged if set(pair) <= set(results.models)]
    return pairs or [results.experiment.compared]


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


def in_a_line(results: Results) -> str:
    """The verdicts of an experiment, such as "SRWM against Markovian: opposite in 2 of 2 rows"."""
    if results.experiment.not_testable:
        return "not testable as stated"
    return "; ".join(
        f"{pair[1]} against {pair[0]}: {counts([row.outcome for row in compared(results, pair)])}"
        for pair in judged_pairs(results)
    )
