"""The numbers and tables in the texts of the report: each is of the runs that it names."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdai.experiments import EXPERIMENTS
from pdai.experiments.base import MEASURES, Cell, Experiment, Quoted
from pdai.experiments.definitions import FOLDER
from pdai.experiments.evidence import (
    TABLES,
    as_printed,
    beside_the_paper,
    by_first_seeds,
    by_tv,
    fragile,
    state_seen,
    untrained,
)
from pdai.experiments.frames import Results
from pdai.experiments.results import Run
from pdai.experiments.trainings import config_of
from pdai.experiments.values import PLACE, filled
from reference import InputError
from reference.problems import TableSequences
from tests.made_up_runs import TINY, run, tiny

ROW = "N = 3"
PAGES = ("README.md", "details.md", "questions.md")


def results_of(
    first: list[float], second: list[float], fcs: list[float] | None = None, **options: Any
) -> Results:
    """Two models with a TV for each seed, and the second with an FCS if there is one."""
    runs = [
        run("Markovian", seed, value, **_facts(value, value)) for seed, value in enumerate(first)
    ]
    for seed, value in enumerate(second):
        other = value if fcs is None else fcs[seed]
        runs.append(run("SRWM", seed, value, **_facts(value, other)))
    paper = (Quoted(0.5, 0.0), Quoted(0.25, 0.0))
    made = zip(("Markovian", "SRWM"), paper, strict=True)
    given: dict[str, Any] = {
        "label": "tab:a", "claim": "it is better", "seeds": tuple(range(5)),
        "cells": tuple(Cell(ROW, model, TINY, number) for model, number in made),
    }  # fmt: skip
    return Results(tiny(**(given | options)), runs)


def _facts(tv: float, fcs: float) -> dict[str, Any]:
    before = {"tv": {"mean": 0.9}, "fcs": {"mean": 0.9}}
    return {"learned": {"tv": {"mean": tv}, "fcs": {"mean": fcs}}, "uniform": before}


FAR, NEAR = [0.5, 0.51, 0.49], [0.2, 0.21, 0.19]


@pytest.mark.catches(
    "a range of seeds in a text is one of means",
    "pdai/experiments/values.py",
    "for v in (of if each else [of.mean()])",
    "for v in [of.mean()]",
)
@pytest.mark.catches(
    "a text has the difference with the wrong sign",
    "pdai/experiments/values.py",
    "second, first = name.split(sign)",
    "first, second = name.split(sign)",
)
def test_a_text_has_the_numbers_that_it_names() -> None:
    every = [results_of(FAR, NEAR, [0.3, 0.3, 0.3])]

    def said(name: str, label: str = "tab:a", row: str = ROW) -> str:
        return filled(f"It is {{{label}; {row};\n{name}; .2f}}.", every)

    assert said("SRWM") == "It is 0.20."
    assert said("SRWM - Markovian") == "It is -0.30 [-0.30, -0.30]."
    assert said("SRWM ~ Markovian") == "It is 0.30."
    assert said("SRWM / Markovian") == "It is 0.40."
    assert said("untrained") == "It is 0.90."
    assert said("seconds of SRWM") == "It is 1.00."
    assert said("ends S*") == said("most *M", row="*3") == said("SRWM")
    assert said("least each SRWM", row="*") == "It is 0.19."
    assert said("ends each *") == "It is 0.19 to 0.51."
    assert said("most each SRWM ~ Markovian") == "It is 0.30."
    as_fcs = [Results(dataclasses.replace(every[0].experiment, metric="fcs"), every[0].runs)]
    assert filled("{tab:a; N = 3; SRWM; .1f}", as_fcs) == "0.3"
    assert filled("{tab:a@tv; N = 3; SRWM; .1f}", as_fcs) == "0.2"
    counted = "{all rows; better; SRWM - Markovian; d} of {all rows; rows; SRWM - Markovian; d}"
    assert filled(counted, every) == "1 of 1"
    # Controls: what was not run is refused, and not written as a number.
    for label, row, name in (
        ("tab:b", ROW, "SRWM"), ("tab:a", "N = 4", "SRWM"), ("tab:a", ROW, "GRU+"),
        ("tab:a", ROW, "GRU+ - SRWM"), ("tab:a", ROW, "*"), ("tab:a", ROW, "most GRU+ / SRWM"),
    ):  # fmt: skip
        with pytest.raises(InputError, match="of which there are no runs"):
            said(name, label, row)


NUMBER = re.compile(r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?:e\d+)?")
# Numbers of findings that no result has: of proofs, the paper, other pages, and earlier runs.
BY_HAND = {
    "fig:linestraining": "0.311",
    "fig:linesmodelsc": "0.3328 0.03 0.1 0.829 0.832 0.333",
    "tab:sets": "0.12 0.05 0.09 0.04 0.58 9 20,000",
    "tab:preferencesa": "0.025 0.030 91",
    "fig:apx:m": "1,679,616 4 7 14 5",
    "tab:sequencesabits": "25 128 20,000",
    "fig:ablationsa": "10 1,254 23 27",
    "fig:gatedsa": "0.39 0.014",
    "fig:apx:lra": "6,000",
    "tab:isingsa": "0.149 0.12 16",
    "study:dags": "0.004",
    "study:forgetting": "0.002 0.004 0.22 0.28",
    "study:paper_rate": "0.58 0.61 1,000 0.05 300 700 500 0.02 1,200 1,800",
    "study:long_bits": "0.057",
    "study:losses": "0.0014",
    "study:integers": "0.15",
    "study:baseline": "0.084 0.165 0.135 0.025 0.13 0.15 0.23 0.04 0.243 0.091 0.011 0.024 "
    "0.0509 0.0236 0.0430 0.0787",
    "study:baseline_tv": "0.135 0.097 0.98 0.3328 0.4976 0.003 3 0.177 0.274 0.128 0.236",
    "study:six6_exponents": "0.165 0.135",
    "study:faster_sets": "0.0144 0.0017 0.0019 0.0030 0.0037 0.0023 0.0027 0.0025 0.0032",
    "study:posteriors": "1.4e36",
}


def by_hand(experiment: Experiment) -> set[str]:
    """The numbers of a finding that are no places, and that its definition does not have."""
    texts = (experiment.label, experiment.title, experiment.claim, experiment.setting)
    names = (*experiment.rows, *experiment.models)
    options = {str(config_of(cell.config).optimiser) for cell in experiment.runnable}
    small = MEASURES[experiment.metric].negligible
    defined = NUMBER.findall(" ".join([*texts, *names, *options, f"0 1 2 {small}"]))
    values = {float(number.replace(",", "")) for number in defined}
    numbers = set(NUMBER.findall(PLACE.sub("", f"{experiment.finding} {experiment.explained}")))
    return {number for number in numbers if float(number.replace(",", "")) not in values}


@pytest.mark.parametrize("label", EXPERIMENTS)
def test_numbers_of_a_finding_are_of_the_results(label: str) -> None:
    experiment = EXPERIMENTS[label]
    assert by_hand(experiment) == set(BY_HAND.get(label, "").split())
    # Control: a place whose number is written by hand.
    changed = dataclasses.replace(experiment, finding="It ends at 0.12345, after 1,234,567.")
    assert by_hand(changed) >= {"0.12345", "1,234,567"}


# Numbers of other texts: what is negligible, rates, untrained policies over draws, the paper's
# ratios, of a record of SIX6, hours, of a review, and of chains, which a test computes.
OF_TEXTS = "0.0002 0.001 0.003 0.01 0.03 0.12 0.09 0.05 0.04 0.58 0.139 0.23 1.5 2.5 "
OF_TEXTS += "0.173 0.148 0.117 0.000 0.056 0.84"


@pytest.mark.parametrize("path", sorted((FOLDER / "texts").iterdir()), ids=lambda path: path.stem)
def test_numbers_of_other_texts_are_of_the_results_or_the_paper(path: Path) -> None:
    papers = {f"{n.mean:.3f}" for e in EXPERIMENTS.values() for n in e.quoted.values()}
    numbers = NUMBER.findall(PLACE.sub("", path.read_text()))
    assert {n for n in numbers if "." in n} <= {*OF_TEXTS.split(), *papers}


def test_no_page_of_the_report_has_an_empty_place() -> None:
    for name in PAGES:
        page = (FOLDER / name).read_text()
        assert not PLACE.search(page)
        assert not any(f"{{{table}}}" in page for table in TABLES)
        assert not re.search(r"\bnan\b", page)
    texts = (FOLDER / "texts" / "questions.md").read_text()
    assert len(PLACE.findall(texts)) > 20
    assert all(f"{{{table}}}" in texts for table in TABLES)


def test_a_verdict_that_tv_changes_is_listed() -> None:
    fcs = [dataclasses.replace(results_of(FAR, NEAR, FAR).experiment, metric="fcs")]
    level = Results(fcs[0], results_of(FAR, NEAR, FAR).runs)
    assert "1 of 1 verdicts change." in by_tv([level])
    assert "| tab:a: N = 3 | SRWM against Markovian | level | reproduced | -0.3000" in by_tv(
        [level]
    )
    # Control: where both say the same, and where the metric is TV.
    same = Results(fcs[0], results_of(FAR, NEAR, NEAR).runs)
    assert "0 of 1 verdicts change." in by_tv([same])
    assert "0 of 0 verdicts change." in by_tv([results_of(FAR, NEAR)])


def test_verdicts_that_added_seeds_change_are_listed() -> None:
    noisy = [0.2, 0.51, 0.3, 0.2, 0.2]
    late = results_of([*FAR, 0.5, 0.5], noisy, first_seeds=3)
    text = by_first_seeds([late])
    assert "tab:a: 1 of 1 verdicts change" in text
    assert "| tab:a: N = 3 | SRWM against Markovian | undecided | reproduced |" in text
    # Controls: a row that had all its seeds at once, and a table that had.
    at_once = results_of([*FAR, 0.5, 0.5], noisy, first_seeds=3, at_once=(ROW,))
    assert "0 of 0" in by_first_seeds([at_once])
    assert "0 of 0" in by_first_seeds([results_of([*FAR, 0.5, 0.5], noisy)])
    one = results_of([*FAR, 0.5, 0.5], noisy)
    assert (
        "Among 1 comparisons that are decided, 1 have five seeds or more, and 0 of these"
        in fragile([one])
    )
    firm = results_of([*FAR, 0.5, 0.5], [*NEAR, 0.2, 0.2])
    assert "and 1 of these stay decided" in fragile([firm])


def test_the_paper_beside_what_was_never_trained() -> None:
    assert untrained([]).count("\n") == 1
    assert "| 0.900 | no |" in untrained([results_of(FAR, NEAR)])
    runs: list[Run] = [
        dataclasses.replace(one, uniform={"tv": {"mean": 0.4}})
        for one in results_of(FAR, NEAR).runs
    ]
    beaten = Results(results_of(FAR, NEAR).experiment, runs)
    assert "| tab:a: N = 3 | 0.500 | 0.250 | 0.400 | yes |" in untrained([beaten])


@pytest.mark.catches(
    "the baseline is corrected by itself, not together with the tables",
    "pdai/experiments/evidence.py",
    "return tallied(families, every)",
    "return tallied(families, studies)",
)
def test_the_baseline_is_judged_beside_the_table_and_corrected_together_with_it() -> None:
    nearer = [0.2, 0.3, 0.25, 0.4, 0.35]
    study = results_of(
        [*FAR, 0.5, 0.5], nearer, label="study:a", claim="", beside={"tab:0: N = 3": "N = 3"}
    )
    assert "| SRWM against Markovian | 1, 0 | 1, 0 | 1, 0 | 0.60 |" in as_printed([study])
    # Eleven others, without any difference: p is 0.0047, and 12 times as much is above 0.05.
    others = []
    for place in range(11):
        other = results_of(FAR, [0.5, 0.49, 0.51], label=f"tab:{place}")
        runs = [dataclasses.replace(one, config={"of": (place, one.seed)}) for one in other.runs]
        others.append(Results(other.experiment, runs))
    assert "| SRWM against Markovian | 1, 0 | 0, 0 | 0, 0 | 0.60 |" in as_printed([study, *others])
    table = beside_the_paper([study, *others[:2]])
    assert "| as printed | - | 0.5000 / 0.3000 | - | - | reproduced | - |" in table
    assert "| tab:1: N = 3 | 0.5 / 0.25 | 0.5000 / 0.5000 | - | undecided | - |" in table
    less = Results(study.experiment, study.runs[:5])
    assert "| - | - | not yet trained | - |" in beside_the_paper([less, *others[:1]])


def test_rows_whose_input_is_the_state_are_no_integers() -> None:
    every = [Results(EXPERIMENTS["fig:apx:lra"], [])]
    assert "| better | 0 | - |" in state_seen(every)


def test_the_chains_on_six6_are_as_near_as_the_page_says() -> None:
    page, task = (FOLDER / "questions.md").read_text(), TableSequences.six6("append")
    y = task.scores.astype(float) - task.scores.min()
    law = np.maximum(10 * (y / y.max()) ** 3, 1e-3)
    law /= law.sum()
    for order in (4, 5, 6, 7):
        # A string is a number in base 4; the last letter is its last digit. By maximum likelihood a
        # letter has its share of the target, given those that the chain sees.
        chain, strings = np.ones(len(law)), np.arange(4**8)
        for t in range(8):
            seen = strings // 4 ** (7 - t) % 4 ** (min(t, order) + 1)
            whole = strings // 4 ** (8 - t) % 4 ** min(t, order)
            both, before = (np.bincount(key, law) for key in (seen, whole))
            chain *= both[seen] / before[whole]
        numbers = 3 * sum(4 ** min(t, order) for t in range(8))
        tv = np.abs(chain - law).sum() / 2
        assert f"| chain of the last {order} letters | {numbers:,} | {tv:.3f} |" in page
    # Mean absolute deviations of normal counts, of as many samples as 20,000 steps of 128 see.
    tv = np.sqrt(2 * law * (1 - law) / (np.pi * 2_560_000)).sum() / 2
    assert f"| histogram of 2,560,000 exact samples | - | {tv:.3f} |" in page
