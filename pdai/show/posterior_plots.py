"""Pictures of a posterior: expectations, probabilities of edges, and the most probable graphs."""

import math
from functools import partial
from typing import Any

import numpy as np

from fast.measure.report import Expectation
from fast.runs.folder import stored_config
from pdai.show.panels import NAMES, edge_panel
from pdai.show.stored import Floats, Stored
from reference.contract.text import clipped, small
from reference.fields.field import log_float

# The most panels in a row, and features in a panel, with legible names.
PANELS, MOST_FEATURES = 3, 32
_near = partial(small, digits=3)


def panel_heights(run: Stored) -> tuple[float, ...]:
    """The heights of the rows of panels in inches; none if the problem names no features."""
    features = len(run.report.expectations)
    if not features:
        return ()
    return (3.8, 3.8) if run.has_networks else (1.2 + 0.22 * min(features, MOST_FEATURES),)


def draw_posterior(run: Stored, axes: Any, colour: str) -> None:
    """Draws the rows of panels below the distribution and the curves of a run.

    Args:
        run: the run.
        axes: the panels, row by row, three in each.
        colour: the colour of its sampler.
    """
    every = run.report.expectations
    if not run.has_networks:
        (axis,) = _row(axes[0], 1)
        _draw_expectations(axis, every, colour)
        return
    names, target, learned = edge_matrices(every)
    most = max(0.01, float(np.nanmax(np.abs(learned - target))))
    edge_panel(axes[0][0], "edges: exact posterior", target, names)
    edge_panel(axes[0][1], "edges: sampler", learned, names)
    edge_panel(axes[0][2], "sampler minus posterior", learned - target, names, most)
    graphs = _best_graphs(run)
    for axis, (edges, title) in zip(_row(axes[1], len(graphs)), graphs, strict=True):
        _draw_graph(axis, edges, names)
        axis.set_title(title, fontsize=10)


def _row(axes: Any, count: int) -> list[Any]:
    """Replaces the panels of a row by `count` panels, so that none is left blank."""
    place, figure = axes[0].get_subplotspec(), axes[0].figure
    cells = place.get_gridspec()[place.rowspan.start, :].subgridspec(1, count)
    for axis in axes:
        axis.remove()
    return [figure.add_subplot(cell) for cell in cells]


def _draw_expectations(axis: Any, every: tuple[Expectation, ...], colour: str) -> None:
    """The sampler's expectations with two standard errors, and the target's or weighted ones."""
    shown = every[:MOST_FEATURES]
    place = np.arange(len(shown))
    means = [one.sampler.mean for one in shown]
    errors = [2 * one.sampler.standard_error for one in shown]
    # One line each, so that long names stay horizontal.
    axis.errorbar(means, place, xerr=errors, fmt="o", ms=4, color=colour, label="sampler")
    for name, marker in (("target", "|"), ("weighted", "x")):
        values = [getattr(one, name) for one in shown]
        known = [(value, i) for i, value in enumerate(values) if value is not None]
        if known:
            axis.plot(*zip(*known, strict=True), marker, color="#222222", ms=9, label=name)
    axis.set_yticks(place, [clipped(one.name, 28) for one in shown], **NAMES)
    axis.set_ylim(len(shown) - 0.5, -0.5)
    few = "" if len(shown) == len(every) else f", the first {len(shown)} of {len(every)}"
    axis.set_title(f"expectations of features, with two standard errors{few}", fontsize=10)
    axis.set(xlabel="mean")
    axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    axis.grid(alpha=0.3)


def edge_matrices(every: tuple[Expectation, ...]) -> tuple[list[str], Floats, Floats]:
    """The variables of networks, and the probability of each edge under target and sampler."""
    # Of n variables there are n (n - 1) edges, row by row.
    nodes = (1 + math.isqrt(1 + 4 * len(every))) // 2
    names = [every[i * (nodes - 1)].name.partition(" -> ")[0] for i in range(nodes)]
    target = _matrix([one.target for one in every], nodes)
    return names, target, _matrix([one.sampler.mean for one in every], nodes)


def _matrix(values: list[float | None], nodes: int) -> Floats:
    """Values of edges as a matrix without a diagonal."""
    matrix = np.full((nodes, nodes), np.nan)
    matrix[~np.eye(nodes, dtype=bool)] = [np.nan if x is None else x for x in values]
    return matrix


def _best_graphs(run: Stored) -> list[tuple[list[tuple[int, int]], str]]:
    """The edges and the probabilities of the best enumerated graphs, or of the mode alone."""
    labels = run.plain_labels
    if not labels:
        problem = stored_config(run.folder).restricted()
        best = problem.mode()
        assert run.report.log_z is not None
        share = math.exp(log_float(problem.reward(best)) - run.report.log_z)
        return [(list(best.edges), f"most probable graph: posterior {_near(share)}")]
    return [
        (_edges(labels[x]), f"posterior {_near(run.target[x])}, sampler {_near(run.learned[x])}")
        for x in np.argsort(-run.target, kind="stable")[:PANELS]
    ]


def _edges(label: str) -> list[tuple[int, int]]:
    """The edges in a printed graph."""
    pairs = [text.split("->") for text in label.split() if "->" in text]
    return [(int(u), int(v)) for u, v in pairs]


def _draw_graph(axis: Any, edges: list[tuple[int, int]], names: list[str]) -> None:
    """Variables on a circle, an arrow for each edge."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    axis.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
    axis.set_axis_off()
    boxes = [
        axis.text(
            x, y, name[:10], ha="center", va="center", **NAMES,
            bbox={"boxstyle": "round,pad=0.35", "fc": "white", "ec": "#444444"},
        ).get_bbox_patch()
        for (x, y), name in zip(places, names, strict=True)
    ]  # fmt: skip
    for u, v in edges:
        arrow = {"arrowstyle": "-|>", "color": "#0072B2", "lw": 1.3, "shrinkA": 2, "shrinkB": 2}
        ends = {"patchA": boxes[u], "patchB": boxes[v]}
        axis.annotate("", xy=places[v], xytext=places[u], arrowprops={**arrow, **ends})
