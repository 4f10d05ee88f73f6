"""Histograms, and samples that are sorted: orders that independent draws do not have."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.testing import assert_law
from reference.certificates.histograms import (
    MOST,
    _chance_together,
    _log_chance_of_repeats,
    check_repeats,
    random_order,
)
from reference.errors import InputError
from tests.certificates.problems import FAIR, Words
from tests.certificates.test_log_prob import WRONG, log_prob
from tests.refusals import refuses

LAW = {f"{i:02}": 1 for i in range(50)}
RANDOM = np.random.default_rng(0)
# What perfect samplers draw, in the order of the values.
COUNTS = [
    dict(zip(LAW, row.tolist(), strict=True)) for row in RANDOM.multinomial(5_000, [0.02] * 50, 3)
]


def lines_of(counts: dict[str, int]) -> list[str]:
    return [x for x, count in counts.items() for _ in range(count)]


@pytest.mark.catches(
    "A histogram is written out value by value, and not shuffled.",
    "reference/certificates/histograms.py",
    "order = random.permutation(np.repeat(np.arange(len(many)), many))",
    "order = np.repeat(np.arange(len(many)), many)",
    by="refusal",
)
@pytest.mark.catches(
    "Sorted lines are taken for draws in their order.",
    "reference/certificates/histograms.py",
    "if len(samples) - equal[0] == len(totals) and _chance_together(totals) <= SORTED:",
    "if False:",
    by="refusal",
)
@pytest.mark.parametrize("level", [1e-6, 0.01])
@pytest.mark.parametrize("counts", COUNTS)
def test_a_histogram_of_a_perfect_sampler_is_not_refuted(
    counts: dict[str, int], level: float, tmp_path: Path
) -> None:
    """Nor is it as repeated lines; and a file and a `Counter` of it have the same bounds."""
    (tmp_path / "x.csv").write_text(
        "\n".join(["terminal,count", *(f"{x},{count}" for x, count in counts.items())])
    )
    (tmp_path / "x.jsonl").write_text(
        "\n".join(f'{{"terminal": "{x}", "count": {count}}}' for x, count in counts.items())
    )
    (tmp_path / "lines.csv").write_text("\n".join(lines_of(counts)))
    forms: list[Any] = [*map(tmp_path.joinpath, ("x.csv", "x.jsonl", "lines.csv"))]
    made = [pdai.certify(what, law=LAW, level=level) for what in (*forms, Counter(counts))]
    assert {x.interval for x in made} == {made[0].interval}
    assert made[0].interval.low == 0
    assert made[0].interval.high < 0.2
    assert {x.samples for x in made} == {5_000}
    assert all("put in a random order" in x.notes[-1] for x in made)


@pytest.mark.catches(
    "Lines are put in a random order only if a draw of their order is hopeless.",
    "reference/certificates/histograms.py",
    "SORTED = 2.0**-10",
    "SORTED = 2.0**-40",
)
def test_few_sorted_draws_of_a_perfect_sampler_do_not_refute_it() -> None:
    """In that order, TV was at least 0.026."""
    assert pdai.certify(["a"] * 20 + ["b"] * 20, law={"a": 1, "b": 1}, level=0.01).interval.low == 0


def test_the_beginning_of_what_is_sorted_is_no_sample() -> None:
    counts = Counter(COUNTS[0])
    with pytest.raises(InputError, match="first 4,000 values of an iterator stand together"):
        pdai.certify(counts.elements(), law=LAW, samples=4_000)
    assert pdai.certify(counts.elements(), law=LAW, samples=5_000).interval.low == 0


def test_a_histogram_of_a_wrong_sampler_is_refuted() -> None:
    counts = Counter({x: 100 + 50 * (x > "24") for x in LAW})
    assert 0 < pdai.certify(counts, law=LAW).interval.low < 0.1


@pytest.mark.catches(
    "The numbers beside sorted states keep the order of the lines.",
    "reference/certificates/recorded.py",
    "numbers = {name: column[order] for name, column in numbers.items()}",
    "numbers = {name: np.resize(column, len(order)) for name, column in numbers.items()}",
    by="refusal",
)
def test_counts_may_stand_beside_log_probabilities(tmp_path: Path) -> None:
    """TV is 0.01; the first block of the sorted lines alone would have another mean."""
    counts = dict(zip(WRONG, (5_200, 5_000, 9_800), strict=True))
    (tmp_path / "x.csv").write_text(
        "\n".join(["state,log_prob,count", *(f"{x},{log_prob(x)},{counts[x]}" for x in WRONG)])
    )
    (tmp_path / "lines.csv").write_text(
        "\n".join(["state,log_prob", *(f"{x},{log_prob(x)}" for x in lines_of(counts))])
    )
    one, other = (pdai.certify(tmp_path / name, law=FAIR) for name in ("x.csv", "lines.csv"))
    assert one.interval == other.interval
    assert one.interval.low < 0.01 < one.interval.high < 0.03


@pytest.mark.catches(
    "Samples of both laws are put in the same order.",
    "pdai/certifying/certify.py",
    'random_order("the target", options.target, seed=1)',
    'random_order("the target", options.target)',
)
def test_samples_of_two_laws_are_ordered_by_two_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sequence[Any]] = []

    def noting(samples: Any, target: Any, level: float) -> Any:
        seen.extend([samples, target])
        raise InputError("seen")

    monkeypatch.setattr("pdai.certifying.certify.against_samples", noting)
    words = sorted(["aaa", "aab", "bbb"] * 100)
    with pytest.raises(InputError, match="seen"):
        pdai.certify(words, Words, target=words, max_states=3)
    assert Counter(seen[0]) == Counter(seen[1]) == Counter(words)
    assert len({*map(tuple, seen), tuple(words)}) == 3


@pytest.mark.parametrize("text", ["ab", "aab", "aabb", "aabbc", "aaabbc"])
def test_the_chance_that_equal_draws_stand_together(text: str) -> None:
    orders = [*permutations(text)]
    together = sum(len([*groupby(order)]) == len({*text}) for order in orders)
    chance = Fraction(together, len(orders))
    assert _chance_together(Counter(text)) == pytest.approx(float(chance), rel=1e-12)


def test_draws_that_happen_to_be_sorted_keep_their_order() -> None:
    for few in (["a"] * 400, ["a", "b"], sorted("aabbccdd")):
        assert random_order("samples", few) == (None, [])
    assert random_order("samples", sorted("abcd" * 20))[0] is not None


@pytest.mark.catches(
    "Samples that are there twice are taken for independent draws.",
    "reference/certificates/histograms.py",
    "    if again := _again(places, np.array([*totals.values()])):",
    "    if again := None:",
)
def test_samples_that_come_again_are_refused(tmp_path: Path) -> None:
    """With a seed in the sampler, the uniform one of 2,000 values had TV of at least 0.5."""
    law = dict.fromkeys(range(2_000), 1)
    with pytest.raises(InputError, match="from sample 1 on come again from sample 1,001 on"):
        assert_law(lambda count: np.random.default_rng(0).choice(2_000, count), law, within=0.03)
    draws = np.random.default_rng(0).choice(2_000, 5_000).tolist()
    (tmp_path / "x.csv").write_text("\n".join(map(str, draws + draws)))
    with pytest.raises(InputError, match=r"x\.csv'.* come again from sample 5,001 on"):
        pdai.certify(tmp_path / "x.csv", law={str(x): 1 for x in law})
    # Workers, of which the second and the third share a seed; then in turns.
    first, second, *_ = np.split(np.array(draws), 5)
    with pytest.raises(InputError, match=r"sample 1,001 on come again from sample 2,001 on"):
        random_order("x", [*first, *second, *second])
    for right in (["a"] * 99, ["a", "b", "b"] * 99, draws, [0, 1] * 9 + draws, sorted(draws) * 2):
        assert random_order("x", right)[0] is None


MANY = dict.fromkeys(range(2_000), 1)
DRAWS = np.random.default_rng(0).choice(2_000, (20, 1_000)).tolist()
test_draws_without_their_repeats_are_refused = refuses(
    lambda samples: pdai.certify(samples, law=MANY),
    (
        [*dict.fromkeys(DRAWS[0])],
        r"samples: 7\d\d samples of 2,000 values have 0 repeats, but indep",
    ),
    (Counter({*DRAWS[0]}), r"7\d\d samples of 2,000 values have 0 repeats"),
    # Repeats were dropped by one of two workers; or draws are of half of the values, each once.
    ([*dict.fromkeys(DRAWS[0]), *DRAWS[1][:60]], r"samples of 2,000 values have \d\d repeats"),
    (RANDOM.permutation(1_000).tolist(), "1,000 samples of 2,000 values have 0 repeats"),
)


@pytest.mark.parametrize("log_prob", ["", f",{-math.log(2_000)}"])
def test_a_file_without_its_repeats_is_refused(log_prob: str, tmp_path: Path) -> None:
    path, head = tmp_path / "x.csv", "terminal,log_prob" if log_prob else "terminal"
    law = dict.fromkeys(map(str, MANY), 1)
    path.write_text("\n".join([head, *(f"{x}{log_prob}" for x in dict.fromkeys(DRAWS[0]))]))
    with pytest.raises(InputError, match=r"x\.csv': 7\d\d samples of 2,000 values have 0 repeats"):
        pdai.certify(path, law=law)
    path.write_text("\n".join([head, *(f"{x}{log_prob}" for x in DRAWS[0])]))
    assert pdai.certify(path, law=law).interval.low == 0


def test_control_independent_draws_have_their_repeats() -> None:
    for draws in DRAWS:
        for count in (0, 1, 60, 300, 1_000):
            # Values of no law are not counted.
            check_repeats("x", [*draws[:count], *map(str, range(9_000))], MANY)


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (5, 1, 1, 1), (1, 1, 2, 0), (3, 3, 2, 1)])
def test_independent_draws_repeat_seldom_at_most_as_often_as_bounded(
    weights: tuple[int, ...],
) -> None:
    for count in range(1, 8):
        met = Counter[int]()
        for draws in product(range(4), repeat=count):
            met[count - len({*draws})] += math.prod(weights[x] for x in draws)
        for repeats in range(count):
            chance = sum(met[r] for r in range(repeats + 1)) / sum(weights) ** count
            assert chance <= math.exp(_log_chance_of_repeats(count, repeats, 4)) <= 1
    assert _log_chance_of_repeats(7, 0, 4) < -5


def test_correlated_samples_are_noted_and_keep_their_order() -> None:
    places = RANDOM.integers(0, 50, 4_000)
    assert random_order("x", places.tolist()) == (None, [])
    order, (note,) = random_order("x", np.repeat(places, 2).tolist())
    assert order is None
    assert "neighbours are equal 4,0" in note
    # Of three workers with one seed, each gives four in its turn.
    turns = RANDOM.integers(0, 5_000, (1_000, 1, 4)).repeat(3, axis=1).ravel()
    _, (note,) = random_order("x", turns.tolist())
    assert "samples 4 apart are equal 8,0" in note


test_counts_of_no_samples_of_too_many_and_of_no_whole_number_are_refused = refuses(
    lambda count: pdai.certify(Counter({"a": count, "b": count}), law=FAIR),
    *((count, "sum from 1 to 50,000,000, which memory sets") for count in (0, MOST, 10**30)),
    *(
        (count, "the count of 'a' is .*, but must be a whole number")
        for count in (-1, 1.5, True, None, "1e3", "-2", "", "²")
    ),
)
