"""The figure of an experiment, in the form that it asks for."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from pdai.experiments import over_rows, over_steps
from pdai.experiments.base import Experiment
from pdai.experiments.results import Run
from reference.show import save_figure


def draw(experiment: Experiment, runs: Sequence[Run], files: Sequence[Path]) -> None:
    """Draws the figure of an experiment into each of the files; the ending chooses the format."""
    if experiment.draw == "none" or not runs:
        return
    figure = figure_of(experiment, runs)
    for file in files:
        save_figure(figure, file, dpi=110)


def figure_of(experiment: Experiment, runs: Sequence[Run]) -> Figure:
    """The figure of an experiment of which there are runs."""
    if experiment.draw in ("rows", "points"):
        draws = over_rows.by_model if experiment.layout == "models" else over_rows.points
        return draws(experiment, runs)
    if experiment.draw in ("lines", "log lines"):
        return over_rows.lines(experiment, runs)
    return over_steps.panels(experiment, runs)
