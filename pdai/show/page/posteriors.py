"""Figures of the features that a problem names: bars, or edges as heat maps."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from pdai.show.page.chart import LETTER, Chart, Point, Series, figure, number_text
from pdai.show.page.elements import short, tag, tip
from pdai.show.page.entries import Entry
from pdai.show.plotting import MOST_BARS
from pdai.show.posterior_plots import edge_matrices
from pdai.show.stored import Floats

CELL = 44
# A longer name is shown in full when its cell is selected.
LONGEST = 12


def feature_figures(entry: Entry) -> list[Element]:
    """Heat maps of edges, or bars of other features; empty if the target's means are unknown."""
    every = entry.report.expectations
    if not every or any(one.target is None for one in every):
        return []
    if entry.has_networks:
        names, target, learned = edge_matrices(every)
        return [
            _heat_map("Edges: exact posterior", names, target, 1.0),
            _heat_map("Edges: sampler", names, learned, 1.0),
            _heat_map("Sampler minus posterior", names, learned - target, None),
        ]
    if len(every) > MOST_BARS:
        return []
    bars, marks = [], []
    for i, one in enumerate(every):
        assert one.target is not None
        bars.append(Point(i, one.target, f"target of {one.name}: {number_text(one.target)}"))
        marks.append(Point(i, one.sampler.mean, f"{one.name}: {number_text(one.sampler.mean)}"))
    about = "A bar for the expectation under the target, and a mark for that under the sampler."
    series = [Series(entry.name, entry.number, marks)]
    names = [short(one.name) for one in every]
    return [figure(Chart("Expectations", about, "feature", "mean", series, bars=bars, names=names))]


def _heat_map(title: str, names: Sequence[str], values: Floats, most: float | None) -> Element:
    """A cell for each edge, darker for larger values; negative ones in another colour."""
    most = most or max(0.01, float(np.nanmax(np.abs(values))))
    shown = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
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
        if len(names) <= LONGEST and float(text):
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
