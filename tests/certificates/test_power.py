"""The number of samples that a distance needs, before any is drawn."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from reference.certificates.power import _wrong_laws
from tests.command_lines import answer
from tests.refusals import refuses

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
