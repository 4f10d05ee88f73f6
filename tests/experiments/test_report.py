"""The pages of the report and its figures: links that lead somewhere, one look for each model."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pdai.experiments import EXPERIMENTS, Experiment
from pdai.experiments.base import STRONGEST, Cell, Drawing
from pdai.experiments.definitions import FOLDER
from pdai.experiments.figures import figure_of, looks
from pdai.experiments.frames import Results
from pdai.experiments.report import section
from pdai.experiments.results import stored
from pdai.experiments.tables import anchor, layout, overview, verdict
from pdai.show.plotting import LOOKS, Look, look
from tests.made_up_runs import TINY, run, tiny

ROOT = Path(__file__).parents[2]
DETAILS = (FOLDER / "details.md").read_text()
FRONT = (FOLDER / "README.md").read_text()


def anchors(text: str) -> set[str]:
    """The anchors that Markdown gives to the headings of a text."""
    headings = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    kept = ("".join(c for c in head.lower() if c.isalnum() or c in " -_") for head in headings)
    return {head.replace(" ", "-") for head in kept}


def lost(text: str) -> set[str]:
    """The anchors in the details that a text names and that are not there."""
    return set(re.findall(r"details\.md#([^)\s]+)\)", text)) - anchors(DETAILS)


def test_links_into_the_details_lead_to_a_section() -> None:
    notes = sorted((ROOT / "proofs_notes").glob("*.md"))
    pages = [FOLDER / "README.md", *notes]
    assert {page.name: missing for page in pages if (missing := lost(page.read_text()))} == {}
    assert sum("details.md#" in page.read_text() for page in notes) >= 19
    old = [page.name for page in notes if "experiments/README.md#" in page.read_text()]
    assert old == [], "sections are in details.md"
    # Control.
    assert lost("[a](../pdai/experiments/details.md#tabnothing)") == {"tabnothing"}


def test_the_first_page_is_short_and_the_details_have_everything() -> None:
    assert len(FRONT.split()) < 2_500
    assert "| opposite in part, 19.2 |" in FRONT  # The geometric mean of 502 and 0.74.
    names = FRONT.split("**The names.**")[1].split("## ")[0]
    assert all(
        f"{name} is" in names for name in ('"Markovian"', "SRWM", "SRWM+", "GRU+", '"Reset"')
    )
    for label, experiment in EXPERIMENTS.items():
        assert not experiment.claim or f"[{label}](details.md#{anchor(experiment)})" in FRONT
        assert anchor(experiment) in anchors(DETAILS)
    (table,) = re.findall(r"## What to use\n\n\|.*\n\| ---.*\n((?:\|.*\n)+)", FRONT)
    lines = table.splitlines()
    assert len(lines) <= 10
    # Each line has its evidence.
    assert all("details.md#" in line for line in lines)


def other_looks(experiments: Iterable[Experiment]) -> dict[str, set[Look]]:
    """The models that figures draw in several ways."""
    by_model: dict[str, set[Look]] = {}
    for experiment in experiments:
        for model, style in looks(experiment).items():
            by_model.setdefault(model, set()).add(style)
    return {model: styles for model, styles in by_model.items() if len(styles) > 1}


def with_columns(*names: str, dynamics: str = "gru", **options: Any) -> Experiment:
    made = tuple(Cell("N = 3", name, TINY.changed(dynamics=dynamics)) for name in names)
    return tiny(**{"cells": made, "compared": (names[0], names[-1]), **options})


def with_rows(*names: str, **options: Any) -> Experiment:
    made = tuple(Cell(row, "Markovian", TINY) for row in names)
    return tiny(cells=made, compared=("Markovian",) * 2, **options)


def test_a_model_looks_the_same_in_every_figure() -> None:
    drawn = [experiment for experiment in EXPERIMENTS.values() if experiment.draw != "none"]
    assert other_looks(drawn) == {}
    places = [with_columns("Markovian", "GRU+"), with_columns("GRU+", "LSTM", "Markovian")]
    assert other_looks(places) == {}
    # Control: a name of which nothing is known, and two kinds of network.
    kinds = [with_columns("mine", dynamics=kind) for kind in ("gru", "lstm")]
    assert set(other_looks(kinds)) == {"mine"}


@pytest.mark.parametrize("label", EXPERIMENTS)
def test_models_of_a_figure_are_told_apart_and_blue_is_markovian(label: str) -> None:
    experiment = EXPERIMENTS[label]
    styles = looks(experiment)
    if experiment.layout == "rows" and len(styles) <= 10:
        assert max(Counter(styles.values()).values()) == 1
    blue = LOOKS["Markovian"].colour
    for cell in experiment.runnable:
        if styles[cell.model].colour == blue:
            assert cell.dynamics in ("markov", "markov-block", "linear-markov", "gcn"), cell.model


def test_hollow_marks_are_of_reset_networks_and_of_no_others() -> None:
    for experiment in EXPERIMENTS.values():
        for cell in experiment.cells:
            is_reset = "reset" in cell.model
            assert looks(experiment)[cell.model].is_filled is not is_reset, cell.model


def test_a_variant_has_the_colour_of_its_model() -> None:
    assert look("Markovian, 0.01").colour == look("Markovian").colour
    assert look("Markovian, 0.01") != look("Markovian")
    assert look("a name", "srwm") == look("SRWM")
    assert look("a name", "srwm").colour != look(STRONGEST).colour
    # A reset network is no other colour than its own, but hollow.
    assert not look("GRU+ reset").is_filled
    assert look("SRWM+ reset") == look("SRWM+")._replace(line="--", is_filled=False)
    several = looks(with_columns("one", "two", "three", dynamics="srwm"))
    assert {style.colour for style in several.values()} == {look("SRWM").colour}
    assert len(set(several.values())) == 3


def results_of(experiment: Experiment, seeds: int = 3) -> Results:
    """A run of each cell and seed, with everything that a figure may draw."""
    runs = [
        run(
            cell.model,
            seed,
            0.1 * (place + 1) + 0.01 * seed,
            row=cell.row,
            curve=[[0, 0.9], [100, 0.5], [200, 0.1 * (place + 1)]],
            probes=[
                {"step": step, "kl": 0.1 * step, "learned": [["a", 1.0]], "uniform": [["b", 0.5]]}
                for step in (1, 2)
            ],
            law=[[0.25, 0.75], [0.5, 0.5]],
        )
        for place, cell in enumerate(experiment.cells)
        for seed in range(seeds)
    ]
    return Results(experiment, runs)


@pytest.mark.parametrize(
    ("draw", "seen"), [("rows", 3 + 3 + 3), ("curves", 6), ("best", 6), ("probe", 6), ("laws", 12)]
)
def test_a_figure_shows_each_seed_and_names_its_axes(draw: Drawing, seen: int) -> None:
    experiment = with_columns("Markovian", "GRU+", draw=draw)
    figure = figure_of(results_of(experiment))
    drawn = [line for axis in figure.axes for line in axis.lines if line.get_linestyle() == "None"]
    # The means of rows, and the paper's numbers, are other marks.
    points = [line for line in drawn if line.get_marker() not in ("|", "x")]
    assert sum(len(line.get_xdata()) for line in points) == seen  # type: ignore[arg-type]
    assert all(axis.get_xlabel() for axis in figure.axes)
    # No legend covers what is drawn.
    assert all(axis.get_legend() is None for axis in figure.axes)
    assert len(figure.legends) == 1


def with_models(results: Results, *models: str) -> Results:
    return Results(results.experiment, [run for run in results.runs if run.model in models])


def test_without_anything_to_compare_there_is_no_panel_of_ratios() -> None:
    experiment = with_columns("Markovian", "GRU+", draw="rows")
    alone = with_models(results_of(experiment, 1), "Markovian")
    (axis,) = figure_of(alone).axes
    assert "left is better" in axis.get_xlabel()
    # One seed has no mean to draw.
    assert "means" not in figure_of(alone).get_suptitle()
    # Control: with the other model there is, and its good side is that of the measure.
    assert "below 1 is better" in figure_of(results_of(experiment)).axes[1].get_xlabel()
    study = EXPERIMENTS["study:met"]
    met, by_step = (
        Results(dataclasses.replace(study, draw=draw), stored(study)) for draw in ("rows", "best")
    )
    (axis,) = figure_of(met).axes
    assert "right is better" in axis.get_xlabel()
    # By step each interval has its mass, and its marks are named.
    drawn = [[*line.get_ydata()] for line in figure_of(by_step).axes[0].lines]  # type: ignore
    assert [record["learned"] for record in by_step.runs[0].probes[1:]] in drawn
    assert "exact sampling" in [text.get_text() for text in figure_of(by_step).legends[0].texts]
    assert "means as bars" in figure_of(results_of(experiment)).get_suptitle()


def test_rows_whose_tv_is_of_different_kinds_say_so() -> None:
    experiment = with_rows("small", "large", draw="rows", axis="grids")
    runs = [
        run("Markovian", 0, 0.1, row="small"),
        run("Markovian", 0, 0.2, row="large", tv_kind="of trajectories"),
    ]
    (axis,) = figure_of(Results(experiment, runs)).axes
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["small\nTV (float64)", "large\nTV (of trajectories)"]
    assert axis.get_xlabel() == "TV: left is better"
    assert axis.get_ylabel() == "grids"
    # Control: where all are of one kind, it stands once.
    runs = [dataclasses.replace(one, tv_kind="float64") for one in runs]
    results = Results(experiment, runs)
    (axis,) = figure_of(results).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["small", "large"]
    assert axis.get_xlabel() == "TV (float64): left is better"
    # A logarithmic scale has no zero: what is cut off is said.
    exact = Results(experiment, [run("Markovian", 0, 0.0, row="small")])
    cut_off = ["is drawn as that" in figure_of(of).get_suptitle() for of in (results, exact)]
    assert cut_off == [False, True]


def test_what_is_computed_is_a_band_in_its_row() -> None:
    def figure(**bounds: Any) -> Any:
        experiment = with_columns("Markovian", "GRU+", draw="rows", bounds=bounds)
        return figure_of(results_of(experiment))

    bounded = figure(least={"N = 3": (0.05, 0.0625)})
    assert len(bounded.axes[0].collections) == 2
    assert "least" in [text.get_text() for text in bounded.legends[0].get_texts()]
    # The line of the untrained policy is left.
    assert len(figure().axes[0].collections) == 1


def test_models_may_be_the_rows_and_the_best_of_each_kind_is_bold() -> None:
    kinds = {"M 1": "markov", "M 2": "markov", "S": "srwm", "G": "gru", "R": "self-referential"}
    made = tuple(Cell("N = 3", m, TINY.changed(dynamics=kind)) for m, kind in kinds.items())
    experiment = tiny(cells=made, compared=("M 1", "S"), layout="models")
    results = results_of(experiment)
    # The first of each kind is the better one.
    assert results.leaders("N = 3") == ["M 1", "S", "G"]
    shown = layout(results)
    assert [*shown] == ["", "N = 3"]
    assert [*shown[""]][:5] == [*kinds]
    bold = [cell.startswith("**") for cell in shown["N = 3"]]
    assert bold[:5] == [True, False, True, True, False]
    assert "The best of each kind is bold." in section(results)
    # Control: with rows as rows, models are columns, and none is bold.
    plain = results_of(dataclasses.replace(experiment, layout="rows"))
    assert [*layout(plain)][1:6] == [*kinds]
    assert "**" not in section(plain)


def test_a_column_that_is_empty_is_not_shown() -> None:
    experiment = with_columns("Markovian", "SRWM")
    assert "SRWM - Markovian [95 %]" in layout(results_of(experiment))
    # Of two seeds there is no interval.
    assert "SRWM - Markovian [95 %]" not in layout(results_of(experiment, 2))


def test_both_forms_of_the_srwm_are_judged() -> None:
    pair = ("Markovian", "SRWM")
    experiment = with_columns(*pair, STRONGEST, claim="it is better", compared=pair)
    results = results_of(experiment)
    text = verdict(results)
    assert "Verdict, SRWM against Markovian: " in text
    assert "; SRWM+ against Markovian: " in text
    # What was not run is not told.
    assert STRONGEST not in verdict(with_models(results, *pair))
    assert overview([results]).count("| opposite, ") == 2
