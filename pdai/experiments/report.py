"""What an experiment ends with: its table and figure; and the report of all."""

from collections.abc import Sequence
from pathlib import Path

from pdai.experiments import aggregate, correlation
from pdai.experiments.base import MEASURES, Experiment
from pdai.experiments.figures import draw
from pdai.experiments.overview import overview, verdict
from pdai.experiments.results import Run, load, wanted
from pdai.experiments.tables import (
    COSTS,
    comma_separated,
    costs,
    header,
    layout,
    markdown,
    metric_name,
    rows,
)
from pdai.experiments.verdicts import RULE
from reference.files import read_file, replace_file

RESULTS = Path(__file__).parent / "results"

TEXTS = Path(__file__).parent

ALL_ROWS = """\
All rows of the tables above that are measured in TV or FCS, by the same rule. The mean ratio is the
geometric mean of TV or FCS to that of the model behind "against", over the rows with headroom;
below 1 is better. A training that two figures share counts once."""

DETAILS = """\
# The paper's tables and figures, one by one

[The verdicts, and what to use](README.md). Written by `python -m pdai.experiments`."""


def write(experiment: Experiment, runs: Sequence[Run], out: Path) -> str:
    """Writes table and figure of an experiment into a folder, and returns the table."""
    runs = wanted(experiment, list(runs))
    text = section(experiment, runs)
    replace_file(out / f"{experiment.slug}.md", f"{text}\n".encode())
    table = comma_separated(header(experiment), rows(experiment, runs))
    replace_file(out / f"{experiment.slug}.csv", table.encode())
    draw(experiment, runs, [out / f"{experiment.slug}.{kind}" for kind in ("png", "pdf")])
    return text


def section(experiment: Experiment, runs: Sequence[Run]) -> str:
    """What is said of one experiment."""
    better = "higher" if MEASURES[experiment.metric].higher_is_better else "lower"
    head, *body = layout(experiment, runs)
    bold = " The best of each kind is bold." if experiment.layout == "models" else ""
    parts = [
        f"## {experiment.label}: {experiment.title}",
        f"The paper: {experiment.claim}" if experiment.claim else "",
        experiment.setting,
        f"{metric_name(experiment, runs)}, {better} is better.{bold}",
        markdown(head, body),
        verdict(experiment, runs) if experiment.claim else "",
    ]
    return "\n\n".join(part for part in parts if part)


def report(experiments: Sequence[Experiment], results: Path = RESULTS) -> dict[str, str]:
    """The whole report, from the stored results: its first page, and the details behind."""
    stored = _stored(experiments, results)
    front = [
        _text("front"),
        f"## The rule\n\n{RULE}",
        f"## Overview\n\n{overview(stored)}",
        f"## All rows together\n\n{ALL_ROWS}\n\n{aggregate.table(stored)}",
        _text("guide"),
        _text("reading"),
    ]
    details = [
        DETAILS,
        _text("models"),
        *(_told(experiment, runs) for experiment, runs in stored),
        correlation.section(stored),
    ]
    pages = {"README.md": front, "details.md": details}
    return {name: "\n\n".join(parts) + "\n" for name, parts in pages.items()}


def _stored(experiments: Sequence[Experiment], results: Path) -> list[tuple[Experiment, list[Run]]]:
    return [
        (experiment, wanted(experiment, load(results / f"{experiment.slug}.json")))
        for experiment in experiments
    ]


def _text(name: str) -> str:
    return read_file(TEXTS / f"{name}.md", follow=True).decode().strip()


def _told(experiment: Experiment, runs: Sequence[Run]) -> str:
    """The section of an experiment, with what was found, its figure, and what it cost."""
    # What was found is of the stored results: it is not said of those that somebody else makes.
    parts = [section(experiment, runs), experiment.finding]
    if experiment.draw != "none" and runs:
        parts.append(f"![{experiment.title}](results/{experiment.slug}.png)")
    if runs:
        cost = markdown(COSTS, costs(experiment, runs))
        parts.append(f"<details><summary>Cost</summary>\n\n{cost}\n\n</details>")
    return "\n\n".join(part for part in parts if part)


def write_report(experiments: Sequence[Experiment]) -> list[Path]:
    """Writes the pages of the report and its figures beside the results, in a checkout."""
    for experiment, runs in _stored(experiments, RESULTS):
        draw(experiment, runs, [RESULTS / f"{experiment.slug}.png"])
    written = []
    for name, text in report(experiments).items():
        replace_file(RESULTS.parent / name, text.encode())
        written.append(RESULTS.parent / name)
    return written
