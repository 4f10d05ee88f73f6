"""The charts of runs: curves of training, learned against target, features; tables of states."""

import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from pdai.posteriors.plots import edge_matrices
from pdai.show.page.chart import INK, Chart, heat_map, look
from pdai.show.page.elements import number_text, short, table
from pdai.show.page.entries import Entry
from pdai.show.panels import (
    MOST_BARS,
    decimal,
    draw_bars,
    draw_curve,
    draw_equal,
    least_shown,
    scale_tv,
)
from pdai.show.stored import loss_label
from reference.contract.errors import printable

# The largest number of marks on a line; more would overlap.
MOST_MARKS = 60
# Beyond this many points a subset is drawn: evenly by rank of the target, and the furthest off.
MOST_POINTS, FURTHEST = 300, 30
ROWS = 8
RULE: dict[str, Any] = {"color": INK, "alpha": 0.6, "lw": 1, "ls": "--"}
KINDS = {
    "float64": "summed in float64",
    "estimated": "estimated by trajectories backwards",
    "sampled": "sampled",
    "of trajectories": "of trajectories, which bounds that of terminal states",
}


def training_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Total variation and loss by step, of all runs on one problem, if they were recorded."""
    kinds = dict.fromkeys(KINDS.get(e.report.tv_kind, e.report.tv_kind) for e in entries)
    about = f"TV to the target by step; the final one is {' or '.join(kinds)}. {_notes(entries)}"
    tv = Chart("Total variation while training", about)
    losses = dict.fromkeys(str(entry.options.get("loss")) for entry in entries if entry.records)
    other = " Losses of different kinds do not compare." if len(losses) > 1 else ""
    loss = Chart("Loss while training", f"The loss by step: {', '.join(losses)}.{other}")
    tv.axis.set(ylabel="TV")
    loss.axis.set(ylabel=loss_label([e.options for e in entries if e.records]), yscale="log")
    for chart, name in ((tv, "tv"), (loss, "loss")):
        for entry in entries:
            _draw_run(chart, entry, name)
        # Every step axis starts at 0, so that charts compare.
        chart.axis.set(xlabel="step", xlim=(0, None))
    drawn = [chart for chart in (tv, loss) if chart.axis.lines]
    if tv in drawn:
        _draw_levels(tv, entries)
        scale_tv(tv.axis)
    if loss in drawn:
        decimal(loss.axis.yaxis)
    return drawn


def _draw_run(chart: Chart, entry: Entry, name: str) -> None:
    """The curve of a run, with some of its means as marks."""
    records = [record for record in entry.records if name in record]
    if not records:
        return
    line, *band = draw_curve(chart.axis, records, name, **look(entry.number))
    chosen = np.unique(np.linspace(0, len(records) - 1, MOST_MARKS, dtype=int)).tolist()
    line.set_markevery(chosen)
    means = np.asarray(line.get_ydata())[chosen].tolist()
    steps = [records[i]["step"] for i in chosen]
    tips = [f"step {x:,}, {name} {number_text(y)}" for x, y in zip(steps, means, strict=True)]
    chart.run(line, entry.name, entry.number, tips)
    for one in band:
        chart.run(one, entry.name, entry.number)


def _levels(entries: Sequence[Entry]) -> dict[str, float]:
    """The TV of the untrained policy and of exact sampling, by name."""
    levels = {}
    for entry in entries:
        report = entry.report
        for name, figures in (("untrained", report.uniform), ("exact sampling", report.exact)):
            if figures is not None and figures.tv is not None:
                levels[f"{name} {number_text(figures.tv.mean)}"] = figures.tv.mean
    return levels


def _draw_levels(chart: Chart, entries: Sequence[Entry]) -> None:
    """A line for each level that is not zero: the name of the highest above it, others below."""
    levels = sorted(_levels(entries).items(), key=lambda level: -level[1])
    for place, (name, value) in enumerate(level for level in levels if level[1] > 0):
        chart.axis.axhline(value, **RULE)
        text = chart.axis.annotate(
            name, (1, value), xycoords=chart.axis.get_yaxis_transform(), ha="right",
            xytext=(0, -4 if place else 4), textcoords="offset points",
            va="top" if place else "bottom",
        )  # fmt: skip
        chart.mark(text, "level")


def _notes(entries: Sequence[Entry]) -> str:
    notes = []
    if "exact sampling 0" in _levels(entries):
        notes.append("Exact sampling has TV 0: there is no floor.")
    if any(entry.report.tv_kind == "sampled" for entry in entries):
        notes.append(
            "The floor is that of the last measurement. The curve has fewer samples, so that its "
            "own floor is higher."
        )
    return " ".join(notes)


def law_chart(entries: Sequence[Entry]) -> Chart:
    """Learned against target probabilities, of the first seed of each run on one problem."""
    is_small = all(entry.labels for entry in entries) and len(entries[0].target) <= MOST_BARS
    return _bars(entries) if is_small else _scatter(entries)


def _bars(entries: Sequence[Entry]) -> Chart:
    about = "A bar for the target probability of each terminal state, and a mark for each run's."
    chart, first = Chart("Learned against target", about), entries[0]
    tips = [
        f"target of {label(first, i)}: {number_text(float(p))}" for i, p in enumerate(first.target)
    ]
    _name_bars(chart, first.target, tips, first.labels, "terminal state")
    # Side by side, since marks of runs that agree would hide each other.
    places = np.linspace(-0.3, 0.3, len(entries)) if len(entries) > 1 else (0.0,)
    for entry, place in zip(entries, places, strict=True):
        states = np.arange(len(entry.target))
        _draw_points(chart, entry, states + place, entry.learned, states.tolist())
    return chart


def _name_bars(
    chart: Chart, target: Any, tips: Sequence[str], names: Sequence[str], axis: str
) -> None:
    """Bars with texts, and labels below every bar or every few bars, if they fit."""
    for bar, text in zip(draw_bars(chart.axis, target, INK), tips, strict=True):
        chart.mark(bar, "bar", [text])
    every = math.ceil(7 * (max(map(len, names)) + 1) * len(names) / 540)
    if every <= 4:
        shown = [printable(name) for name in names[::every]]
        chart.axis.set_xticks(range(0, len(names), every), shown, parse_math=False)
    chart.axis.set(xlabel=axis)


def _draw_points(chart: Chart, entry: Entry, xs: Any, ys: Any, states: Sequence[int]) -> None:
    """A mark of a run for each of some states."""
    (line,) = chart.axis.plot(xs, ys, **{**look(entry.number), "ls": ""})
    pairs = ((float(entry.learned[i]), float(entry.target[i])) for i in states)
    tips = [
        f"{label(entry, i)}: {number_text(learned)}, target {number_text(target)}"
        for i, (learned, target) in zip(states, pairs, strict=True)
    ]
    chart.run(line, entry.name, entry.number, tips)


def _scatter(entries: Sequence[Entry]) -> Chart:
    least = min(least_shown(entry.learned, entry.target) for entry in entries)
    count, most = len(entries[0].target), max(e.learned.max() for e in entries)
    chosen = [_chosen(entry) for entry in entries]
    about = "A mark for each terminal state; on the line, learned and target are equal."
    if max(map(len, chosen)) < count:
        about += (
            f" {max(map(len, chosen))} of {count:,} states are drawn: evenly by rank of the "
            f"target, and the {FURTHEST} furthest off."
        )
    if not all(entry.labels for entry in entries):
        about += " Not all terminal states are known: these are some of them, normalised among "
        about += "themselves."
    if any(min(e.target.min(), e.learned.min()) < least for e in entries):
        about += f" Below {number_text(least)} is drawn as that."
    chart = Chart("Learned against target", about)
    draw_equal(chart.axis, least, max(most, entries[0].target.max()), **RULE)
    for entry, states in zip(entries, chosen, strict=True):
        xs, ys = (np.maximum(law[states], least) for law in (entry.target, entry.learned))
        _draw_points(chart, entry, xs, ys, states)
    for scale in (chart.axis.xaxis, chart.axis.yaxis):
        decimal(scale)
    return chart


def _chosen(entry: Entry) -> list[int]:
    count = len(entry.target)
    ranks = np.linspace(0, count - 1, min(count, MOST_POINTS), dtype=int)
    off = np.argsort(-np.abs(entry.learned - entry.target), kind="stable")[:FURTHEST]
    return sorted({*np.argsort(entry.target, kind="stable")[ranks].tolist(), *off.tolist()})


def label(entry: Entry, state: int) -> str:
    """The name of a terminal state."""
    return short(entry.labels[state]) if entry.labels else f"state {state}"


def state_tables(entry: Entry) -> list[Element]:
    """Tables of the worst, the best and the most probable states of a run."""
    if not entry.labels:
        return []
    gap = np.abs(entry.learned - entry.target)
    with np.errstate(divide="ignore"):
        ratio = np.abs(np.log(entry.learned) - np.log(entry.target))
    orders = {
        "the worst states, by how far off": -gap,
        "the best states, by the ratio of learned and target": ratio,
        "the most probable states": -entry.target,
    }
    count = ROWS
    if len(gap) <= 2 * ROWS:
        orders, count = {"all states, the worst first": -gap}, len(gap)
    head = ("state", "target", "learned", "ratio", "share of TV")
    tables = []
    for name, order in orders.items():
        rows = []
        for state in np.argsort(order, kind="stable")[:count]:
            learned, target = float(entry.learned[state]), float(entry.target[state])
            ratio = number_text(learned / target) if target else "-"
            share = f"{100 * gap[state] / (gap.sum() or 1.0):.1f} %"
            cells = (number_text(target), number_text(learned), ratio, share)
            rows.append((label(entry, state), *cells))
        tables.append(table(f"{entry.name}: {name}", head, rows))
    return tables


def feature_figures(entry: Entry) -> list[Element]:
    """Heat maps of edges, or bars of other features; empty if the target's means are unknown."""
    every = entry.report.expectations
    target = [one.target for one in every if one.target is not None]
    if len(target) < len(every):
        return []
    if entry.has_networks:
        names, exact, learned = edge_matrices(every)
        return [
            heat_map("Edges: exact posterior", names, exact, 1.0),
            heat_map("Edges: sampler", names, learned, 1.0),
            heat_map("Sampler minus posterior", names, learned - exact, None),
        ]
    if not 0 < len(every) <= MOST_BARS:
        return []
    about = "A bar for the expectation under the target, and a mark for that under the sampler."
    chart, names = Chart("Expectations", about), [short(one.name) for one in every]
    tips = [f"target of {o.name}: {number_text(x)}" for o, x in zip(every, target, strict=True)]
    _name_bars(chart, target, tips, names, "feature")
    means = [one.sampler.mean for one in every]
    (line,) = chart.axis.plot(means, **{**look(entry.number), "ls": ""})
    tips = [f"{one.name}: {number_text(one.sampler.mean)}" for one in every]
    chart.run(line, entry.name, entry.number, tips)
    chart.axis.set(ylabel="mean")
    return [chart.element()]
