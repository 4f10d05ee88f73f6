"""The ways into `pdai certify` without a Python module: laws, inputs, and what each refuses."""

import io
import itertools
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from examples import samplers
from examples.sat_samplers import Solution, listed, read
from pdai.testing import UndecidedError, assert_law
from reference import InputError
from reference.certificates.betting import MeanInterval
from reference.certificates.collisions import probability
from reference.certificates.independence import SHARE
from reference.certificates.listed import ListedLaw, from_logs
from reference.certificates.power import _wrong_laws
from tests.certificates.problems import FAIR, Fork, drawn
from tests.command_lines import answer
from tests.refusals import refused, refuses

# The solutions of (1 or 2 or 3), and the law that is uniform on them.
SOLUTIONS = [x for x in itertools.product((-1, 1), (-2, 2), (-3, 3)) if max(x) > 0]
SEVEN = {"law": "uniform", "support": SOLUTIONS}


def test_weights_and_log_weights_are_a_law() -> None:
    assert from_logs({"a": 0, "b": -1}) == {"a": 1, "b": pytest.approx(np.exp(-1), rel=1e-15)}
    law = ListedLaw({"a": 0.1, "b": Fraction(1, 3)})
    assert (law.reward("a"), law.children(law.initial)) == (Fraction(0.1), ("a", "b"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("law.csv", "value,log_weight\na,0\nb,0.0\nc,0.69314718055994530942\nd,-inf\n"),
        ("law.csv", "weight,value\n1,a\n1,b\n2,c\n"),
        ("law.jsonl", '{"value": "a", "weight": 1}\n{"value": "b", "weight": 1.0}\n'
         '{"weight": 2, "value": "c"}\n'),
    ],
)  # fmt: skip
def test_a_law_in_a_file_has_weights_or_log_weights(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    samples = Random(0).choices("abc", [1, 1, 2], k=8_000)
    assert pdai.certify(samples, law=tmp_path / name).interval.high < 0.09
    wrong = Random(0).choices("abc", k=8_000)
    assert pdai.certify(wrong, law=tmp_path / name).interval.low > 0.1


@pytest.mark.catches(
    "Any first line of letters names a column.",
    "reference/contract/tables.py",
    "            return first[0] in VALUES",
    "            return not first[0].isdigit()",
)
@pytest.mark.parametrize(
    ("head", "option", "values"),
    [
        *((name, [], 3) for name in ("value", "terminal", "state", "sample")),
        *((name, [], 4) for name in ("values", "word", "solution", "weight", "0")),
        *(("0", [option], values) for option, values in (("--header", 3), ("--no-header", 4))),
        ("state", ["--no-header"], 4),
    ],
)
def test_only_known_names_are_a_header_of_samples_and_laws_alike(
    tmp_path: Path, head: str, option: list[str], values: int
) -> None:
    draws = Random(0).choices("123", k=40_000)
    for name, lines in (("law.csv", ["1", "2", "3"]), ("x.csv", draws)):
        (tmp_path / name).write_text("\n".join([head, *lines]))
    ask = ("certify", "x.csv", "--law", "uniform", "--support", "law.csv", "--json", *option)
    made = json.loads(answer(*ask, cwd=tmp_path).stdout)
    low, high = made["interval"]
    assert low <= (0.25 if values == 4 else 0) <= high < low + 0.1
    assert (made["samples"], low > 0.2) == (40_000 + (values == 4), values == 4)


def test_a_value_that_is_never_drawn_may_stand_first(tmp_path: Path) -> None:
    """A sampler that leaves out the first of 0, 1, 2 and 3, which was refused as bad input."""
    (tmp_path / "four.csv").write_text("0\n1\n2\n3\n")
    (tmp_path / "x.csv").write_text("\n".join(Random(0).choices("123", k=40_000)))
    ask = ("certify", "x.csv", "--law", "uniform", "--support", "four.csv", "--json")
    said = answer(*ask, "--fail-above", "0.2", cwd=tmp_path, expect=1)
    low, high = json.loads(said.stdout)["interval"]
    assert 0.2 < low <= 0.25 <= high < 0.3


def test_a_header_names_the_columns_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("count,sample\n3,a\n1,state\n")
    (tmp_path / "law.csv").write_text("weight,terminal\n3,a\n1,state\n")
    (tmp_path / "bare.csv").write_text("state,1\na,3\n")
    for law in ("law.csv", "bare.csv"):
        made = pdai.certify(tmp_path / "x.csv", law=tmp_path / law)
        assert (made.samples, made.impossible) == (4, 0)
        assert made.value("TV(empirical law, target)") == 0


def test_a_line_of_json_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('"a\u2028b"\r\n' * 500, "utf-8")
    assert pdai.certify(tmp_path / "s.jsonl", law={"a\u2028b": 1}).samples == 500


@pytest.mark.parametrize("options", [{}, {"log_prob": lambda x: np.log(0.5)}])
def test_the_empty_tuple_is_a_value(options: dict[str, Any]) -> None:
    samples = [((), (1,))[bit] for bit in np.random.default_rng(0).integers(2, size=1_000)]
    made = pdai.certify(samples, law={(): 1, (1,): 1}, **options)
    assert made.interval.low == 0
    # Control: a law that excludes it.
    assert pdai.certify(samples, law={(): 0, (1,): 1}).interval.low > 0.3


@pytest.mark.parametrize("name", ["law", "weights"])
def test_a_law_of_counts_is_remarked_on(name: str) -> None:
    """Beside 100 draws of a uniform target of 20 values, TV of a right sampler was over 0.13."""
    counts = {x: 1 + (x == "a") for x in "abc"}
    for law, noted in ((counts, False), (Counter(counts), True)):
        notes = pdai.certify(["a", "b"] * 9, **{name: law}).notes
        assert any("taken for exact weights" in note for note in notes) == noted


def brute(n: int, clauses: Any, odd: Any, shown: Any) -> set[Solution]:
    """The solutions by all assignments."""
    every = [set(x) for x in itertools.product(*((-v, v) for v in range(1, n + 1)))]
    whole = [x for x in every if all(x & {*c} for c in clauses)]
    whole = [x for x in whole if all(len(x & {*c}) % 2 for c in odd)]
    return {tuple(v if v in x else -v for v in shown) for x in whole}


@pytest.mark.parametrize(
    ("text", "solutions"),
    [
        ("p cnf 4 3\nx1 2 3 0\nx2 4 0\nx3 4 0\n", [(1, -2, -3, 4), (1, 2, 3, -4)]),
        ("c ind 1 2 0\np cnf 3 2\n1 2 0\n1 3 0\n", [(-1, 2), (1, -2), (1, 2)]),
        ("p cnf 3 1\n1 2\n3 0\n", SOLUTIONS),
        ("p cnf 2 1\n1 2 0\n%\n0\n", [(-1, 2), (1, -2), (1, 2)]),
    ],
)
def test_the_solutions_of_a_formula_are_listed(
    tmp_path: Path, text: str, solutions: list[Solution]
) -> None:
    (tmp_path / "formula.cnf").write_text(text)
    formula = read(tmp_path / "formula.cnf")
    assert sorted(listed(formula)) == sorted(solutions) == sorted(brute(*formula))
    refused("more than 1 solutions", listed, formula, 1)


def test_a_formula_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    for text in ("1 2 0\n-1 3", "x1 2\n"):
        (tmp_path / "formula.cnf").write_text(f"p cnf 3 2\n{text}")
        refused("does not end with 0: is the file whole", read, tmp_path / "formula.cnf")


def test_solutions_of_drawn_formulas_are_those_of_all_assignments(tmp_path: Path) -> None:
    rng, sizes = Random(0), Counter[bool]()
    for _ in range(60):
        n = rng.randint(2, 6)
        lines = [f"p cnf {n} 0", "c p show " + " ".join(map(str, range(1, n))) + " 0"]
        for _ in range(rng.randint(0, 7)):
            literals = [rng.choice((-1, 1)) * v for v in rng.sample(range(1, n + 1), 2)]
            lines.append(rng.choice(("", "x")) + " ".join(map(str, (*literals, 0))))
        (tmp_path / "formula.cnf").write_text("\n".join(lines))
        formula = read(tmp_path / "formula.cnf")
        solutions = listed(formula)
        assert sorted(solutions) == sorted(brute(*formula))
        sizes[bool(solutions)] += 1
    assert min(sizes[True], sizes[False]) > 5


def test_a_fair_coin_at_every_variable_is_exposed() -> None:
    """It gives the solution with the last variable alone 1/4 in place of 1/7."""
    rng = np.random.default_rng(0)
    coins = rng.choice((-1, 1), (8_000, 3)) * (1, 2, 3)
    coins[(coins[:, :2] < 0).all(1), 2] = 3
    made = pdai.certify(coins, **SEVEN)
    assert 0.03 < made.interval.low < 3 / 28 < made.interval.high


@pytest.mark.catches(
    "The intervals of values that stand out do not share their level.",
    "reference/certificates/bare.py",
    "math.log(2 * len(listed) / level)",
    "math.log(2 / level)",
)
def test_values_that_stand_out_are_shown_with_intervals_that_hold_together() -> None:
    """Three of 64 values: one too often, one too seldom, and one outside of the law."""
    law = dict.fromkeys(range(64), 1)
    chances = np.array([*[1] * 62, 1.6, 0.1, 0.3])
    values = np.random.default_rng(0).choice(65, size=20_000, p=chances / 64).tolist()
    made = pdai.certify(values, law={**law, 64: 0})
    assert made.value("values that stand out in one half, of 65") == 3
    log = math.log(2 * 3 / made.level)
    for value, share in ((62, "0.015625"), (63, "0.015625")):
        seen = values[10_000:].count(value)
        bound = made.value(f"probability of {value}, {share} in the target")
        assert bound == probability(seen, 10_000, log)
    shown = (str(made.report), json.dumps(made.to_json()), made._repr_html_())
    for text in shown:
        assert "probability of 62, 0.015625 in the target" in text
        assert "bound that a perfect sampler would get" in text
    assert any("fixed beforehand" in note for note in made.notes)
    assert any("hold all together at the level" in note for note in made.notes)


@pytest.mark.catches(
    "The intervals of features do not share their level.",
    "reference/certificates/expectations.py",
    "mean.interval(level / len(names))",
    "mean.interval(level)",
)
def test_features_of_samples_are_compared_with_those_of_the_law() -> None:
    """The intervals share the level; a value outside may have any number."""

    def features(x: str) -> dict[str, float]:
        return {"is a": float(x == "a"), "place": "abc".index(x) / 2}

    values = drawn(4_000, (0.5, 0.25, 0.25)) + ["d"] * 40
    random = np.random.default_rng(0)
    values = [values[i] for i in random.permutation(len(values))]
    made = pdai.certify(values, law={**FAIR, "d": 0}, features=features)
    names = [line.name for line in made.lines][-4:]
    assert names == ["is a: sampler", "is a: target", "place: sampler", "place: target"]
    assert made.value("is a: target") == Fraction(1, 4)
    assert made.value("place: target") == Fraction(5, 8)
    mean = MeanInterval()
    mean.add(*(np.array([float(x in one) for x in values]) for one in ("a", "ad")))
    assert made.value("is a: sampler") == pytest.approx(mean.interval(made.level / 2), rel=1e-9)
    assert not any("not used" in note for note in made.notes)


def test_no_right_sampler_is_refused_whenever_one_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loose level, many looks, and whoever looks stops at the first that refuses."""
    monkeypatch.setattr("pdai.testing.FIRST", 20)
    rng, refused = np.random.default_rng(0), 0
    for _ in range(25):
        try:
            right = lambda size: rng.choice([*"abcc"], size)  # noqa: E731
            assert_law(right, FAIR, within=1e-6, level=0.2, most=640)
        except AssertionError as error:
            refused += "another law" in str(error)
    assert refused <= 0.2 * 25


def test_an_iterator_may_have_no_end() -> None:
    endless = pdai.certify(
        (x for _ in itertools.count() for x in drawn(9_000)), law=FAIR, samples=4_000
    )
    assert endless.samples == 4_000
    assert "the first 4,000 values of an iterator" in endless.notes


# Float32 has neither 1e50 nor 1e60, so that no program wrote one as the other.
@pytest.mark.parametrize("others", [{"d": 0}, {"1e60": 0, "-1e60": 0}])
def test_a_value_outside_of_the_law_is_seen(others: dict[str, int]) -> None:
    samples = np.random.default_rng(0).permutation(["d", "1e50"] * 250 + drawn(9_500))
    made = pdai.certify(samples, law={**FAIR, **others})
    assert 0.03 < made.interval.low < 0.05 < made.interval.high
    assert "what is no terminal state" in str(made.report)
    assert (made.impossible, pdai.certify(drawn(9_500), law=FAIR).impossible) == (500, 0)
    words = "wrong for certain: 500 of 10,000 draws have target probability 0, such as "
    assert repr(made).startswith(f"Certificate({words}")


def test_the_command_exits_by_the_distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in (
        ("law.csv", ["value,weight", "a,1", "b,1.0", "c,2e0"]),
        ("right.csv", drawn(20_000)),
        ("values.csv", ["a", "b", "c"]),
    ):
        (tmp_path / name).write_text("\n".join(lines))
    for law, words, status in (
        ("law.csv", ["0.05"], 0),
        ("law.csv", ["0.001"], 2),
        ("law.csvx", ["0.05"], 3),
        ("law.csv", ["0.05", "--lvel", "1"], 3),
        ("uniform", ["0.05", "--support", "values.csv"], 1),  # TV is 1/6.
    ):
        ask = ("certify", "right.csv", "--law", law, "--fail-above", *words)
        answer(*ask, cwd=tmp_path, expect=status)
    wrong = "\n".join(drawn(20_000, (0.5, 0.25, 0.25))).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(wrong)))
    ask = ("certify", "-", "--law", "law.csv", "--fail-above", "0.05", "--json")
    low, high = json.loads(answer(*ask, cwd=tmp_path, expect=1).stdout)["interval"]
    assert 0.2 < low <= 0.25 <= high


test_what_gives_no_target_is_refused = refuses(
    lambda options: pdai.certify(["a"] * 9, **options),
    ({"law": FAIR, "support": ["a"]}, "the support is of the uniform law"),
    ({"law": "uniform"}, "over which values"),
    ({"support": ["a"]}, "add law='uniform'"),
    ({"law": "uniform", "support": ["a", "a"]}, "has the value 'a' twice"),
    ({"law": FAIR, "problem": ListedLaw(FAIR)}, "each give the target.* leave one of"),
    ({"law": FAIR, "weights": FAIR}, "each give the target"),
    ({}, "samples need a problem or a law"),
    ({"law": "my_module:log_density"}, "but must have a weight for each value"),
    ({"law": {"a": float("inf")}}, "must be a finite number"),
    ({"law": "gone.csv"}, "'gone.csv' cannot be read"),
)


def test_trajectories_are_drawn_by_a_sampler_of_them() -> None:
    plain = SimpleNamespace(draw=lambda count: Fork().draw(count))
    words = r"draw\(5\) gives Walks, .* derive the class from reference\.rows\.walks\.Sampler"
    refused(words, lambda: pdai.certify(plain, law=FAIR, samples=5))


def test_a_right_sampler_passes_and_a_wrong_one_is_shown() -> None:
    rng = np.random.default_rng(1)
    made = assert_law(lambda size: rng.choice([*"abc"], size, p=[0.25, 0.25, 0.5]), FAIR)
    assert made.interval.high <= 0.05
    with pytest.raises(AssertionError, match=r"another law(.|\n)*probability of 'a', 0.25"):
        assert_law(lambda size: rng.choice([*"abc"], size), FAIR)
    with pytest.raises(
        UndecidedError, match=r"undecided: TV in \[0, 0\.\d+\] after 4,000 draws, on"
    ):
        assert_law(lambda size: rng.choice([*"aabbcccc"], size), FAIR, within=0.001, most=4_000)


@pytest.mark.catches(
    "A sampler within the tolerance is refused, as its TV is above zero.",
    "pdai/testing.py",
    "made.interval.low > limit or",
    "made.interval.low > 0 or",
)
@pytest.mark.parametrize(
    ("tv", "within", "answer"),
    [
        (0.02, 0.1, None),
        (0.1, 0.1, UndecidedError),
        (0.2, 0.1, AssertionError),
        (0.0, 0, None),
        (0.1, 0, AssertionError),
    ],
)
def test_a_tolerance_is_one(tv: float, within: float, answer: type[Exception] | None) -> None:
    """Any TV above zero was refused."""
    rng = np.random.default_rng(0)

    def draw(size: int) -> Any:
        return rng.choice([*"abc"], size, p=[0.25 + tv, 0.25, 0.5 - tv])

    def ask() -> Any:
        return assert_law(draw, FAIR, within=within, most=16_000)

    if answer is None:
        assert ask().interval.low <= tv
    else:
        with pytest.raises(AssertionError) as error:
            ask()
        assert error.type is answer


@pytest.mark.catches(
    "An impossible draw is not yet a failure of the test of equality.",
    "pdai/testing.py",
    " or (made.impossible and not limit)",
    "",
)
def test_an_impossible_draw_is_no_equality_and_named() -> None:
    seeds = itertools.count()

    def once(size: int) -> list[str]:
        return ["z", *drawn(size - 1, seed=next(seeds))]

    with pytest.raises(AssertionError, match=r"wrong for certain: 1 of 1,000 draws has .* as 'z'"):
        assert_law(once, FAIR, within=0, most=2_000)
    with pytest.raises(UndecidedError, match="; wrong for certain: 2 of 2,000 draws have"):
        assert_law(once, FAIR, within=0.001, most=2_000)


def test_no_option_is_named_that_only_certify_has(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("state\na\nb\n")
    draws = [*"ab", "state"] * 400
    with pytest.raises(InputError, match=r"begins with it: leave it out if it names the column$"):
        assert_law(
            lambda size: Random(0).choices(draws, k=size), "uniform", support=tmp_path / "law.csv"
        )


def test_looks_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[float] = []

    def noting(samples: Any, **options: Any) -> Any:
        levels.append(options["level"])
        return pdai.certify(samples, **options)

    monkeypatch.setattr("pdai.testing.certify", noting)
    numbers = itertools.count()
    assert_law(lambda size: drawn(size, seed=next(numbers)), FAIR, within=0.03, level=0.01)
    assert len(levels) > 1
    # Each with its test of independence.
    assert [level * (1 + SHARE) for level in levels] == pytest.approx(
        [0.01 / 2 ** (look + 1) for look in range(len(levels))]
    )


test_a_test_that_cannot_be_decided_is_refused = refuses(
    lambda options: assert_law(drawn, FAIR, **options),
    *((options, "must be") for options in ({"within": -0.1}, {"within": 2}, {"most": 10})),
    ({"level": 1.5}, "level is 1.5, but must lie"),
)

TESTS = {name: test for name, test in vars(samplers).items() if name.startswith("test_")}
assert len(TESTS) == 7
# The trees of networkx take milliseconds each.
SLOW = pytest.param(TESTS.pop("test_spanning_trees_of_networkx"), marks=pytest.mark.long)


@pytest.mark.parametrize("test", [*TESTS.values(), SLOW])
def test_an_example(test: Callable[[], None]) -> None:
    test()


KINDS = [
    "half of the values too often, half too seldom",
    "one value in 100 too often",
    "the rarest values missing",
]


def certified(chances: Any, size: int, seed: int) -> Any:
    values = np.random.default_rng(seed).choice(200, size=size, p=chances)
    return pdai.certify(values, law="uniform", support=range(200)).interval


def test_so_many_samples_do_and_far_fewer_do_not() -> None:
    """By the certificates of other samples than the simulated ones."""
    made = pdai.power(0.1, outcomes=200)
    uniform = np.full(200, 1 / 200)
    assert made.simulated
    assert [certified(uniform, made.passes, s).high <= 0.1 for s in range(4)].count(True) >= 3
    assert certified(uniform, made.passes // 3, 0).high > 0.1
    assert [*made.shows] == KINDS
    for (tv, count), law in zip(
        made.shows.values(), _wrong_laws(uniform, 0.1).values(), strict=True
    ):
        assert tv == pytest.approx(0.1)
        assert [certified(law, count, s).low > 0 for s in range(4, 8)].count(True) >= 3
        assert certified(law, count // 5, 0).low == 0


@pytest.mark.catches(
    "What is too often comes on top of the other values.",
    "reference/certificates/power.py",
    "1 - distance / (1 - mass)",
    "1.0",
)
@pytest.mark.parametrize("distance", [0.01, 0.2, 0.6])
def test_wrong_laws_are_laws_at_the_distance(distance: float) -> None:
    law = np.random.default_rng(0).dirichlet(np.full(1_000, 0.3))
    laws = _wrong_laws(law, distance)
    assert [*laws] == (KINDS if distance < 0.5 else KINDS[1:])
    for chances in laws.values():
        assert chances.min() >= 0
        assert chances.sum() == pytest.approx(1)
        assert float(abs(chances - law).sum()) / 2 == pytest.approx(distance, abs=0.01)


def test_the_command_says_what_is_a_guarantee(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\nc,2\n")
    (tmp_path / "wrong.csv").write_text("a,2\nb,1\nc,1\n")
    ask = ("power", "0.1", "--law", "law.csv", "--against", "wrong.csv")
    printed = " ".join(answer(*ask, cwd=tmp_path).stdout.replace("│", " ").split())
    assert "with probability at most 1e-06 (bound)" in printed
    assert "samples that show TV 0.25, of the wrong law given" in printed
    assert "(estimate: 9 of 10 simulated samplers)" in printed
    made = json.loads(answer(*ask, "--json", cwd=tmp_path).stdout)
    assert made["shows"]["of the wrong law given"]["samples"] < made["passes"]


def test_a_distance_may_be_any_number() -> None:
    made = pdai.power(Fraction(1, 2), outcomes=9, level=np.float32(2**-20))
    assert json.loads(json.dumps(made.to_json()))["distance"] == 0.5


test_a_question_without_an_answer_is_refused = refuses(
    lambda options: pdai.power(**{"distance": 0.1, **options}),
    ({}, "give either the law, or the number"),
    ({"outcomes": 4, "law": {"a": 1}}, "give either the law, or the number"),
    ({"outcomes": 1}, "outcomes"),
    ({"outcomes": 4, "against": {"a": 1}}, "support and against name values"),
    ({"outcomes": 4, "distance": 0}, "distance is 0, but must lie between 0 and 1"),
    ({"outcomes": 4, "level": 1}, "level is 1, but must lie between 0 and 1"),
    ({"outcomes": 4, "level": 1e-310}, "level is 1e-310, but must lie between 0 and 1"),
    ({"law": {"a": 1}, "against": {"b": 1}}, "has 'b', which is outside of the law"),
    ({"law": ["a", "b"]}, "law is .*, a list, but must be a str or Path or Mapping"),
    ({"law": "uniform", "support": 5}, "support is 5"),
    ({"law": "uniform", "support": [["a"]]}, "not hashable"),
)


class Coin:
    """Draws of a fair coin, by a class that is named without making one."""

    def draw(self, count: int) -> list[str]:
        return random.Random(0).choices("ab", k=count)


def test_a_class_of_samplers_is_made_as_that_of_a_problem_is() -> None:
    """Its draw was called without an object, and the message named a line of pdai."""
    made = pdai.certify(Coin, law={"a": 1, "b": 1}, samples=500)
    assert (made.samples, made.interval.low) == (500, 0.0)
