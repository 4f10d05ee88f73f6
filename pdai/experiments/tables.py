"""The tables of the report: of one experiment, of all verdicts, and of all rows together."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp, log
from statistics import mean

from pdai.experiments.base import BEST, MARKOVIAN, PRINTED, RESET, STRONGEST, Experiment, Quoted
from pdai.experiments.frames import Pair, Results
from pdai.experiments.trainings import total_steps
from pdai.experiments.verdicts import (
    Comparison,
    Group,
    Outcome,
    Standing,
    compared,
    counts,
    group,
    judged_pairs,
)

# The pairs of models that are compared over all experiments.
PAIRS: tuple[Pair, ...] = (
    (MARKOVIAN, PRINTED),
    (MARKOVIAN, STRONGEST),
    (MARKOVIAN, BEST),
    (MARKOVIAN, RESET),
    (RESET, BEST),
)


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def header(experiment: Experiment) -> list[str]:
    """The names of the columns."""
    return [
        "",
        *(f"paper: {model}" for model in _quoted_models(experiment)),
        *experiment.models,
        "uniform policy",
        "best possible" if experiment.optimum else "exact sampling",
        *(["TV that residuals allow (N6)"] if experiment.is_combined else []),
        *experiment.bounds,
        *(f"{second} - {first} [95 %]" for first, second in experiment.comparisons),
    ]


def rows(results: Results) -> list[list[str]]:
    """One line per row: the paper's numbers, ours as mean ± sd (n), untrained and exact."""
    experiment, digits = results.experiment, results.measure.digits
    lines = []
    for row in experiment.rows:
        paper = {cell.model: cell.paper for cell in experiment.cells if cell.row == row}
        # No spread is shown, as this is one sampler, measured with several samples.
        others = [results.untrained(row), results.best(row)]
        gaps = [results.difference(row, pair) for pair in experiment.comparisons]
        lines.append(
            [
                row,
                *(_quoted(paper.get(model)) for model in _quoted_models(experiment)),
                *(
                    results.text(row, model) or ("not run" if model in paper else "-")
                    for model in experiment.models
                ),
                *("-" if value is None else f"{value:.{digits}f}" for value in others),
                *([_allowed(results, row)] if experiment.is_combined else []),
                *(_between(bounds.get(row), digits) for bounds in experiment.bounds.values()),
                *("-" if gap is None else gap.text(digits) for gap in gaps),
            ]
        )
    return lines


def _quoted_models(experiment: Experiment) -> list[str]:
    quoted = {cell.model for cell in experiment.cells if cell.paper}
    return [model for model in experiment.models if model in quoted]


def _quoted(number: Quoted | None) -> str:
    """The paper's number for a cell, as text."""
    return "-" if number is None else f"{number.mean:.3f} ± {number.spread:.3f}"


def _allowed(results: Results, row: str) -> str:
    """The bound on the TV of the combined samplers of a row, mean over seeds."""
    bounds = results.at(row).bound
    if bounds.empty:
        return "not run"
    if bounds.isna().all():
        return "too many to check"
    return f"{bounds.mean():.{results.measure.digits}f}"


def _between(pair: tuple[float, float] | None, digits: int) -> str:
    if pair is None:
        return "-"
    return " to ".join(dict.fromkeys(f"{end:.{digits}f}" for end in pair))


def layout(results: Results) -> list[list[str]]:
    """Header and rows of the table as it is shown: one row per instance, or one per model.

    If models are rows, the best of each kind is bold. Columns without any entry are left out.
    """
    experiment, head, body = results.experiment, header(results.experiment), rows(results)
    if experiment.layout == "models":
        for line, row in zip(body, experiment.rows, strict=True):
            for model in results.leaders(row):
                place = head.index(model)
                line[place] = f"**{line[place]}**"
    columns = [column for column in zip(head, *body, strict=True) if set(column[1:]) != {"-"}]
    if experiment.layout == "models":
        return [list(column) for column in columns]
    return [list(line) for line in zip(*columns, strict=True)]


COSTS = ["", "model", "parameters", "steps of 128", "seconds", "TV when the fastest was done"]


def costs(results: Results) -> list[list[str]]:
    """The cost of each row and model, and the mean TV when the fastest model was done.

    Seconds are those of the fastest seed, as the first seed of a process compiles.
    """
    lines = []
    for row in results.rows:
        seconds = results.at(row).groupby("model").seconds.min()
        for model in (model for model in results.experiment.models if model in seconds):
            runs, share = results.runs_at(row, model), seconds.min() / seconds[model]
            early = [tv for run in runs if (tv := run.distance_after(share)) is not None]
            # A combined sampler has the curve of its last part.
            is_shown = early and not results.experiment.is_combined
            lines.append(
                [
                    row,
                    model,
                    f"{runs[0].parameters:,}",
                    total_steps(runs[0].config),
                    f"{seconds[model]:.0f}",
                    f"{mean(early):.4f}" if is_shown else "-",
                ]
            )
    return lines


def overview(every: Sequence[Results]) -> str:
    """All experiments, by their overall verdict; experiments without a claim come last.

    An experiment that judges two forms of a model is listed by the last form that has runs.
    """
    members: dict[Group, list[Results]] = {}
    for results in every:
        if results.experiment.claim:
            last = compared(results, judged_pairs(results)[-1])
            members.setdefault(group([row.outcome for row in last]), []).append(results)
    kinds = [kind for kind in Group if kind in members]
    listed = "; ".join(f"**{len(members[k])}** {k.value[0].lower()}{k.value[1:]}" for k in kinds)
    parts = [f"Claims of the paper, by what their rows say together: {listed}."]
    head = ["", "compared", "rows", "size here", "in the paper"]
    for kind in kinds:
        lines = [line for results in members[kind] for line in _overview_lines(results)]
        parts.append(f"### {kind.value}\n\n{markdown(head, lines)}")
    others = [_link(results.experiment) for results in every if not results.experiment.claim]
    if others:
        parts.append(f"### No claim of the paper\n\n{', '.join(others)}.")
    return "\n\n".join(parts)


def _overview_lines(results: Results) -> Iterator[list[str]]:
    """A line for each judged form, the first with the name of the experiment."""
    name = _link(results.experiment)
    for pair in judged_pairs(results):
        rows = compared(results, pair)
        here = [row.size for row in rows if row.outcome is not Outcome.NO_HEADROOM]
        sizes = (_span(results, here), _span(results, [row.papers_size for row in rows]))
        yield [name, f"{pair[1]} against {pair[0]}", counts([r.outcome for r in rows]), *sizes]
        name = ""


def verdict(results: Results) -> str:
    """The verdict of an experiment, row by row, for each form that is judged."""
    reason = results.experiment.not_testable
    if reason:
        return f"Verdict: not testable as stated. {reason}"
    size = "ratio here" if results.sign > 0 else "difference here"
    parts = []
    for pair in judged_pairs(results):
        rows = compared(results, pair)
        total = counts([row.outcome for row in rows])
        parts.append(f"Verdict, {pair[1]} against {pair[0]}: {total}.")
        lines = [
            # Without headroom a ratio compares noise, and is not shown.
            [
                row.row,
                row.outcome.value,
                _span(results, [] if row.outcome is Outcome.NO_HEADROOM else [row.size]),
                _span(results, [row.papers_size]),
            ]
            for row in rows
        ]
        parts.append(markdown(["", "verdict", size, "in the paper"], lines))
    return "\n\n".join(parts)


def anchor(experiment: Experiment) -> str:
    """The anchor that Markdown gives to the heading of a section."""
    heading = f"{experiment.label}: {experiment.title}".lower()
    return "".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-")


def _link(experiment: Experiment) -> str:
    return f"[{experiment.label}](details.md#{anchor(experiment)})"


def _span(results: Results, sizes: Sequence[float | None]) -> str:
    """The smallest and the largest size of an effect, as text."""
    ordered = sorted(size for size in sizes if size is not None)
    if not ordered:
        return "-"
    return " to ".join(dict.fromkeys(_digits(ordered[i], results.sign < 0) for i in (0, -1)))


def _digits(size: float, is_difference: bool) -> str:
    """A number with three digits, or two below one; more would be noise."""
    if is_difference:
        return f"{size:+,.4f}"
    return f"{size:,.0f}" if abs(size) >= 100 else f"{size:#.{3 if abs(size) >= 1 else 2}g}"


def all_rows(every: Sequence[Results]) -> str:
    """One line for each pair of models: rows by standing, and the geometric mean of the ratios."""
    head = ["", "rows", *(standing.value for standing in Standing), "mean ratio"]
    return markdown(head, [_all_rows_line(every, pair) for pair in PAIRS])


def _all_rows_line(every: Sequence[Results], pair: Pair) -> list[str]:
    """A line of `all_rows`; ratios use rows with headroom, as others compare noise."""
    rows = [row for row in _claimed(every, pair) if row.standing is not None]
    of = Counter(row.standing for row in rows)
    ratios = [row.size for row in rows if row.standing is not Standing.NO_HEADROOM]
    logs = [log(ratio) for ratio in ratios if ratio]
    average = f"{exp(sum(logs) / len(logs)):.2f}" if logs else "-"
    name = f"{pair[1]} against {pair[0]}"
    if not rows:
        return [name, "not run", *["-"] * len(Standing), "-"]
    return [name, str(len(rows)), *(str(of[kind]) for kind in Standing), average]


def _claimed(every: Sequence[Results], pair: Pair) -> Iterator[Comparison]:
    """The rows of claims that have both models; a training that two figures share counts once."""
    seen: set[str] = set()
    for results in every:
        if not results.experiment.claim or results.experiment.metric not in ("tv", "fcs"):
            continue
        for row in results.experiment.rows:
            runs = [run for model in pair for run in results.runs_at(row, model)]
            trained = {json.dumps(run.config, sort_keys=True) for run in runs}
            if trained - seen:
                yield Comparison(results, row, pair)
            seen |= trained
