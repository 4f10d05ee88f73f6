"""Figures with one panel per row: what is measured while training, or the learned laws."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pdai.experiments.base import APART, Experiment
from pdai.experiments.drawing import (
    EXACT,
    GREY,
    least_shown,
    legend,
    looks,
    marks,
    note,
    seeds,
    spread,
)
from pdai.experiments.results import TOP, Run
from pdai.experiments.tables import at, best_known, floor, metric_name
from pdai.show.plotting import TARGET, decimal

PER_LINE = 3
MOST_MARKED = 12
Curve = tuple[list[float], list[float]]


def panels(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """One panel per row of the table, with the ends of all seeds at its right."""
    rows = [row for row in experiment.rows if any(run.row == row for run in runs)]
    width = min(len(rows), PER_LINE)
    height = -(-len(rows) // PER_LINE)
    figure = Figure(figsize=(5.0 * width, 0.9 + 3.4 * height), layout="constrained")
    others: dict[str, Line2D] = {}
    panel = _law if experiment.draw == "laws" else _curves
    cut = figure.add_gridspec(height, width)
    for place, row in enumerate(rows):
        of_row = [run for run in runs if run.row == row]
        others |= panel(figure, cut[divmod(place, width)], experiment, of_row, row)
    told = "lines are means" if experiment.draw == "laws" else "thin lines; thick are medians"
    if experiment.draw in ("curves", "probe"):
        _share(figure)
        lowest = min(np.min(line.get_ydata()) for axis in figure.axes for line in axis.lines)
        told += note(float(lowest), _least(experiment))
    title = f"{experiment.label}: {seeds(experiment, runs)}, {told}"
    figure.suptitle(title, fontsize=10)
    legend(figure, experiment, runs, others)
    return figure


def _least(experiment: Experiment) -> float:
    """The end of the logarithmic scale of curves."""
    if experiment.draw == "curves":
        return least_shown("tv")
    # The KL of which "separation" counts the steps has a scale of its own.
    return 1e-3 if experiment.metric == "separation" else least_shown(experiment.metric)


def _share(figure: Figure) -> None:
    """One scale for all panels, so that they can be compared."""
    limits = [axis.get_ylim() for axis in figure.axes]
    for axis in figure.axes:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        decimal(axis.yaxis)


def _curve(experiment: Experiment, run: Run) -> Curve:
    """What is drawn of a run: steps, and a value at each."""
    if experiment.draw == "curves":
        found = [(step, value) for step, value in run.curve]
    elif experiment.draw == "best":
        found = [(float(step), best_until(run, step)) for step in _steps(run)]
    else:
        found = [(float(record["step"]), float(record["kl"])) for record in run.probes]
    return [step for step, _ in found], [value for _, value in found]


def _steps(run: Run) -> list[int]:
    return [record["step"] for record in run.probes if record["step"] > 0]


def best_until(run: Run, step: int, of: str = "learned") -> float:
    """The mean log reward of the best distinct states that were met until a step."""
    until = [record for record in run.probes if 0 < record["step"] <= step]
    met = {label: value for record in until for label, value in record[of]}
    return float(np.mean(sorted(met.values())[-TOP:]))


def _curves(
    figure: Figure, area: Any, experiment: Experiment, runs: Sequence[Run], row: str
) -> dict[str, Line2D]:
    """Every seed thin, their median thick; at the right every seed at the end, side by side."""
    inner = area.subgridspec(1, 2, width_ratios=(4, 1), wspace=0)
    axis = figure.add_subplot(inner[0])
    ends = figure.add_subplot(inner[1], sharey=axis)
    is_log = experiment.draw != "best"
    least = _least(experiment)
    present = [(m, s) for m, s in looks(experiment).items() if at(runs, row, m)]
    for (model, style), place in zip(present, spread(len(present), 1), strict=True):
        curves = [_curve(experiment, run) for run in at(runs, row, model)]
        curves = [curve for curve in curves if curve[0]]
        if not curves:
            continue
        values = np.array([curve[1] for curve in curves])
        values = np.maximum(values, least) if is_log else values
        steps = np.array(curves[0][0])
        for line in values:
            axis.plot(steps, line, lw=0.6, alpha=0.45, ls=style.line, color=style.colour)
        looks_so = marks(style, 3.5 if len(steps) <= MOST_MARKED else 0)
        axis.plot(steps, np.median(values, 0), lw=1.8, ls=style.line, **looks_so)
        ends.plot([place] * len(values), values[:, -1], ls="", alpha=0.9, **marks(style, 4))
    others = _levels(axis, ends, experiment, runs, row)
    axis.set(xlabel="step")
    axis.set_ylabel(_name(experiment, runs))
    axis.set_title(row, fontsize=10)
    if is_log:
        axis.set(yscale="log")
        decimal(axis.yaxis)
    if experiment.metric == "separation" and experiment.draw == "probe":
        # A claim about a factor of steps.
        axis.set(xscale="log", xlim=(min(s for s in steps if s > 0), None))
        decimal(axis.xaxis)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.grid(alpha=0.3)
    ends.grid(axis="y", alpha=0.3)
    ends.tick_params(labelleft=False, left=False)
    ends.tick_params(which="minor", left=False)
    ends.set(xlim=(-1, 1), xticks=[], xlabel="end")
    return others


def _name(experiment: Experiment, runs: Sequence[Run]) -> str:
    if experiment.draw == "probe":
        return "KL, nats"
    if experiment.draw == "best":
        return metric_name(experiment, runs)
    return f"TV ({', '.join(sorted({run.tv_kind for run in runs}))})"


def _levels(
    axis: Any, ends: Any, experiment: Experiment, runs: Sequence[Run], row: str
) -> dict[str, Line2D]:
    """The lines that a curve is read against, by name."""
    levels: dict[str, tuple[float, str]] = {}
    if experiment.metric == "separation":
        levels = {"told apart": (APART, EXACT), "optimal policy": (2 * APART, "-.")}
    elif experiment.draw == "best":
        best = best_known(experiment, runs, row)
        if best is not None:
            levels = {"best possible": (best.mean, EXACT)}
    elif experiment.draw == "curves" and (reached := floor(runs, row, "tv")) and reached.mean > 0:
        levels = {"exact sampling": (reached.mean, EXACT)}
    for level, style in levels.values():
        for place in (axis, ends):
            place.axhline(level, ls=style, zorder=1, **GREY)
    found = {name: Line2D([], [], ls=style, **GREY) for name, (_, style) in levels.items()}
    if experiment.draw == "best":
        steps = _steps(runs[0])
        every = np.array([[best_until(run, s, "uniform") for s in steps] for run in runs])
        axis.plot(steps, np.median(every, 0), ls=":", **GREY)
        found["uniform policy"] = Line2D([], [], ls=":", **GREY)
    return found


def _law(
    figure: Figure, area: Any, experiment: Experiment, runs: Sequence[Run], row: str
) -> dict[str, Line2D]:
    """Learned laws: each seed as points, their mean as a line, against the target."""
    axis = figure.add_subplot(area)
    targets = [run.law[1] for run in runs if run.law is not None]
    axis.bar(range(len(targets[0])), targets[0], color=TARGET, alpha=0.3)
    for model, style in looks(experiment).items():
        laws = [run.law[0] for run in at(runs, row, model) if run.law is not None]
        for law in laws:
            axis.plot(range(len(law)), law, ls="", alpha=0.6, **marks(style, 3))
        if laws:
            axis.plot(np.mean(laws, 0), lw=1.6, ls=style.line, color=style.colour)
    axis.set(xlabel="terminal state", ylabel="probability")
    axis.set_title(row, fontsize=10)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    return {"target": Line2D([], [], lw=6, color=TARGET, alpha=0.3)}
