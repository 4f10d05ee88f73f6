"""A picture of a pointed DAG: layers from left to right, coloured by reward or by flow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from reference.dag import PointedDAG
from reference.errors import InputError, TooLargeError
from reference.inspection import Inspection

Colouring = Literal["reward", "flow"]

MAX_DRAWN = 400


def check_picture(path: Path) -> None:
    """Checks that the ending of a file names a format, so that no other file is written.

    Raises:
        InputError: if it does not.
    """
    if path.suffix.lower()[1:] not in FigureCanvasBase.filetypes:
        raise InputError(
            f"the picture cannot be written to {str(path)!r}: its ending is {path.suffix!r}, but "
            "must be that of a format, such as .png, .svg or .pdf"
        )


def draw(inspection: Inspection[Any], path: Path, colour: Colouring = "reward") -> None:
    """Writes a picture of the DAG to `path`; its ending chooses the format.

    Terminals are squares, coloured by `R(x)`; with `colour="flow"` every state is coloured by its
    flow under the uniform backward policy, of which the rewards are the terminal values.

    Raises:
        TooLargeError: if there are more than 400 states.
        InputError: if the picture cannot be written there.
    """
    check_picture(path)
    dag = inspection.dag
    if len(dag.labels) > MAX_DRAWN:
        raise TooLargeError(
            f"{inspection.name} has {len(dag.labels):,} states, and at most {MAX_DRAWN} are drawn: "
            "draw a smaller instance"
        )
    x, y = _layout(dag)
    figure = Figure(figsize=_size(x, y), layout="constrained")
    axes = figure.add_subplot()
    for u, v in dag.edges:
        # An edge over several layers is bent, so that it does not seem to end in a state between.
        bend = 0.0 if x[v] == x[u] + 1 else 0.18
        axes.add_patch(
            FancyArrowPatch(
                (x[u], y[u]),
                (x[v], y[v]),
                arrowstyle="-|>",
                connectionstyle=f"arc3,rad={bend}",
                shrinkA=4,
                shrinkB=4,
                mutation_scale=6,
                color="0.65",
                linewidth=0.6,
                zorder=1,
            )
        )
    terminals = set(dag.terminals)
    value = inspection.flow()
    inner = [v for v, row in enumerate(dag.children) if row]
    shown = set(dag.terminals) if colour == "reward" else set(range(len(value)))
    least, largest = (f(value[v] for v in shown) for f in (min, max))
    # Values over several decades are unreadable on a linear scale.
    norm = LogNorm(least, largest) if largest > 10 * least > 0 else Normalize(0, largest)
    colours = ScalarMappable(norm, "viridis")
    paint = colours.to_rgba(np.array(value))
    paint[[v for v in inner if v not in shown]] = 1.0
    for group, marker in ((list(dag.terminals), "s"), (inner, "o")):
        axes.scatter(
            [x[v] for v in group],
            [y[v] for v in group],
            c=paint[group],
            edgecolors="0.3",
            linewidths=0.6,
            marker=marker,
            s=60,
            zorder=2,
        )
    if len(dag.labels) <= 60:
        for v, label in enumerate(dag.labels):
            axes.annotate(
                str(label),
                (x[v], y[v]),
                xytext=(5, 5) if v in terminals else (-4, 6),
                textcoords="offset points",
                fontsize=7,
            )
    label = "reward R(x)" if colour == "reward" else "flow F(s), uniform backward policy"
    figure.colorbar(colours, ax=axes, label=label)
    axes.set_title(f"{inspection.name}: {len(dag.labels)} states, {len(dag.edges)} edges")
    axes.set_xlabel("longest path from the initial state")
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the picture cannot be written to {str(path)!r} ({error}): name a file ending in "
            ".png, .svg or .pdf in a folder that exists"
        ) from None


def _size(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    return min(3 + 1.2 * (max(x) + 1), 18.0), min(2.5 + 0.4 * (max(y) + 1), 14.0)


def _layout(dag: PointedDAG[Any]) -> tuple[list[float], list[float]]:
    """Layer by longest path; within a layer, by the mean height of the parents."""
    layer = dag.depths
    height = [0.0] * len(dag.labels)
    for depth in range(1, max(layer) + 1):
        nodes = [v for v in range(len(dag.labels)) if layer[v] == depth]
        wish = {
            v: sum(height[dag.edges[e][0]] for e in dag.in_edges[v]) / len(dag.in_edges[v])
            for v in nodes
        }
        nodes.sort(key=lambda v: (wish[v], v))
        for rank, v in enumerate(nodes):
            height[v] = rank - (len(nodes) - 1) / 2
    lowest = min(height)
    return [float(depth) for depth in layer], [h - lowest for h in height]
