"""The size of an effect: how far one column of a table is from another, here and in the paper.

Imports no JAX.
"""

from collections.abc import Sequence

from pdai.experiments.base import MEASURES, Experiment
from pdai.experiments.results import Run, comparable, summary
from pdai.experiments.tables import at


def size(
    experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]
) -> float | None:
    """The ratio of the mean of the second column to that of the first, or their difference.

    Where one is sampled and one exact, means below what exact sampling has count as that.
    """
    one, two = (at(runs, row, model) for model in pair)
    least = comparable(one, two, experiment.metric)
    means = [summary(column, experiment.metric) for column in (one, two)]
    first, second = (None if mean is None else max(mean.mean, least) for mean in means)
    return _relation(experiment, first, second)


def papers_size(experiment: Experiment, row: str, pair: tuple[str, str]) -> float | None:
    """What the paper prints for the compared columns, whichever form of the second is judged."""
    quoted = {cell.model: cell.paper for cell in experiment.cells if cell.row == row}
    first, second = (quoted.get(model) for model in experiment.compared)
    if first is None or second is None:
        return experiment.claimed_ratio if pair == experiment.compared else None
    return _relation(experiment, first.mean, second.mean)


def _relation(experiment: Experiment, first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    if MEASURES[experiment.metric].higher_is_better:
        return second - first
    return second / first if first > 0 else None
