"""Figures of matplotlib in a page, with a text per mark for mouse, keyboard and screen reader."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import permutations
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element, fromstring

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from pdai.show.page.elements import folded, number_text, short, table, tag
from pdai.show.panels import Floats, edge_cells

# Inches: a point is a unit of the view box.
SIZE = (7.4, 4.0)
# The style sheet has 8 colours; with shapes and dashes, twelve runs look different.
COLOURS, SHAPES, DASHES = 8, "os^D", ("-", "--", ":")
# Black becomes the colour of the text around, which is that of a run, or light on dark.
INK = "#000000"
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

Attributes: TypeAlias = dict[str, Any]
# By the identifier of an artist: its attributes, and those of each of its shapes.
Marks: TypeAlias = Mapping[str, tuple[Attributes, Sequence[Attributes]]]


class Chart:
    """A panel with a title and a description, whose marks can be named."""

    def __init__(self, title: str, about: str, size: tuple[float, float] = SIZE):
        self.title, self.about = title, about
        self.figure = Figure(figsize=size, layout="constrained")
        self.axis = self.figure.add_subplot()
        self.axis.spines[["top", "right", "left"]].set_visible(False)
        self.axis.tick_params(axis="y", which="both", length=0)
        # A loss of one's own may be called anything.
        self.axis.yaxis.label.set_parse_math(False)
        self.marks: dict[str, tuple[Attributes, list[Attributes]]] = {}
        self.rows: list[tuple[str, str]] = []

    def mark(self, artist: Artist, class_: str, tips: Sequence[str] = (), **others: object) -> None:
        """Gives an artist a class and other attributes, and each of its marks a text.

        Args:
            artist: the artist.
            class_: the class.
            tips: the texts, one for each mark.
            others: the other attributes.
        """
        name = f"mark-{len(self.marks)}"
        artist.set_gid(name)
        texts = [
            {"data_tip": text, "role": "img", "aria_label": text, "tabindex": -1, "class_": "mark"}
            for text in tips
        ]
        self.marks[name] = ({"class_": class_, **others}, texts)

    def run(self, artist: Artist, name: str, number: int, tips: Sequence[str] = ()) -> None:
        """Gives an artist the colour of a run, and its marks texts, which are listed below.

        Args:
            artist: the artist.
            name: the name of the run.
            number: its number on the page.
            tips: the texts, one for each mark.
        """
        texts = [f"{name}: {text}" for text in tips]
        self.mark(artist, f"series c{number % COLOURS}", texts, data_run=number)
        heads = [f"{name}, {place}" for place in range(1, len(tips) + 1)]
        self.rows += zip(heads if len(tips) > 1 else [name], tips, strict=False)

    def picture(self, class_: str = "chart") -> Element:
        """The panel as SVG."""
        return embedded(
            self.figure, self.marks, class_=class_, role="group",
            aria_label=f"{self.title}. {self.about} Arrow keys go from mark to mark.",
        )  # fmt: skip

    def element(self) -> Element:
        """The panel with its caption, and a table of the numbers of runs."""
        self.axis.grid(axis="y", color=INK, alpha=0.15)
        heading = tag("figcaption", tag("strong", self.title), f". {self.about}")
        numbers = table(self.title, ("mark", self.axis.get_ylabel()), self.rows)
        return tag("figure", self.picture(), heading, folded("The numbers", numbers))


def look(number: int) -> dict[str, Any]:
    """Shape and dashes of a run, for lines with marks."""
    dashes = DASHES[number // len(SHAPES) % len(DASHES)]
    return {"color": INK, "marker": SHAPES[number % len(SHAPES)], "ls": dashes, "lw": 1.8, "ms": 6}


def swatch(number: int) -> Element:
    """The line and the mark of a run, for a legend."""
    figure = Figure(figsize=(32 / 72, 14 / 72))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_axis_off()
    axis.plot((0, 0.5, 1), (0, 0, 0), markevery=[1], **look(number))
    class_ = f"swatch c{number % COLOURS}"
    return embedded(figure, {}, class_=class_, width=32, height=14, aria_hidden="true")


def heat_map(title: str, names: Sequence[str], values: Floats, most: float | None) -> Element:
    """A cell for each edge, darker for larger values; negative ones in another colour.

    Args:
        title: the title.
        names: the n variables.
        values: a number for each edge, shape (n, n); rows are the starts.
        most: the number with full colour; by default the largest in absolute value.
    """
    most = most or max(0.01, float(np.nanmax(np.abs(values))))
    about = f"Edges go from row to column; full colour is {most:.2g}."
    chart = Chart(title, about, (1.5 + 0.4 * len(names), 1.5 + 0.4 * len(names)))
    cells = edge_cells(chart.axis, values, names)
    chart.axis.set_xlabel("to", fontsize=8)
    chart.axis.set_ylabel("from", fontsize=8)
    for (cell, value), (start, end) in zip(cells, permutations(names, 2), strict=True):
        cell.set(facecolor=INK, alpha=0.65 * abs(value) / most)
        tip = f"{short(start)} to {short(end)}: {number_text(value)}"
        chart.mark(cell, f"c{int(value < 0)}", [tip])
    heading = tag("figcaption", tag("strong", title), f". {about}")
    return tag("figure", chart.picture("chart heat"), heading)


def embedded(figure: Figure, marks: Marks, **attributes: object) -> Element:
    """A figure as SVG without identifiers, styles and links, which a page may hold many times.

    Args:
        figure: the figure, drawn in black.
        marks: the attributes of its artists and their shapes.
        attributes: those of the whole.
    """
    figure.patch.set_visible(False)
    for axis in figure.axes:
        axis.patch.set_visible(False)
    file = BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(file, format="svg")
    root = fromstring(file.getvalue())
    shapes = {one.attrib["id"]: one for one in root.iter(f"{SVG}path") if "id" in one.attrib}
    extra: dict[Element, Attributes] = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("id") in marks:
            extra[group], texts = marks[group.attrib["id"]]
            each = list(group.iter(f"{SVG}use")) or list(group.iter(f"{SVG}path"))
            extra.update(zip(each, texts, strict=True) if texts else ())
    parts = [_copied(part, shapes, extra) for part in root if part.tag == f"{SVG}g"]
    return tag("svg", *parts, viewBox=root.get("viewBox"), fill="currentColor", **attributes)


def _copied(old: Element, shapes: Mapping[str, Element], extra: Mapping[Element, Any]) -> Element:
    """An element with attributes for its style, and each use of a shape as that shape."""
    kept = {name: old.attrib[name] for name in ("d", "x", "y", "transform") if name in old.attrib}
    name, style = old.tag.removeprefix(SVG), old.get("style", "")
    if name == "use":
        shape = shapes[old.attrib[LINK][1:]]
        name, style = "path", f"{shape.get('style', '')};{style}"
        kept = {"d": shape.attrib["d"], "transform": f"translate({kept['x']} {kept['y']})"}
    pairs = (part.partition(":") for part in style.split(";") if ":" in part)
    styles = {key.strip().replace("-", "_"): value.strip() for key, _, value in pairs}
    styles = {key: value.replace(INK, "currentColor") for key, value in styles.items()}
    # The page has its own letters, and a path needs no lines.
    styles.pop("font_family", None)
    if "d" in kept:
        kept["d"] = " ".join(kept["d"].split())
    children = [_copied(part, shapes, extra) for part in old if part.tag != f"{SVG}defs"]
    text = (old.text or "").strip()
    return tag(
        name, *([text] if text else []), *children, **{**kept, **styles, **extra.get(old, {})}
    )
