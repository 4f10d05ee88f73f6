"""Figures of a metric over the rows of a table: each seed a point, each mean a line."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pdai.experiments.base import MEASURES, Experiment
from pdai.experiments.drawing import (
    EXACT,
    GREY,
    UNTRAINED,
    least_shown,
    legend,
    looks,
    marks,
    note,
    seeds,
    shown,
    spread,
)
from pdai.experiments.results import Run, comparable
from pdai.experiments.tables import at, best_known, leaders, metric_name, untrained
from pdai.show.plotting import TARGET, decimal

# Of what is computed: the first is of Markovian policies, where there are any.
BOUNDS = ("#0072B2", "#222222", "#CC79A7")
# Wide, as models that learn nothing lie on it.
BAND: dict[str, Any] = {"lw": 6, "alpha": 0.25, "color": TARGET}


def points(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """One line per row: the metric, and its ratio to the first of the compared columns."""
    rows = [row for row in experiment.rows if any(run.row == row for run in runs)]
    present = [m for m in experiment.models if any(run.model == m for run in runs)]
    height = 1.6 + len(rows) * (0.24 + 0.11 * len(present))
    base = experiment.compared[0]
    is_compared = experiment.draw == "rows" and _has_ratios(runs, base)
    figure = Figure(figsize=(10.5 if is_compared else 7.5, height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, 1 + is_compared, sharey=True))
    offsets = spread(len(present), 0.66)
    for place, row in enumerate(rows):
        for model, offset in zip(present, offsets, strict=True):
            _seeds(axes[0], experiment, at(runs, row, model), model, place + offset)
            _paper(axes[0], experiment, row, model, place + offset)
            if is_compared and model != base:
                _ratios(axes[1], experiment, runs, row, model, place + offset)
        _levels(axes[0], experiment, runs, row, place)
        _bounds(axes[0], experiment, row, place)
    names, measured = _named(experiment, runs, rows)
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    axes[0].set(xscale="log", xlabel=f"{measured}: {_better(experiment)}")
    axes[0].set_ylabel(experiment.axis)
    decimal(axes[0].xaxis)
    if is_compared:
        axes[1].axvline(1, color="black", lw=1)
        axes[1].set(xscale="log", xlabel=f'ratio to "{base}": below 1 is better')
        decimal(axes[1].xaxis)
    for axis in axes:
        axis.grid(axis="x", alpha=0.3)
        for between in np.arange(0.5, len(rows) - 1):
            axis.axhline(between, color="0.85", lw=0.8)
    bars = ", means as bars" if len({run.seed for run in runs}) > 1 else ""
    figure.suptitle(f"{experiment.label}: {seeds(experiment, runs)}{bars}", fontsize=10)
    legend(figure, experiment, runs, _others(experiment, runs, rows))
    return figure


def _named(
    experiment: Experiment, runs: Sequence[Run], rows: Sequence[str]
) -> tuple[list[str], str]:
    """The names of rows, and of the metric: the kind of TV stands where it is the same."""
    of_rows = [[run for run in runs if run.row == row] for row in rows]
    metrics = [metric_name(experiment, found) for found in of_rows]
    if len(set(metrics)) == 1:
        return list(rows), metrics[0]
    named = [f"{row}\n{metric}" for row, metric in zip(rows, metrics, strict=True)]
    return named, MEASURES[experiment.metric].name


def _has_ratios(runs: Sequence[Run], base: str) -> bool:
    """Whether a model stands in one row with that which others are compared to."""
    rows = {run.row for run in runs if run.model == base}
    return any(run.row in rows and run.model != base for run in runs)


def _better(experiment: Experiment) -> str:
    return "right is better" if MEASURES[experiment.metric].higher_is_better else "left is better"


def _values(experiment: Experiment, runs: Sequence[Run]) -> list[float]:
    found = [run.value(experiment.metric) for run in runs]
    return [float(value) for value in found if value is not None]


def _seeds(axis: Any, experiment: Experiment, runs: Sequence[Run], model: str, y: float) -> None:
    """Each seed as a point, and their mean as a bar."""
    values = shown(_values(experiment, runs), experiment.metric)
    if len(values):
        style = looks(experiment)[model]
        axis.plot(values, [y] * len(values), ls="", alpha=0.8, **marks(style, 4))
        if len(values) > 1:
            axis.plot(values.mean(), y, "|", ms=11, mew=2, color=style.colour)


def _paper(axis: Any, experiment: Experiment, row: str, model: str, y: float) -> None:
    quoted = {(cell.row, cell.model): cell.paper for cell in experiment.cells}.get((row, model))
    if quoted is not None:
        axis.plot(quoted.mean, y, "x", ms=7, mew=2, color=looks(experiment)[model].colour)


def _ratios(
    axis: Any, experiment: Experiment, runs: Sequence[Run], row: str, model: str, y: float
) -> None:
    """The ratio to the first column, seed by seed and of the means, and that of the paper."""
    metric, base = experiment.metric, experiment.compared[0]
    style = looks(experiment)[model]
    least = comparable(at(runs, row, base), at(runs, row, model), metric)
    first = {run.seed: run.value(metric) for run in at(runs, row, base)}
    pairs = [
        (value, other)
        for run in at(runs, row, model)
        if (value := run.value(metric)) is not None and (other := first.get(run.seed)) is not None
    ]
    if pairs:
        columns = zip(*pairs, strict=True)
        ours, others = (np.maximum(shown(column, metric), least) for column in columns)
        axis.plot(ours / others, [y] * len(ours), ls="", alpha=0.8, **marks(style, 4))
        if len(ours) > 1:
            axis.plot(ours.mean() / others.mean(), y, "|", ms=11, mew=2, color=style.colour)
    quoted = {cell.model: cell.paper for cell in experiment.cells if cell.row == row}
    one, two = quoted.get(base), quoted.get(model)
    if one is not None and two is not None:
        axis.plot(two.mean / one.mean, y, "x", ms=7, mew=2, color=style.colour)


def _levels(axis: Any, experiment: Experiment, runs: Sequence[Run], row: str, place: float) -> None:
    """The untrained policy and the best that there is, as lines over the height of a row."""
    levels = (
        (untrained(runs, row, experiment.metric), UNTRAINED),
        (best_known(experiment, runs, row), EXACT),
    )
    for level, style in levels:
        # There is no zero on a logarithmic scale.
        if level is not None and level.mean > 0:
            axis.vlines(level.mean, place - 0.42, place + 0.42, ls=style, **GREY)


def _bounds(axis: Any, experiment: Experiment, row: str, place: float) -> None:
    """Between what lies that which is computed, as bands over the height of a row."""
    for colour, of_rows in zip(BOUNDS, experiment.bounds.values(), strict=False):
        # There is no zero on a logarithmic scale.
        if row in of_rows and of_rows[row][1] > 0:
            low, high = shown(of_rows[row], experiment.metric)
            heights = (place - 0.42, place + 0.42)
            axis.fill_betweenx(heights, low, high, color=colour, alpha=0.3, lw=2)


def _others(experiment: Experiment, runs: Sequence[Run], rows: Sequence[str]) -> dict[str, Line2D]:
    """The marks beside those of models that a figure has."""
    found = {}
    if any(cell.paper for cell in experiment.cells):
        found["the paper's number"] = Line2D([], [], ls="", marker="x", mew=2, color="black")
    for colour, name in zip(BOUNDS, experiment.bounds, strict=False):
        found[name] = Line2D([], [], lw=6, alpha=0.3, color=colour)
    known = [best_known(experiment, runs, row) for row in rows]
    if any(untrained(runs, row, experiment.metric) for row in rows):
        numeric = experiment.draw in ("lines", "log lines")
        looks_of = BAND if numeric else {"ls": UNTRAINED, **GREY}
        found["uniform policy"] = Line2D([], [], **looks_of)
    if any(level is not None and level.mean > 0 for level in known):
        name = "best possible" if experiment.optimum else "exact sampling"
        found[name] = Line2D([], [], ls=EXACT, **GREY)
    return found


def by_model(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """One panel per instance, one line per model; the best of each kind filled."""
    rows = [row for row in experiment.rows if any(run.row == row for run in runs)]
    present = [m for m in experiment.models if any(run.model == m for run in runs)]
    size = (2.2 + 2.6 * len(rows), 1.6 + 0.2 * len(present))
    figure = Figure(figsize=size, layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(rows), sharey=True))
    for axis, row in zip(axes, rows, strict=True):
        best = leaders(experiment, runs, row)
        for place, model in enumerate(present):
            values = shown(_values(experiment, at(runs, row, model)), experiment.metric)
            style = looks(experiment)[model]._replace(marker="o", is_filled=model in best)
            axis.plot(values, [place] * len(values), ls="", **marks(style, 5))
            if model in best:
                axis.axvline(values.mean(), lw=1, color=style.colour, alpha=0.8)
        of_row = [run for run in runs if run.row == row]
        axis.set(xscale="log", xlabel=metric_name(experiment, of_row))
        axis.set_title(row, fontsize=10)
        decimal(axis.xaxis)
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(present)), present)
    axes[0].set_ylim(len(present) - 0.5, -0.5)
    axes[0].set_ylabel(experiment.axis)
    told = (
        f"{experiment.label}: {seeds(experiment, runs)}; filled, with a line: the best of each kind"
    )
    figure.suptitle(told, fontsize=10)
    return figure


def _number(row: str) -> float | None:
    try:
        return float(row.replace(",", ""))
    except ValueError:
        return None


def lines(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """The metric over rows that are numbers: each seed a point, the means joined.

    Rows that are called "a: 2" and "b: 2" are of two panels, a and b.
    """
    rows = [row for row in experiment.rows if any(run.row == row for run in runs)]
    panels: dict[str, list[str]] = {}
    for row in rows:
        panels.setdefault(row.rpartition(": ")[0], []).append(row)
    figure = Figure(figsize=(max(6.4, 4.2 * len(panels)), 4.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axis, (name, of_panel) in zip(axes, panels.items(), strict=True):
        _lines(axis, experiment, runs, of_panel)
        axis.set_title(name, fontsize=10)
        axis.set(xlabel=experiment.axis)
        axis.grid(alpha=0.3)
    told = note(min(_values(experiment, runs)), least_shown(experiment.metric))
    axes[0].set(yscale="log", ylabel=metric_name(experiment, runs))
    decimal(axes[0].yaxis)
    figure.suptitle(
        f"{experiment.label}: {seeds(experiment, runs)}, means joined{told}", fontsize=10
    )
    legend(figure, experiment, runs, _others(experiment, runs, rows))
    return figure


def _lines(axis: Any, experiment: Experiment, runs: Sequence[Run], rows: Sequence[str]) -> None:
    """One panel of `lines`. A row that is no number has the place that it stands at."""
    names = [row.rpartition(": ")[2] for row in rows]
    numbers = [_number(name) for name in names]
    known = [number for number in numbers if number is not None]
    places = np.array(known if len(known) == len(rows) else range(len(rows)), float)
    metric = experiment.metric
    before = [untrained(runs, row, metric) for row in rows]
    level = shown([np.nan if one is None else one.mean for one in before], metric)
    axis.plot(places, level, zorder=1, **BAND)
    exact = [best_known(experiment, runs, row) for row in rows]
    values = np.array([np.nan if one is None or one.mean == 0 else one.mean for one in exact])
    axis.plot(places, values, ls=EXACT, zorder=1, **GREY)
    for model, style in looks(experiment).items():
        means = []
        for place, row in zip(places, rows, strict=True):
            found_values = shown(_values(experiment, at(runs, row, model)), metric)
            means.append(found_values.mean() if len(found_values) else np.nan)
            axis.plot([place] * len(found_values), found_values, ls="", **marks(style, 4))
        axis.plot(places, means, ls=style.line, lw=1.4, color=style.colour)
    if experiment.draw == "log lines" and len(known) == len(rows):
        axis.set(xscale="log")
        axis.minorticks_off()
    axis.set_xticks(places, names)
