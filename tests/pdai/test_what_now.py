"""The three lines about a large TV are worked out by hand."""

from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pdai.certifying import what_now as advice
from reference import pointed_dag
from reference.certificates.exact import ExactLaw, law_beside_target

what_now = partial(advice.what_now, texts=lambda states: [f"the state {x}" for x in states])
DAG = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["y", "z"], "x": [], "y": [], "z": []})


def law(*p_t: float | Fraction) -> ExactLaw:
    return law_beside_target(list(map(Fraction, p_t)), ["x", "y", "z"], [Fraction(1)] * 3)


def enumeration(*seen: int) -> Any:
    """The lines on o, a, b and the terminal states."""
    return SimpleNamespace(dag=DAG, observations=np.array(seen, np.float32)[:, None])


def curve(*tv: float) -> list[dict[str, Any]]:
    return [{"step": 100 * i, "tv": [0.9, value]} for i, value in enumerate((0.8, *tv))]


LARGE = law(1 / 2, 1 / 2, 0)
SEEN = enumeration(0, 1, 2, 0, 0, 0)


def test_the_missing_mass_is_named_with_its_share() -> None:
    (missing, *_) = what_now(LARGE, SEEN, [], 1)
    assert "1 of 3 terminal states have too little" in missing
    assert "the state z (0 for 0.333333), lack 100.00% of all that is missing" in missing
    (missing, *_) = what_now(law(1, 0, 0), SEEN, [], 1)
    assert "2 of 3" in missing


@pytest.mark.parametrize(
    ("tv", "said"),
    [
        ((), "was not recorded"),
        ((0.4,), "was not recorded"),
        ((0.5, 0.4, 0.3, 0.2), "from 0.4000 at step 200 to 0.2000 at step 400: more steps help"),
        ((0.5, 0.2, 0.2, 0.19), "from 0.2000 at step 200 to 0.1900 at step 400: more steps alone"),
        ((0.5, 0.2, 0.2, 0.3), "to 0.3000 at step 400: more steps alone will not help"),
    ],
)
def test_the_slope_is_that_of_the_second_half(tv: tuple[float, ...], said: str) -> None:
    assert said in what_now(LARGE, SEEN, curve(*tv), 1)[1]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ((0, 1, 2, 0, 0, 0), "least TV: 0"),
        ((0, 1, 1, 0, 2, 3), "of 3 states the network can tell 2"),
    ],
)
def test_the_least_tv_is_zero_only_where_inner_states_are_told_apart(
    seen: tuple[int, ...], said: str
) -> None:
    assert said in what_now(LARGE, enumeration(*seen), [], 1)[2]


def test_control_a_small_tv_calls_for_nothing() -> None:
    assert what_now(law(*[Fraction(1, 3)] * 3), SEEN, [], 1) == []
