"""Samples with log-probabilities or counts beside them, or in an order, and a law."""

import ast
import math
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby, permutations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pdai
from pdai.adapters.log_prob import sampler
from pdai.testing import assert_law
from reference import InputError
from reference.certificates.histograms import (
    MOST,
    _chance_together,
    _log_chance_of_repeats,
    check_repeats,
    random_order,
    unsorted,
)
from reference.problems import Cell, Grid
from tests.certificates.problems import FAIR, Words, certify_lines, drawn
from tests.command_lines import answer
from tests.refusals import refused, refuses

WRONG = {"a": 0.26, "b": 0.25, "c": 0.49}
ALONE = "TV of terminals by the samples alone"


def log_prob(x: str) -> float:
    return math.log(WRONG[x])


@pytest.mark.catches(
    "A log-probability of terminal states is taken for one of trajectories.",
    "pdai/certifying/sources.py",
    '    of = "terminals"\n',
    "",
)
def test_log_probabilities_bring_the_interval_to_a_tenth_of_that_of_bare_samples() -> None:
    """TV is 0.01, the mean of `1 - 0.25 / 0.26` where a is drawn."""
    samples = drawn(20_000, [*WRONG.values()])
    bare = pdai.certify(samples, law=FAIR).interval
    made = pdai.certify(samples, law=FAIR, log_prob=log_prob)
    assert (made.regime, made.of, made.samples) == ("Z", "terminals", 20_000)
    assert made.interval.low < 0.01 < made.interval.high
    assert made.interval.width < bare.width / 10
    assert not any("trajectory distributions" in note for note in made.notes)
    # Three weights have no tail.
    assert "Pareto k of the weights" not in made.report


def test_a_file_may_have_them_in_a_column(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\nc,2\n")
    lines = [f"{x},{log_prob(x)}" for x in drawn(5_000, [*WRONG.values()])]
    (tmp_path / "s.csv").write_text("\n".join(["terminal,log_prob", *lines]))
    ask = ("certify", "s.csv", "--law", "law.csv", "--fail-above")
    assert "TV of terminals [0.00" in answer(*ask, "0.02", cwd=tmp_path, expect=0).stdout
    answer(*ask, "0.001", cwd=tmp_path, expect=1)


def test_a_problem_of_many_steps_takes_them_too() -> None:
    """Words are drawn uniformly, which is the law."""
    words = [a + b + c for a in "ab" for b in "ab" for c in "ab"]
    ends = [x for x in words if not Words().children(x)]
    target = pdai.certify([*ends] * 50, Words, log_prob=lambda x: -math.log(len(ends)))
    assert (target.regime, target.of) == ("Z", "terminals")


def test_where_states_are_not_listed_each_is_followed_back(tmp_path: Path) -> None:
    """As many cells beyond the grid as in it, each as probable: TV is at least a half."""
    rows = np.random.default_rng(0).integers(64, size=640).tolist()
    cells, lines = [Cell((i, 0), True) for i in rows], [f'"{i},0",-4.2' for i in rows]
    (tmp_path / "s.csv").write_text("\n".join(["terminal,log_prob", *lines]))
    grid = Grid(32)
    object.__setattr__(grid, "parse", lambda text: Cell(ast.literal_eval(text), True))
    for samples, more in ((cells, {"log_prob": lambda x: -4.2}), (tmp_path / "s.csv", {})):
        with pytest.raises(InputError, match=r"has Cell.*, which is not reached in Grid"):
            pdai.certify(samples, grid, max_states=9, **more)


test_what_is_no_log_probability_is_refused = refuses(
    lambda samples, options: pdai.certify(samples, law=FAIR, **options),
    (["a", "b"] * 5, {"log_prob": lambda x: 0.0}, "2 distinct samples sum to 2, more than 1"),
    (["a", "b"] * 5, {"log_prob": lambda x: math.nan}, "log_prob"),
    (["a", "b"] * 5, {"log_prob": lambda x: -math.inf}, "log_prob of 'a' is -inf"),
    (["a", "a", "d"], {"log_prob": log_prob}, "outside of the target"),
    (lambda state: [1], {"log_prob": log_prob}, "log_prob is of bare samples"),
)


@pytest.mark.catches(
    "Samples are not compared with the log-probabilities beside them.",
    "reference/certificates/recorded.py",
    "if least_gap(bounds._replace(low=0.0) if is_least else bounds, share) > EXCESS:",
    "if False:",
)
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_samples_of_another_temperature_than_their_log_prob_are_refused(power: float) -> None:
    """By the log-probabilities, TV was at most 0.0039, where it is 0.09 and 0.17."""
    chances = np.array([*FAIR.values()]) ** power
    samples = np.random.default_rng(0).choice([*FAIR], 20_000, p=chances / chances.sum())
    with pytest.raises(InputError, match=r"probability .* by their log_prob: give that of the"):
        pdai.certify(samples, law=FAIR, log_prob=lambda x: math.log(FAIR[x] / 4))


def test_samples_beside_the_log_prob_of_their_target_are_refused() -> None:
    """By the log-probabilities, TV was at most 0.0008, where it is 11/600."""
    law = {"a": 1, "b": 2, "c": 3}

    def made(*chances: float) -> Any:
        samples = np.random.default_rng(1).choice([*law], 20_000, p=chances)
        beside = pdai.certify(samples, law=law, log_prob=lambda x: math.log(law[x] / 6))
        assert pdai.certify(samples, law=law).interval == beside.value(ALONE)
        return beside

    assert made(1 / 6, 1 / 3, 1 / 2).interval.high < 0.0008
    refused(r"\[0, 0.0007\d*\] by the log-.* in \[0.003\d*, 0.04", made, 0.185, 0.315, 0.5)


def test_a_state_has_one() -> None:
    lines = ["terminal,log_prob", "a,-1", "a,-2"]
    refused("'a' has the log_prob -1 and -2", lambda: certify_lines(lines, law=FAIR))
    refused("log_prob is given without a target", certify_lines, lines)
    # The means of two steps, in place of their sums: TV was at least 0.4, where it is 0.
    means = [f"{x},{math.log(FAIR[x] / 4) / 2},0,{math.log(FAIR[x])}" for x in "abcc"]
    recorded = ["terminal,log_p_f,log_p_b,log_reward", *means]
    words = r"trajectories to 3 distinct states sum to 1.7.* steps"
    refused(words, lambda: certify_lines(recorded, law=FAIR))


class Module:
    """A stand-in for a module of PyTorch: a batch of states, and an answer with `detach`."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def __iter__(self) -> Any:
        raise AssertionError

    def log_prob(self, x: Any) -> Any:
        assert x.shape[1:] == (2,)
        return Tensor(np.log(np.where(x.sum(1) > 1, 0.4, 0.2) * self.scale, dtype=np.float32))


Module.__module__ = "torch.nn.modules.module"


class Tensor:
    def __init__(self, values: Any):
        self.values = values

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> Any:
        return self.values


PAIRS: dict[Any, int] = {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(as_tensor=np.asarray))


@pytest.mark.usefixtures("torch")
@pytest.mark.catches(
    "The probability that is missing is spread over the terminal states.",
    "pdai/certifying/sources.py",
    "if total < 1 - ROUNDING * (1 + spread):",
    "if total < 0:",
)
def test_a_module_with_log_prob_is_certified_at_every_state() -> None:
    """Its probabilities are 1/5, 1/5, 1/5 and 2/5; halved, one half lies elsewhere."""
    made = pdai.certify(Module(), law=PAIRS)
    assert (made.regime, made.of) == ("E", "terminals")
    assert made.tv == pytest.approx(Fraction(3, 20), abs=1e-6)
    # What float32 explains is not missing, and nothing more: TV was 0 with 9e-5 elsewhere.
    for lost, tv in ((0.5, 0.5), (9e-5, 0.15 + 0.6 * 9e-5), (1e-7, 0.15)):
        less = pdai.certify(Module(1 - lost), law=PAIRS)
        assert less.tv == pytest.approx(tv, abs=1e-6)
        assert any("lies outside" in note for note in less.notes) == (lost > 1e-6)
    samples = [x for x, n in zip(PAIRS, (1, 1, 1, 2), strict=True) for _ in range(2_000 * n)]
    bare = pdai.certify(samples, law=PAIRS, log_prob=Module().log_prob)
    assert bare.interval.low < 0.15 < bare.interval.high < bare.interval.low + 0.1


def test_a_function_of_encoded_states_and_an_object_of_a_problem() -> None:
    texts = sampler(lambda x: np.log(x), encode=lambda states: [WRONG[x] for x in states])
    assert pdai.certify(texts, law=FAIR).tv == pytest.approx(Fraction(1, 100), abs=1e-12)
    uniform = SimpleNamespace(log_prob=lambda x: -math.log(8))
    assert pdai.certify(uniform, Words).tv == pytest.approx(Fraction(3, 20), abs=1e-12)
    # Far below the least float, and no less drawn.
    rare = SimpleNamespace(log_prob={"a": -math.log(2), "b": -math.log(2), "c": -800.0}.get)
    kl = pdai.certify(rare, law=FAIR).value("KL(target || p_T), nats")
    assert kl == pytest.approx(400 - math.log(2), rel=1e-12)

    class Both(SimpleNamespace):
        def __call__(self, state: Any) -> list[float]:
            return [0.9, 0.1]

    both = pdai.certify(Both(log_prob=uniform.log_prob), Words)
    assert any("what it gives when it is called was not" in note for note in both.notes)
    assert not any("was asked" in note for note in pdai.certify(uniform, Words).notes)


test_what_cannot_be_asked_is_refused = refuses(
    lambda what, options: pdai.certify(what, **options),
    (Module(1.5), {"law": PAIRS}, "sum to 1.5, more than 1"),
    (Module(), {"law": {"a": 1}}, "'a' is no number and no tuple of numbers"),
    (Module(), {}, "no target"),
    (Module(), {"law": PAIRS, "regime": "Z"}, "give samples, and log_prob="),
    (Module(), {"law": PAIRS, "certificate": "file"}, "log_prob has none"),
    (sampler(lambda x: 0.0, encode=list), {"law": FAIR}, r"the shape \(\) for 3 states"),
    (sampler(iter, encode=list), {"law": FAIR}, r"the shape \(\) for 3 states"),
    (
        sampler(lambda xs: pd.Series([-1.0] * len(xs), index=xs[::-1]), encode=list),
        {"law": FAIR},
        r"the shape \(\) for 3 states",
    ),
    (
        sampler(lambda xs: np.ma.array([-1.0] * len(xs), mask=True), encode=list),
        {"law": FAIR},
        "log_prob of 'a' is nan",
    ),
    (
        sampler(lambda xs: np.log2([WRONG[x] for x in xs]), encode=list),
        {"law": FAIR},
        "sum to .*, and to 1 in base 2: give natural logarithms",
    ),
    (
        sampler(lambda x: np.log(np.random.default_rng().dirichlet([1] * len(x))), encode=list),
        {"law": FAIR},
        "asked again",
    ),
    (sampler(lambda x: -np.log([len(x)] * len(x)), encode=list), {"law": FAIR}, "asked again"),
    marks=[pytest.mark.usefixtures("torch")],
)


def test_a_module_of_pytorch_itself() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed, and not in dev")
    law = dict(enumerate([1, 2, 3]))
    made = pdai.certify(torch.distributions.Categorical(logits=torch.zeros(3)), law=law)
    assert made.tv == pytest.approx(Fraction(1, 6), abs=1e-6)


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


@pytest.mark.catches(
    "Samples that are sorted by their rewards are taken for draws in their order.",
    "reference/certificates/histograms.py",
    "        if math.log(2 * len(columns)) - log_orders <= math.log(SORTED):",
    "        if False:",
)
@pytest.mark.parametrize("sign", [1, -1])
def test_draws_that_are_sorted_by_their_rewards_do_not_refute_a_perfect_sampler(sign: int) -> None:
    """TV was at least 0.37 in one order, and refused in the other."""
    law = {i: Fraction(1, 4 ** (i % 10)) for i in range(3_000)}
    chances = np.array([*law.values()], float)
    draws = np.random.default_rng(0).choice(3_000, 40_000, p=chances / chances.sum()).tolist()
    made = pdai.certify(sorted(draws, key=lambda x: sign * law[x]), law=law)
    assert made.interval.low == 0
    assert any("sorted by the probabilities of the law" in note for note in made.notes)
    for kept in (draws, sorted(draws[:4], key=law.__getitem__)):
        assert unsorted("x", kept, law) == (kept, [])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("has_steps", [True, False])
def test_numbers_that_are_sorted_do_not_refuse_a_perfect_sampler(
    tmp_path: Path, sign: int, has_steps: bool
) -> None:
    """They were said to be of another sampler, as one half had what the other had not."""
    law = {i: 4 ** -(i % 10) for i in range(3_000)}
    log_z = math.log(sum(law.values()))
    chances = np.array([*law.values()]) / math.exp(log_z)
    draws = np.random.default_rng(0).choice(3_000, 20_000, p=chances).tolist()
    rows = [(x, math.log(law[x]) - log_z, 0, math.log(law[x])) for x in draws]
    rows.sort(key=lambda row: sign * row[1])
    (tmp_path / "law.csv").write_text("".join(f"{x},{p!r}\n" for x, p in law.items()))
    head = "terminal,log_p_f,log_p_b,log_reward" if has_steps else "terminal,log_prob"
    lines = [",".join(map(str, row if has_steps else row[:2])) for row in rows]
    (tmp_path / "s.csv").write_text("\n".join([head, *lines]))
    made = pdai.certify(tmp_path / "s.csv", law=tmp_path / "law.csv")
    assert made.interval.high < 0.001
    assert any("sorted by their numbers" in note for note in made.notes)


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
def test_counts_may_stand_beside_log_probabilities() -> None:
    """TV is 0.01; the first block of the sorted lines alone would have another mean."""
    counts = dict(zip(WRONG, (5_200, 5_000, 9_800), strict=True))
    counted = ["state,log_prob,count", *(f"{x},{log_prob(x)},{counts[x]}" for x in WRONG)]
    each = ["state,log_prob", *(f"{x},{log_prob(x)}" for x in lines_of(counts))]
    one, other = (certify_lines(lines, law=FAIR, level=1e-6) for lines in (counted, each))
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
    refused("seen", lambda: pdai.certify(words, Words, target=words, max_states=3))
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
