"""The charts of runs: curves of training, learned against target, features; tables of states."""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

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
from pdai.show.posterior_plots import edge_matrices
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
    levels, notes = {}, []
    for report in (entry.report for entry in entries):
        for name, figures in (("untrained", report.uniform), ("exact sampling", report.exact)):
            if figures is not None and figures.tv is not None:
                levels[f"{name} {number_text(figures.tv.mean)}"] = figures.tv.mean
    if "exact sampling 0" in levels:
        notes.append(" Exact sampling has TV 0: there is no floor.")
    if any(entry.report.tv_kind == "sampled" for entry in entries):
        notes.append(
            " The floor is that of the last measurement. The curve has fewer samples, so that its "
            "own floor is higher."
        )
    about = f"TV to the target by step; the final one is {' or '.join(kinds)}.{''.join(notes)}"
    tv = Chart("Total variation while training", about)
    trained = [entry for entry in entries if entry.records]
    losses = dict.fromkeys(str(entry.options.get("loss")) for entry in trained)
    other = " Losses of different kinds do not compare." if len(losses) > 1 else ""
    loss = Chart("Loss while training", f"The loss by step: {', '.join(losses)}.{other}")
    tv.axis.set(ylabel="TV")
    loss.axis.set(ylabel=loss_label([entry.options for entry in trained]), yscale="log")
    for chart, name in ((tv, "tv"), (loss, "loss")):
        for entry in trained:
            _draw_run(chart, entry, name)
        # Every step axis starts at 0, so that charts compare.
        chart.axis.set(xlabel="step", xlim=(0, None))
    drawn = [chart for chart in (tv, loss) if chart.axis.lines]
    if tv in drawn:
        scale_tv(tv.axis, levels.values())
        _draw_levels(tv, levels)
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


def _draw_levels(chart: Chart, levels: Mapping[str, float]) -> None:
    """A line for each level that is not zero: the name of the highest above it, others below."""
    above = sorted((level for level in levels.items() if level[1] > 0), key=lambda level: -level[1])
    for place, (name, value) in enumerate(above):
        chart.axis.axhline(value, **RULE)
        text = chart.axis.annotate(
            name, (1, value), xycoords=chart.axis.get_yaxis_transform(), ha="right",
            xytext=(0, -4 if place else 4), textcoords="offset points",
            va="top" if place else "bottom",
        )  # fmt: skip
        chart.mark(text, "level")


def law_chart(entries: Sequence[Entry]) -> Chart:
    """Learned against target probabilities, of the first seed of each run on one problem."""
    is_small = all(entry.labels for entry in entries) and len(entries[0].target) <= MOST_BARS
    return _bars(entries) if is_small else _scatter(entries)


def _bars(entries: Sequence[Entry]) -> Chart:
    first, states = entries[0], np.arange(len(entries[0].target))
    about = "A bar for the target probability of each terminal state, and a mark for each run's."
    names = [label(first, i) for i in states.tolist()]
    chart = _bar_chart("Learned against target", about, first.target.tolist(), names)
    chart.axis.set(xlabel="terminal state")
    # Side by side, since marks of runs that agree would hide each other.
    places = np.linspace(-0.3, 0.3, len(entries)) if len(entries) > 1 else (0.0,)
    for entry, place in zip(entries, places, strict=True):
        _draw_marks(chart, entry, states + place, entry.learned, _tips(entry, states.tolist()))
    return chart


def _bar_chart(title: str, about: str, target: Sequence[float], names: Sequence[str]) -> Chart:
    """Bars with texts, and labels below every bar or every few bars, if they fit."""
    chart = Chart(title, about)
    for bar, name, value in zip(draw_bars(chart.axis, target, INK), names, target, strict=True):
        chart.mark(bar, "bar", [f"target of {name}: {number_text(value)}"])
    every = math.ceil(7 * (max(map(len, names)) + 1) * len(names) / 540)
    if every <= 4:
        shown = [printable(name) for name in names[::every]]
        chart.axis.set_xticks(range(0, len(names), every), shown, parse_math=False)
    return chart


def _draw_marks(chart: Chart, entry: Entry, xs: Any, ys: Any, tips: Sequence[str]) -> None:
    """Marks of a run, without a line."""
    (line,) = chart.axis.plot(xs, ys, **{**look(entry.number), "ls": ""})
    chart.run(line, entry.name, entry.number, tips)


def _tips(entry: Entry, states: Sequence[int]) -> list[str]:
    pairs = ((float(entry.learned[i]), float(entry.target[i])) for i in states)
    return [
        f"{label(entry, i)}: {number_text(learned)}, target {number_text(target)}"
        for i, (learned, target) in zip(states, pairs, strict=True)
    ]


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
        _draw_marks(chart, entry, xs, ys, _tips(entry, states))
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
            share = f"{number_text(100 * float(gap[state] / (gap.sum() or 1.0)))} %"
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
    chart = _bar_chart("Expectations", about, target, [short(one.name) for one in every])
    chart.axis.set(xlabel="feature", ylabel="mean")
    means = [one.sampler.mean for one in every]
    tips = [f"{o.name}: {number_text(mean)}" for o, mean in zip(every, means, strict=True)]
    _draw_marks(chart, entry, range(len(means)), means, tips)
    return [chart.element()]
