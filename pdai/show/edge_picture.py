"""Pictures of the probabilities of edges. Imports no JAX."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from pdai.show.page.heat_map import MOST_NUMBERS
from reference.contract.text import clipped
from reference.looking.show import save_figure

Floats = npt.NDArray[np.float64]

# Columns of a file may be called anything: a dollar begins no formula.
NAMES: dict[str, Any] = {"fontsize": 8, "parse_math": False}


def draw_edges(edges: Floats, names: Sequence[str], path: Path) -> None:
    """Writes the probability of each edge, shape (n, n), as a heat map; rows are the starts."""
    nodes = len(names)
    # Without pyplot, whose state is of the whole process.
    figure = Figure(figsize=(2.5 + 0.45 * nodes, 2 + 0.42 * nodes), layout="constrained")
    values = np.where(np.eye(nodes, dtype=bool), np.nan, edges)
    edge_panel(figure.add_subplot(), "probability of each edge", values, names)
    save_figure(figure, path, dpi=150)


def edge_panel(
    axis: Any, title: str, values: Floats, names: Sequence[str], most: float | None = None
) -> None:
    """Draws a number for each edge as a heat map; rows are the starts.

    `most` is the largest absolute value of differences; by default these are probabilities.
    """
    low, high = (0.0, 1.0) if most is None else (-most, most)
    image = axis.imshow(values, cmap="Blues" if most is None else "RdBu_r", vmin=low, vmax=high)
    shown = [clipped(name, 28) for name in names]
    axis.set_xticks(range(len(names)), shown, rotation=90, **NAMES)
    axis.set_yticks(range(len(names)), shown, **NAMES)
    axis.set(xlabel="to", ylabel="from")
    axis.set_title(title, fontsize=10)
    axis.figure.colorbar(image, ax=axis, shrink=0.8)
    if len(names) > MOST_NUMBERS:
        return
    digits = 2 if most is None else 3
    # In points: as many digits, and a sign, as one of three panels in a row has room for.
    size = min(7.0, 280 / (len(names) * (4 if most is None else 6)))
    for (i, j), value in np.ndenumerate(values):
        if i != j:
            tone = "white" if abs(value) > 0.6 * high else "#222222"
            # Not "-0.00".
            text = f"{round(value, digits) + 0.0:.{digits}f}"
            axis.text(j, i, text, ha="center", va="center", fontsize=size, color=tone)
