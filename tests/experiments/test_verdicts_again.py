"""Every verdict of the report once more, from the raw files, by other lines than the report's."""

import json
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import scipy.stats

from pdai.experiments import EXPERIMENTS, Experiment
from pdai.experiments.base import AS_PRINTED, FORMS
from pdai.experiments.definitions import FOLDER

DETAILS, FRONT = ((FOLDER / name).read_text() for name in ("details.md", "README.md"))
# The sizes below which nothing counts, as the rule on the first page has them.
COUNTS = {"tv": 1e-3, "fcs": 1e-3, "separation": 100.0, "memory": 2e-4, "best": 0.01}
JUDGED = [label for label, experiment in EXPERIMENTS.items() if experiment.claim]


def raw(experiment: Experiment, folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / f"{experiment.slug}.json").read_text())["runs"]  # type: ignore[no-any-return]


def measured(run: dict[str, Any], metric: str, of: str = "learned") -> float:
    """The metric of a raw run; NaN where it has none."""
    if metric == "best":
        met = {s: r for p in run["probes"] if p["step"] > 0 for s, r in p[of]}
        return sum(sorted(met.values())[-20:]) / 20
    if metric in ("memory", "separation") and of != "learned":
        return math.nan
    if metric == "memory":
        return float(run["probes"][-1]["kl"])
    if metric == "separation":
        apart = [p["step"] for p in run["probes"] if p["kl"] > 0.447]
        return float(apart[0] if apart else run["config"]["steps"])
    figures = (run[of] or {}).get(metric)
    return math.nan if figures is None else float(figures["mean"])


def word(experiment: Experiment, runs: list[dict[str, Any]], row: str, pair: Any) -> str:
    """The verdict of a row by the rule as it is printed."""
    metric, small = experiment.metric, COUNTS[experiment.metric]
    up = -1 if metric == "best" else 1
    here: dict[str, dict[int, float]] = defaultdict(dict)
    floors: dict[str, list[float]] = defaultdict(list)
    before = []
    for run in runs:
        if run["row"] == row and run["seed"] in experiment.seeds:
            before.append(measured(run, metric, "uniform"))
            here[run["model"]][run["seed"]] = measured(run, metric)
            is_sampled = run["tv_kind"] == "sampled" and metric in ("tv", "fcs")
            floors[run["model"]].append(measured(run, metric, "exact") if is_sampled else 0.0)
    old, new = (here[model] for model in pair)
    gaps = [new[seed] - old[seed] for seed in sorted(old.keys() & new.keys())]
    if len(gaps) < 3:
        return "not run"
    one, two = (sum(of.values()) / len(of) for of in (old, new))
    least = [sum(floors[m]) / len(floors[m]) for m in pair]
    low, high = scipy.stats.t.interval(
        0.95, len(gaps) - 1, sum(gaps) / len(gaps), scipy.stats.sem(gaps)
    ) if len(set(gaps)) > 1 else (gaps[0], gaps[0])  # fmt: skip
    low, high = low - max(least[1] - least[0], 0), high + max(least[0] - least[1], 0)
    mean, is_tie = sum(gaps) / len(gaps), experiment.expects == "equal" or row in experiment.ties
    if abs(mean) >= small and (low > 0 or high < 0):
        if is_tie or up * mean > 0:
            return "opposite"
        paper = [experiment.quoted.get((row, model)) for model in experiment.compared]
        ratio = paper[1].mean / paper[0].mean if paper[0] and paper[1] else None
        if ratio is None and pair == experiment.compared:
            ratio = experiment.claimed_ratio
        raised = [max(x, max(least) if min(least) == 0 else 0) for x in (one, two)]
        is_far = experiment.reaches is not None and two > experiment.reaches
        if ratio and math.log(raised[1] / raised[0]) > math.log(ratio) / 2:
            is_far = True
        return "direction only" if is_far else "reproduced"
    is_level = low >= -small and high <= small
    best = [experiment.optimum[row]] * 2 if row in experiment.optimum else least
    known = up > 0 or row in experiment.optimum
    ends = [up * (x - b) for x, b in zip((one, two), best, strict=True)]
    is_at_floor = known and max(ends) <= small
    values = [*old.values(), *new.values()]
    first = sum(before) / len(before)
    is_dead = all(up * (first - x) <= small for x in values)
    is_stuck = up > 0 and max(values) - min(values) <= small and min(values) > first / 2
    if is_tie and (is_at_floor or (is_level and not (is_dead or is_stuck))):
        return "reproduced"
    if is_at_floor or is_dead or is_stuck:
        return "no headroom"
    return "level" if is_level else "undecided"


def printed(label: str) -> dict[tuple[str, str], str]:
    """The verdicts that the report prints, by pair in words and row."""
    section = DETAILS.split(f"\n## {label}: ")[1].split("\n## ")[0]
    lines = section.split("\n| verdict, ")[1].split("\n\n")[0].splitlines()
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {
        (pair, row): cell.split(", ")[0]
        for row, *cells in body
        for pair, cell in zip(head[1:-1], cells[:-1], strict=True)
        if cell != "-"
    }


@pytest.mark.parametrize("label", JUDGED)
def test_the_printed_verdicts_are_those_of_the_raw_results(label: str) -> None:
    experiment = EXPERIMENTS[label]
    runs, verdicts = raw(experiment, FOLDER / "results"), printed(label)
    assert verdicts
    for pair in experiment.forms.values():
        name = f"{pair[1]} against {pair[0]}"
        rows = [row for words, row in verdicts if words == name]
        if not rows:
            continue
        for row in rows:
            assert word(experiment, runs, row, pair) == verdicts[name, row], (name, row)


def together(words: list[str]) -> str:
    """The verdict of all rows of a claim, by the rule as it is printed."""
    kinds, decided = set(words), {"reproduced", "direction only", "opposite"} & set(words)
    if 2 * words.count("not run") > len(words):
        return "not run"
    if not decided:
        return next(one for one in ("undecided", "level", "no headroom") if one in kinds)
    if len(decided) > 1 and "opposite" in decided:
        return "mixed"
    (word,) = decided - ({"reproduced"} if len(decided) > 1 else set())
    return word if kinds == decided or word == "direction only" else f"{word} in part"


def overview(label: str) -> list[str]:
    """The words of a claim on the first page, by column."""
    (line,) = re.findall(rf"^\| \[{re.escape(label)}\].*$", FRONT, re.MULTILINE)
    return [cell.split(", ")[0].strip() for cell in line.split(" | ")[2:5]]


@pytest.mark.parametrize("label", JUDGED)
def test_the_first_page_has_the_verdicts_of_all_rows_together(label: str) -> None:
    experiment, verdicts = EXPERIMENTS[label], printed(label)
    expected = dict.fromkeys((AS_PRINTED, *FORMS), "-")
    for column, pair in experiment.forms.items():
        words = [
            word for (name, _), word in verdicts.items() if name == f"{pair[1]} against {pair[0]}"
        ]
        expected[column] = together(words)
    assert overview(label) == list(expected.values())


def test_control_a_changed_row_changes_the_word_of_a_claim() -> None:
    assert together(["reproduced", "reproduced"]) == "reproduced"
    assert together(["reproduced", "level"]) == "reproduced in part"
    assert together(["reproduced", "direction only", "level"]) == "direction only"
    assert together(["reproduced", "opposite"]) == "mixed"
    assert together(["level", "no headroom", "undecided"]) == "undecided"


def test_control_a_changed_raw_number_changes_the_verdict() -> None:
    experiment, row = EXPERIMENTS["tab:isingsa"], "36 spins"
    runs = raw(experiment, FOLDER / "results")
    for pair in experiment.forms.values():
        before = word(experiment, runs, row, pair)
        changed = json.loads(json.dumps(runs))
        for run in changed:
            if run["model"] == pair[1]:
                run["learned"]["fcs"]["mean"] = run["seed"] * 1e-6
        assert before != word(experiment, changed, row, pair) == "reproduced"
    # One number of one seed is enough where a row is close.
    bits, pair = EXPERIMENTS["tab:sequencesabits"], ("Markovian", "SRWM+")
    runs = raw(bits, FOLDER / "results")
    assert word(bits, runs, "64 bits, c = 3", pair) == "direction only"
    one = next(r for r in runs if (r["row"], r["model"]) == ("64 bits, c = 3", "SRWM+"))
    one["learned"]["fcs"]["mean"] += 0.001
    assert word(bits, runs, "64 bits, c = 3", pair) != "direction only"
