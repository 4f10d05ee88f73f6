"""A picture of the probabilities of edges. Imports no JAX."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from reference.files import replace_file

# More names than these have no numbers in their cells.
MOST_NUMBERS = 12


def draw_edges(edges: npt.NDArray[np.float64], names: Sequence[str], path: Path) -> None:
    """Writes the probability of each edge as a heat map; rows are the starts.

    Args:
        edges: the probabilities, shape (n, n).
        names: the names of the nodes.
        path: the PNG file.
    """
    nodes = len(names)
    # Without pyplot, whose state is of the whole process.
    figure = Figure(figsize=(2.5 + 0.45 * nodes, 2 + 0.42 * nodes), layout="constrained")
    axis = figure.add_subplot()
    values = edges.copy()
    values[range(nodes), range(nodes)] = np.nan
    image = axis.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0)
    # Columns of a file may be called anything: a dollar begins no formula.
    shown = [name if len(name) <= 20 else f"{name[:19]}…" for name in names]
    axis.set_xticks(range(nodes), shown, rotation=90, fontsize=8, parse_math=False)
    axis.set_yticks(range(nodes), shown, fontsize=8, parse_math=False)
    axis.set(xlabel="to", ylabel="from")
    axis.set_title("probability of each edge", fontsize=10)
    figure.colorbar(image, ax=axis, shrink=0.8)
    if nodes <= MOST_NUMBERS:
        for (u, v), value in np.ndenumerate(values):
            if u != v:
                tone = "white" if value > 0.6 else "#222222"
                axis.text(v, u, f"{value:.2f}", ha="center", va="center", fontsize=7, color=tone)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    replace_file(path, file.getvalue())
