"""The curves of training, between exact sampling and the untrained policy."""

from collections.abc import Sequence

import numpy as np

from pdai.show.page.chart import Chart, Point, Rule, Series, number_text
from pdai.show.page.entries import Entry
from pdai.show.stored import loss_label

# The largest number of marks on a line; more would overlap.
MOST_MARKS = 60
# The smallest value shown: a logarithmic axis has no zero, and float32 has seven digits.
LEAST = 1e-7
KINDS = {
    "float64": "summed in float64",
    "estimated": "estimated by trajectories backwards",
    "sampled": "sampled",
    "of trajectories": "of trajectories, which bounds that of terminal states",
}


def tv_chart(entries: Sequence[Entry]) -> Chart | None:
    """Total variation by step, of all runs on one problem; None if none was measured."""
    series = [_series(entry, "tv", LEAST) for entry in entries]
    kinds = dict.fromkeys(KINDS.get(e.report.tv_kind, e.report.tv_kind) for e in entries)
    rules, notes = _rules(entries)
    return _chart(
        "Total variation while training",
        f"TV to the target by step; the final one is {' or '.join(kinds)}. {notes}",
        "TV",
        series,
        rules,
    )


def loss_chart(entries: Sequence[Entry]) -> Chart | None:
    """The loss by step; None if none was recorded."""
    entries = [entry for entry in entries if entry.records]
    series = [_series(entry, "loss", float(np.finfo(float).tiny)) for entry in entries]
    losses = dict.fromkeys(str(entry.options.get("loss")) for entry in entries)
    other = " Losses of different kinds do not compare." if len(losses) > 1 else ""
    about = f"The loss by step: {', '.join(losses)}.{other}"
    label = loss_label([entry.options for entry in entries])
    return _chart("Loss while training", about, label, series, [])


def _chart(
    title: str, about: str, y: str, series: Sequence[Series], rules: Sequence[Rule]
) -> Chart | None:
    seen = [s for s in series if s.line]
    return Chart(title, about, "step", y, seen, rules, logs="y") if seen else None


def _series(entry: Entry, name: str, least: float) -> Series:
    """Mean over seeds, in a band from the smallest to the largest."""
    rows = [
        (record["step"], np.maximum(record[name], least))
        for record in entry.records
        if name in record
    ]
    line = [(step, float(values.mean())) for step, values in rows]
    chosen = {line[i] for i in np.linspace(0, len(line) - 1, min(MOST_MARKS, len(line)), dtype=int)}
    marks = [Point(x, y, f"step {x:,}, {name} {number_text(y)}") for x, y in sorted(chosen)]
    several = bool(rows) and len(rows[0][1]) > 1
    band = [(step, float(v.min()), float(v.max())) for step, v in rows] if several else []
    return Series(entry.name, entry.number, marks, line, band)


def _rules(entries: Sequence[Entry]) -> tuple[list[Rule], str]:
    """Lines for the untrained policy and, if not zero, for exact sampling; with notes."""
    levels: dict[tuple[str, str], float] = {}
    for entry in entries:
        report = entry.report
        for name, figures in (("untrained", report.uniform), ("exact sampling", report.exact)):
            if figures is not None and figures.tv is not None:
                levels[name, number_text(figures.tv.mean)] = figures.tv.mean
    rules = [Rule(value, f"{name} {text}") for (name, text), value in levels.items() if value > 0]
    notes = []
    if ("exact sampling", "0") in levels:
        notes.append("Exact sampling has TV 0: there is no floor.")
    if any(entry.report.tv_kind == "sampled" for entry in entries):
        notes.append(
            "The floor is that of the last measurement. The curve has fewer samples, so that its "
            "own floor is higher."
        )
    return rules, " ".join(notes)
