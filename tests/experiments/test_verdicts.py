"""The rule of verdicts, written a second time from the printed text, beside the report's.

Both judge drawn results and all stored ones; then what rows and claims say together.
"""

import dataclasses
import json
import math
import re
from collections import defaultdict
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from pdai.experiments import EXPERIMENTS, Experiment
from pdai.experiments.base import FORMS, MEASURES, PAPERS_PAIR, Cell, Quoted
from pdai.experiments.definitions import FOLDER
from pdai.experiments.frames import Results
from pdai.experiments.results import Run
from pdai.experiments.tables import (
    all_rows,
    by_benjamini_hochberg,
    by_benjamini_yekutieli,
    by_holm,
    family,
    table,
    verdict,
)
from pdai.experiments.verdicts import Comparison, Outcome, Standing, counts, group
from tests.made_up_runs import TINY, tiny
from tests.made_up_runs import run as run_of

PAIR = ("Markovian", "SRWM")
ROW = "N = 3"
RULE, DETAILS, FRONT = (
    (FOLDER / name).read_text() for name in ("texts/README.md", "details.md", "README.md")
)
# The sizes below which nothing counts, as the rule on the first page has them.
COUNTS = {
    "tv": 1e-3, "fcs": 1e-3, "separation": 100.0, "memory": 2e-4, "best": 0.01, "met": 1e-3,
}  # fmt: skip
JUDGED = [label for label, experiment in EXPERIMENTS.items() if experiment.claim]


def tv(*values: float, uniform: float = 0.9, **facts: Any) -> list[Run]:
    """A run for each value of TV, beside an untrained policy that is further off."""
    before = {"tv": {"mean": uniform}, "fcs": None}
    return [run_of("SRWM", seed, tv, uniform=before, **facts) for seed, tv in enumerate(values)]


def sampled(exact: float, *values: float) -> list[Run]:
    """Runs whose law is sampled, as far off as exact sampling is."""
    return tv(*values, tv_kind="sampled", exact={"tv": {"mean": exact}})


def compared(
    first: list[Run], second: list[Run], pair: tuple[str, str] = PAIR, **options: Any
) -> Comparison:
    """The runs as those of two models."""
    columns = zip(PAIR, (first, second), strict=True)
    runs = [dataclasses.replace(one, model=model) for model, of in columns for one in of]
    return Comparison(Results(tiny(**options), runs), ROW, pair)


def bounds(comparison: Comparison) -> tuple[float, float]:
    gap = comparison.gap
    assert gap is not None
    return gap.low, gap.high


FAR, NEAR = tv(0.5, 0.51, 0.49), tv(0.2, 0.21, 0.19)
DECIDED = (Standing.BETTER, Standing.WORSE)
# A law that is sampled, with a floor as large as the difference that is looked for.
FLOOR: dict[str, Any] = {"tv_kind": "sampled", "exact": {"tv": {"mean": 0.02}}}


def raw(experiment: Experiment, folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / f"{experiment.slug}.json").read_text())["runs"]  # type: ignore[no-any-return]


def measured(run: dict[str, Any], metric: str, of: str = "learned") -> float:
    """The metric of a raw run; NaN where it has none."""
    if metric == "best":
        met = {s: r for p in run["probes"] if p["step"] > 0 for s, r in p[of]}
        return sum(sorted(met.values())[-20:]) / 20
    if metric == "met":
        parts = [p[of] for p in run["probes"] if p["step"] > 0]
        return float(sum(parts) / len(parts))
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
    up = -1 if metric in ("best", "met") else 1
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
    low, high = low - least[1], high + least[0]
    mean, is_tie = sum(gaps) / len(gaps), row in experiment.ties
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


def test_a_gap_is_students_interval_of_the_paired_differences() -> None:
    noise = (0.3, 0.1, 0.2, 0.5, 0.4)
    first = tv(*noise)
    second = tv(*(x - 0.01 * (seed + 1) for seed, x in enumerate(noise)))
    results = Results(tiny(), first)
    assert results.values(ROW, "SRWM").mean() == pytest.approx(0.3)
    assert results.text(ROW, "SRWM") == f"0.3000 ± {np.std(noise, ddof=1):.4f} (5)"
    # Of a sample from a normal law it covers the mean 95 times in 100.
    error = scipy.stats.sem(-0.01 * np.arange(1, 6))
    paired = compared(first, second)
    assert bounds(paired) == pytest.approx(scipy.stats.t.interval(0.95, 4, -0.03, error))
    assert paired.standing in DECIDED
    # Control: not paired, the same numbers tell nothing.
    shuffled = compared(first, [dataclasses.replace(r, seed=(r.seed + 1) % 5) for r in second])
    low, high = bounds(shuffled)
    assert low < 0 < high
    assert shuffled.standing not in DECIDED
    # Two seeds have no interval.
    assert compared(first[:2], second[:2]).gap is None


def test_a_sampled_distance_is_not_held_against_an_exact_one_within_its_floor() -> None:
    exact, values = tv(0.001, 0.002, 0.003), (0.013, 0.014, 0.015)
    near, far = sampled(0.0135, *values), sampled(0.0135, 0.03, 0.031, 0.032)
    forth, back = (compared(exact, near, pair) for pair in (PAIR, PAIR[::-1]))
    # The same difference in every seed: the interval has no other width than the floor.
    assert bounds(forth) == pytest.approx((0.012 - 0.0135, 0.012))
    assert bounds(back) == pytest.approx((-0.012, -0.012 + 0.0135))
    assert not {forth.standing, back.standing} & {*DECIDED}
    # Controls: further away than the floor; and as if both were exact.
    for second in (far, tv(*values)):
        assert compared(exact, second).standing in DECIDED
    # Of two sampled distances either may be too large by its floor.
    assert bounds(compared(near, far)) == pytest.approx((0.017 - 0.0135, 0.017 + 0.0135))


# What values lie near, and how far its seeds are apart; no mean or end is exactly what counts.
LEVELS, SPREADS = (
    (0.0, 0.00031, 0.0207, 0.2031, 0.5077, 0.9),
    (0.0, 0.00007, 0.00007, 0.0013, 0.0613),
)

BLANK = [run_of("SRWM", seed, 0.0) for seed in range(5)]


def drawn(rng: np.random.Generator) -> Comparison:
    """Two columns of some seeds, of a claim that may have any of the options of a definition."""

    def choice(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    metric = choice("tv", "tv", "tv", "memory", "best")
    before, floor = choice(0.9, 0.9, 0.0), choice(0.0137, 0.0207)
    sampled_in, columns, level = choice("none", "one", "all"), [], choice(*LEVELS, before)
    for place in range(2):
        spread, runs = choice(*SPREADS), []
        level = choice(level, level, *LEVELS, before) if place else level
        for seed in range(choice(2, 3, 3, 3, 3, 5, 5)):
            value = max(level + spread * rng.integers(-2, 3), 0.0)
            facts: dict[str, Any] = {"uniform": {"tv": {"mean": before}, "fcs": None}}
            ends = {"learned": value, "uniform": before}
            met = {of: [[str(i), best] for i in range(20)] for of, best in ends.items()}
            facts["probes"] = [{"step": 1, "kl": value, **met}]
            if sampled_in == "all" or (sampled_in == "one" and place == seed == 0):
                facts |= {"exact": {"tv": {"mean": floor}}, "tv_kind": "sampled"}
            facts["learned"] = {"tv": {"mean": value}, "fcs": None}
            runs.append(dataclasses.replace(BLANK[seed], **facts))
        columns.append(runs)
    options: dict[str, Any] = {"metric": metric, "seeds": range(5)}
    options |= {"reaches": choice(None, 0.05), "ties": choice((), (), (ROW,))}
    if metric == "tv" and min(one.value("tv") or 0 for runs in columns for one in runs) > 0:
        options["claimed_ratio"] = choice(None, 0.2, 0.5)
    if metric == "best":
        options |= {"optimum": choice({}, {ROW: 0.909}), "reaches": None}
    return compared(*columns, **options)


def test_drawn_rows_are_judged_as_by_the_rule_as_it_is_printed() -> None:
    rng, seen = np.random.default_rng(0), set[str]()
    for _ in range(300):
        row = drawn(rng)
        runs = [dataclasses.asdict(one) for one in row.results.runs]
        seen.add(expected := word(row.results.experiment, runs, ROW, PAIR))
        assert row.outcome.value == expected, row
    together = {Outcome.PARTLY, Outcome.MIXED, Outcome.PARTLY_OPPOSITE}
    assert seen == {outcome.value for outcome in {*Outcome} - together}


@pytest.mark.catches(
    "any ratio below one bears out a ratio of the paper",
    "pdai/experiments/verdicts.py",
    "return is_ratio and self.size > ratio**0.5",
    "return is_ratio and self.size > 1",
)
@pytest.mark.parametrize(
    ("first", "second", "outcome", "options"),
    [
        # As good as the paper's words, and as half of its ratio in logarithms, or not.
        (FAR, NEAR, "reproduced", {"reaches": 0.25, "claimed_ratio": 0.2}),
        (FAR, NEAR, "direction only", {"reaches": 0.05}),
        (FAR, NEAR, "direction only", {"claimed_ratio": 0.15}),
        (NEAR, FAR, "opposite", {"reaches": 0.05}),
        (tv(0.2, 0.8, 0.5), tv(0.35, 0.05, 0.2), "undecided", {}),
        # Negligible; at the floor; nobody learned; where the paper predicts no difference.
        (tv(0.2, 0.2, 0.2), tv(0.1995, 0.1995, 0.1995), "level", {}),
        (tv(0.0005, 0.0006, 0.0004), sampled(0.0137, 0.0136, 0.0139, 0.0138), "no headroom", {}),
        (tv(0.9, 0.91, 0.8995), tv(0.95, 0.9, 0.9), "no headroom", {}),
        (tv(0.02, 0.02, 0.0201), tv(0.0201, 0.02, 0.02), "reproduced", {"ties": (ROW,)}),
        (FAR, NEAR[:2], "not run", {}),
    ],
)
def test_a_row_is_judged_by_the_rule(
    first: list[Run], second: list[Run], outcome: str, options: dict[str, Any]
) -> None:
    assert compared(first, second, **options).outcome is Outcome(outcome)


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


WORDS = ("reproduced", "direction only", "opposite", "undecided", "level", "no headroom", "not run")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_rows_say_together_what_each_of_them_says(count: int) -> None:
    for words in combinations_with_replacement(WORDS, count):
        assert group([Outcome(word) for word in words]).value == together([*words]), words


def overview(label: str) -> list[str]:
    """The words of a claim on the first page, by column."""
    (line,) = re.findall(rf"^\| \[{re.escape(label)}\].*$", FRONT, re.MULTILINE)
    return [cell.split(", ")[0].strip() for cell in line.split(" | ")[2:5]]


@pytest.mark.parametrize("label", JUDGED)
def test_the_first_page_has_the_verdicts_of_all_rows_together(label: str) -> None:
    experiment, verdicts = EXPERIMENTS[label], printed(label)
    expected = dict.fromkeys((PAPERS_PAIR, *FORMS), "-")
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


def test_the_rule_states_the_size_below_which_nothing_counts_of_each_metric() -> None:
    # By Pinsker's inequality laws that are 0.0002 nats apart are at most 0.01 apart.
    assert (MEASURES["memory"].negligible / 2) ** 0.5 == pytest.approx(0.01)
    for measure in MEASURES.values():
        assert measure.negligible > 0
        assert f"{measure.negligible:g}" in RULE


def test_the_size_of_an_effect_stands_beside_its_direction() -> None:
    paper = zip(PAIR, (Quoted(0.2, 0.0), Quoted(0.05, 0.0)), strict=True)
    row = compared(FAR, NEAR, cells=tuple(Cell(ROW, m, TINY, number) for m, number in paper))
    assert (row.size, row.papers_size) == (pytest.approx(0.4), pytest.approx(0.25))
    # Where one law is sampled, what exact sampling has bounds the ratio.
    second = sampled(0.01, 0.02, 0.02, 0.02)
    assert compared(tv(0.001, 0.001, 0.001), second).size == pytest.approx(2.0)
    # A ratio to a TV of 1e-7 says no more than that it is large.
    small = compared(tv(1e-7, 1e-7, 1e-7), FAR, claim="it is better")
    assert "| N = 3 | opposite, > 1,000 |" in verdict(small.results)


@pytest.mark.catches(
    "the interval of a sampled column is not widened in the p-value",
    "pdai/experiments/verdicts.py",
    "        beyond = abs(mean) - (down if mean > 0 else up)",
    "        beyond = abs(mean)",
)
def test_a_chance_is_below_a_twentieth_where_the_interval_excludes_zero() -> None:
    noise = np.random.default_rng(0).normal(size=(40, 5))
    sampled_second = 0
    for values in noise:
        first, second = tv(*(0.5 + 0.02 * values)), tv(*(0.5 + 0.02 * values[::-1] + 0.01))
        for other in (second, [dataclasses.replace(r, **FLOOR) for r in second]):
            gap = compared(first, other).gap
            assert gap is not None
            assert (gap.chance < 0.05) == (gap.low > 0 or gap.high < 0)
        sampled_second += gap.chance > 0.5
        p = scipy.stats.ttest_rel(*compared(first, second).paired).pvalue
        gap = compared(first, second).gap
        assert gap is not None
        assert gap.chance == pytest.approx(p)
    assert sampled_second > 5
    gap = compared(tv(0.25, 0.25, 0.25), tv(0.5, 0.5, 0.5)).gap
    assert gap is not None
    assert gap.chance == 0
    assert compared(tv(0.25, 0.25), tv(0.5, 0.5)).gap is None


def test_corrections_are_those_of_holm_and_of_benjamini_and_hochberg() -> None:
    # By hand, each with a step that is held by the one before or after.
    assert by_holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert by_benjamini_hochberg([0.04, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])
    assert by_benjamini_yekutieli([0.04, 0.01, 0.03]) == pytest.approx([0.22 / 3, 0.055, 0.22 / 3])
    assert by_holm([]) == by_benjamini_hochberg([]) == by_benjamini_yekutieli([]) == []


def test_a_verdict_counts_its_rows() -> None:
    rows = [Outcome.UNDECIDED, Outcome.REPRODUCED, Outcome.UNDECIDED]
    assert counts(rows) == "reproduced in 1, undecided in 2 of 3 rows"
    assert counts(rows[:1]) == "undecided in 1 of 1 row"


def claimed(label: str, values: dict[str, list[Run]], claim: str = "it is better") -> Results:
    """An experiment with columns of these names, and its runs."""
    columns = tuple(Cell(ROW, model, TINY) for model in values)
    runs = [
        dataclasses.replace(one, model=model, config={"of": label, "model": model, "seed": seed})
        for model, of_model in values.items()
        for seed, one in enumerate(of_model)
    ]
    return Results(tiny((0, 1, 2), label=label, claim=claim, cells=columns), runs)


def test_all_rows_are_counted_by_pair() -> None:
    first = claimed("tab:a", {"Markovian": FAR, "SRWM": NEAR, "GRU+": FAR})
    second = claimed("tab:b", {"Markovian": NEAR, "SRWM": tv(0.0, 0.0, 0.0), "GRU+ reset": FAR})
    level = tv(0.0001, 0.0001, 0.0001)
    third = claimed("tab:c", {"Markovian": level, "SRWM": level})
    table = all_rows([first, second, third])
    # 0.2 / 0.5 is the one ratio: zero has no logarithm, and without headroom there is none.
    assert "| SRWM against Markovian | 3 | 2 | 0 | 0 | 0 | 1 |" in table
    assert "| SRWM against Markovian | 2, 0 | 2, 0 | 2, 0 | 0.40 | 0.40 |" in table
    for pair in ("SRWM+ against Markovian", "GRU+ against GRU+ reset"):
        assert f"| {pair} | not run | - | - | - | - | - |" in table
        assert f"| {pair} | - | - | - | - | - |" in table
    assert "| GRU+ against Markovian | 1 | 0 | 0 | 1 | 0 | 0 |" in table
    assert "| GRU+ against Markovian | 0, 0 | 0, 0 | 0, 0 | 1.00 |" in table
    assert "| GRU+ reset against Markovian | 1 | 0 | 1 | 0 | 0 | 0 |" in table
    assert "| GRU+ reset against Markovian | 0, 1 | 0, 1 | 0, 1 | 2.50 |" in table


def test_control_what_is_shared_or_claims_nothing_is_not_counted_again() -> None:
    values = {"Markovian": FAR, "SRWM": NEAR}
    first = claimed("tab:a", values)
    again = Results(dataclasses.replace(first.experiment, label="tab:again"), first.runs)
    once, twice = (all_rows(every) for every in ([first], [first, again]))
    assert once == twice
    assert "| SRWM against Markovian | 1 | 1 |" in once
    every = [first, claimed("study:a", values, claim="")]
    assert all_rows(every) == once
    # Corrections are for it too.
    assert [row.place[0] for row in family(tuple(every))] == ["tab:a", "study:a"]
    assert all_rows([first, claimed("tab:b", values)]) != once


def test_what_is_computed_stands_beside_what_is_trained() -> None:
    least = {"least TV": {ROW: (0.05, 0.0625)}}
    assert [*table(Results(tiny(bounds=least), NEAR))["least TV"]] == ["0.0500 to 0.0625"]
    assert "least TV" not in table(Results(tiny(), NEAR))
