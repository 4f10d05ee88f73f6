"""Verdicts by the rule of `texts/README.md`, of a row and of all rows of an experiment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from pdai.experiments.base import Pair
from pdai.experiments.frames import Results


class Standing(Enum):
    """The second of two columns compared with the first, in one row."""

    BETTER = "better"
    WORSE = "worse"
    LEVEL = "level"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"


DECIDED = (Standing.BETTER, Standing.WORSE)


class Outcome(Enum):
    """The verdict of a row on a claim of the paper, or of all rows of an experiment together."""

    REPRODUCED = "reproduced"
    # In part, and mixed, are of several rows; rows of the paper without runs count.
    PARTLY = "reproduced in part"
    DIRECTION = "direction only"
    MIXED = "mixed"
    PARTLY_OPPOSITE = "opposite in part"
    OPPOSITE = "opposite"
    LEVEL = "level"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"
    OPEN = "not run"


class Difference(NamedTuple):
    """The second column minus the first, paired by seed: mean, and interval of 95 %.

    `chance` is the p-value of no difference, two-sided: below 0.05 exactly if the interval excludes
    zero.
    """

    mean: float
    low: float
    high: float
    chance: float

    def text(self, digits: int) -> str:
        """The mean and its interval."""
        return f"{self.mean:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


@dataclass(frozen=True)
class Comparison:
    """Two columns in one row: the paper says that the second is better, or no different."""

    results: Results
    row: str
    pair: Pair

    @property
    def place(self) -> tuple[str, str, Pair]:
        """Label, row and columns."""
        return self.results.experiment.label, self.row, self.pair

    @cached_property
    def paired(self) -> Any:
        """The metric of the two columns, for the seeds that both have."""
        first, second = (
            {seed: value for seed, value, _ in self.results.numbers(self.row, model)}
            for model in self.pair
        )
        pairs = [(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]
        values = np.array(pairs, float).reshape(-1, 2)
        return values[~np.isnan(values).any(1)].T

    @cached_property
    def cells(self) -> Any:
        """The mean of each column, and the mean floor of its samples; 0 if all laws are exact."""
        means = []
        for model in self.pair:
            _, learned, floors = self.results.numbers(self.row, model).T
            measured = learned[~np.isnan(learned)]
            means.append([of.mean() if len(of) else nan for of in (measured, floors)])
        return np.array(means).T

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
        it: by the floor of each column the interval is wider, on its side.
        """
        values = self.paired[1] - self.paired[0]
        if len(values) < 3:
            return None
        mean, freedom = float(values.mean()), len(values) - 1
        error = float(values.std(ddof=1) / len(values) ** 0.5)
        half = float(stdtrit(freedom, 0.975)) * error
        up, down = map(float, self.cells[1])
        beyond = abs(mean) - (down if mean > 0 else up)
        chance = 2 * float(stdtr(freedom, -beyond / error)) if error else 0.0
        return Difference(mean, mean - half - down, mean + half + up, chance if beyond > 0 else 1.0)

    @cached_property
    def standing(self) -> Standing | None:
        """The second column compared with the first; None with fewer than three common seeds.

        A difference decides if its interval excludes zero, and if it is not negligible.
        """
        if self.gap is None:
            return None
        mean, low, high, _ = self.gap
        if abs(mean) >= self.results.measure.negligible and (low > 0 or high < 0):
            return Standing.BETTER if self.results.sign * mean < 0 else Standing.WORSE
        if self.is_at_the_floor() or self.is_without_power():
            return Standing.NO_HEADROOM
        is_level = max(-low, high) <= self.results.measure.negligible
        return Standing.LEVEL if is_level else Standing.UNDECIDED

    @cached_property
    def outcome(self) -> Outcome:
        """The verdict."""
        experiment = self.results.experiment
        if self.standing is None:
            return Outcome.OPEN
        is_tie = self.row in experiment.ties
        if self.standing not in DECIDED:
            # If both are exact and the target is uniform, the untrained policy is exact as well.
            is_equal = self.is_at_the_floor() or self.standing is Standing.LEVEL
            return Outcome.REPRODUCED if is_tie and is_equal else Outcome(self.standing.value)
        if is_tie or self.standing is Standing.WORSE:
            return Outcome.OPPOSITE
        return Outcome.DIRECTION if self.is_short() else Outcome.REPRODUCED

    def is_short(self) -> bool:
        """True if the better column is not as good as the paper says.

        It is farther off than the paper's words allow; or, where the paper has a ratio below one,
        its ratio is above the root of that, and so has less than half of its logarithm.
        """
        limit, ratio = self.results.experiment.reaches, self.papers_size
        if limit is not None and self.cells[0, 1] > limit:
            return True
        is_ratio = ratio is not None and self.results.sign > 0 and ratio < 1
        return is_ratio and self.size > ratio**0.5  # type: ignore[operator]

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

    def is_of_integers(self) -> bool:
        """True if the states of the row are raw integers to the network."""
        runs = self.results.at(self.row).run
        return any(run.config.get("encoding") == "natural" for run in runs)

    def has_size(self) -> bool:
        """True if there are runs, and headroom: without, a ratio compares noise."""
        return self.outcome not in (Outcome.NO_HEADROOM, Outcome.OPEN)

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


def compared(results: Results, pair: Pair) -> list[Comparison]:
    """The comparisons in all rows that have both columns."""
    experiment = results.experiment
    rows = [row for row in experiment.rows if {(row, m) for m in pair} <= experiment.places]
    return [Comparison(results, row, pair) for row in rows]


def group(outcomes: Sequence[Outcome]) -> Outcome:
    """The verdict of rows together: in part, unless all rows say the same.

    Nothing is decided while most rows have no runs.
    """
    kinds = set(outcomes)
    if not outcomes or outcomes.count(Outcome.OPEN) > len(outcomes) / 2:
        return Outcome.OPEN
    decided = kinds & {Outcome.REPRODUCED, Outcome.DIRECTION, Outcome.OPPOSITE}
    if not decided:
        undecided = (Outcome.UNDECIDED, Outcome.LEVEL, Outcome.NO_HEADROOM)
        return next(kind for kind in undecided if kind in kinds)
    if decided == {Outcome.OPPOSITE}:
        return Outcome.OPPOSITE if kinds == decided else Outcome.PARTLY_OPPOSITE
    if Outcome.OPPOSITE in decided:
        return Outcome.MIXED
    if Outcome.DIRECTION in decided:
        return Outcome.DIRECTION
    return Outcome.REPRODUCED if kinds == decided else Outcome.PARTLY


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
    """The verdicts of an experiment, such as "SRWM against Markovian: opposite in 2 of 2 rows".

    They are of all forms that have runs, or else of the first pair.
    """
    experiment = results.experiment
    pairs = [pair for pair in experiment.forms.values() if set(pair) <= set(results.models)]
    return "; ".join(
        f"{against(pair)}: {counts([row.outcome for row in compared(results, pair)])}"
        for pair in pairs or [experiment.compared]
    )
