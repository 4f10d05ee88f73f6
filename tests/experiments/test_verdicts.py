"""The rule by which a row is judged, what rows say together, and all rows of all claims."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats

from pdai.experiments import Experiment
from pdai.experiments.base import MEASURES, Cell, Quoted
from pdai.experiments.definitions import FOLDER
from pdai.experiments.frames import Results
from pdai.experiments.results import Run
from pdai.experiments.tables import all_rows, table
from pdai.experiments.verdicts import Comparison, Group, Outcome, Standing, counts, group
from tests.made_up_runs import TINY, run, tiny

PAIR = ("Markovian", "SRWM")
ROW = "N = 3"
RULE = (FOLDER / "texts" / "rule.md").read_text()


def column(model: str, values: Sequence[float], uniform: float = 0.9, **facts: Any) -> list[Run]:
    """A run for each value of TV, beside an untrained policy that is further off."""
    before = {"tv": {"mean": uniform}, "fcs": None}
    return [run(model, seed, tv, uniform=before, **facts) for seed, tv in enumerate(values)]


def compared(runs: list[Run], pair: tuple[str, str] = PAIR, **options: Any) -> Comparison:
    return Comparison(Results(tiny(**options), runs), ROW, pair)


def bounds(comparison: Comparison) -> tuple[float, float]:
    gap = comparison.gap
    assert gap is not None
    return gap.low, gap.high


def judged(
    first: Sequence[float], second: Sequence[float], uniform: float = 0.9, **options: Any
) -> Outcome:
    runs = column("Markovian", first, uniform) + column("SRWM", second, uniform)
    return compared(runs, **options).outcome


FAR, NEAR = (0.5, 0.51, 0.49), (0.2, 0.21, 0.19)
LEVEL = ((0.0201, 0.02, 0.02), (0.02, 0.02, 0.0201))
STUCK = (0.7510, 0.7510, 0.7511)
UNLEARNED = (0.95, 0.9, 0.9)
DECIDED = (Standing.BETTER, Standing.WORSE)


def test_a_gap_is_students_interval_of_the_paired_differences() -> None:
    noise = [0.3, 0.1, 0.2, 0.5, 0.4]
    first = column("Markovian", noise)
    second = column("SRWM", [x - 0.01 * (seed + 1) for seed, x in enumerate(noise)])
    results = Results(tiny(), first)
    assert results.values(ROW, "Markovian").mean() == pytest.approx(0.3)
    assert results.text(ROW, "Markovian") == f"0.3000 ± {np.std(noise, ddof=1):.4f} (5)"
    # Of a sample from a normal law it covers the mean 95 times in 100.
    error = scipy.stats.sem(-0.01 * np.arange(1, 6))
    paired = compared(first + second)
    assert bounds(paired) == pytest.approx(scipy.stats.t.interval(0.95, 4, -0.03, error))
    assert paired.standing in DECIDED
    # Control: not paired, the same numbers tell nothing.
    shuffled = [dataclasses.replace(r, seed=(r.seed + 1) % 5) for r in second]
    low, high = bounds(compared(first + shuffled))
    assert low < 0 < high
    assert compared(first + shuffled).standing not in DECIDED
    # Two seeds have no interval.
    assert compared(first[:2] + second[:2]).gap is None


def test_a_sampled_distance_is_not_held_against_an_exact_one_within_its_floor() -> None:
    sampled: dict[str, Any] = {"tv_kind": "sampled", "exact": {"tv": {"mean": 0.0135}}}
    exact = column("Markovian", (0.001, 0.002, 0.003))
    near = (0.013, 0.014, 0.015)
    forth, back = (
        compared(exact + column("SRWM", near, **sampled), pair) for pair in (PAIR, PAIR[::-1])
    )
    # The same difference in every seed: the interval has no other width than the floor.
    assert bounds(forth) == pytest.approx((0.012 - 0.0135, 0.012))
    assert bounds(back) == pytest.approx((-0.012, -0.012 + 0.0135))
    assert not {forth.standing, back.standing} & {*DECIDED}
    # Controls: further away than the floor; and as if both were exact.
    far = column("SRWM", (0.03, 0.031, 0.032), **sampled)
    for second in (far, column("SRWM", near)):
        assert compared(exact + second).standing in DECIDED
    # Two sampled distances have the same floor.
    assert bounds(compared(column("Markovian", near, **sampled) + far)) == pytest.approx(
        (0.017, 0.017)
    )


@pytest.mark.parametrize(
    ("first", "second", "outcome", "options"),
    [
        # The better model is told by the interval; exchanged; from seeds that do not agree.
        (FAR, NEAR, "reproduced", {}),
        (NEAR, FAR, "opposite", {}),
        ((0.2, 0.8, 0.5), (0.35, 0.05, 0.2), "undecided", {}),
        # A negligible difference decides nothing, and one that is not does.
        ((0.2,) * 3, (0.1995,) * 3, "undecided", {}),
        ((0.2,) * 3, (0.1985,) * 3, "reproduced", {}),
        # Two models are at the floor; the worse one is not.
        ((0.0004, 0.0003, 0.0009), (0.0002, 0.0001, 0.0003), "no headroom", {}),
        ((0.0024, 0.0013, 0.0019), (0.0022, 0.0011, 0.0023), "undecided", {}),
        # Nobody learned; one seed of one model did.
        ((0.9, 0.91, 0.8995), UNLEARNED, "no headroom", {}),
        ((0.9, 0.91, 0.6), UNLEARNED, "undecided", {}),
        # All are stuck; one seed is not; the place is near the target.
        (STUCK, STUCK, "no headroom", {}),
        (STUCK, (0.7510, 0.7511, 0.5), "undecided", {}),
        ((0.02, 0.02, 0.0201), (0.0201, 0.02, 0.02), "undecided", {}),
        # A better fit is not a nearly perfect one; one that is; one that is no better.
        (FAR, NEAR, "direction only", {"reaches": 0.05}),
        (FAR, (0.04, 0.03, 0.05), "reproduced", {"reaches": 0.05}),
        (NEAR, FAR, "opposite", {"reaches": 0.05}),
        # It cannot be tested, or was not run.
        (FAR, NEAR, "not testable as stated", {"not_testable": "it compares other sizes"}),
        (FAR[:2], NEAR[:2], "not run", {}),
        (FAR, (), "not run", {}),
        # Control of the ties below: where the paper predicts none.
        (*LEVEL, "undecided", {}),
    ],
)
def test_a_row_is_judged_by_the_rule(
    first: Sequence[float], second: Sequence[float], outcome: str, options: dict[str, Any]
) -> None:
    assert judged(first, second, **options) is Outcome(outcome)


@pytest.mark.parametrize("options", [{"ties": (ROW,)}, {"expects": "equal"}])
def test_a_tie_that_the_paper_predicts_counts_as_reproduced(options: dict[str, Any]) -> None:
    assert judged(*LEVEL, **options) is Outcome.REPRODUCED
    # At a uniform target nothing has to be learned.
    assert judged((0.0,) * 3, (1e-8,) * 3, uniform=0.0, **options) is Outcome.REPRODUCED
    # Controls: a difference either way; seeds that do not agree; nobody learned.
    assert judged(FAR, NEAR, **options) is Outcome.OPPOSITE
    assert judged(NEAR, FAR, **options) is Outcome.OPPOSITE
    assert judged((0.2, 0.8, 0.5), (0.5, 0.2, 0.8), **options) is Outcome.UNDECIDED
    assert judged((0.9,) * 3, (0.9,) * 3, **options) is Outcome.NO_HEADROOM


def test_a_sampled_law_is_at_the_floor_of_its_samples() -> None:
    exact = {"tv": {"mean": 0.0137}}
    near = column("SRWM", (0.0136, 0.0139, 0.0138), tv_kind="sampled", exact=exact)
    first = column("Markovian", (0.0005, 0.0006, 0.0004))
    assert compared(first + near).outcome is Outcome.NO_HEADROOM
    # Control: the law that is exact is not at its own floor, which is zero.
    poor = column("Markovian", (0.0085, 0.0086, 0.0084))
    assert compared(poor + near).outcome is Outcome.UNDECIDED
    # Control: where one seed of three is sampled, the floor of the mean is a third.
    some = [near[0], *(dataclasses.replace(one, tv_kind="estimated") for one in near[1:])]
    assert compared(first + some).outcome is Outcome.OPPOSITE


def probed(metric: str, *probes: list[Any], **options: Any) -> Outcome:
    """The outcome where all seeds of the two models have these probes."""
    runs = [
        run(model, seed, 0.0, probes=of_model)
        for model, of_model in zip(PAIR, probes, strict=True)
        for seed in range(3)
    ]
    return compared(runs, metric=metric, **options).outcome


def test_each_metric_has_a_size_below_which_nothing_counts() -> None:
    def kl(*values: float) -> Outcome:
        return probed("memory", *([{"step": 1, "kl": value}] for value in values))

    # By Pinsker's inequality laws that are 0.0002 nats apart are at most 0.01 apart.
    assert (MEASURES["memory"].negligible / 2) ** 0.5 == pytest.approx(0.01)
    assert kl(0.03, 2e-5) is Outcome.REPRODUCED
    assert kl(4e-5, 2e-6) is Outcome.NO_HEADROOM
    for measure in MEASURES.values():
        assert measure.negligible > 0
        assert f"{measure.negligible:g}" in RULE


def test_more_is_better_where_rewards_are_compared() -> None:
    def met(*values: float, **options: Any) -> Outcome:
        probes = [
            [{"step": 1, "learned": [["a", value]], "uniform": [["a", 1.0]]}] for value in values
        ]
        return probed("best", *probes, **options)

    assert met(2.0, 3.0) is Outcome.REPRODUCED
    assert met(3.0, 2.0) is Outcome.OPPOSITE
    assert met(3.0, 3.005) is Outcome.UNDECIDED
    assert met(3.0, 3.005, optimum={ROW: 3.006}) is Outcome.NO_HEADROOM
    assert met(1.0, 1.005) is Outcome.NO_HEADROOM


def test_the_size_of_an_effect_stands_beside_its_direction() -> None:
    paper = (Quoted(0.2, 0.0), Quoted(0.05, 0.0))
    cells = tuple(
        dataclasses.replace(cell, paper=number)
        for cell, number in zip(tiny().cells, paper, strict=True)
    )
    experiment = dataclasses.replace(tiny(), cells=cells)
    row = Comparison(
        Results(experiment, column("Markovian", FAR) + column("SRWM", NEAR)), ROW, PAIR
    )
    assert (row.size, row.papers_size) == (pytest.approx(0.4), pytest.approx(0.25))
    # Where one law is sampled, what exact sampling has bounds the ratio.
    exact = {"tv": {"mean": 0.01}}
    sampled = column("SRWM", (0.02,) * 3, tv_kind="sampled", exact=exact)
    assert compared(column("Markovian", (0.001,) * 3) + sampled).size == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("reproduced", Group.REPRODUCED),
        ("reproduced, no headroom", Group.REPRODUCED),
        ("reproduced, undecided", Group.PARTLY),
        ("reproduced, opposite", Group.MIXED),
        ("direction only, opposite", Group.MIXED),
        ("direction only, reproduced", Group.DIRECTION),
        ("opposite, no headroom", Group.OPPOSITE),
        ("opposite, undecided", Group.PARTLY_OPPOSITE),
        ("undecided, no headroom", Group.UNDECIDED),
        ("no headroom, not run", Group.NO_HEADROOM),
        ("not testable as stated", Group.NOT_TESTABLE),
        ("not run", Group.OPEN),
        ("opposite, not run, not run", Group.OPEN),
        ("opposite, not run", Group.OPPOSITE),
    ],
)
def test_rows_say_together_what_each_of_them_says(outcomes: str, expected: Group) -> None:
    assert group([Outcome(name) for name in outcomes.split(", ")]) is expected


def test_a_verdict_counts_its_rows() -> None:
    rows = [Outcome.UNDECIDED, Outcome.REPRODUCED, Outcome.UNDECIDED]
    assert counts(rows) == "reproduced in 1, undecided in 2 of 3 rows"
    assert counts(rows[:1]) == "undecided in 1 of 1 row"


def claimed(label: str, values: dict[str, Sequence[float]], claim: str = "it is better") -> Any:
    """An experiment with columns of these names, and its runs."""
    made = tuple(Cell(ROW, model, TINY) for model in values)
    experiment = Experiment(label, "TV", claim, "tv", made, seeds=(0, 1, 2))
    runs = [
        dataclasses.replace(one, model=model, config={"of": label, "model": model, "seed": seed})
        for model, column_values in values.items()
        for seed, one in enumerate(column("SRWM", column_values))
    ]
    return Results(experiment, runs)


def test_all_rows_are_counted_by_pair() -> None:
    first = claimed("tab:a", {"Markovian": FAR, "SRWM": NEAR, "GRU+": FAR})
    second = claimed("tab:b", {"Markovian": NEAR, "SRWM": (0.0,) * 3, "GRU+ reset": FAR})
    level = (0.0001,) * 3
    third = claimed("tab:c", {"Markovian": level, "SRWM": level})
    table = all_rows([first, second, third])
    # 0.2 / 0.5 is the one ratio: zero has no logarithm, and without headroom there is none.
    assert "| SRWM against Markovian | 3 | 2 | 0 | 0 | 1 | 0.40 |" in table
    assert "| SRWM+ against Markovian | not run | - | - | - | - | - |" in table
    assert "| GRU+ against Markovian | 1 | 0 | 0 | 1 | 0 | 1.00 |" in table
    assert "| GRU+ reset against Markovian | 1 | 0 | 1 | 0 | 0 | 2.50 |" in table
    assert "| GRU+ against GRU+ reset | not run | - | - | - | - | - |" in table


def test_control_what_is_shared_or_claims_nothing_is_not_counted_again() -> None:
    values = {"Markovian": FAR, "SRWM": NEAR}
    first = claimed("tab:a", values)
    again = Results(dataclasses.replace(first.experiment, label="tab:again"), first.runs)
    once, twice = (all_rows(every) for every in ([first], [first, again]))
    assert once == twice
    assert "| SRWM against Markovian | 1 | 1 |" in once
    assert all_rows([first, claimed("study:a", values, claim="")]) == once
    assert all_rows([first, claimed("tab:b", values)]) != once


def test_what_is_computed_stands_beside_what_is_trained() -> None:
    bounds = {"least TV": {ROW: (0.05, 0.0625)}}
    experiment = tiny(bounds=bounds)
    runs = column("Markovian", FAR) + column("SRWM", NEAR)
    assert [*table(Results(experiment, runs))["least TV"]] == ["0.0500 to 0.0625"]
    assert "least TV" not in table(Results(tiny(), runs))


def test_a_standing_needs_three_seeds() -> None:
    runs = column("Markovian", FAR) + column("SRWM", NEAR)
    assert compared(runs).standing is Standing.BETTER
    assert compared(runs, PAIR[::-1]).standing is Standing.WORSE
    assert compared(runs[:-1]).standing is None
