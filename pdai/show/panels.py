"""Panels that pictures and pages share: laws, curves of training, edges. Imports no JAX."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from reference.contract.text import clipped
from reference.looking.show import save_figure

Floats = npt.NDArray[np.float64]

# Columns of a file may be called anything: a dollar begins no formula.
NAMES: dict[str, Any] = {"fontsize": 8, "parse_math": False}
TARGET = "#444444"
# Up to so many terminal states are bars; with more names, cells of edges have no numbers.
MOST_BARS, MOST_NUMBERS = 64, 12
# The smallest TV shown: a logarithmic axis has no zero, and float32 has seven digits.
LEAST_TV = 1e-7


def decimal(axis: Any) -> None:
    """Labels a logarithmic axis with decimal numbers, even within one decade."""
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.6g}" if value >= 1 else below_one(value))
    )
    if decades < 0.8:
        axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2 else (1.0, 2.0, 5.0)))
    if decades <= 2:
        axis.set_minor_locator(NullLocator())


def below_one(value: float) -> str:
    """A number below one, without an exponent unless it is small."""
    # A tick at 1e-5 is computed, and may be less.
    if value < 9e-6:
        return f"{value:.3g}"
    return str(np.format_float_positional(value, precision=6, trim="-"))


def draw_bars(axis: Any, target: Sequence[float] | Floats, colour: str = TARGET) -> BarContainer:
    """Draws the target probability of each terminal state as a bar.

    Args:
        axis: the panel.
        target: the probabilities, shape (states,).
        colour: the colour of the bars, which are translucent.
    """
    axis.set(xlabel="terminal state, by number", ylabel="probability")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    bars: BarContainer = axis.bar(range(len(target)), target, color=colour, alpha=0.35)
    return bars


def draw_equal(axis: Any, low: float, high: float, **style: Any) -> None:
    """Draws the line on which learned and target are equal, on logarithmic axes.

    Args:
        axis: the panel.
        low: the lower end of the line.
        high: its upper end.
        style: options of matplotlib for the line.
    """
    axis.plot((low, high), (low, high), **style)
    axis.set(xscale="log", yscale="log", xlabel="target probability", ylabel="learned probability")


def least_shown(learned: Floats, target: Floats) -> float:
    """The low end of a logarithmic axis of probabilities, at most 12 decades below the top."""
    least = [float(law[law > 0].min()) for law in (learned, target)]
    return max(min(least), least[1] / 1e3, float(target.max()) / 1e12)


def draw_curve(
    axis: Any, records: Sequence[Mapping[str, Any]], name: str, **style: Any
) -> list[Line2D]:
    """Draws the mean over seeds by step, in a band from the smallest to the largest.

    Args:
        axis: the panel.
        records: the records of a run, each with its step and a value for each seed.
        name: the value, `tv` or `loss`; records without it are left out.
        style: options of matplotlib for the line.

    Returns:
        The line, and the band if there are several seeds.
    """
    rows = [(record["step"], record[name]) for record in records if name in record]
    steps, values = zip(*rows, strict=True) if rows else ((), np.empty((0, 1)))
    table = np.maximum(np.array(values), LEAST_TV) if name == "tv" else np.array(values)
    drawn: list[Line2D] = axis.plot(steps, table.mean(1), **style)
    if table.shape[1] > 1:
        band = {"color": drawn[0].get_color(), "alpha": 0.2, "lw": 0}
        drawn.append(axis.fill_between(steps, table.min(1), table.max(1), **band))
    return drawn


def scale_tv(axis: Any, levels: Iterable[float] = ()) -> None:
    """A logarithmic TV axis, or a linear one from zero if TV falls by less than a decade.

    The curves on the axis decide, and not the levels beside them, for which there is room.
    """
    axis.set_xlim(0, None)
    values = np.concatenate([line.get_ydata() for line in axis.lines])
    if len(values) and values.max() < 10 * values.min():
        axis.set_ylim(0, 1.05 * max([values.max(), *levels]))
        return
    if not len(values):
        # The default limits of an empty panel include 0.
        axis.set_ylim(0.001, 1)
    axis.set_yscale("log")
    decimal(axis.yaxis)


def draw_edges(edges: Floats, names: Sequence[str], about: Sequence[str], path: Path) -> None:
    """Writes the probability of each edge as a heat map; rows are the starts.

    Args:
        edges: the probabilities, shape (n, n).
        names: the n variables.
        about: what the caption says, such as data, score and prior.
        path: the file; its ending is the format.
    """
    nodes = len(names)
    # Without pyplot, whose state is of the whole process.
    figure = Figure(figsize=(2.5 + 0.45 * nodes, 2.5 + 0.42 * nodes), layout="constrained")
    edge_panel(figure.add_subplot(), "probability of each edge", edges, names)
    lines = [line for text in about for line in textwrap.wrap(text, 35 + 6 * nodes)]
    figure.supxlabel("\n".join(lines), fontsize=7, parse_math=False)
    save_figure(figure, path, dpi=150)


def edge_panel(
    axis: Any, title: str, values: Floats, names: Sequence[str], most: float | None = None
) -> None:
    """Draws a number for each edge as a heat map with a title and a bar of colours.

    Args:
        axis: the panel.
        title: its title.
        values: the numbers, shape (n, n); rows are the starts.
        names: the n variables.
        most: the largest absolute value of differences; by default these are probabilities.
    """
    high = 1.0 if most is None else most
    norm = Normalize(0 if most is None else -most, high)
    colours: Any = ScalarMappable(norm, "Blues" if most is None else "RdBu_r")
    for cell, value in edge_cells(axis, values, names, most):
        cell.set_facecolor(colours.to_rgba(value))
    for text in axis.texts:
        is_dark = abs(float(text.get_text())) > 0.6 * high
        text.set_color("white" if is_dark else "#222222")
    axis.set_title(title, fontsize=10)
    axis.figure.colorbar(colours, ax=axis, shrink=0.8)


def edge_cells(
    axis: Any, values: Floats, names: Sequence[str], most: float | None = None
) -> list[tuple[Rectangle, float]]:
    """Draws a cell for each edge, with its number if there is room.

    Args:
        axis: the panel.
        values: the numbers, shape (n, n); rows are the starts.
        names: the n variables.
        most: the largest absolute value of differences; by default these are probabilities.

    Returns:
        The cells without a colour, row by row, each with its value.
    """
    nodes = len(names)
    shown = [clipped(name, 28) for name in names]
    axis.set_xticks(range(nodes), shown, rotation=90, **NAMES)
    axis.set_yticks(range(nodes), shown, **NAMES)
    ends = (-0.5, nodes - 0.5)
    axis.set(xlabel="to", ylabel="from", xlim=ends, ylim=ends[::-1], aspect="equal")
    digits = 2 if most is None else 3
    # In points: as many digits, and a sign, as one of three panels in a row has room for.
    size = min(7.0, 280 / (nodes * (4 if most is None else 6)))
    cells = []
    for (i, j), value in np.ndenumerate(values):
        if i == j:
            continue
        cells.append((axis.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, lw=0)), float(value)))
        if nodes <= MOST_NUMBERS:
            # Not "-0.00".
            text = f"{round(value, digits) + 0.0:.{digits}f}"
            axis.text(j, i, text, ha="center", va="center", fontsize=size)
    return cells
