"""Samples that are independent draws, in their order or as a histogram, and others."""

import json
import math
from collections import Counter
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.testing import assert_law
from reference.certificates.independence import (
    MOST,
    DependentError,
    _log_chance_of_repeats,
    _looks,
    check_apart,
    check_independent,
    check_repeats,
)
from tests.certificates.problems import FAIR, Words, certify_lines, drawn, other
from tests.command_lines import answer
from tests.refusals import refused, refuses

RANDOM = np.random.default_rng(0)
WRONG = {"a": 0.26, "b": 0.25, "c": 0.49}
INDEPENDENT = "TV of terminals, if the samples are independent"


def chain(keep: float, seed: int = 0, count: int = 20_000, values: int = 10) -> list[int]:
    """Samples of the uniform law, each of which repeats the one before with a probability."""
    random = np.random.default_rng(seed)
    fresh = np.where(random.random(count) < keep, 0, np.arange(count))
    return random.integers(values, size=count)[np.maximum.accumulate(fresh)].tolist()  # type: ignore[no-any-return]


def is_refused(*arguments: Any, check: Any = check_independent) -> bool:
    """True if samples, and perhaps those of a target, are refused at a level."""
    try:
        check("x", *arguments)
    except DependentError:
        return True
    return False


@pytest.mark.catches(
    "Equal samples between two that are compared are taken for some that are left.",
    "reference/certificates/independence.py",
    "        left[:-lag] -= same\n",
    "",
)
@pytest.mark.catches(
    "The sample itself is taken for one that is left.",
    "reference/certificates/independence.py",
    "np.bincount(places)[places] - 1 - earlier(places)",
    "np.bincount(places)[places] - earlier(places)",
)
@pytest.mark.parametrize("text", ["aabbcc", "aaaabb", "aaabcd", "abcdef"])
def test_in_the_mean_of_all_orders_no_look_wins(text: str) -> None:
    """So a level holds (Markov); and a look is fair, or nearly, where its chances are exact."""
    orders = [[*_looks(np.array([*map(ord, x)]) - ord("a"))] for x in permutations(text)]
    means = [np.mean(np.exp([x.log_capital for x in looks])) for looks in zip(*orders, strict=True)]
    assert 0.3 < min(means) <= max(means) <= 1 + 1e-12
    seen = [sum(x.equal for x in looks) for looks in zip(*orders, strict=True)]
    assert [sum(x.expected for x in y) for y in zip(*orders, strict=True)] == pytest.approx(seen)


@pytest.mark.catches(
    "Each look has the whole level.",
    "reference/certificates/independence.py",
    "[x.log_capital - math.log(j * (j + 1)) for",
    "[x.log_capital * j / j for",
)
@pytest.mark.catches(
    "The test has the whole level of the bounds.",
    "reference/certificates/independence.py",
    "SHARE = 0.1",
    "SHARE = 1.0",
)
def test_all_looks_share_a_tenth_of_the_level() -> None:
    samples = [0, 0, 0, 1, 1, 0, 0, 1, 1, 1]
    won = [math.exp(look.log_capital) for look in _looks(np.array(samples))]
    # Of look j, 1 / (j (j + 1)), so that all of them have less than 1.
    level = 10 / sum(x / (j * (j + 1)) for j, x in enumerate(won, 1))
    assert [is_refused(samples, level * by) for by in (0.999, 1.001)] == [False, True]


@pytest.mark.catches(
    "Each of five statements about two files has the whole level.",
    "reference/certificates/independence.py",
    "math.log(5 / (SHARE * level))",
    "math.log(1 / (SHARE * level))",
)
def test_two_files_are_refused_from_a_level_on() -> None:
    """The level was found by bisection."""
    random = np.random.default_rng(0)
    draws = random.integers(400, size=600)
    files = draws.tolist(), random.permutation(draws)[1:].tolist()
    assert not is_refused(*files, 0.0095, check=check_apart)
    assert is_refused(*files, 0.0097, check=check_apart)


@pytest.mark.parametrize(
    "weights",
    [[1] * 2, [1] * 10, [1] * 1_000, [1] * 100_000, [1 / k for k in range(1, 1_001)], [99, 1]],
    ids=["two", "ten", "thousand", "many", "heavy", "nearly constant"],
)
def test_independent_draws_are_refused_at_most_at_the_level(weights: list[float]) -> None:
    law = np.array(weights) / sum(weights)
    draws = np.random.default_rng(0).choice(len(law), (100, 1_000), p=law).tolist()
    assert sum(is_refused(x, 0.5) for x in draws) <= 0.05 * 100


@pytest.mark.parametrize("keep", [0.5, 0.8, 0.9, 0.95, 0.98])
def test_correlated_samples_have_no_verdict(keep: float) -> None:
    """At 0.9, 19 of 20 chains of the right law were refuted."""
    assert all(is_refused(chain(keep, seed), 1e-6) for seed in range(3))


SIZES = 4.0 ** -(np.arange(3_000) % 10)
BY_SIZE = RANDOM.choice(3_000, 40_000, p=SIZES / SIZES.sum())
BY_SIZE = BY_SIZE[np.argsort(SIZES[BY_SIZE], kind="stable")]
FIRST, SECOND = RANDOM.choice(2_000, (2, 1_000)).tolist()
test_samples_in_an_order_that_shows_are_refused = refuses(
    lambda samples: check_independent("x", samples, 1e-6),
    ([*range(3)] * 6_000, "samples 3 apart are equal 17,997 times, .* by a counter"),
    *(([*range(values)] * turns, "by a counter") for values, turns in ((10, 30), (3, 100_000))),
    (np.concatenate([RANDOM.permutation(10) for _ in range(2_000)]).tolist(), "balanced blocks"),
    (np.concatenate([RANDOM.permutation(2) for _ in range(200)]).tolist(), "balanced blocks"),
    (np.concatenate([RANDOM.permutation(900) for _ in range(20)]).tolist(), "without replacement"),
    # A walk that changes its side with each step, and never stands still.
    ((np.cumsum(RANDOM.integers(2, size=9_000) * 2 - 1) % 50).tolist(), "samples 2 apart .* time"),
    (sorted("ab" * 20), "neighbours are equal 38 times.* they are sorted: give the counts"),
    # By their rewards: values of one reward are mixed.
    (BY_SIZE.tolist(), "in their order"),
    (BY_SIZE[::-1].tolist(), "give independent draws in their order"),
    (FIRST * 2, "samples 1,000 apart are equal 1,0.* give each draw once"),
    ([*FIRST, *SECOND, *SECOND], "samples 1,000 apart .* another seed"),
    # Three workers with one seed, of which each gives four in its turn; fifty chains in turns.
    (np.repeat(RANDOM.integers(5_000, size=(900, 1, 4)), 3, 1).ravel().tolist(), "samples 4 apart"),
    (np.ravel([chain(0.9, i, 400) for i in range(50)], "F").tolist(), "samples 50 apart .* in 4,"),
    kind=DependentError,
)


def test_control_few_samples_and_constant_ones_are_not_refused() -> None:
    for right in ([], ["a"], ["a"] * 400, ["a", "b"], sorted("aabb"), [*range(400)]):
        assert not is_refused(right, 1e-6)


def test_a_right_chain_gets_no_verdict_unless_it_is_assumed_independent(tmp_path: Path) -> None:
    """TV was in [0.0118, 0.0574], and is 0; the same of a file, and of its histogram."""
    samples, law = chain(0.9), dict.fromkeys(range(10), 1)
    words = r"neighbours are equal [\d,]+ times.* correlation time is about 1\d samples; keep one"
    refused(words, lambda: pdai.certify(samples, law=law))
    with pytest.raises(AssertionError, match=f"no verdict: .*{words}"):
        assert_law(lambda count: chain(0.9, count, count), law)
    assumed = pdai.certify(samples, law=law, if_independent=True)
    counted = pdai.certify(Counter(samples), law=law)
    for made in (assumed, counted):
        assert INDEPENDENT in repr(made)
        assert next(iter(made.report)) == INDEPENDENT
        assert made.to_json()["conditions"] == ["the samples are independent"]
    (tmp_path / "s.csv").write_text("\n".join(map(str, samples)))
    (tmp_path / "law.csv").write_text("\n".join(map(str, law)))
    ask = ("certify", "s.csv", "--law", "uniform", "--support", "law.csv", "--fail-above", "0.01")
    assert "no verdict: 's.csv'" in answer(*ask, cwd=tmp_path, expect=3).stderr
    shown = answer(*ask, "--if-independent", cwd=tmp_path, expect=1).stdout
    assert shown.lstrip().startswith(f"{INDEPENDENT} [0.0")
    read = json.loads(answer(*ask, "--if-independent", "--json", cwd=tmp_path, expect=1).stdout)
    assert read["interval"] == [*assumed.interval]


def test_recorded_trajectories_and_samples_of_the_target_are_tested_too() -> None:
    law = dict.fromkeys(map(str, range(10)), 1)
    recorded = [f"{x},{-math.log(10)}" for x in chain(0.9)]
    words = "no verdict: '.*x.csv': neighbours"
    refused(words, lambda: certify_lines(["terminal,log_prob", *recorded], law=law))
    target = np.repeat(drawn(500), 4).tolist()
    one = other(children=lambda p, s: [] if s else [*"abc"], parents=None)
    for options in ({}, {"regime": "S"}):
        more: Any = {"target": target, "max_states": 2, **options}
        with pytest.raises(DependentError, match="no verdict: the target: neighbours"):
            pdai.certify(drawn(500), one, **more)


POOL = np.random.default_rng(77).integers(2**14, size=6_000)
SHARED = "no verdict: .* (coincide more often|are the same 6,000 ones)"
SHARING = {
    "all": POOL,
    "the first half": np.append(POOL[:3_000], RANDOM.integers(2**14, size=3_000)),
    "reversed": POOL[:0:-1],
    "rotated": np.roll(POOL, 3_000)[1:],
    "most": RANDOM.permutation(POOL)[:5_400],
    "most and fresh": RANDOM.permutation(np.append(POOL[600:], RANDOM.integers(2**14, size=600))),
    "half": RANDOM.permutation(POOL)[:3_000],
    "half and fresh": RANDOM.permutation(
        np.append(POOL[3_000:], RANDOM.integers(2**14, size=3_000))
    ),
    "twice": RANDOM.permutation(np.repeat(POOL, 2)),
}
LONG = other("Long", children=lambda p, s: [s + c for c in "01"] if len(s) < 14 else [])


@pytest.mark.catches(
    "A target may share draws with the samples.",
    "reference/certificates/independence.py",
    "if highest < -log * most / RATE:",
    "if False:",
)
@pytest.mark.catches(
    "An event of the first halves is bet on in both directions.",
    "reference/certificates/bare.py",
    "max(0.0, (expected.low - seen.high) * (1 - 2.0**-40))",
    "max(0.0, expected.low - seen.high, seen.low - expected.high)",
)
@pytest.mark.parametrize("target", SHARING.values(), ids=SHARING)
def test_a_target_that_shares_draws_with_the_samples_is_refused(target: Any) -> None:
    """TV of a right sampler was at least 0.146 to 0.785. Unasked, it is not shown to be wrong."""
    samples, shared = ([f"{x:014b}" for x in draws] for draws in (POOL, target))
    refused(SHARED, lambda: check_apart("x", samples, shared, 1e-6))
    options: Any = {"target": shared, "max_states": 3}
    refused(SHARED, lambda: pdai.certify(samples, LONG, **options))
    made = pdai.certify(samples, LONG, **options, if_independent=True)
    assert made.interval.low == 0
    assert "the samples of the target are independent, of each other and of the sa" in made.title


@pytest.mark.catches(
    "A target that is the samples is not refused where values are few.",
    "reference/certificates/independence.py",
    "if drawn == Counter(target):",
    "if False:",
)
def test_a_target_that_is_the_samples_is_refused_where_its_counts_are_rare() -> None:
    few = [str(x) for x in np.random.default_rng(3).integers(60, size=6_000)]
    refused(SHARED, lambda: check_apart("x", few, [*reversed(few)], 1e-6))
    # Of two values, equal counts are a chance of one in a hundred.
    coins = [str(x) for x in np.random.default_rng(3).integers(2, size=6_000)]
    check_apart("x", coins, [*reversed(coins)], 1e-6)


def test_control_a_target_apart_is_not_refused() -> None:
    random = np.random.default_rng(1)
    laws = np.ones(99), np.arange(1, 100), 1 / np.arange(1, 100), np.append(np.ones(49), [0] * 50)
    for p, q in product(laws, laws):
        for _ in range(5):
            x, y = (random.choice(99, 400, p=w / w.sum()).tolist() for w in (p, q))
            check_apart("x", x, y, 5.0)


LAW = {f"{i:02}": 1 for i in range(50)}
# What perfect samplers draw.
COUNTS = [
    dict(zip(LAW, row.tolist(), strict=True)) for row in RANDOM.multinomial(5_000, [0.02] * 50, 3)
]


@pytest.mark.catches(
    "A histogram is written out value by value, and not shuffled.",
    "reference/certificates/independence.py",
    "np.random.default_rng(seed).permutation(np.repeat(np.arange(len(numbers)), numbers))",
    "np.repeat(np.arange(len(numbers)), numbers)",
    by="refusal",
)
@pytest.mark.parametrize("level", [1e-6, 0.01])
@pytest.mark.parametrize("counts", COUNTS)
def test_a_histogram_of_a_perfect_sampler_is_not_refuted(
    counts: dict[str, int], level: float, tmp_path: Path
) -> None:
    """A file and a `Counter` of it have the same bounds, and say that they were not tested."""
    (tmp_path / "x.csv").write_text(
        "\n".join(["terminal,count", *(f"{x},{count}" for x, count in counts.items())])
    )
    (tmp_path / "x.jsonl").write_text(
        "\n".join(f'{{"terminal": "{x}", "count": {count}}}' for x, count in counts.items())
    )
    forms: list[Any] = [*map(tmp_path.joinpath, ("x.csv", "x.jsonl"))]
    made = [pdai.certify(what, law=LAW, level=level) for what in (*forms, Counter(counts))]
    assert {x.interval for x in made} == {made[0].interval}
    assert made[0].interval.low == 0
    assert made[0].interval.high < 0.2
    assert {x.samples for x in made} == {5_000}
    assert {x.title for x in made} == {INDEPENDENT}


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
def test_counts_may_stand_beside_log_probabilities() -> None:
    """TV is 0.01; the first block of the sorted lines alone would have another mean."""
    counts = dict(zip(WRONG, (5_200, 5_000, 9_800), strict=True))
    counted = ["state,log_prob,count", *(f"{x},{math.log(WRONG[x])},{counts[x]}" for x in WRONG)]
    made = certify_lines(counted, law=FAIR, level=1e-6)
    assert made.interval.low < 0.01 < made.interval.high < 0.03
    assert made.title == f"{INDEPENDENT} and these are the probabilities drawn from"


def test_histograms_of_two_laws_are_ordered_by_two_seeds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("pdai.certifying.judging.check_apart", lambda *x: seen.extend(x[1:3]))
    (tmp_path / "x.csv").write_text("terminal,count\naaa,100\naab,100\nbbb,100")
    pdai.certify(tmp_path / "x.csv", Words, target=tmp_path / "x.csv", max_states=3)
    assert Counter(seen[0]) == Counter(seen[1])
    assert seen[0] != seen[1]


MANY = dict.fromkeys(range(2_000), 1)
DRAWS = np.random.default_rng(0).choice(2_000, (20, 1_000)).tolist()
test_draws_without_their_repeats_are_refused = refuses(
    lambda samples: pdai.certify(samples, law=MANY),
    ([*dict.fromkeys(DRAWS[0])], r"samples: 7\d\d samples of 2,000 values have 0 repeats, but in"),
    (Counter({*DRAWS[0]}), r"7\d\d samples of 2,000 values have 0 repeats"),
    # Repeats were dropped by one of two workers; or draws are of half of the values, each once.
    ([*dict.fromkeys(DRAWS[0]), *DRAWS[1][:60]], r"samples of 2,000 values have \d\d repeats"),
    (RANDOM.permutation(1_000).tolist(), "1,000 samples of 2,000 values have 0 repeats"),
)


@pytest.mark.parametrize("log_prob", ["", f",{-math.log(2_000)}"])
def test_a_file_without_its_repeats_is_refused(log_prob: str) -> None:
    law, head = dict.fromkeys(map(str, MANY), 1), "terminal" + ",log_prob" * bool(log_prob)
    once, all_of_them = ([head, *(f"{x}{log_prob}" for x in y)] for y in ({*DRAWS[0]}, DRAWS[0]))
    words = r"x\.csv': 7\d\d samples of 2,000 values have 0 repeats"
    refused(words, lambda: certify_lines(once, law=law))
    assert certify_lines(all_of_them, law=law).interval.low == 0


def test_control_independent_draws_have_their_repeats() -> None:
    for draws in DRAWS:
        for count in (0, 1, 60, 300, 1_000):
            # Values of no law are not counted.
            check_repeats("x", [*draws[:count], *map(str, range(9_000))], MANY)


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (5, 1, 1, 1), (1, 1, 2, 0), (3, 3, 2, 1)])
def test_independent_draws_repeat_as_seldom_as_bounded(weights: tuple[int, ...]) -> None:
    for count in range(1, 8):
        met = Counter[int]()
        for draws in product(range(4), repeat=count):
            met[count - len({*draws})] += math.prod(weights[x] for x in draws)
        for repeats in range(count):
            chance = sum(met[r] for r in range(repeats + 1)) / sum(weights) ** count
            assert chance <= math.exp(_log_chance_of_repeats(count, repeats, 4)) <= 1
    assert _log_chance_of_repeats(7, 0, 4) < -5


test_counts_of_no_samples_of_too_many_and_of_no_whole_number_are_refused = refuses(
    lambda count: pdai.certify(Counter({"a": count, "b": count}), law=FAIR),
    *((count, "sum from 1 to 50,000,000, which memory sets") for count in (0, MOST, 10**30)),
    *(
        (count, "the count of 'a' is .*, but must be a whole number")
        for count in (-1, 1.5, True, None, "1e3", "-2", "", "²")
    ),
)
