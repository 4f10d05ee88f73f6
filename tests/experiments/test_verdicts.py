"""The rule by which a row is judged, what rows say together, and all rows of all claims."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

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


def judge(experiment: Experiment, runs: list[Run]) -> Outcome:
    return Comparison(Results(experiment, runs), ROW, PAIR).outcome


def judged(
    first: Sequence[float], second: Sequence[float], uniform: float = 0.9, **options: Any
) -> Outcome:
    runs = column("Markovian", first, uniform) + column("SRWM", second, uniform)
    return judge(tiny(**options), runs)


FAR, NEAR = (0.5, 0.51, 0.49), (0.2, 0.21, 0.19)


def test_the_better_model_is_told_by_the_interval() -> None:
    assert judged(FAR, NEAR) is Outcome.REPRODUCED
    # Control: the same numbers, exchanged.
    assert judged(NEAR, FAR) is Outcome.OPPOSITE
    # Control: the same means, from seeds that do not agree.
    assert judged((0.2, 0.8, 0.5), (0.35, 0.05, 0.2)) is Outcome.UNDECIDED


def test_a_negligible_difference_decides_nothing() -> None:
    assert judged((0.2, 0.2, 0.2), (0.1995, 0.1995, 0.1995)) is Outcome.UNDECIDED
    # Control: one that is not.
    assert judged((0.2, 0.2, 0.2), (0.1985, 0.1985, 0.1985)) is Outcome.REPRODUCED


def test_two_models_at_the_floor_have_no_headroom() -> None:
    floor = (0.0004, 0.0003, 0.0009)
    assert judged(floor, (0.0002, 0.0001, 0.0003)) is Outcome.NO_HEADROOM
    # Control: the worse one is not there.
    assert judged((0.0024, 0.0013, 0.0019), (0.0022, 0.0011, 0.0023)) is Outcome.UNDECIDED


def test_a_sampled_law_is_at_the_floor_of_its_samples() -> None:
    exact = {"tv": {"mean": 0.0137}}
    near = column("SRWM", (0.0136, 0.0139, 0.0138), tv_kind="sampled", exact=exact)
    first = column("Markovian", (0.0005, 0.0006, 0.0004))
    assert judge(tiny(), first + near) is Outcome.NO_HEADROOM
    # Control: the law that is exact is not at its own floor, which is zero.
    poor = column("Markovian", (0.0085, 0.0086, 0.0084))
    assert judge(tiny(), poor + near) is Outcome.UNDECIDED
    # Control: where one seed of three is sampled, the floor of the mean is a third.
    some = [near[0], *(dataclasses.replace(one, tv_kind="estimated") for one in near[1:])]
    assert judge(tiny(), first + some) is Outcome.OPPOSITE


def test_what_nobody_learns_has_no_headroom() -> None:
    assert judged((0.9, 0.91, 0.8995), (0.95, 0.9, 0.9)) is Outcome.NO_HEADROOM
    # Control: one seed of one model did learn.
    assert judged((0.9, 0.91, 0.6), (0.95, 0.9, 0.9)) is Outcome.UNDECIDED


def test_what_all_are_stuck_at_has_no_headroom() -> None:
    stuck = (0.7510, 0.7510, 0.7511)
    assert judged(stuck, stuck) is Outcome.NO_HEADROOM
    # Controls: one seed is not; or the place is near the target.
    assert judged(stuck, (0.7510, 0.7511, 0.5)) is Outcome.UNDECIDED
    assert judged((0.02, 0.02, 0.0201), (0.0201, 0.02, 0.02)) is Outcome.UNDECIDED


def test_a_tie_that_the_paper_predicts_counts_as_reproduced() -> None:
    level = ((0.0201, 0.02, 0.02), (0.02, 0.02, 0.0201))
    for options in ({"ties": (ROW,)}, {"expects": "equal"}):
        assert judged(*level, **options) is Outcome.REPRODUCED
        # At a uniform target nothing has to be learned.
        assert judged((0.0,) * 3, (1e-8,) * 3, uniform=0.0, **options) is Outcome.REPRODUCED
        # Controls: a difference either way; seeds that do not agree; nobody learned.
        assert judged(FAR, NEAR, **options) is Outcome.OPPOSITE
        assert judged(NEAR, FAR, **options) is Outcome.OPPOSITE
        assert judged((0.2, 0.8, 0.5), (0.5, 0.2, 0.8), **options) is Outcome.UNDECIDED
        assert judged((0.9,) * 3, (0.9,) * 3, **options) is Outcome.NO_HEADROOM
    # Control: where it predicts none.
    assert judged(*level) is Outcome.UNDECIDED


def test_a_better_fit_is_not_a_nearly_perfect_one() -> None:
    assert judged(FAR, NEAR, reaches=0.05) is Outcome.DIRECTION
    # Controls: one that is nearly perfect, and one that is no better.
    assert judged(FAR, (0.04, 0.03, 0.05), reaches=0.05) is Outcome.REPRODUCED
    assert judged(NEAR, FAR, reaches=0.05) is Outcome.OPPOSITE


def test_what_cannot_be_tested_or_was_not_run_is_not_judged() -> None:
    assert judged(FAR, NEAR, not_testable="it compares other sizes") is Outcome.NOT_TESTABLE
    assert judged(FAR[:2], NEAR[:2]) is Outcome.OPEN
    assert judged(FAR, ()) is Outcome.OPEN


def test_each_metric_has_a_size_below_which_nothing_counts() -> None:
    def kl(first: float, second: float) -> Outcome:
        runs = [
            run(model, seed, 0.0, probes=[{"step": 1, "kl": value}])
            for model, value in zip(PAIR, (first, second), strict=True)
            for seed in range(3)
        ]
        return judge(tiny(metric="memory"), runs)

    # By Pinsker's inequality laws that are 0.0002 nats apart are at most 0.01 apart.
    assert (MEASURES["memory"].negligible / 2) ** 0.5 == pytest.approx(0.01)
    assert kl(0.03, 2e-5) is Outcome.REPRODUCED
    assert kl(4e-5, 2e-6) is Outcome.NO_HEADROOM
    for measure in MEASURES.values():
        assert measure.negligible > 0
        assert f"{measure.negligible:g}" in RULE


def test_more_is_better_where_rewards_are_compared() -> None:
    def met(first: float, second: float, **options: Any) -> Outcome:
        runs = [
            run(model, s, 0.0, probes=[{"step": 1, "learned": [["a", value]], "uniform": low}])
            for model, value in zip(PAIR, (first, second), strict=True)
            for s in range(3)
        ]
        return judge(tiny(metric="best", **options), runs)

    low = [["a", 1.0]]
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
    runs = column("Markovian", FAR) + column("SRWM", NEAR)
    row = Comparison(Results(experiment, runs), ROW, PAIR)
    assert (row.size, row.papers_size) == (pytest.approx(0.4), pytest.approx(0.25))
    # Where one law is sampled, what exact sampling has bounds the ratio.
    exact = {"tv": {"mean": 0.01}}
    sampled = column("SRWM", (0.02,) * 3, tv_kind="sampled", exact=exact)
    runs = column("Markovian", (0.001,) * 3) + sampled
    row = Comparison(Results(experiment, runs), ROW, PAIR)
    assert row.size == pytest.approx(2.0)


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

    def standing(runs: list[Run], pair: tuple[str, str]) -> Standing | None:
        return Comparison(Results(tiny(), runs), ROW, pair).standing

    assert standing(runs, PAIR) is Standing.BETTER
    assert standing(runs, PAIR[::-1]) is Standing.WORSE
    assert standing(runs[:-1], PAIR) is None
