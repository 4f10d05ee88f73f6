"""All rows of all claims together: how often each model is better than the Markovian one."""

import json
from collections import Counter
from collections.abc import Sequence
from math import exp, log

from pdai.experiments.base import BEST, MARKOVIAN, PRINTED, RESET, STRONGEST, Experiment
from pdai.experiments.results import Run
from pdai.experiments.sizes import size
from pdai.experiments.tables import at, markdown
from pdai.experiments.verdicts import Standing, standing

PAIRS = (
    (MARKOVIAN, PRINTED),
    (MARKOVIAN, STRONGEST),
    (MARKOVIAN, BEST),
    (MARKOVIAN, RESET),
    (RESET, BEST),
)
HEAD = ["", "rows", *(standing.value for standing in Standing), "mean ratio"]


def table(stored: Sequence[tuple[Experiment, Sequence[Run]]]) -> str:
    """One line for each pair of models: rows by outcome, and the geometric mean of the ratios."""
    return markdown(HEAD, [_line(stored, pair) for pair in PAIRS])


def _line(stored: Sequence[tuple[Experiment, Sequence[Run]]], pair: tuple[str, str]) -> list[str]:
    """Ratios are of rows with headroom: elsewhere they compare noise."""
    found: Counter[Standing] = Counter()
    logs: list[float] = []
    for experiment, runs, row in _rows(stored, pair):
        result = standing(experiment, runs, row, pair)
        if result is None:
            continue
        found[result] += 1
        ratio = size(experiment, runs, row, pair)
        if result is not Standing.NO_HEADROOM and ratio:
            logs.append(log(ratio))
    average = f"{exp(sum(logs) / len(logs)):.2f}" if logs else "-"
    name = f"{pair[1]} against {pair[0]}"
    if not found:
        return [name, "not run", *["-"] * len(Standing), "-"]
    return [name, str(found.total()), *(str(found[kind]) for kind in Standing), average]


def _rows(
    stored: Sequence[tuple[Experiment, Sequence[Run]]], pair: tuple[str, str]
) -> list[tuple[Experiment, Sequence[Run], str]]:
    """The rows of claims that have both models; of trainings that two figures share, the first."""
    seen: set[str] = set()
    found = []
    for experiment, runs in stored:
        if not experiment.claim or experiment.metric not in ("tv", "fcs"):
            continue
        for row in experiment.rows:
            both = [run.config for model in pair for run in at(runs, row, model)]
            trained = {json.dumps(config, sort_keys=True) for config in both}
            if trained and not trained <= seen:
                found.append((experiment, runs, row))
            seen |= trained
    return found
