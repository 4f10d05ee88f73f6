"""The figure of an experiment: curves over training, a metric over rows, or learned laws."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pdai.experiments.base import Experiment
from pdai.experiments.results import Run, summary
from pdai.experiments.tables import at, floor, metric_name, untrained
from pdai.plotting import MARKOVIAN, PATH_DEPENDENT, TARGET
from reference.drawing import save_figure

# Okabe and Ito's colours; the two families have theirs everywhere.
OTHERS = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
ROWS_PER_LINE = 3


def draw(experiment: Experiment, runs: Sequence[Run], files: Sequence[Path]) -> None:
    """Draws the figure of an experiment into each of the files; the ending chooses the format."""
    kind = experiment.draw
    if kind == "none" or not runs:
        return
    if kind in ("rows", "lines", "log lines"):
        figure = _over_rows(experiment, runs)
    else:
        panels = {"curves": _curves, "laws": _laws, "probe": _probe}[kind]
        figure = _panels(experiment, runs, panels)
    for file in files:
        save_figure(figure, file, dpi=110)


def colours(experiment: Experiment) -> dict[str, str]:
    """A colour per column."""
    found, others = {}, itertools.cycle(OTHERS)
    first, second = experiment.compared
    for model in experiment.models:
        fixed = {first: MARKOVIAN[1], second: PATH_DEPENDENT[1]}
        found[model] = fixed[model] if model in fixed else next(others)
    return found


def _panels(experiment: Experiment, runs: Sequence[Run], panel: Any) -> Figure:
    """One panel per row of the table."""
    rows = [row for row in experiment.rows if any(run.row == row for run in runs)]
    lines = -(-len(rows) // ROWS_PER_LINE)
    width = min(len(rows), ROWS_PER_LINE)
    figure = Figure(figsize=(4.4 * width, 3.5 * lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, width, squeeze=False)).ravel()
    for axis, row in zip(axes, rows, strict=False):
        panel(axis, experiment, [run for run in runs if run.row == row], row)
        axis.set_title(row, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[len(rows) :]:
        axis.set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    counts = {len(at(runs, row, model)) for row in rows for model in experiment.models} - {0}
    seeds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    figure.suptitle(f"{experiment.label}: mean and range of {seeds} seeds", fontsize=10)
    return figure


def _band(axis: Any, x: Sequence[float], values: Any, **style: Any) -> None:
    axis.plot(x, values.mean(0), lw=1.3, marker="o", ms=2.5, **style)
    axis.fill_between(x, values.min(0), values.max(0), color=style["color"], alpha=0.2, lw=0)


def _curves(axis: Any, experiment: Experiment, runs: Sequence[Run], row: str) -> None:
    """Total variation while training; dotted: untrained, dashed: exact sampling."""
    for model, colour in colours(experiment).items():
        of_cell = [run for run in at(runs, row, model) if run.curve]
        if of_cell:
            steps = [step for step, _ in of_cell[0].curve]
            values = np.array([[value for _, value in run.curve] for run in of_cell])
            _band(axis, steps, values, color=colour, label=model)
    reached = floor(runs, row, "tv")
    if reached is not None and reached.mean > 0:
        axis.axhline(reached.mean, color=TARGET, ls="--", lw=1, label="exact sampling")
    axis.set(xlabel="step", ylabel=metric_name(experiment, runs), ylim=(0, None))


def _probe(axis: Any, experiment: Experiment, runs: Sequence[Run], row: str) -> None:
    """What a probe found while training."""
    for model, colour in colours(experiment).items():
        of_cell = [run for run in at(runs, row, model) if run.probes]
        if of_cell:
            steps = [record["step"] for record in of_cell[0].probes]
            values = np.array([[record["kl"] for record in run.probes] for run in of_cell])
            _band(axis, steps, values, color=colour, label=model)
    axis.set(xlabel="step", ylabel="KL, nats", ylim=(0, None))


def _laws(axis: Any, experiment: Experiment, runs: Sequence[Run], row: str) -> None:
    """Learned laws of all seeds against the target."""
    for model, colour in colours(experiment).items():
        laws = [run.law for run in at(runs, row, model) if run.law is not None]
        if laws:
            learned = np.array([law[0] for law in laws])
            _band(axis, range(learned.shape[1]), learned, color=colour, label=model)
            target = laws[0][1]
    axis.bar(range(len(target)), target, color=TARGET, alpha=0.3, label="target")
    axis.set(xlabel="terminal state", ylabel="probability")


def _over_rows(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """The metric of each column over the rows, as points, or as lines where rows are numbers.

    Crosses are the paper's numbers; dotted is the untrained policy, dashed exact sampling.
    """
    numeric = experiment.draw != "rows"
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(experiment.rows))
    for number, (model, colour) in enumerate(colours(experiment).items()):
        x = places if numeric else places + 0.12 * (number - (len(experiment.models) - 1) / 2)
        found = [summary(at(runs, row, model), experiment.metric) for row in experiment.rows]
        axis.errorbar(
            x,
            [np.nan if s is None else s.mean for s in found],
            [np.nan if s is None else s.spread for s in found],
            color=colour,
            marker="o",
            ms=4,
            lw=1.2,
            ls="-" if numeric else "",
            capsize=3,
            label=model,
        )
        quoted = {cell.row: cell.paper for cell in experiment.cells if cell.model == model}
        heights = [np.nan if (q := quoted.get(row)) is None else q.mean for row in experiment.rows]
        if not np.isnan(heights).all():
            axis.plot(x, heights, "x", color=colour, ms=6, label=f"{model}, paper")
    for name, style, of in (("uniform policy", ":", untrained), ("exact sampling", "--", floor)):
        line = [of(runs, row, experiment.metric) for row in experiment.rows]
        level = np.array([np.nan if s is None else s.mean for s in line])
        if (level > 0).any():
            if experiment.draw != "lines":
                # There is no zero on a logarithmic scale.
                level[level == 0] = np.nan
            looks: dict[str, Any] = {"ls": style, "color": TARGET, "lw": 1.2, "label": name}
            if numeric:
                axis.plot(places, level, **looks)
            else:
                axis.hlines(level, places - 0.4, places + 0.4, **looks)
    axis.set_xticks(places, experiment.rows, rotation=0 if numeric else 30)
    if not numeric:
        for label in axis.get_xticklabels():
            label.set_horizontalalignment("right")
    if experiment.draw != "lines":
        axis.set_yscale("log")
    axis.set(ylabel=metric_name(experiment, runs))
    axis.set_title(f"{experiment.label}: mean ± sd", fontsize=10)
    axis.grid(alpha=0.3)
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside lower center")
    return figure
