"""The table of an experiment, as text, Markdown and comma-separated values."""

import csv
import io
from collections.abc import Sequence
from statistics import mean

from pdai.experiments.base import MEASURES, Cell, Experiment, Metric
from pdai.experiments.results import Difference, Run, Summary, difference, sampling_floor, summary
from pdai.experiments.trainings import total_steps

# Of combined samplers: what N6 says of the residuals of all parts.
ALLOWED = "TV that residuals allow (N6)"


def at(runs: Sequence[Run], row: str, model: str) -> list[Run]:
    """The runs of a cell."""
    return [run for run in runs if (run.row, run.model) == (row, model)]


def header(experiment: Experiment) -> list[str]:
    """The names of the columns."""
    quoted = [
        f"paper: {model}"
        for model in experiment.models
        if any(cell.paper for cell in experiment.cells if cell.model == model)
    ]
    return [
        "",
        *quoted,
        *experiment.models,
        "uniform policy",
        "best possible" if experiment.optimum else "exact sampling",
        *([ALLOWED] if experiment.is_combined else []),
        *experiment.bounds,
        *(f"{second} - {first} [95 %]" for first, second in experiment.comparisons),
    ]


def rows(experiment: Experiment, runs: Sequence[Run]) -> list[list[str]]:
    """One row per instance: the paper's numbers, ours as mean ± sd (n), untrained and exact."""
    metric, lines = experiment.metric, []
    digits = MEASURES[metric].digits
    for row in experiment.rows:
        of_row: dict[str, Cell] = {c.model: c for c in experiment.cells if c.row == row}
        quoted = [
            _quoted(of_row.get(model))
            for model in experiment.models
            if any(cell.paper for cell in experiment.cells if cell.model == model)
        ]
        ours = {model: summary(at(runs, row, model), metric) for model in experiment.models}
        # Without spread: it is a single sampler, measured again with other samples.
        others = [untrained(runs, row, metric), best_known(experiment, runs, row)]
        gaps = [compared(experiment, runs, row, pair) for pair in experiment.comparisons]
        lines.append(
            [
                row,
                *quoted,
                *(
                    found.text(digits) if found else "not run" if model in of_row else "-"
                    for model, found in ours.items()
                ),
                *("-" if cell is None else f"{cell.mean:.{digits}f}" for cell in others),
                *([_allowed(runs, row, digits)] if experiment.is_combined else []),
                *(_between(of_rows.get(row), digits) for of_rows in experiment.bounds.values()),
                *("-" if gap is None else gap.text(digits) for gap in gaps),
            ]
        )
    return lines


def untrained(runs: Sequence[Run], row: str, metric: Metric) -> Summary | None:
    """What the uniform policy has."""
    return summary([run for run in runs if run.row == row], metric, "uniform")


def floor(runs: Sequence[Run], row: str, metric: Metric) -> Summary | None:
    """What exact sampling has, where a law is sampled; else 0."""
    of_row = [run for run in runs if run.row == row]
    sampled = [run for run in of_row if run.tv_kind == "sampled"]
    return summary(sampled or of_row, metric, "exact")


def best_known(experiment: Experiment, runs: Sequence[Run], row: str) -> Summary | None:
    """What exact sampling has, or the best value that is declared."""
    if row in experiment.optimum:
        return Summary(experiment.optimum[row], 0.0, 1)
    return floor(runs, row, experiment.metric)


def reachable(experiment: Experiment, runs: Sequence[Run], row: str) -> float | None:
    """The best mean that these runs could have; None if it is not known."""
    if row in experiment.optimum:
        return experiment.optimum[row]
    is_distance = not MEASURES[experiment.metric].higher_is_better
    return sampling_floor(list(runs), experiment.metric) if is_distance else None


def _allowed(runs: Sequence[Run], row: str, digits: int) -> str:
    """The bound on the TV of the combined samplers of a row, mean over seeds."""
    of_row = [run for run in runs if run.row == row]
    bounds = [run.bound for run in of_row if run.bound is not None]
    if not of_row:
        return "not run"
    return f"{mean(bounds):.{digits}f}" if bounds else "too many to check"


def _between(pair: tuple[float, float] | None, digits: int) -> str:
    """The numbers between which something lies."""
    if pair is None:
        return "-"
    return " to ".join(dict.fromkeys(f"{end:.{digits}f}" for end in pair))


def _quoted(cell: Cell | None) -> str:
    """The paper's number."""
    if cell is None or cell.paper is None:
        return "-"
    return f"{cell.paper.mean:.3f} ± {cell.paper.spread:.3f}"


def compared(
    experiment: Experiment, runs: Sequence[Run], row: str, pair: tuple[str, str]
) -> Difference | None:
    """The paired difference of two columns, of one row."""
    first, second = (at(runs, row, model) for model in pair)
    return difference(first, second, experiment.metric)


def costs(experiment: Experiment, runs: Sequence[Run]) -> list[list[str]]:
    """Per row and model: what it cost, and the mean TV when the fastest model was done.

    Seconds are of the fastest seed: the first of a process compiles.
    """
    found = []
    for row in experiment.rows:
        cells = {model: at(runs, row, model) for model in experiment.models}
        seconds = {model: min(run.seconds for run in of) for model, of in cells.items() if of}
        for model in seconds:
            first = cells[model][0]
            share = min(seconds.values()) / seconds[model]
            early = [tv for run in cells[model] if (tv := run.distance_after(share)) is not None]
            cost = [f"{first.parameters:,}", total_steps(first.config), f"{seconds[model]:.0f}"]
            # The curve of a combined sampler is of its last part.
            known = early and not experiment.is_combined
            found.append([row, model, *cost, f"{mean(early):.4f}" if known else "-"])
    return found


COSTS = ["", "model", "parameters", "steps of 128", "seconds", "TV when the fastest was done"]


def metric_name(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The metric, and of which kind it is."""
    kinds = sorted({run.tv_kind for run in runs})
    name = MEASURES[experiment.metric].name
    return f"{name} ({', '.join(kinds)})" if experiment.metric == "tv" and kinds else name


def layout(experiment: Experiment, runs: Sequence[Run]) -> list[list[str]]:
    """Header and rows of the table as it is shown: one row per instance, or one per model.

    Where models are rows, the best of each kind is bold. What no instance has is left out.
    """
    head, body = header(experiment), rows(experiment, runs)
    if experiment.layout == "models":
        for line, row in zip(body, experiment.rows, strict=True):
            for model in leaders(experiment, runs, row):
                place = head.index(model)
                line[place] = f"**{line[place]}**"
    columns = [column for column in zip(head, *body, strict=True) if set(column[1:]) != {"-"}]
    if experiment.layout == "models":
        return [list(column) for column in columns]
    return [list(line) for line in zip(*columns, strict=True)]


def leaders(experiment: Experiment, runs: Sequence[Run], row: str) -> list[str]:
    """The best model of each kind, by its mean."""
    sign = -1 if MEASURES[experiment.metric].higher_is_better else 1
    found: dict[str, list[tuple[float, str]]] = {}
    for cell in experiment.cells:
        ours = summary(at(runs, cell.row, cell.model), experiment.metric)
        if cell.row == row and ours is not None:
            found.setdefault(cell.kind, []).append((sign * ours.mean, cell.model))
    return [min(of_kind)[1] for of_kind in found.values()]


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def comma_separated(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A CSV table."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *body])
    return text.getvalue()
