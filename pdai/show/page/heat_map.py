"""Probabilities of edges as a heat map. Imports no JAX."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from pdai.show.page.chart import LETTER, number_text
from pdai.show.page.elements import short, tag, tip
from reference.contract.text import clipped

Floats = npt.NDArray[np.float64]

CELL = 44
# A longer name is shown in full when its cell is selected.
LONGEST = 12
# More names than these have no numbers in their cells.
MOST_NUMBERS = 12


def heat_map(title: str, names: Sequence[str], values: Floats, most: float | None) -> Element:
    """A cell for each edge, darker for larger values; negative ones in another colour."""
    most = most or max(0.01, float(np.nanmax(np.abs(values))))
    shown = [clipped(name, LONGEST) for name in names]
    margin = 20 + LETTER * max(map(len, shown))
    cells = []
    for (i, j), value in np.ndenumerate(values):
        if i == j:
            continue
        about = f"{short(names[i])} to {short(names[j])}: {number_text(float(value))}"
        x, y = margin + CELL * j, margin + CELL * i
        cells.append(
            tag(
                "rect", x=x, y=y, width=CELL - 1, height=CELL - 1, **tip(about),
                fill_opacity=f"{0.65 * abs(value) / most:.3f}", class_=f"mark c{int(value < 0)}",
            )
        )  # fmt: skip
        text = f"{value:.2f}"
        if len(names) <= MOST_NUMBERS and float(text):
            cells.append(tag("text", text, x=x + CELL / 2, y=y + CELL / 2 + 4, class_="mid"))
    words = []
    for i, name in enumerate(shown):
        middle = margin + CELL * (i + 0.5)
        turned = f"translate({middle + 4:.1f} {margin - 8}) rotate(-90)"
        words.append(tag("text", name, x=margin - 8, y=f"{middle + 4:.1f}", class_="end"))
        words.append(tag("text", name, transform=turned))
    size = margin + CELL * len(names)
    about = f"Edges go from row to column; full colour is {most:.2g}."
    picture = tag(
        "svg", *cells, tag("g", *words, aria_hidden="true"), viewBox=f"0 0 {size} {size}",
        role="group", class_="chart heat", aria_label=f"{title}. {about}",
    )  # fmt: skip
    return tag("figure", picture, tag("figcaption", tag("strong", title), f". {about}"))
