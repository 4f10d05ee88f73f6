"""Samples with their log-probabilities beside a law."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from reference import InputError
from tests.certificates.problems import Words
from tests.command_lines import answer

FAIR = {"a": 1, "b": 1, "c": 2}
WRONG = {"a": 0.26, "b": 0.25, "c": 0.49}


def log_prob(x: str) -> float:
    return math.log(WRONG[x])


def drawn(size: int) -> list[str]:
    random = np.random.default_rng(0)
    values: list[str] = random.choice([*WRONG], size, p=[*WRONG.values()]).tolist()
    return values


@pytest.mark.catches(
    "A log-probability of terminal states is taken for one of trajectories.",
    "pdai/certifying/sources.py",
    '    of = "terminals"\n',
    "",
)
def test_log_probabilities_bring_the_interval_to_a_tenth_of_that_of_bare_samples() -> None:
    """TV is 0.01, the mean of `1 - 0.25 / 0.26` where a is drawn."""
    samples = drawn(20_000)
    bare = pdai.certify(samples, law=FAIR).interval
    made = pdai.certify(samples, law=FAIR, log_prob=log_prob, width=0.0)
    assert (made.regime, made.of) == ("Z", "terminals")
    assert made.interval.low < 0.01 < made.interval.high
    assert made.interval.width < bare.width / 10
    assert not any("trajectory distributions" in note for note in made.notes)


def test_a_file_may_have_them_in_a_column(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\nc,2\n")
    lines = [f"{x},{log_prob(x)}" for x in drawn(5_000)]
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


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (["a", "b"] * 5, {"log_prob": lambda x: 0.0}, "2 distinct samples sum to 2, more than 1"),
        (["a", "b"] * 5, {"log_prob": lambda x: math.nan}, "log_prob"),
        (["a", "b"] * 5, {"log_prob": lambda x: -math.inf}, "log_prob of 'a' is -inf"),
        (["a", "a", "d"], {"log_prob": log_prob}, "outside of the target"),
        (lambda state: [1], {"log_prob": log_prob}, "log_prob is of bare samples"),
    ],
)
def test_what_is_no_log_probability_is_refused(
    samples: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        pdai.certify(samples, law=FAIR, **options)


def test_a_state_has_one(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("terminal,log_prob\na,-1\na,-2\n")
    with pytest.raises(InputError, match="'a' has the log_prob -1 and -2"):
        pdai.certify(tmp_path / "s.csv", law=FAIR)
    with pytest.raises(InputError, match="log_prob is given without a target"):
        pdai.certify(tmp_path / "s.csv")
