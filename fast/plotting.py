"""Plots of runs: learned against target probabilities, and the curves of training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fast.config import TrainConfig
from fast.runs import load_config, load_law, read_metrics
from reference.errors import InputError

# Okabe and Ito's colours, safe for the colour-blind; one per model family, everywhere.
COLORS = {"srwm": "#D55E00", "markov": "#0072B2"}
NAMES = {"srwm": "path-dependent", "markov": "Markovian"}
TARGET = "#444444"


def plot_runs(folders: Sequence[Path], output: Path) -> None:
    """Draws finished runs into one figure: a law panel each, then TV and loss of all.

    Raises:
        InputError: if a folder is not a finished run, or `output` cannot be written.
    """
    runs = [(folder, load_config(folder), load_law(folder)) for folder in folders]
    panels = len(runs) + 2
    figure = Figure(figsize=(4.2 * panels, 3.8), layout="constrained")
    axes = figure.subplots(1, panels)
    for axis, (folder, config, (learned, target)) in zip(axes, runs, strict=False):
        _draw_law(axis, learned, target, config)
        axis.set_title(f"{folder.name}: learned against target", fontsize=10)
    several = len({config.dynamics for _, config, _ in runs}) < len(runs)
    for number, (folder, config, _) in enumerate(runs):
        style = {
            "color": COLORS[config.dynamics],
            "linestyle": ("-", "--", ":", "-.")[number % 4] if several else "-",
            "label": folder.name if several else NAMES[config.dynamics],
        }
        _draw_curves(axes[-2], axes[-1], read_metrics(folder), style)
    axes[-2].set(title="total variation to the target", xlabel="step", ylabel="TV", ylim=(0, None))
    axes[-1].set(title="loss", xlabel="step", ylabel="nats²", yscale="log")
    for axis in axes[-2:]:
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=9)
    try:
        figure.savefig(output, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the plot {str(output)!r} cannot be written ({error}): choose another with --out, "
            "ending in .png, .pdf or .svg"
        ) from None


def _draw_law(axis: Any, learned: Any, target: Any, config: TrainConfig) -> None:
    color = COLORS[config.dynamics]
    if len(target) <= 64:
        place = np.arange(len(target))
        axis.bar(place, target, color=TARGET, alpha=0.35, label="target")
        axis.plot(place, learned, "o-", ms=3, lw=1, color=color, label=NAMES[config.dynamics])
        axis.set(xlabel="terminal state", ylabel="probability")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        low = max(min(learned[learned > 0].min(), target.min()), target.min() / 1e3)
        both = np.array([low, max(learned.max(), target.max())])
        axis.plot(
            target,
            np.maximum(learned, low),
            ".",
            ms=2,
            alpha=0.25,
            color=color,
            rasterized=True,
            label=NAMES[config.dynamics],
        )
        axis.plot(both, both, color=TARGET, lw=1, label="equal")
        axis.set(
            xscale="log", yscale="log", xlabel="target probability", ylabel="learned probability"
        )
    axis.legend(frameon=False, fontsize=9, loc="best", markerscale=4)
    axis.grid(alpha=0.3)


def _draw_curves(tv_axis: Any, loss_axis: Any, records: Any, style: dict[str, Any]) -> None:
    tv = [(record["step"], record["tv"]) for record in records if "tv" in record]
    loss = [(record["step"], record["loss"]) for record in records if "loss" in record]
    tv_axis.plot(*zip(*tv, strict=True), marker="o", ms=3, **style)
    loss_axis.plot(*zip(*loss, strict=True), lw=1, **style)
