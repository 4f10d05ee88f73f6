"""Plots of runs: learned distributions and training curves; the look of each model."""

import shlex
import sys
import textwrap
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from fast.measure.report import Report
from fast.runs.folder import is_markovian
from pdai.show.panels import (
    MOST_BARS,
    TARGET,
    decimal,
    draw_bars,
    draw_curve,
    draw_equal,
    least_shown,
    scale_tv,
)
from pdai.show.posterior_plots import draw_posterior, panel_heights
from pdai.show.stored import Stored, loss_label
from reference.contract.errors import InputError
from reference.looking.show import save_figure


class Look(NamedTuple):
    """Colour, line and marker of a model; one that is reset, and none else, has hollow points."""

    colour: str
    line: str = "-"
    marker: str = "o"
    is_filled: bool = True


# Okabe and Ito's colours first, which colour-blind readers can tell apart. One per kind of
# network, whatever its name in a table.
KINDS: dict[str, Look] = {
    "markov": Look("#0072B2"),
    "linear-markov": Look("#0072B2"),
    "gcn": Look("#0072B2"),
    "srwm": Look("#E69F00", marker="s"),
    "self-referential": Look("#7F4A00", marker="P"),
    "attention": Look("#882255", marker="*"),
    "gru": Look("#117733", marker="^"),
    "mingru": Look("#44AA99", marker="<"),
    "lstm": Look("#CC79A7", marker="v"),
    "rnn": Look("#882255", marker="D"),
    "linear": Look("#882255", marker="D"),
    "temporal-gcn": Look("#882255", marker="D"),
}
OTHER = Look("#6A3D9A", marker="X")
_SRWM_PLUS, _GRU_PLUS = Look("#D55E00", marker="s"), Look("#009E73", marker="^")
_STILL = Look("#7F4A00", "--", "s")
# Models named in several tables, and variants of one kind of network that are compared.
LOOKS: dict[str, Look] = {
    "Markovian": KINDS["markov"],
    "Markovian, 3 layers": Look("#56B4E9", marker="h"),
    "SRWM": KINDS["srwm"],
    "SRWM+": _SRWM_PLUS,
    "SRWM, block": _SRWM_PLUS,
    "SRWM, block, reset": _STILL._replace(is_filled=False),
    "SRWM reset": _STILL._replace(is_filled=False),
    "SRWM+ reset": _SRWM_PLUS._replace(line="--", is_filled=False),
    "Markovian, block": Look("#332288", "--"),
    "GRU+": _GRU_PLUS,
    "GRU+ reset": Look("#66C2A5", "--", "^", is_filled=False),
    "GRU+ projected": Look("#56B4E9", "--", "D"),
    "likelihood": OTHER,
    "TB": KINDS["markov"],
    "log variance": Look("#009E73", marker="s"),
    "GNN": Look("#56B4E9", marker="h"),
    # Its path feature is a function of the state.
    "temporal GCN, constant gate": Look("#CC6677", "--", "s"),
    "GRU": KINDS["gru"],
    "GRU reset": Look("#88BB99", "--", "^", is_filled=False),
    "LSTM": KINDS["lstm"],
    "LSTM+": KINDS["lstm"],
    "without rotation": _STILL,
    "SRWM without rotation": _STILL,
    "small angles": Look("#B15928", ":", "D"),
    "identity link": Look("#999933", ":", "P"),
    "linear RNN, 1 hidden layer": Look("#CC79A7", "--", "s"),
    "d = 64": Look("#999933", "--", "D"),
    "d = 32": _SRWM_PLUS,
    "d = 8": Look("#B15928", ":", "s"),
    "deterministic": KINDS["gru"],
    "Gaussian": Look("#CC79A7", marker="o"),
    "on the product": _GRU_PLUS,
    "combined": OTHER,
    "structure MCMC": OTHER,
    "order MCMC": Look("#999933", marker="P"),
    "p_B reads the latent": Look("#AA3377", marker="D"),
    "uniform p_B": Look("#222222"),
    "learned p_B of the state": Look("#888888", "--", "s"),
    "5 % random at first": Look("#888888", "--"),
    "50 % random at first": Look("#222222"),
}
# Above this number, points are drawn as a density.
MOST_POINTS = 5_000


def look(model: str, dynamics: str | None = None) -> Look:
    """The look of a model, the same in every figure.

    "Markovian, 0.01" is a variant of "Markovian", of its colour; the name of its network decides if
    the model has no look.
    """
    family, _, variant = model.partition(",")
    if model in LOOKS:
        return LOOKS[model]
    if variant and family in LOOKS:
        return LOOKS[family]._replace(line="--", marker="D")
    return KINDS.get(dynamics or "", OTHER)


def plot_runs(folders: Sequence[Path], output: Path) -> None:
    """Draws finished runs into one file.

    Raises InputError if a folder is not a finished run, or `output` cannot be written.
    """
    save_figure(figure_of(folders), output, dpi=120)


def plot_or_say(folders: Sequence[Path], output: Path) -> None:
    """Draws finished runs into one file, or says on stderr how to draw them later.

    A full disk then costs the plot alone, and not the report.
    """
    try:
        plot_runs(folders, output)
    except InputError as error:
        command = shlex.join(["pdai", "plot", *map(str, folders), "--out", "plot.png"])
        print(
            f"training is complete, but not drawn: {error}; draw it later with `{command}`",
            file=sys.stderr,
            flush=True,
        )


class ShownFigure(Figure):
    """A figure that notebooks show without `matplotlib.pyplot`."""

    def _repr_png_(self) -> bytes:
        """The picture (Jupyter's protocol)."""
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def figure_of(folders: Sequence[Path]) -> Figure:
    """Finished runs in one figure: a panel for the law of each run, then TV and loss of all runs.

    For a single run, the expectations of its problem's features are below. Raises InputError if a
    folder is not a finished run.
    """
    runs = list(map(Stored, folders))
    families = list(map(_family, runs))
    trained = any(not run.is_solved for run in runs)
    rows = panel_heights(runs[0]) if len(runs) == 1 else ()
    heights, panels = (3.8, *rows), len(runs) + (2 if trained or rows else 0)
    figure = ShownFigure(figsize=(4.2 * max(panels, 2), sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), panels, squeeze=False, height_ratios=heights)
    axes = grid[0]
    if rows:
        draw_posterior(runs[0], grid[1:], families[0][1])
    several = need_folders(runs, [name for name, _ in families])
    styles = []
    for number, (run, (family, color)) in enumerate(zip(runs, families, strict=True)):
        label = _printable(run.folder) if several else family
        _draw_law(axes[number], run.learned, run.target, (family, color))
        title = f"{label}: learned against target"
        if run.report.terminals is None and not run.is_solved:
            how = "uniformly" if run.report.fcs_states == "uniform" else "by the sampler"
            title += f"\namong {len(run.target):,} states drawn {how}"
        axes[number].set_title(title, fontsize=10, parse_math=False)
        line = ("-", "--", ":", "-.")[number % 4] if several else "-"
        styles.append((run, {"color": color, "linestyle": line, "label": label}))
    if trained:
        _draw_training(axes[-2:], [pair for pair in styles if not pair[0].is_solved])
    else:
        # The features of a solved run have three panels, its law one.
        for axis in axes[len(runs) :]:
            axis.remove()
    if len(runs) == 1:
        figure.supxlabel(_caption(runs[0]), fontsize=9, parse_math=False)
    return figure


def need_folders(runs: Sequence[Stored], names: Sequence[str]) -> bool:
    """Decide if runs must be named by folders: networks are named alike, or targets differ."""
    one_target = all(np.array_equal(run.target, runs[0].target) for run in runs)
    return len(set(names)) < len(runs) or not one_target


def _draw_training(axes: Any, styles: Sequence[tuple[Stored, dict[str, Any]]]) -> None:
    """TV and loss by step, of trained runs with their styles."""
    ends = []
    for run, style in styles:
        ends.append(_final_tv(run.report))
        for axis, name in zip(axes, ("tv", "loss"), strict=True):
            count = sum(name in record for record in run.records)
            marker = "o" if count < 50 else None
            draw_curve(axis, run.records, name, lw=1, marker=marker, ms=3, **style)
        axes[0].lines[-1].set_label(f"{style['label']}: {ends[-1]}")
    end = f": {ends[0]}" if len(ends) == 1 else ""
    axes[0].set(title=f"total variation to the target{end}", xlabel="step", ylabel="TV")
    label = loss_label([run.stored_options for run, _ in styles])
    axes[1].set(title="loss", xlabel="step", ylabel=label, yscale="log")
    # Otherwise a loss that was recorded once would have an axis around that one step.
    axes[1].sharex(axes[0])
    scale_tv(axes[0])
    decimal(axes[1].yaxis)
    for axis in axes:
        axis.title.set_fontsize(10)
        axis.grid(alpha=0.3)
        if len(ends) > 1:
            for text in axis.legend(frameon=False, fontsize=9).get_texts():
                text.set_parse_math(False)


def _final_tv(report: Report) -> str:
    """The mean over seeds at the end, and how it was measured."""
    means = [figures.tv.mean for figures in report.learned if figures.tv is not None]
    return f"{np.mean(means):.3g} ({report.tv_kind})" if means else "unknown"


def _caption(run: Stored) -> str:
    """Caption of a picture that stands alone: problem, seeds, data, TV and steps."""
    options = run.stored_options
    facts = [f"{name} {text}" for name, text in run.facts.items()]
    lines = [str(options.get("problem") or options["task"]), *facts]
    if run.is_solved:
        lines.append(f"solved: {run.report.notes[0]}")
    else:
        seeds = ", ".join(str(options["seed"] + k) for k in range(options["seeds"]))
        lines.append(f"seed {seeds}")
        lines.append(f"TV {_final_tv(run.report)} after {options['steps']:,} steps")
    return "\n".join(textwrap.wrap("; ".join(lines), 150))


def _printable(folder: Path) -> str:
    """The name of a folder as a label without an initial underscore, which Matplotlib skips."""
    text = "".join(c if c.isprintable() else "?" for c in folder.resolve().name[:60])
    return text if not text.startswith("_") else f" {text}"


def _family(run: Stored) -> tuple[str, str]:
    """Name and colour of a run's kind of network."""
    if run.is_solved:
        return "exact", LOOKS["uniform p_B"].colour
    if is_markovian(run.folder):
        return "Markovian", KINDS["markov"].colour
    dynamics = str(run.stored_options.get("dynamics"))
    # A user's own network may have any name.
    return "path-dependent" if ":" in dynamics else dynamics, look("", dynamics).colour


def _draw_law(axis: Any, learned: Any, target: Any, family: tuple[str, str]) -> None:
    """The distribution of the first seed against the target."""
    name, color = family
    if len(target) <= MOST_BARS:
        draw_bars(axis, target).set_label("target")
        # States have no order, so no line joins them.
        axis.plot(learned, "o", ms=3.5, color=color, label=name)
        # Room for the legend above the highest bar.
        axis.set_ylim(0, 1.25 * max(learned.max(), target.max()))
        axis.legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
    else:
        low = least_shown(learned, target)
        both = np.array([low, max(learned.max(), target.max())])
        shown = np.maximum(target, low), np.maximum(learned, low)
        if len(target) <= MOST_POINTS:
            axis.plot(*shown, ".", ms=3.5, alpha=0.4, color=color, rasterized=True)
        else:
            shades = LinearSegmentedColormap.from_list(name, ["#E4E4E4", color, "black"])
            logs = {"xscale": "log", "yscale": "log", "bins": "log"}
            cells = axis.hexbin(*shown, gridsize=50, mincnt=1, cmap=shades, lw=0.1, **logs)
            axis.figure.colorbar(cells, ax=axis, label="states", shrink=0.8)
        draw_equal(axis, *both, color=TARGET, lw=1)
        for scale in (axis.xaxis, axis.yaxis):
            # Labels at every part of a decade would overlap.
            span = both[1] / low
            subs = (1.0, 2.0, 5.0) if span < 20 else (1.0, 3.0) if span < 100 else (1.0,)
            scale.set_major_locator(LogLocator(subs=subs))
            scale.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))
            scale.set_minor_formatter(NullFormatter())
        about = "equal on the line"
        if min(target.min(), learned.min()) < low:
            about += f"; below {low:.1g} drawn as that"
        axis.set_xlabel(f"target probability\n{about}")
    axis.grid(alpha=0.3)
