"""Plots of runs: learned against target probabilities, and the curves of training."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fast.runs.checkpoints import finished_records
from fast.runs.folder import is_markovian
from fast.runs.records import load_law
from reference.drawing import save_figure
from reference.errors import InputError

# Okabe and Ito's colours, safe for the colour-blind; one per model family, everywhere.
PATH_DEPENDENT, MARKOVIAN = ("path-dependent", "#D55E00"), ("Markovian", "#0072B2")
TARGET = "#444444"


def plot_runs(folders: Sequence[Path], output: Path) -> None:
    """Draws finished runs into one file.

    Raises:
        InputError: if a folder is not a finished run, or `output` cannot be written.
    """
    save_figure(figure_of(folders), output, dpi=120)


def plot_or_say(folders: Sequence[Path], output: Path) -> None:
    """Draws finished runs into one file; says to stderr how to do so later if it cannot be written.

    The runs are complete without it: a disk that is full by now keeps nobody from their report.
    """
    try:
        plot_runs(folders, output)
    except InputError as error:
        again = shlex.join(["pdai", "plot", *map(str, folders), "--out", "plot.png"])
        print(
            f"training is complete, but not drawn: {error}; draw it later with `{again}`",
            file=sys.stderr,
            flush=True,
        )


def figure_of(folders: Sequence[Path]) -> Figure:
    """Finished runs in one figure: a law panel each, then TV and loss of all.

    Raises:
        InputError: if a folder is not a finished run.
    """
    runs = [(folder, is_markovian(folder), load_law(folder)) for folder in folders]
    panels = len(runs) + 2
    figure = Figure(figsize=(4.2 * panels, 3.8), layout="constrained")
    axes = figure.subplots(1, panels)
    for axis, (folder, markovian, (learned, target)) in zip(axes, runs, strict=False):
        _draw_law(axis, learned, target, _family(markovian))
        title = f"{_printable(folder)}: learned against target"
        axis.set_title(title, fontsize=10, parse_math=False)
    several = len({markovian for _, markovian, _ in runs}) < len(runs)
    for number, (folder, markovian, _) in enumerate(runs):
        name, color = _family(markovian)
        style = {
            "color": color,
            "linestyle": ("-", "--", ":", "-.")[number % 4] if several else "-",
            "label": _printable(folder) if several else name,
        }
        records = finished_records(folder)
        _draw_curve(axes[-2], records, "tv", style)
        _draw_curve(axes[-1], records, "loss", style)
    axes[-2].set(title="total variation to the target", xlabel="step", ylabel="TV", ylim=(0, None))
    axes[-1].set(title="loss", xlabel="step", ylabel="nats²", yscale="log")
    for axis in axes[-2:]:
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
        for text in axis.legend(frameon=False, fontsize=9).get_texts():
            text.set_parse_math(False)
    return figure


def _printable(folder: Path) -> str:
    """The name of a folder as a label, which is left out if it begins with an underscore."""
    text = "".join(c if c.isprintable() else "?" for c in folder.resolve().name[:60])
    return text if not text.startswith("_") else f" {text}"


def _family(markovian: bool) -> tuple[str, str]:
    """The name and colour of a model family."""
    return MARKOVIAN if markovian else PATH_DEPENDENT


def _draw_law(axis: Any, learned: Any, target: Any, family: tuple[str, str]) -> None:
    """The law of the first seed against the target."""
    name, color = family
    learned = learned[0]
    if len(target) <= 64:
        place = np.arange(len(target))
        axis.bar(place, target, color=TARGET, alpha=0.35, label="target")
        axis.plot(place, learned, "o-", ms=3, lw=1, color=color, label=name)
        axis.set(xlabel="terminal state", ylabel="probability")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        low = max(min(learned[learned > 0].min(), target.min()), target.min() / 1e3)
        both = np.array([low, max(learned.max(), target.max())])
        shown = np.maximum(learned, low)
        axis.plot(target, shown, ".", ms=2, alpha=0.25, color=color, rasterized=True, label=name)
        axis.plot(both, both, color=TARGET, lw=1, label="equal")
        axis.set(
            xscale="log", yscale="log", xlabel="target probability", ylabel="learned probability"
        )
    axis.legend(frameon=False, fontsize=9, loc="best", markerscale=4 if len(target) > 64 else 1)
    axis.grid(alpha=0.3)


def _draw_curve(axis: Any, records: Any, name: str, style: dict[str, Any]) -> None:
    """The mean over seeds, in a band from the least to the largest."""
    found = [(record["step"], record[name]) for record in records if name in record]
    if not found:
        axis.plot([], [], **style)
        return
    steps, values = zip(*found, strict=True)
    table = np.array(values)
    axis.plot(steps, table.mean(1), lw=1, marker="o" if len(steps) < 50 else None, ms=3, **style)
    if table.shape[1] > 1:
        axis.fill_between(steps, table.min(1), table.max(1), color=style["color"], alpha=0.2, lw=0)
