"""The table and figure of an experiment, and the report of all experiments."""

from collections.abc import Sequence
from pathlib import Path

from pdai.experiments.base import Experiment
from pdai.experiments.definitions import FOLDER
from pdai.experiments.evidence import TABLES, Table
from pdai.experiments.figures import draw
from pdai.experiments.frames import Results
from pdai.experiments.gains import picture
from pdai.experiments.results import RESULTS, Run, stored, wanted
from pdai.experiments.tables import (
    COSTS,
    all_rows,
    correlation,
    costs,
    layout,
    markdown,
    overview,
    table,
    verdict,
)
from pdai.experiments.values import filled
from reference.contract.files import read_file, replace_file
from reference.looking.show import save_figure


def write(experiment: Experiment, runs: Sequence[Run], out: Path) -> str:
    """Writes table and figure of an experiment, and returns the table.

    Args:
        experiment: the experiment.
        runs: its runs.
        out: the folder.
    """
    results = Results(experiment, wanted(experiment, list(runs)))
    text = section(results)
    replace_file(out / f"{experiment.slug}.md", f"{text}\n".encode())
    replace_file(out / f"{experiment.slug}.csv", table(results).to_csv(index=False).encode())
    draw(results, [out / f"{experiment.slug}.{kind}" for kind in ("png", "pdf")])
    return text


def section(results: Results) -> str:
    """Claim, setting, table and verdict of one experiment."""
    experiment = results.experiment
    better = "lower" if results.sign > 0 else "higher"
    shown = layout(results)
    waiting = [row for row in experiment.rows if row not in results.rows] if results.rows else []
    bold = " The best of each kind is bold." if experiment.layout == "models" else ""
    return _joined(
        f"## {experiment.label}: {experiment.title}",
        f"The paper: {experiment.claim}" if experiment.claim else "",
        experiment.setting,
        f"{results.metric_name()}, {better} is better.{bold}",
        markdown(shown, shown.to_numpy()),
        f"Not yet trained: {'; '.join(waiting)}." if waiting else "",
        verdict(results) if experiment.claim else "",
    )


def report(every: Sequence[Results]) -> dict[str, str]:
    """The pages of the report, with the tables and numbers that their texts name."""
    pages = {}
    for page in ("README.md", "details.md", "questions.md"):
        text = read_file(FOLDER / "texts" / page, follow=True).decode()
        for name, part in PARTS.items():
            if f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", part(every))
        pages[page] = filled(text, every)
    return pages


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _with_finding(results: Results) -> str:
    """The section of an experiment, with its finding, its figure, and its cost.

    A finding describes the stored results, so it is not shown with a user's own.
    """
    experiment, added = results.experiment, ""
    if experiment.first_seeds is not None:
        count, first = len(experiment.seeds), experiment.first_seeds
        others = f", but in {' and '.join(experiment.at_once)}" if experiment.at_once else ""
        added = (
            f"Verdicts were first stored with seeds 0 to {first - 1}; {count - first} more seeds "
            f"were added after them{others}."
        )
    figure = f"![{experiment.title}](results/{experiment.slug}.png)"
    cost = markdown(COSTS, costs(results))
    return _joined(
        section(results),
        added,
        experiment.finding,
        figure if experiment.draw != "none" and results.runs else "",
        f"<details><summary>Cost</summary>\n\n{cost}\n\n</details>" if results.runs else "",
    )


PARTS: dict[str, Table] = {
    "experiments": lambda every: _joined(*map(_with_finding, every)),
    "overview": overview,
    "all rows": all_rows,
    "correlation": correlation,
    **TABLES,
}


def write_report(experiments: Sequence[Experiment]) -> list[Path]:
    """Writes the pages of the report and its figures next to the results.

    Raises InputError in an installed wheel, which has no results.
    """
    every = [Results(experiment, stored(experiment)) for experiment in experiments]
    for results in every:
        draw(results, [RESULTS / f"{results.experiment.slug}.png"])
    save_figure(picture(every), RESULTS / "gains.png", dpi=110)
    pages = {FOLDER / name: text for name, text in report(every).items()}
    for path, text in pages.items():
        replace_file(path, text.encode())
    return list(pages)
