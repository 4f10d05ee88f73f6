"""What the figures of experiments share: looks, scales that do not end at zero, legends."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pdai.experiments.base import MEASURES, Experiment, Metric
from pdai.experiments.results import Run
from pdai.experiments.tables import at
from pdai.show.plotting import TARGET, Look, below_one, look

MARKERS, LINES = "osD^vPXh*", ("-", "--", ":", "-.")
GREY: dict[str, Any] = {"color": TARGET, "lw": 1.2}
UNTRAINED, EXACT = ":", "--"


def looks(experiment: Experiment) -> dict[str, Look]:
    """How each column is drawn: forms of one model have one colour, and other lines and marks."""
    found: dict[str, Look] = {}
    for cell in experiment.cells:
        if cell.model in found:
            continue
        wanted = look(cell.model, cell.dynamics)
        count = sum(used.colour == wanted.colour for used in found.values())
        if wanted in found.values():
            wanted = wanted._replace(line=LINES[count % 4], marker=MARKERS[count % len(MARKERS)])
        found[cell.model] = wanted
    return found


def marks(style: Look, size: float = 5) -> dict[str, Any]:
    """The options of matplotlib for the points of a model."""
    face = style.colour if style.is_filled else "white"
    return {
        "marker": style.marker, "ms": size, "color": style.colour,
        "markerfacecolor": face, "markeredgecolor": style.colour,
    }  # fmt: skip


def least_shown(metric: Metric) -> float:
    """The end of a logarithmic scale: a hundredth of what counts; smaller values lie on it."""
    return MEASURES[metric].negligible / 100


def shown(values: Any, metric: Metric) -> Any:
    """Values on a logarithmic scale."""
    return np.maximum(np.asarray(values, float), least_shown(metric))


def legend(figure: Figure, experiment: Experiment, runs: Sequence[Run], others: Any) -> None:
    """One legend below the panels: the models that there are, then other marks by name."""
    handles = {
        model: Line2D([], [], ls=style.line, lw=1.4, **marks(style))
        for model, style in looks(experiment).items()
        if any(run.model == model for run in runs)
    }
    handles |= others
    # Five names fill ten inches; rows are as full as each other, as a single name would stand below
    # the first.
    most = min(5, max(2, int(figure.get_figwidth() / 2)))
    columns = ceil(len(handles) / ceil(len(handles) / most))
    figure.legend(
        list(handles.values()), list(handles), frameon=False, fontsize=8,
        ncols=columns, loc="outside lower center",
    )  # fmt: skip


def note(lowest: float, least: float) -> str:
    """What a scale says of values that lie on its end."""
    return f"; {below_one(least)} or less is drawn as that" if lowest <= least else ""


def seeds(experiment: Experiment, runs: Sequence[Run]) -> str:
    """How many seeds a figure shows, such as "3 to 5 seeds"."""
    every = {len(at(runs, row, model)) for row in experiment.rows for model in experiment.models}
    found = sorted(every - {0})
    told = " to ".join(str(count) for count in dict.fromkeys((found[0], found[-1])))
    return f"{told} seed{'s' * (found[-1] > 1)}"


def spread(count: int, width: float) -> Any:
    """Places of several marks side by side around zero."""
    return np.linspace(-width / 2, width / 2, count) if count > 1 else np.zeros(1)
