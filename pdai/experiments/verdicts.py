"""What a verdict is: one rule for every row, and what an experiment's rows say together.

Imports no JAX.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from pdai.experiments.base import MEASURES, Experiment
from pdai.experiments.results import Difference, Run, summary
from pdai.experiments.sizes import papers_size, size
from pdai.experiments.tables import at, compared, reachable, untrained

RULE = """\
Each row of a table is judged by itself, by one rule. It was written while the first runs with the
mended initialisation went, and before it was put to any of them; the results before were known.

- **reproduced**: the model that the paper calls better is better. The 95 % interval of the
  difference, paired by training seed, excludes zero, and the difference is not negligible: at least
  0.001 of TV or FCS, 0.0002 nats of KL(s), 0.01 nats of log R, 100 steps. Where the paper predicts
  a tie, it is reproduced if the whole interval is negligible.
- **direction only**: it is better, but not what the paper says besides, such as "nearly perfect".
- **opposite**: the other model is better, by the same standard.
- **undecided**: neither, although there is headroom: the interval contains zero, or the difference
  is negligible.
- **no headroom**: the row cannot tell. Even the worse of the two is at exact sampling (or at the
  best value that there is), or within what is negligible of it; or no seed of either is better than
  the untrained policy by more than that; or all seeds of both end at one and the same value, more
  than half as far off as the untrained policy.
- **not testable as stated**: for the reason given there.

A verdict is about direction. The size of the effect stands beside it: the ratio of the second mean
to the first (a difference, where log rewards are compared), here and in the paper. An interval of
95 % excludes zero by chance in one of twenty rows without any effect, half of the time in the
paper's favour."""


class Outcome(Enum):
    """What one row says of a claim of the paper."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    OPPOSITE = "opposite"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"
    NOT_TESTABLE = "not testable as stated"
    OPEN = "not run"


class Standing(Enum):
    """How the second of two columns stands to the first in one row."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    NO_HEADROOM = "no headroom"


class Group(Enum):
    """What the rows of an experiment say together."""

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


class Judged(NamedTuple):
    """A row, what it says, and the size of the effect here and in the paper, if known.

    Attributes:
        size: the ratio of means of the second column to the first; of log rewards, the difference.
        paper: the same of the paper's numbers.
    """

    row: str
    outcome: Outcome
    size: float | None
    paper: float | None


def standing(
    experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]
) -> Standing | None:
    """Whether the second column is better than the first; None with fewer than three seeds."""
    gap = compared(experiment, runs, row, pair)
    if gap is None:
        return None
    if gap.decides:
        lower = gap.mean < 0
        is_better = lower != MEASURES[experiment.metric].higher_is_better
        return Standing.BETTER if is_better else Standing.WORSE
    if _at_the_floor(experiment, runs, row, pair) or _without_power(experiment, runs, row, pair):
        return Standing.NO_HEADROOM
    return Standing.UNDECIDED


def judge(experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]) -> Outcome:
    """What a row says of the claim that the second column is better, or no different."""
    if experiment.not_testable:
        return Outcome.NOT_TESTABLE
    found, gap = standing(experiment, runs, row, pair), compared(experiment, runs, row, pair)
    if found is None or gap is None:
        return Outcome.OPEN
    if experiment.expects == "equal" or row in experiment.ties:
        return _judge_tie(experiment, runs, row, pair, gap)
    if found is Standing.BETTER:
        ours = summary(at(runs, row, pair[1]), experiment.metric)
        limit = experiment.reaches
        is_short = limit is not None and ours is not None and ours.mean > limit
        return Outcome.DIRECTION if is_short else Outcome.REPRODUCED
    return {
        Standing.WORSE: Outcome.OPPOSITE,
        Standing.UNDECIDED: Outcome.UNDECIDED,
        Standing.NO_HEADROOM: Outcome.NO_HEADROOM,
    }[found]


def _judge_tie(
    experiment: Experiment,
    runs: Sequence[Run],
    row: str,
    pair: tuple[str, str],
    gap: Difference,
) -> Outcome:
    """What a row says of the claim that two columns do not differ."""
    if gap.decides:
        return Outcome.OPPOSITE
    # Where both are exact, they are untrained as well if the target is uniform.
    if _at_the_floor(experiment, runs, row, pair):
        return Outcome.REPRODUCED
    if _without_power(experiment, runs, row, pair):
        return Outcome.NO_HEADROOM
    is_negligible = max(-gap.low, gap.high) <= gap.negligible
    return Outcome.REPRODUCED if is_negligible else Outcome.UNDECIDED


def _at_the_floor(
    experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]
) -> bool:
    """Whether even the worse of two columns is as good as can be, or negligibly worse."""
    measure = MEASURES[experiment.metric]
    sign = -1 if measure.higher_is_better else 1
    # Of each column the floor of its own samples: that of an exact law is zero.
    gaps = [
        sign * (found.mean - least)
        for model in pair
        if (found := summary(at(runs, row, model), experiment.metric)) is not None
        and (least := reachable(experiment, at(runs, row, model), row)) is not None
    ]
    return len(gaps) == 2 and max(gaps) <= measure.negligible


def _without_power(
    experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]
) -> bool:
    """Whether nobody left the untrained policy, or all are stuck at one place far from the target.

    Far: more than half as far off as the untrained policy, where a distance is measured.
    """
    measure = MEASURES[experiment.metric]
    before = untrained(runs, row, experiment.metric)
    if before is None:
        return False
    values = [
        value
        for model in pair
        for run in at(runs, row, model)
        if (value := run.value(experiment.metric)) is not None
    ]
    sign = -1 if measure.higher_is_better else 1
    if all(sign * (before.mean - value) <= measure.negligible for value in values):
        return True
    is_one_place = max(values) - min(values) <= measure.negligible
    return is_one_place and sign > 0 and min(values) > before.mean / 2


def judged_rows(experiment: Experiment, runs: Sequence[Run], pair: tuple[str, str]) -> list[Judged]:
    """The rows that have both columns, with what they say."""
    there = {(cell.row, cell.model) for cell in experiment.cells}
    return [
        Judged(
            row,
            judge(experiment, runs, row, pair),
            size(experiment, runs, row, pair),
            papers_size(experiment, row, pair),
        )
        for row in experiment.rows
        if {(row, model) for model in pair} <= there
    ]


def group(outcomes: Sequence[Outcome]) -> Group:
    """What rows say together. Rows without headroom say nothing, and are counted beside.

    Where most rows were not run, nothing is said yet.
    """
    if outcomes.count(Outcome.OPEN) > len(outcomes) / 2:
        return Group.OPEN
    found = set(outcomes) - {Outcome.OPEN, Outcome.NO_HEADROOM}
    if Outcome.NOT_TESTABLE in found:
        return Group.NOT_TESTABLE
    decided, is_partly = found - {Outcome.UNDECIDED}, Outcome.UNDECIDED in found
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
    """How many rows say what, such as "opposite in 2, undecided in 1 of 3 rows"."""
    of = Counter(outcomes)
    told = ", ".join(f"{outcome.value} in {of[outcome]}" for outcome in Outcome if of[outcome])
    return f"{told} of {len(outcomes)} row{'s' * (len(outcomes) != 1)}" if told else "not run yet"
