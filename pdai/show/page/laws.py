"""Learned against target probabilities: a chart, and tables of the worst and best states."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from pdai.show.page.chart import Chart, Point, Series, number_text
from pdai.show.page.elements import plain, short, table
from pdai.show.page.entries import Entry
from pdai.show.plotting import MOST_BARS, least_shown

# Beyond this many points a subset is drawn: evenly by rank of the target, and the furthest off.
MOST_POINTS, FURTHEST = 300, 30
ROWS = 8


def law_chart(entries: Sequence[Entry]) -> Chart:
    """Learned against target probabilities, of the first seed of each run on one problem."""
    if all(entry.labels for entry in entries) and len(entries[0].target) <= MOST_BARS:
        return _bars(entries)
    return _scatter(entries)


def _bars(entries: Sequence[Entry]) -> Chart:
    first = entries[0]
    bars = [
        Point(i, float(p), f"target of {label(first, i)}: {number_text(float(p))}")
        for i, p in enumerate(first.target)
    ]
    series = []
    # Side by side, since marks of runs that agree would hide each other.
    places = np.linspace(-0.3, 0.3, len(entries)) if len(entries) > 1 else (0.0,)
    for entry, place in zip(entries, places, strict=True):
        points = [_point(entry, i, i + float(place)) for i in range(len(entry.target))]
        series.append(Series(entry.name, entry.number, points))
    about = "A bar for the target probability of each terminal state, and a mark for each run's."
    return Chart(
        "Learned against target", about, "terminal state", "probability", series,
        bars=bars, names=[plain(name) for name in first.labels],
    )  # fmt: skip


def _scatter(entries: Sequence[Entry]) -> Chart:
    least = min(least_shown(entry.learned, entry.target) for entry in entries)
    series = []
    for entry in entries:
        points = []
        for i in _chosen(entry):
            x, point = max(float(entry.target[i]), least), _point(entry, i, 0)
            points.append(Point(x, max(point.y, least), point.text))
        series.append(Series(entry.name, entry.number, points))
    count, drawn = len(entries[0].target), max(len(s.points) for s in series)
    which = "" if drawn >= count else (
        f" {drawn} of {count:,} states are drawn: evenly by rank of the target, and the {FURTHEST} "
        "furthest off."
    )  # fmt: skip
    whole = "" if all(entry.labels for entry in entries) else (
        " Not all terminal states are known: these are some of them, normalised among themselves."
    )  # fmt: skip
    below = any(min(e.target.min(), e.learned.min()) < least for e in entries)
    whole += f" Below {number_text(least)} is drawn as that." if below else ""
    about = (
        f"A mark for each terminal state; on the line, learned and target are equal.{which}{whole}"
    )
    return Chart(
        "Learned against target", about, "target probability", "learned probability", series,
        logs="xy", diagonal=True,
    )  # fmt: skip


def _chosen(entry: Entry) -> list[int]:
    count = len(entry.target)
    ranks = np.linspace(0, count - 1, min(count, MOST_POINTS), dtype=int)
    off = np.argsort(-np.abs(entry.learned - entry.target), kind="stable")[:FURTHEST]
    return sorted({*np.argsort(entry.target, kind="stable")[ranks].tolist(), *off.tolist()})


def _point(entry: Entry, state: int, x: float) -> Point:
    learned, target = float(entry.learned[state]), float(entry.target[state])
    text = f"{label(entry, state)}: {number_text(learned)}, target {number_text(target)}"
    return Point(x, learned, text)


def label(entry: Entry, state: int) -> str:
    """The name of a terminal state."""
    return short(entry.labels[state]) if entry.labels else f"state {state}"


def state_tables(entry: Entry) -> list[Element]:
    """Tables of the worst, the best and the most probable states of a run."""
    if not entry.labels:
        return []
    gap = entry.learned - entry.target
    with np.errstate(divide="ignore"):
        ratio = np.abs(np.log(entry.learned) - np.log(entry.target))
    if len(gap) <= 2 * ROWS:
        every = np.argsort(-np.abs(gap), kind="stable")
        return [_states(entry, f"{entry.name}: all states, the worst first", every.tolist())]
    orders = {
        "the worst states, by how far off": -np.abs(gap),
        "the best states, by the ratio of learned and target": ratio,
        "the most probable states": -entry.target,
    }
    return [
        _states(entry, f"{entry.name}: {name}", np.argsort(order, kind="stable")[:ROWS].tolist())
        for name, order in orders.items()
    ]


def _states(entry: Entry, caption: str, chosen: Iterable[int]) -> Element:
    total = float(np.abs(entry.learned - entry.target).sum()) or 1.0
    rows = []
    for state in chosen:
        learned, target = float(entry.learned[state]), float(entry.target[state])
        ratio = number_text(learned / target) if target else "-"
        share = f"{100 * abs(learned - target) / total:.1f} %"
        cells = (number_text(target), number_text(learned), ratio, share)
        rows.append((label(entry, state), *cells))
    return table(caption, ("state", "target", "learned", "ratio", "share of TV"), rows)
