"""The figures of experiments: a metric over the rows of a table, or panels of measurements.

A model has one colour everywhere, each seed is a point or a thin line, and a logarithmic scale ends
at a hundredth of the least relevant difference.
"""

from collections.abc import Sequence
from math import ceil, isnan, nan
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pdai.experiments.base import APART, MEASURES, Experiment
from pdai.experiments.frames import Results
from pdai.experiments.results import Run
from pdai.experiments.verdicts import Comparison
from pdai.show.panels import TARGET, below_one, decimal
from pdai.show.plotting import Look, look
from reference.looking.show import save_figure

MARKERS, LINES = "osD^vPXh*", ("-", "--", ":", "-.")
GREY: dict[str, Any] = {"color": TARGET, "lw": 1.2}
UNTRAINED, EXACT = ":", "--"
# The colours of computed bounds.
BOUNDS = ("#0072B2", "#222222", "#CC79A7", "#E69F00", "#882255")
# Ends of an interval that are closer than by this factor are one line.
WIDER = 1.01
PER_LINE = 3
MOST_MARKED = 12

# The marks of a legend by name; and a figure with a note for its title, and its further marks.
Handles: TypeAlias = dict[str, Line2D]
Drawn: TypeAlias = tuple[Figure, str, Handles]


def draw(results: Results, files: Sequence[Path]) -> None:
    """Draws the figure of an experiment into each of the files; the ending chooses the format."""
    if results.experiment.draw == "none" or not results.runs:
        return
    figure = figure_of(results)
    for file in files:
        save_figure(figure, file, dpi=110)


def figure_of(results: Results) -> Figure:
    """The figure of an experiment with runs, in the form of its option `draw`."""
    experiment = results.experiment
    figure, note, others = (_points if experiment.draw == "rows" else _panels)(results)
    counts = results.frame.groupby(["row", "model"]).size()
    ends = " to ".join(str(count) for count in dict.fromkeys((counts.min(), counts.max())))
    seeds = f"{ends} seed{'s' * int(counts.max() > 1)}"
    figure.suptitle(f"{experiment.label}: {seeds}{note}", fontsize=10)
    _legend(figure, results, others)
    return figure


def looks(experiment: Experiment) -> dict[str, Look]:
    """The look of each column: forms of one model share a colour, and differ in lines and marks."""
    styles: dict[str, Look] = {}
    first = {cell.model: cell.dynamics for cell in reversed(experiment.cells)}
    for model in experiment.models:
        style = look(model, first[model])
        used = [one.marker for one in styles.values() if one.colour == style.colour]
        if style in styles.values():
            after = MARKERS[len(used) % len(MARKERS) :]
            marker = next((mark for mark in after if mark not in used), after[0])
            style = style._replace(line=LINES[len(used) % 4], marker=marker)
        styles[model] = style
    return styles


def _marks(style: Look, size: float = 5) -> dict[str, Any]:
    """The options of matplotlib for the points of a model."""
    face = style.colour if style.is_filled else "white"
    return {
        "marker": style.marker, "ms": size, "color": style.colour,
        "markerfacecolor": face, "markeredgecolor": style.colour,
    }  # fmt: skip


def _legend(figure: Figure, results: Results, others: Handles) -> None:
    """One legend below the panels: the models that were run, then other marks by name."""
    handles = {
        model: Line2D([], [], ls=style.line, lw=1.4, **_marks(style))
        for model, style in looks(results.experiment).items()
        if model in results.models
    } | others
    # Five names fill ten inches; rows are equally full, as a single name would be alone in the
    # second row.
    most = min(5, max(2, int(figure.get_figwidth() / 2)))
    columns = ceil(len(handles) / ceil(len(handles) / most))
    figure.legend(
        list(handles.values()), list(handles), frameon=False, fontsize=8,
        ncols=columns, loc="outside lower center",
    )  # fmt: skip


def _points(results: Results) -> Drawn:
    """One line per row: the metric, and, of distances, the ratio to the first compared column."""
    experiment, rows, models = results.experiment, results.rows, results.models
    base, styles = experiment.compared[0], looks(experiment)
    printed = {place: number.mean for place, number in experiment.quoted.items()}
    is_compared = results.sign > 0 and any({base} < set(results.at(row).model) for row in rows)
    height = 1.6 + len(rows) * (0.24 + 0.11 * len(models))
    figure = Figure(figsize=(10.5 if is_compared else 7.5, height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, 1 + is_compared, sharey=True))
    for place, row in enumerate(rows):
        for model, offset in zip(models, _offsets(len(models), 0.66), strict=True):
            at, paper = (place + offset, styles[model]), printed.get((row, model), nan)
            shown = _shown(results, results.values(row, model))
            _draw_seeds(axes[0], shown, np.ones(len(shown)), *at, paper)
            if is_compared and model != base:
                both = Comparison(results, row, (base, model))
                others, ours = np.maximum(_shown(results, both.paired), both.least)
                _draw_seeds(axes[1], ours, others, *at, paper / printed.get((row, base), nan))
        _draw_levels(axes[0], results, row, place)
    # The axis names the kind of TV if all rows have the same.
    metrics = [results.metric_name(row) for row in rows]
    is_one = len(set(metrics)) == 1
    names = [row if is_one else f"{row}\n{name}" for row, name in zip(rows, metrics, strict=True)]
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    better = "left" if results.sign > 0 else "right"
    measured = metrics[0] if is_one else results.measure.name
    axes[0].set_ylabel(experiment.axis)
    labels = [f"{measured}: {better} is better", f'ratio to "{base}": below 1 is better']
    if is_compared:
        axes[1].axvline(1, color="black", lw=1)
    for axis, label in zip(axes, labels, strict=False):
        axis.set(xscale="log", xlabel=label)
        decimal(axis.xaxis)
        axis.grid(axis="x", alpha=0.3)
        for between in np.arange(0.5, len(rows) - 1):
            axis.axhline(between, color="0.85", lw=0.8)
    note = ", means as bars" if results.frame.seed.nunique() > 1 else ""
    note += _note(results.frame.learned.min(), results.measure.negligible / 100)
    return figure, note, _levels(results)


def _panels(results: Results) -> Drawn:
    """One panel per row: curves of training with the final values at the right; or laws."""
    experiment, rows = results.experiment, results.rows
    width, height = min(len(rows), PER_LINE), -(-len(rows) // PER_LINE)
    figure = Figure(figsize=(5.0 * width, 0.9 + 3.4 * height), layout="constrained")
    cut = figure.add_gridspec(height, width)
    is_law = experiment.draw == "laws"
    others: Handles = {}
    for place, row in enumerate(rows):
        area = cut[divmod(place, width)]
        others |= (_draw_laws if is_law else _draw_curves)(figure, area, results, row)
    note = ", lines are means" if is_law else ", thin lines; thick are medians"
    if experiment.draw in ("curves", "probe"):
        # All panels have one scale, so that they can be compared.
        limits = [axis.get_ylim() for axis in figure.axes]
        for axis in figure.axes:
            axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
            decimal(axis.yaxis)
        lowest = min(np.min(line.get_ydata()) for axis in figure.axes for line in axis.lines)
        note += _note(float(lowest), _least_of_curves(experiment))
    return figure, note, others


def _shown(results: Results, values: Any) -> Any:
    """Values for a logarithmic scale, cut off at its low end."""
    return np.maximum(np.asarray(values, float), results.measure.negligible / 100)


def _note(lowest: float, least: float) -> str:
    """A note on values that lie on the end of a scale."""
    return f"; {below_one(least)} or less is drawn as that" if lowest <= least else ""


def _offsets(count: int, width: float) -> Any:
    """Places of several marks side by side around zero."""
    return np.linspace(-width / 2, width / 2, count) if count > 1 else np.zeros(1)


def _draw_seeds(axis: Any, values: Any, below: Any, y: float, style: Look, paper: float) -> None:
    """Each seed as a point, their mean as a bar, and the paper's number, if known, as a cross."""
    axis.plot(values / below, [y] * len(values), ls="", alpha=0.8, **_marks(style, 4))
    if len(values) > 1:
        axis.plot(values.mean() / below.mean(), y, "|", ms=11, mew=2, color=style.colour)
    axis.plot(paper, y, "x", ms=7, mew=2, color=style.colour)


def _draw_levels(axis: Any, results: Results, row: str, place: float) -> None:
    """Levels in a row: the untrained policy, the best value, and bands between computed bounds."""
    ends = (place - 0.42, place + 0.42)
    for level, style in ((results.untrained(row), UNTRAINED), (_best(results, row), EXACT)):
        # A logarithmic scale has no zero.
        if level > 0:
            axis.vlines(level, *ends, ls=style, **GREY)
    for colour, bounds in zip(BOUNDS, results.experiment.bounds.values(), strict=False):
        if row in bounds and bounds[row][1] > 0:
            low, high = bounds[row]
            if low * WIDER < high and low > 0:
                axis.fill_betweenx(ends, low, high, color=colour, alpha=0.3, lw=2)
                continue
            axis.vlines(high, *ends, color=colour, alpha=0.6, lw=2)
            if low == 0:
                # A logarithmic scale has no zero, to which the band goes.
                arrow = {"arrowstyle": "->", "color": colour, "alpha": 0.6, "lw": 2}
                axis.annotate("", (high / 3, place), (high, place), arrowprops=arrow)


def _best(results: Results, row: str) -> float:
    """The best value of a row; NaN if the TV of some laws is estimated, and has another floor."""
    is_estimated = results.experiment.metric == "tv" and "estimated" in set(results.at(row).kind)
    return nan if is_estimated else results.best(row)


def _levels(results: Results) -> Handles:
    """The marks of a figure over rows in addition to the marks of models."""
    experiment = results.experiment
    handles = {}
    if experiment.quoted:
        handles["the paper's number"] = Line2D([], [], ls="", marker="x", mew=2, color="black")
    for colour, name in zip(BOUNDS, experiment.bounds, strict=False):
        handles[name] = Line2D([], [], lw=6, alpha=0.3, color=colour)
    if results.frame.uniform.notna().any():
        handles["uniform policy"] = Line2D([], [], ls=UNTRAINED, **GREY)
    if any(_best(results, row) > 0 for row in results.rows):
        handles[experiment.best_name] = Line2D([], [], ls=EXACT, **GREY)
    return handles


def _least_of_curves(experiment: Experiment) -> float:
    """The end of the logarithmic scale of curves."""
    # The KL whose steps "separation" counts has its own scale.
    is_of_steps = experiment.metric == "separation"
    return 1e-3 if is_of_steps else MEASURES[experiment.metric].negligible / 100


def _curve(experiment: Experiment, run: Run, of: str = "learned") -> list[Any]:
    """The curve of a run: pairs of a step and a value."""
    if experiment.draw == "curves":
        return run.curve
    if experiment.draw == "probe":
        return [(record["step"], record["kl"]) for record in run.probes]
    records = [record for record in run.probes if record["step"] > 0]
    if experiment.metric == "met":
        return [(record["step"], record[of]) for record in records]
    return [(record["step"], run.best_until(record["step"], of)) for record in records]


def _draw_curves(figure: Figure, area: Any, results: Results, row: str) -> Handles:
    """Every seed thin, their median thick; at the right every seed at the end, side by side."""
    experiment = results.experiment
    inner = area.subgridspec(1, 2, width_ratios=(4, 1), wspace=0)
    axis = figure.add_subplot(inner[0])
    ends = figure.add_subplot(inner[1], sharey=axis)
    is_log, styles = experiment.draw != "best", looks(experiment)
    models = [model for model in results.models if len(results.at(row, model))]
    for model, place in zip(models, _offsets(len(models), 1), strict=True):
        style = styles[model]
        drawn = np.array([_curve(experiment, run) for run in results.at(row, model).run], float)
        steps, values = drawn[0, :, 0], drawn[:, :, 1]
        values = np.maximum(values, _least_of_curves(experiment)) if is_log else values
        for line in values:
            axis.plot(steps, line, lw=0.6, alpha=0.45, ls=style.line, color=style.colour)
        median = _marks(style, 3.5 if len(steps) <= MOST_MARKED else 0)
        axis.plot(steps, np.median(values, 0), lw=1.8, ls=style.line, **median)
        ends.plot([place] * len(values), values[:, -1], ls="", alpha=0.9, **_marks(style, 4))
    others = _draw_curve_levels(axis, ends, results, row)
    tv = f"TV ({', '.join(sorted(set(results.at(row).kind)))})"
    names = {"probe": "KL, nats", "best": results.metric_name(row), "curves": tv}
    axis.set(xlabel="step", ylabel=names[experiment.draw])
    axis.set_title(row, fontsize=10)
    if is_log:
        axis.set(yscale="log")
        decimal(axis.yaxis)
    if experiment.metric == "separation":
        # A claim about a factor of steps.
        axis.set(xscale="log", xlim=(steps[steps > 0].min(), None))
        decimal(axis.xaxis)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.grid(alpha=0.3)
    ends.grid(axis="y", alpha=0.3)
    ends.tick_params(which="both", labelleft=False, left=False)
    ends.set(xlim=(-1, 1), xticks=[], xlabel="end")
    return others


def _draw_curve_levels(axis: Any, ends: Any, results: Results, row: str) -> Handles:
    """The reference lines of a curve, by name."""
    experiment, best = results.experiment, results.best(row)
    levels = {}
    if experiment.metric == "separation":
        levels = {"told apart": (APART, EXACT), "optimal policy": (2 * APART, "-.")}
    elif experiment.draw == "best" and not isnan(best):
        levels = {experiment.best_name: (best, EXACT)}
    elif experiment.draw == "curves" and best > 0:
        # It is the floor of those laws that are sampled; others may lie below it.
        is_of_all = "estimated" not in set(results.at(row).kind)
        levels = {f"exact sampling{'' if is_of_all else ', of sampled laws'}": (best, EXACT)}
    handles = {}
    for name, (level, style) in levels.items():
        for place in (axis, ends):
            place.axhline(level, ls=style, zorder=1, **GREY)
        handles[name] = Line2D([], [], ls=style, **GREY)
    if experiment.draw == "best":
        every = np.array([_curve(experiment, run, "uniform") for run in results.at(row).run])
        axis.plot(every[0, :, 0], np.median(every[:, :, 1], 0), ls=":", **GREY)
        handles["uniform policy"] = Line2D([], [], ls=":", **GREY)
    return handles


def _draw_laws(figure: Figure, area: Any, results: Results, row: str) -> Handles:
    """Learned laws: each seed as points, their mean as a line, against the target."""
    axis = figure.add_subplot(area)
    laws = results.at(row).run.map(lambda run: run.law).dropna()
    target = laws.iloc[0][1]
    axis.bar(range(len(target)), target, color=TARGET, alpha=0.3)
    for model, style in looks(results.experiment).items():
        learned = [law[0] for law in laws[results.at(row).model == model]]
        for law in learned:
            axis.plot(range(len(law)), law, ls="", alpha=0.6, **_marks(style, 3))
        if learned:
            axis.plot(np.mean(learned, 0), lw=1.6, ls=style.line, color=style.colour)
    axis.set(xlabel="terminal state", ylabel="probability")
    axis.set_title(row, fontsize=10)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    return {"target": Line2D([], [], lw=6, color=TARGET, alpha=0.3)}
