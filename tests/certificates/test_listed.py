"""Samples beside a law that is listed: files, streams, Python, and tests of samplers."""

import io
import json
import math
import sys
from fractions import Fraction
from itertools import count, cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

import pdai
from pdai.testing import assert_law
from reference import InputError
from reference.certificates.betting import MeanInterval
from reference.certificates.collisions import lower_probability, upper_probability
from reference.certificates.listed import ListedLaw
from tests.certificates.problems import FAIR, drawn
from tests.command_lines import answer
from tests.refusals import refused, refuses


def test_samples_beside_weights_are_certified() -> None:
    right = pdai.certify(drawn(20_000), law=FAIR)
    assert (right.regime, right.interval.low) == ("S", 0)
    assert right.interval.high < 0.05
    wrong = pdai.certify(np.array(drawn(20_000, (0.5, 0.25, 0.25))), law=FAIR)
    assert 0.2 < wrong.interval.low <= 0.25 <= wrong.interval.high < 0.3
    assert "probability of 'a', 0.25 in the target" in wrong.report


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
        assert bound == (lower_probability(seen, 10_000, log), upper_probability(seen, 10_000, log))
    shown = (str(made.report), json.dumps(made.to_json()), made._repr_html_())
    for text in shown:
        assert "probability of 62, 0.015625 in the target" in text
        assert "bound that a perfect sampler would get" in text
    assert any("fixed beforehand" in note for note in made.notes)
    assert any("hold all together at the level" in note for note in made.notes)


@pytest.mark.catches(
    "The intervals of features do not share their level.",
    "reference/certificates/features.py",
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
    mean.add(
        np.array([float(x == "a") for x in values]), np.array([float(x in "ad") for x in values])
    )
    assert made.value("is a: sampler") == pytest.approx(mean.interval(made.level / 2), rel=1e-9)
    assert not any("not used" in note for note in made.notes)


def test_no_right_sampler_is_refused_whenever_looking_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loose level, many looks, and whoever looks stops at the first that refuses."""
    monkeypatch.setattr("pdai.testing.FIRST", 20)
    rng, refused = np.random.default_rng(0), 0
    for _ in range(25):
        try:
            assert_law(
                lambda size: rng.choice([*"abcc"], size), FAIR, within=1e-6, level=0.2, most=640
            )
        except AssertionError as error:
            refused += "another law" in str(error)
    assert refused <= 0.2 * 25


def test_values_need_not_be_text_nor_the_samples_a_list() -> None:
    pairs = np.random.default_rng(0).integers(0, 2, (5_000, 2))
    uniform = [(i, j) for i in range(2) for j in range(2)]
    made = pdai.certify(pairs, law="uniform", support=uniform)
    assert made.interval.low == 0
    endless = pdai.certify(cycle(["a", "c", "b", "c"]), law=FAIR, samples=4_000)
    assert endless.samples == 4_000
    assert "the first 4,000 values of an iterator" in endless.notes


# Float32 has neither 1e50 nor 1e60, so that no program wrote one as the other.
@pytest.mark.parametrize("others", [{"d": 0}, {"1e60": 0, "-1e60": 0}])
def test_a_value_outside_of_the_law_is_seen(others: dict[str, int]) -> None:
    samples = np.random.default_rng(0).permutation(["d", "1e50"] * 250 + drawn(9_500))
    made = pdai.certify(samples, law={**FAIR, **others})
    assert 0.03 < made.interval.low < 0.05 < made.interval.high
    assert "what is no terminal state" in str(made.report)
    assert any("500 of 10,000 samples are not terminal states" in note for note in made.notes)


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


test_wrong_samples_are_refused = refuses(
    lambda samples, options: pdai.certify(samples, **options),
    (["a"] * 9, {"law": FAIR, "support": ["a"]}, "the support is of the uniform law"),
    (["a"] * 9, {"law": "uniform"}, "over which values"),
    (["a"] * 9, {"support": ["a"]}, "add law='uniform'"),
    (["a"] * 9, {"law": "uniform", "support": ["a", "a"]}, "has the value 'a' twice"),
    (["a"] * 9, {"law": FAIR, "problem": ListedLaw(FAIR)}, "each give the target.* leave one of"),
    (["a"] * 9, {"law": FAIR, "weights": FAIR}, "each give the target"),
    (["a"] * 9, {}, "samples come without a target"),
    (["a"] * 9, {"log_weights": len}, "but must have a weight for each value: write a file"),
    (["a"] * 9, {"law": "my_module:log_density"}, "but must have a weight for each value"),
    (pandas.DataFrame({"x": ["a"] * 9}), {"law": FAIR}, "a frame: give one of its columns"),
    ({"a": 9}, {"law": FAIR}, "is of the type dict, but must be .* or a Counter of them"),
    ({"a", "b"}, {"law": FAIR}, "the samples are a set, which has each value once"),
    ({"a": 1}.keys(), {"law": FAIR}, "the samples are a dict_keys, which has each value once"),
    *(
        ([new, "a", "b"] * 9, {"law": {old: 1, "a": 1, "b": 1}}, "may be the same value")
        for old, new in (
            *(
                (1, "1"),
                ("c", "c "),
                ("c", "c\0"),
                ("c", "\ufeffc"),
                ("\xe9", "e\u0301"),
                ('"c"', "c"),
            ),
            *((0.1, np.float32(0.1)), (0.1, 0.1 + 2**-30), ("(0.1, 1)", "(0.100000001, 1.0)")),
            *(("0.0", "-0.0"), ("1e-5", "1e-05"), ("0.00001", "1e-05"), ("1e50", "1.0e50")),
        )
    ),
    *(
        ([new, "a", "b"] * 9, {"law": FAIR}, "may stand for a missing one: leave such")
        for new in (None, float("nan"), np.float32("nan"), pandas.NA, "", "NaN", "N/A")
    ),
    (np.array([0.5, 0.1] * 9, np.float16), {"law": {0.5: 1, 0.1: 1}}, "an array of float16"),
    (np.ma.masked_array(["a", "b"], [0, 1]), {"law": FAIR}, "the samples: entries are masked"),
    (["x", "a"], {"law": FAIR}, "1 of 2 samples are not in the target, such as 'x'"),
    ([], {"law": FAIR}, "0 samples are given, but at least two are needed"),
    ([["a"]] * 3, {"law": FAIR}, "hashable"),
    (["a"] * 9, {"law": {"a": float("inf")}}, "must be a finite number"),
    (np.array([b"\xff", b"a"] * 50), {"law": {"a": 1}}, "no ASCII text"),
)


def test_a_right_sampler_passes_and_a_wrong_one_is_shown() -> None:
    rng = np.random.default_rng(1)
    made = assert_law(lambda size: rng.choice([*"abc"], size, p=[0.25, 0.25, 0.5]), FAIR)
    assert made.interval.high <= 0.05
    with pytest.raises(AssertionError, match=r"another law(.|\n)*probability of 'a', 0.25"):
        assert_law(lambda size: rng.choice([*"abc"], size), FAIR)
    with pytest.raises(AssertionError, match=r"do not show that the law is within 0\.001"):
        assert_law(lambda size: rng.choice([*"aabbcccc"], size), FAIR, within=0.001, most=4_000)
    refused("level is 1.5, but must lie", lambda: assert_law(rng.choice, FAIR, level=1.5))


def test_looks_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[float] = []

    def noting(samples: Any, **options: Any) -> Any:
        levels.append(options["level"])
        return pdai.certify(samples, **options)

    monkeypatch.setattr("pdai.testing.certify", noting)
    numbers = count()
    assert_law(lambda size: drawn(size, seed=next(numbers)), FAIR, within=0.03, level=0.01)
    assert len(levels) > 1
    assert levels == [0.01 / 2 ** (look + 1) for look in range(len(levels))]


@pytest.mark.parametrize(("within", "most"), [(0, 10_000), (2, 10_000), (0.1, 10)])
def test_a_test_that_cannot_be_decided_is_refused(within: float, most: int) -> None:
    with pytest.raises(InputError, match="must be"):
        assert_law(drawn, FAIR, within=within, most=most)


def test_weights_are_exact() -> None:
    law = ListedLaw({"a": 0.1, "b": Fraction(1, 3)})
    assert law.reward("a") == Fraction(0.1)
    assert law.children(law.initial) == ("a", "b")
