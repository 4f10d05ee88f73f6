"""Charts as SVG: axes, lines, points and bars, with a text per mark for mouse and screen reader."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from pdai.show.page.elements import folded, polyline, table, tag, tip

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 76, 14, 14, 46
LETTER = 7  # width of a letter
# The style sheet has 8 colours; with shapes and dashes, twelve runs look different.
COLOURS = 8
SHAPES = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "M-3.5 -3.5H3.5V3.5H-3.5Z",
    "M0 -5L4.6 3.5H-4.6Z",
    "M0 -5L5 0L0 5L-5 0Z",
)
DASHES = (None, "7 3", "2 3")

Place = Callable[[float], float]


class Point(NamedTuple):
    """A mark and its text."""

    x: float
    y: float
    text: str


class Rule(NamedTuple):
    """A horizontal line, such as a floor, and its name."""

    y: float
    text: str


@dataclass(frozen=True)
class Series:
    """The marks of one run, and a line and a band if there are any.

    The number of the run gives its colour, shape and dashes. A band has x, low and high.
    """

    name: str
    number: int
    points: Sequence[Point]
    line: Sequence[tuple[float, float]] = ()
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        title: the title, in a few words.
        about: a description in one or two sentences, also for screen readers.
        x, y: the names of the axes, with units.
        series: the series of each run.
        rules: horizontal lines.
        bars: the target, if it is drawn as bars.
        names: labels of the bars, written below them where they fit.
        logs: which axes are logarithmic: "", "x", "y" or "xy".
        diagonal: draw the line x = y.
    """

    title: str
    about: str
    x: str
    y: str
    series: Sequence[Series]
    rules: Sequence[Rule] = ()
    bars: Sequence[Point] = ()
    names: Sequence[str] = ()
    logs: str = ""
    diagonal: bool = False


def dash_of(number: int) -> str | None:
    """Dash pattern of a run's line."""
    return DASHES[number // len(SHAPES) % len(DASHES)]


def marker(number: int, x: float, y: float, **attributes: object) -> Element:
    """The mark of a run at a position, as SVG."""
    shape = SHAPES[number % len(SHAPES)]
    return tag("path", d=shape, transform=f"translate({x:.1f} {y:.1f})", **attributes)


def svg(chart: Chart) -> Element:
    """The chart as SVG."""
    marks = [(p.x, p.y) for series in chart.series for p in series.points]
    marks += [place for series in chart.series for place in series.line]
    marks += [(bar.x, bar.y) for bar in chart.bars]
    xs, ys = [x for x, _ in marks], [y for _, y in marks] + [rule.y for rule in chart.rules]
    ys += [y for series in chart.series for _, low, high in series.band for y in (low, high)]
    if chart.diagonal:
        xs = ys = xs + ys
    bottom = [0.0] if "y" not in chart.logs else []
    if chart.bars:
        across = [min(xs) - 0.6, max(xs) + 0.6]
    else:
        # Every step axis starts at 0, so that charts compare.
        across = xs if "x" in chart.logs else [0.0, *xs]
    place_x, ticks_x = _axis(across, "x" in chart.logs, LEFT, WIDTH - RIGHT)
    place_y, ticks_y = _axis([*ys, *bottom], "y" in chart.logs, HEIGHT - BOTTOM, TOP)
    parts = [tag("title", chart.title), tag("desc", chart.about)]
    parts += _frame(chart, place_x, place_y, ticks_x, ticks_y)
    if chart.bars:
        parts.append(_bars(chart.bars, place_x, place_y))
    if chart.diagonal:
        ends = min(xs), max(xs)
        parts.append(polyline([(place_x(v), place_y(v)) for v in ends], class_="rule"))
    parts += [_series(series, place_x, place_y) for series in chart.series]
    parts += _rules(chart.rules, place_y)
    return tag(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="group", class_="chart",
        aria_label=f"{chart.title}. {chart.about} Arrow keys go from mark to mark.",
    )  # fmt: skip


def figure(chart: Chart) -> Element:
    """The chart with a caption and a table of its numbers."""
    rows = [
        (f"{series.name}, {number}" if len(series.points) > 1 else series.name, point.text)
        for series in chart.series
        for number, point in enumerate(series.points, 1)
    ]
    numbers = folded("The numbers", table(chart.title, ("mark", chart.y), rows))
    heading = tag("figcaption", tag("strong", chart.title), f". {chart.about}")
    return tag("figure", svg(chart), heading, numbers)


def _axis(
    values: Sequence[float], is_log: bool, start: float, end: float
) -> tuple[Place, list[float]]:
    """The map from values to pixels, and the ticks."""
    low, high = min(values), max(values)
    if is_log:
        low, high = low / 1.15, high * 1.15
        decades = np.log10(high / low)
        ticks = LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,)).tick_values(low, high)
        if decades < 0.8:
            ticks = MaxNLocator(6, steps=(1, 2, 5, 10)).tick_values(low, high)
    else:
        high = high if high > low else low + 1
        high += 0.04 * (high - low)
        ticks = MaxNLocator(6, steps=(1, 2, 5, 10)).tick_values(low, high)
    change = np.log if is_log else float

    def place(value: float) -> float:
        return float(
            start + (end - start) * (change(value) - change(low)) / (change(high) - change(low))
        )

    shown = [float(value) for value in ticks if low <= value <= high]
    return place, shown[:: len(shown) // 9 + 1]


def _frame(
    chart: Chart, place_x: Place, place_y: Place, ticks_x: Sequence[float], ticks_y: Sequence[float]
) -> list[Element]:
    floor, middle = HEIGHT - BOTTOM, (LEFT + WIDTH - RIGHT) / 2
    lines, texts = [], []
    for value in ticks_y:
        y = place_y(value)
        lines.append(polyline([(LEFT, y), (WIDTH - RIGHT, y)]))
        texts.append(tag("text", number_text(value), x=LEFT - 7, y=f"{y + 4:.1f}", class_="end"))
    for value, name in _named(chart, place_x) or [(v, number_text(v)) for v in ticks_x]:
        x = place_x(value)
        lines.append(polyline([(x, floor), (x, floor + 4)]))
        texts.append(tag("text", name, x=f"{x:.1f}", y=floor + 18, class_="mid"))
    lines.append(polyline([(LEFT, floor), (WIDTH - RIGHT, floor)], class_="base"))
    texts.append(tag("text", chart.x, x=f"{middle:.1f}", y=HEIGHT - 6, class_="mid"))
    turned = f"translate(14 {(TOP + floor) / 2:.1f}) rotate(-90)"
    texts.append(tag("text", chart.y, transform=turned, class_="mid"))
    return [tag("g", *lines, class_="grid"), tag("g", *texts, class_="words", aria_hidden="true")]


def _named(chart: Chart, place_x: Place) -> list[tuple[float, str]]:
    """Labels below the bars, for every bar or every few bars; none if they do not fit."""
    if not chart.names:
        return []
    every = math.ceil(LETTER * (max(map(len, chart.names)) + 1) / (place_x(1) - place_x(0)))
    return [(float(i), chart.names[i]) for i in range(0, len(chart.names), every) if every <= 4]


def number_text(value: float) -> str:
    """A number in four digits, in powers of ten if it is small."""
    return (
        f"{value:,.0f}"
        if value and abs(value) >= 1000 and value == round(value)
        else f"{value:.4g}"
    )


def _bars(bars: Sequence[Point], place_x: Place, place_y: Place) -> Element:
    half = 0.4 * (place_x(1) - place_x(0))
    floor = place_y(0)
    return tag(
        "g",
        *(
            tag(
                "rect", x=f"{place_x(bar.x) - half:.1f}", y=f"{place_y(bar.y):.1f}",
                width=f"{2 * half:.1f}", height=f"{floor - place_y(bar.y):.1f}",
                class_="mark", **tip(bar.text),
            )
            for bar in bars
        ),
        class_="bars",
    )  # fmt: skip


def _series(series: Series, place_x: Place, place_y: Place) -> Element:
    parts = []
    if len(series.band) > 1:
        above = [(place_x(x), place_y(high)) for x, _, high in series.band]
        below = [(place_x(x), place_y(low)) for x, low, _ in reversed(series.band)]
        parts.append(polyline([*above, *below], class_="band"))
    if len(series.line) > 1:
        line = [(place_x(x), place_y(y)) for x, y in series.line]
        parts.append(polyline(line, class_="line", stroke_dasharray=dash_of(series.number)))
    for point in series.points:
        at, about = (place_x(point.x), place_y(point.y)), tip(f"{series.name}: {point.text}")
        parts.append(marker(series.number, *at, class_="mark", **about))
    return tag("g", *parts, class_=f"series c{series.number % COLOURS}", data_run=series.number)


def _rules(rules: Sequence[Rule], place_y: Place) -> list[Element]:
    """Horizontal lines, each with its name above it, or below if the names would overlap."""
    parts, last = [], -100.0
    for rule in sorted(rules, key=lambda rule: -rule.y):
        y = place_y(rule.y)
        text = max(y - 5, last + 13, TOP + 10)
        last = text
        parts.append(polyline([(LEFT, y), (WIDTH - RIGHT, y)], class_="rule"))
        parts.append(
            tag("text", rule.text, x=WIDTH - RIGHT - 4, y=f"{text:.1f}", class_="end level")
        )
    return parts
