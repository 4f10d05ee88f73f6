"""Graphs, lifts, policies and problems in notebooks and as pictures: layers from left to right.

The methods `_repr_html_` and `_repr_svg_` of these classes, which Jupyter calls, are `html` and
`svg`. This module loads matplotlib, so the classes import it when they are shown.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO, StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from reference.contract.errors import InputError, check_type, check_value
from reference.contract.files import check_output, replace_file
from reference.contract.text import clipped, html_page, number_text
from reference.dag import PointedDAG
from reference.lifted import LiftedDAG
from reference.looking.inspection import Inspection, figures
from reference.marginals import path_sums
from reference.policies import EdgeWeights, ForwardPolicy

Colouring = Literal["reward", "flow"]
Drawable = Inspection[Any] | PointedDAG[Any] | LiftedDAG[Any] | EdgeWeights[Any]
Point = tuple[float, float]

# Of more states, only their numbers by depth are drawn.
MAX_DRAWN = 60
# With more places of long edges, edges are straight.
MAX_PLACES = 1000
# The largest number of rows of a policy in a table.
MAX_ROWS = 20

INCHES = 0.6  # per unit of the layout: siblings are one apart, layers two
LETTER = 0.1  # the width of a letter, in these units
LINE = 0.24  # the height of a text
ALONG = 0.35  # where the texts of edges stand between two layers
EDGE: dict[str, Any] = {"color": "0.65", "linewidth": 0.6, "zorder": 1}
# A white background fades the lines below a text; a dollar in a state's name begins no formula.
SMALL: dict[str, Any] = {
    "fontsize": 7,
    "bbox": {"edgecolor": "none", "facecolor": "white", "alpha": 0.8, "pad": 0.4},
    "parse_math": False,
}


def html(drawable: Drawable) -> str:
    """The figures and the picture, as HTML.

    The picture is included, as a notebook that prefers HTML to SVG would not show it otherwise.
    """
    if isinstance(drawable, Inspection):
        title, tables = drawable.name, [drawable.rows()]
    else:
        title, tables = repr(drawable), [figures(_dag_of(drawable))]
    if isinstance(drawable, EdgeWeights):
        tables.append(dict(islice(_rows(drawable), MAX_ROWS)))
    return html_page(title, *tables) + svg(drawable)


def _rows(policy: EdgeWeights[Any]) -> Iterator[tuple[str, str]]:
    """The state and the values of each row of a policy, as text."""
    labels, edges = policy.dag.labels, policy.dag.edges
    for node, row in policy.rows(policy.dag):
        others = ((edge, sum(edges[edge]) - node) for edge in row)
        values = (f"{clipped(labels[v])}: {number_text(policy.values[e])}" for e, v in others)
        yield f"{node}: {clipped(labels[node])}", ", ".join(values)


def svg(drawable: Drawable) -> str:
    """The picture as SVG, the same text each time."""
    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pdai"}):
        figure = figure_of(drawable)
        figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    # HTML may hold an SVG without its XML prolog.
    return text.getvalue()[text.getvalue().index("<svg") :]


def draw(drawable: Drawable, path: Path | str, colour: Colouring = "reward") -> None:
    """Writes a picture of a problem, a DAG, a lift or a policy to a file.

    Terminals are squares. Beyond 60 states, their numbers by depth are drawn. See `picture_of` for
    texts and colours.

    Args:
        drawable: a problem, a DAG, a lift or a policy.
        path: the file; its ending is the format.
        colour: the colour of a problem, as in `picture_of`.

    Raises:
        InputError: if the object cannot be drawn, or the picture cannot be written.
    """
    check_type("draw", "path", path, (str, Path))
    path = Path(path)
    check_picture(path)
    save_figure(figure_of(drawable, colour), path, dpi=150, bbox_inches="tight")


def check_picture(path: Path) -> None:
    """Checks that a picture can be written to a place, and that its ending names a format."""
    if path.suffix.lower()[1:] not in FigureCanvasBase.filetypes:
        raise InputError(
            f"the picture cannot be written to {str(path)!r}: its ending is {path.suffix!r}, but "
            "must be that of a format, such as .png, .svg or .pdf"
        )
    check_output(path)


def save_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Writes a figure of matplotlib to a file, all or nothing; its ending is the format.

    A link in its place is replaced, not followed; `options` are those of `savefig`. Raises
    InputError if the ending names no format, or the file cannot be written.
    """
    check_picture(path)
    buffer = BytesIO()
    figure.savefig(buffer, format=path.suffix.lower()[1:], **options)
    replace_file(path, buffer.getvalue())


@dataclass(frozen=True)
class Picture:
    """A DAG with a title, the texts at its nodes and on its edges, perhaps near the child, or none.

    A number, None for white, gives each node its colour, and the legend says its meaning. Widths of
    edges, in points, take the place of arrows.
    """

    title: str
    dag: PointedDAG[Any]
    names: Sequence[str] = ()
    edge_names: Sequence[str] = ()
    at_child: bool = False
    values: Sequence[float | None] = ()
    legend: str = ""
    widths: Sequence[float] = ()


def figure_of(drawable: Drawable, colour: Colouring = "reward") -> Figure:
    """The picture as a figure of matplotlib; beyond 60 states, bars of their numbers by depth."""
    picture = picture_of(drawable, colour)
    if len(picture.dag.labels) <= MAX_DRAWN:
        return render(picture)
    depths, terminal = np.array(picture.dag.depths), [not row for row in picture.dag.children]
    figure = Figure(figsize=(4, 2.6), layout="constrained")
    axes = figure.add_subplot(xlabel="depth, edges from the initial state", ylabel="states")
    below = np.zeros(max(depths) + 1)
    for kind, is_terminal, shade in (("inner", False, "0.75"), ("terminal", True, "0.35")):
        count = np.bincount(depths[np.equal(terminal, is_terminal)], minlength=len(below))
        edges = np.arange(len(below) + 1) - 0.5
        axes.stairs(below + count, edges, baseline=below, fill=True, color=shade, label=kind)
        below += count
    axes.set_title(picture.title, fontsize=9, parse_math=False)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    return figure


def picture_of(drawable: Drawable, colour: Colouring = "reward") -> Picture:
    """The picture of a problem, a DAG, a lift or a policy.

    A policy's edges carry its probabilities, and its states are painted by the probability of a
    visit if it is a forward policy of numbers. A lifted state carries the paths that it merges, if
    its base state has several lifts. Of a problem, terminals are painted by reward, or all states
    by flow. Raises InputError for other objects.
    """
    check_type("draw", "what is drawn", drawable, (Inspection, PointedDAG, LiftedDAG, EdgeWeights))
    check_value("draw", "the colour", colour, Colouring)
    dag = _dag_of(drawable)
    name = drawable.name if isinstance(drawable, Inspection) else type(drawable).__name__
    title = f"{name}: {len(dag.labels):,} states, {len(dag.edges):,} edges"
    if len(dag.labels) > MAX_DRAWN:
        return Picture(title, dag)
    names = [clipped(label) for label in dag.labels]
    if isinstance(drawable, Inspection):
        of_reward = colour == "reward"
        # The flow of a terminal state is its reward.
        flow = zip(drawable.flow(), dag.children, strict=True)
        values = [None if row and of_reward else value for value, row in flow]
        legend = "reward R(x)" if of_reward else "flow F(s), uniform backward policy"
        return Picture(title, dag, names, values=values, legend=legend)
    if isinstance(drawable, EdgeWeights):
        return _of_policy(drawable, title, names)
    if isinstance(drawable, LiftedDAG):
        names = _lifted_names(drawable)
    return Picture(title, dag, names)


def _dag_of(drawable: Drawable) -> PointedDAG[Any]:
    return drawable if isinstance(drawable, PointedDAG) else drawable.dag


def _of_policy(policy: EdgeWeights[Any], title: str, names: Sequence[str]) -> Picture:
    forward = isinstance(policy, ForwardPolicy)
    numbers = all(isinstance(value, Fraction | float) for value in policy.values)
    return Picture(
        title,
        policy.dag,
        names,
        [number_text(value) for value in policy.values],
        # Near the parent, where edges do not meet yet.
        at_child=not forward,
        values=[float(visit) for visit in path_sums(policy)] if forward and numbers else (),
        legend="probability of a visit",
    )


def _lifted_names(lifted: LiftedDAG[Any]) -> list[str]:
    """The name of each lifted state: the base state, with the paths if it has several lifts."""
    names = []
    for node, state in enumerate(lifted.projection):
        name = clipped(lifted.base.labels[state])
        if lifted.projection.count(state) > 1:
            count = lifted.dag.path_counts[node]
            paths = _paths(lifted, node) if count <= 2 else [f"{count:,} paths"]
            name += "\n" + ", ".join(clipped(path) for path in paths)
        names.append(name)
    return names


def _paths(lifted: LiftedDAG[Any], node: int) -> list[str]:
    """The base states along each path to a lifted node."""
    state = str(lifted.base.labels[lifted.projection[node]])
    parents = [lifted.dag.edges[edge][0] for edge in lifted.dag.in_edges[node]]
    return [f"{path}→{state}" for u in parents for path in _paths(lifted, u)] or [state]


def layout(dag: PointedDAG[Any]) -> tuple[list[Point], list[list[Point]]]:
    """The place of each node, and the points that each edge passes between its ends.

    Layers by longest path; within a layer, by the mean height of the parents. An edge over several
    layers has a separate place in each layer between, so that it crosses no state, unless there are
    more than 1,000 such places.
    """
    # The nodes, and then the places of long edges, each with the place before it.
    layer, parents = list(dag.depths), [[dag.edges[e][0] for e in row] for row in dag.in_edges]
    passed: list[list[int]] = [[] for _ in dag.edges]
    if sum(layer[v] - layer[u] - 1 for u, v in dag.edges) <= MAX_PLACES:
        for edge, (u, v) in enumerate(dag.edges):
            for depth in range(layer[u] + 1, layer[v]):
                parents.append([passed[edge][-1] if passed[edge] else u])
                passed[edge].append(len(layer))
                layer.append(depth)
    height = [0.0] * len(layer)
    for depth in range(1, max(layer) + 1):
        places = [v for v in range(len(layer)) if layer[v] == depth]
        wish = {v: sum(height[u] for u in parents[v]) / len(parents[v]) for v in places}
        places.sort(key=lambda v: (wish[v], v))
        for rank, v in enumerate(places):
            height[v] = rank - (len(places) - 1) / 2
    # Layers are two apart for the names; the first child is above.
    points = [(2.0 * depth, -h) for depth, h in zip(layer, height, strict=True)]
    return points[: len(dag.labels)], [[points[v] for v in places] for places in passed]


def render(picture: Picture) -> Figure:
    """The picture as a figure of matplotlib.

    Its artists have identifiers: `edge-0`, `edge-1` and so on, `terminals` and `inner`.
    """
    nodes, passed = _spread(picture)
    xs, ys = zip(*nodes, *chain.from_iterable(passed), strict=True)
    # One unit of margin for the names of outer nodes.
    width, height = max(xs) + 2, max(ys) - min(ys) + 2
    scale = min(INCHES, 18 / width, 14 / height)
    figure = Figure(figsize=(max(scale * width, 3), max(scale * height, 1.5)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-1, max(xs) + 1)
    axes.set_ylim(min(ys) - 1, max(ys) + 1)
    axes.set_title(picture.title, fontsize=9, parse_math=False)
    for edge, (u, v) in enumerate(picture.dag.edges):
        points = [nodes[u], *passed[edge], nodes[v]]
        if picture.widths:
            axes.plot(*zip(*points, strict=True), **EDGE | {"linewidth": picture.widths[edge]})
        else:
            _edge(axes, points)
        axes.lines[-1].set_gid(f"edge-{edge}")
    if picture.edge_names:
        _edge_names(axes, picture, nodes, passed)
    _nodes(figure, axes, picture, nodes)
    return figure


def _spread(picture: Picture) -> tuple[list[Point], list[list[Point]]]:
    """The layout, stretched until no text lies under another."""
    nodes, passed = layout(picture.dag)
    letters = max((len(line) for name in picture.names for line in name.split("\n")), default=0)
    wide = high = 1.0
    if picture.edge_names:
        rows = picture.dag.in_edges if picture.at_child else picture.dag.out_edges
        letters += max(map(len, picture.edge_names))
        wide = max(wide, (LETTER * letters / 2 + 0.2) / (2 * ALONG))
        high = max(high, LINE * (max(map(len, rows)) + 1))
    places = [[(wide * x, high * y) for x, y in row] for row in (nodes, *passed)]
    return places[0], places[1:]


def _edge_names(
    axes: Axes, picture: Picture, nodes: Sequence[Point], passed: Sequence[Sequence[Point]]
) -> None:
    """The texts of edges, one above the other beside their state, in the order of the edges."""
    dag, ends = picture.dag, -1 if picture.at_child else 1
    for v, edges in enumerate(dag.in_edges if picture.at_child else dag.out_edges):
        lines = [[nodes[dag.edges[e][0]], *passed[e], nodes[dag.edges[e][1]]] for e in edges]
        others = {e: line[::ends][1] for e, line in zip(edges, lines, strict=True)}
        for rank, edge in enumerate(sorted(edges, key=lambda e: -others[e][1])):
            x = (1 - ALONG) * nodes[v][0] + ALONG * others[edge][0]
            y = nodes[v][1] + LINE * ((len(edges) - 1) / 2 - rank)
            axes.text(x, y, picture.edge_names[edge], ha="center", va="center", zorder=4, **SMALL)


def _edge(axes: Axes, points: Sequence[Point]) -> None:
    """A line through points, with an arrow at its end."""
    axes.plot(*zip(*points[:-1], strict=True), **EDGE)
    shape: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 4, "mutation_scale": 6}
    axes.add_patch(FancyArrowPatch(points[-2], points[-1], **shape, **EDGE))


def _nodes(figure: Figure, axes: Axes, picture: Picture, nodes: Sequence[Point]) -> None:
    dag = picture.dag
    paint = np.ones((len(dag.labels), 4))
    painted = [v for v, value in enumerate(picture.values) if value is not None]
    if painted:
        values = np.array([picture.values[v] for v in painted], float)
        paint[painted] = _colour_bar(figure, axes, values, picture.legend).to_rgba(values)
    inner = [v for v, row in enumerate(dag.children) if row]
    groups = {"inner": (inner, "o"), "terminals": (list(dag.terminals), "s")}
    for name, (group, marker) in groups.items():
        xs, ys = zip(*(nodes[v] for v in group), strict=True)
        style: dict[str, Any] = {"edgecolors": "0.3", "linewidths": 0.6, "s": 60, "zorder": 2}
        axes.scatter(xs, ys, c=paint[group], marker=marker, gid=name, **style)
    for v, name in enumerate(picture.names):
        place: dict[str, Any] = {"xytext": (7, 0), "ha": "left", "va": "center"}
        if dag.children[v]:
            place = {"xytext": (0, 6), "ha": "center", "va": "bottom"}
        axes.annotate(name, nodes[v], textcoords="offset points", zorder=3, **place, **SMALL)


def _colour_bar(figure: Figure, axes: Axes, values: Any, legend: str) -> ScalarMappable:
    least, largest = values.min(), values.max()
    # Values over several decades are unreadable on a linear scale.
    norm = LogNorm(least, largest) if largest > 10 * least > 0 else Normalize(0, largest)
    colours = ScalarMappable(norm, "viridis")
    # At most 3.5 inches: beside a tall graph a full-height bar would be its widest part.
    inches = min(figure.get_figheight(), 3.5)
    shrink = inches / figure.get_figheight()
    bar = figure.colorbar(colours, ax=axes, pad=0.01, shrink=shrink, aspect=18)
    if isinstance(norm, LogNorm):
        ticks = log_ticks(least, largest, most=max(3, int(3 * inches)))
        bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks], minor=False)
        bar.minorticks_off()
    bar.set_label(legend, fontsize=7)
    bar.ax.tick_params(labelsize=7)
    return colours


def log_ticks(least: float, largest: float, most: int) -> list[float]:
    """Round values between two on a logarithmic scale: 1, 2 and 5 of each decade, or fewer.

    Args:
        least: the lower end, positive.
        largest: the upper end, more than ten times as large.
        most: the most values, at least two; decades are skipped to keep to it.
    """
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(largest))
    for subs in ((1, 2, 5), (1, 3), (1,)):
        every = [sub * 10.0**k for k in range(low, high + 1) for sub in subs]
        ticks = [tick for tick in every if least <= tick <= largest]
        if len(ticks) <= most:
            break
    return ticks[:: math.ceil(len(ticks) / most)]
