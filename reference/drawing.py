"""Pictures of pointed DAGs, lifts and policies, as files or as SVG: layers from left to right."""

import math
from collections.abc import Sequence
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from reference.errors import InputError
from reference.files import check_output, replace_file
from reference.pictures import MAX_DRAWN, Colouring, Drawable, Picture, Point, layout, picture_of
from reference.representations import Shown

INCHES = 0.6  # per unit of the layout: siblings are one apart, layers two
# Lines that pass below a text are faded.
PAPER = {"edgecolor": "none", "facecolor": "white", "alpha": 0.8, "pad": 0.4}
# A dollar in the name of a state begins no formula.
SMALL: dict[str, Any] = {"fontsize": 7, "bbox": PAPER, "parse_math": False}


def check_picture(path: Path) -> None:
    """Checks that a picture can be written to a place, and that its ending names a format.

    Raises:
        InputError: if it cannot, or does not.
    """
    if path.suffix.lower()[1:] not in FigureCanvasBase.filetypes:
        raise InputError(
            f"the picture cannot be written to {str(path)!r}: its ending is {path.suffix!r}, but "
            "must be that of a format, such as .png, .svg or .pdf"
        )
    check_output(path)


def draw(drawable: Drawable, path: Path | str, colour: Colouring = "reward") -> None:
    """Writes a picture of a problem, a DAG, a lift or a policy to `path`; its ending is the format.

    Terminals are squares. See `reference.pictures.picture_of` for what is written and painted.

    Raises:
        TooLargeError: if there are more than 400 states.
        InputError: if it is nothing that can be drawn, or the picture cannot be written there.
    """
    path = Path(path)
    check_picture(path)
    save_figure(render(picture_of(drawable, colour)), path, dpi=150, bbox_inches="tight")


def save_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Writes a figure to a file, all or nothing; its ending is the format.

    Args:
        figure: of matplotlib.
        path: where; a link there is replaced, not followed.
        options: of `savefig`.

    Raises:
        InputError: if the ending names no format, or the file cannot be written.
    """
    check_picture(path)
    buffer = BytesIO()
    figure.savefig(buffer, format=path.suffix.lower()[1:], **options)
    replace_file(path, buffer.getvalue())


def svg(drawable: Drawable | Shown) -> str | None:
    """The picture as SVG, the same text each time; None if there are too many states for one."""
    # What shows itself is drawable: `picture_of` refuses anything else.
    picture = _small_picture(drawable)  # type: ignore[arg-type]
    if picture is None:
        return None
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pdai"}):
        render(picture).savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    # Without the XML prolog, it may stand inside HTML.
    return text.getvalue()[text.getvalue().index("<svg") :]


def _small_picture(drawable: Drawable) -> Picture | None:
    dag = getattr(drawable, "dag", drawable)
    too_large = len(getattr(dag, "labels", ())) > MAX_DRAWN
    return None if too_large else picture_of(drawable)


def render(picture: Picture) -> Figure:
    """The picture as a figure of matplotlib."""
    nodes, passed = layout(picture.dag)
    xs, ys = zip(*nodes, *chain.from_iterable(passed), strict=True)
    # Room for names at the outer nodes.
    width, height = max(xs) + 2, max(ys) - min(ys) + 2
    scale = min(INCHES, 18 / width, 14 / height)
    size = max(scale * width, 3), max(scale * height, 1.5)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-1, max(xs) + 1)
    axes.set_ylim(min(ys) - 1, max(ys) + 1)
    axes.set_title(picture.title, fontsize=9, parse_math=False)
    for edge, (u, v) in enumerate(picture.dag.edges):
        _edge(axes, [nodes[u], *passed[edge], nodes[v]])
        if picture.edge_names:
            near, far = (nodes[v], [nodes[u], *passed[edge]][-1])
            if not picture.at_child:
                near, far = nodes[u], [*passed[edge], nodes[v]][0]
            x, y = (0.75 * a + 0.25 * b for a, b in zip(near, far, strict=True))
            text = picture.edge_names[edge]
            axes.text(x, y, text, ha="center", va="center", zorder=4, **SMALL)
    _nodes(figure, axes, picture, nodes)
    return figure


def _edge(axes: Axes, points: Sequence[Point]) -> None:
    """A line from point to point, with an arrow at its end."""
    style: dict[str, Any] = {"color": "0.65", "linewidth": 0.6, "zorder": 1}
    axes.plot(*zip(*points[:-1], strict=True), **style)
    axes.add_patch(
        FancyArrowPatch(
            points[-2],
            points[-1],
            arrowstyle="-|>",
            shrinkA=0,
            shrinkB=4,
            mutation_scale=6,
            **style,
        )
    )


def _nodes(figure: Figure, axes: Axes, picture: Picture, nodes: Sequence[Point]) -> None:
    dag = picture.dag
    paint = np.ones((len(dag.labels), 4))
    painted = [v for v, value in enumerate(picture.values) if value is not None]
    if painted:
        values = np.array([picture.values[v] for v in painted], float)
        least, largest = values.min(), values.max()
        # Values over several decades are unreadable on a linear scale.
        norm = LogNorm(least, largest) if largest > 10 * least > 0 else Normalize(0, largest)
        colours = ScalarMappable(norm, "viridis")
        paint[painted] = colours.to_rgba(values)
        # Three and a half inches: beside a tall graph a whole column would be its widest part.
        shrink = min(1.0, 3.5 / figure.get_figheight())
        bar = figure.colorbar(colours, ax=axes, pad=0.01, shrink=shrink, aspect=18)
        if isinstance(norm, LogNorm):
            inches = shrink * figure.get_figheight()
            ticks = log_ticks(least, largest, most=max(3, int(3 * inches)))
            bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks], minor=False)
            bar.minorticks_off()
        bar.set_label(picture.legend, fontsize=7)
        bar.ax.tick_params(labelsize=7)
    inner = [v for v, row in enumerate(dag.children) if row]
    for group, marker in ((list(dag.terminals), "s"), (inner, "o")):
        axes.scatter(
            [nodes[v][0] for v in group],
            [nodes[v][1] for v in group],
            c=paint[group],
            edgecolors="0.3",
            linewidths=0.6,
            marker=marker,
            s=60,
            zorder=2,
        )
    terminals = set(dag.terminals)
    for v, name in enumerate(picture.names):
        axes.annotate(
            name,
            nodes[v],
            xytext=(7, 0) if v in terminals else (0, 6),
            textcoords="offset points",
            ha="left" if v in terminals else "center",
            va="center" if v in terminals else "bottom",
            zorder=3,
            **SMALL,
        )


def log_ticks(least: float, largest: float, most: int) -> list[float]:
    """Round values between two on a logarithmic scale: 1, 2 and 5 of each decade, or fewer.

    Args:
        least: the lower end, positive.
        largest: the upper end, more than ten times as large.
        most: how many there may be, at least two: by as many decades at a time as that takes.
    """
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(largest))
    for subs in ((1, 2, 5), (1, 3), (1,)):
        every = [sub * 10.0**k for k in range(low, high + 1) for sub in subs]
        ticks = [tick for tick in every if least <= tick <= largest]
        if len(ticks) <= most:
            break
    return ticks[:: math.ceil(len(ticks) / most)]
