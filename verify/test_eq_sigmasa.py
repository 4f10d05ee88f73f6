"""eq:sigmasa: values of the link function, enclosed by balls, and preimages."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest

from reference import BALL
from reference.fields.balls import enclose, precision


def link(x: list[Any], *, shift: int = 1, size: int | None = None) -> list[Any]:
    """eq:sigmasa, enclosed by balls; the controls leave out a term."""
    elus = [y if y >= 0 else y.exp() - 1 for y in map(BALL.convert, x)]
    total = sum(elus[1:], start=elus[0]) + (len(x) if size is None else size)
    return [(value + shift) / total for value in elus]


def encloses(value: Any, number: Fraction | int) -> bool:
    lower, upper = enclose(value)
    return lower <= number <= upper


@pytest.mark.claim("eq:sigmasa")
def test_the_link_by_hand() -> None:
    # ELU of (1, 0, -log 2) is (1, 0, -1/2); with 1 added, (2, 1, 1/2) over 7/2.
    with precision(64):
        values = link([1, 0, -BALL.convert(2).log()])
        for value, by_hand in zip(values, (4, 2, 1), strict=True):
            assert encloses(value, Fraction(by_hand, 7))


@pytest.mark.claim("eq:sigmasa")
def test_every_value_is_in_the_open_simplex(scope: Any) -> None:
    rng = random.Random(0)
    with precision(128):
        for _ in range(200):
            d = rng.randint(2, 6)
            x = [Fraction(rng.randint(-400, 400), 10) for _ in range(d)]
            values = link(x)
            bounds = [enclose(value) for value in values]
            assert all(lower > 0 and upper < 1 for lower, upper in bounds)
            assert encloses(sum(values[1:], start=values[0]), 1)
    scope("200 random points, enclosed")


@pytest.mark.claim("eq:sigmasa")
def test_every_point_of_the_open_simplex_is_a_value(scope: Any) -> None:
    # For weights y the preimage is y - 1, or log y where that is negative: ELU + 1 is y.
    rng = random.Random(1)
    with precision(128):
        for _ in range(100):
            y = [Fraction(rng.randint(1, 30), 10) for _ in range(rng.randint(2, 6))]
            x = [BALL.convert(w - 1) if w >= 1 else BALL.convert(w).log() for w in y]
            for value, w in zip(link(x), y, strict=True):
                assert encloses(value, w / sum(y))
    scope("100 preimages")


@pytest.mark.control("eq:sigmasa")
def test_as_the_rate_of_eq_asrwm_the_link_is_one() -> None:
    # One number alone: (ELU + 1) / (ELU + 1). The sigmoid is 1/2 at 0.
    with precision(64):
        for beta in (Fraction(-3), Fraction(0), Fraction(5, 2)):
            (rate,) = link([beta])
            assert encloses(rate, 1)
    assert 1 / (1 + math.exp(0)) == 0.5


@pytest.mark.control("eq:sigmasa")
def test_without_the_one_values_are_negative_and_without_d_they_do_not_sum_to_one() -> None:
    with precision(64):
        shiftless = link([Fraction(-1), Fraction(3)], shift=0)
        assert enclose(shiftless[0])[1] < 0
        sizeless = link([Fraction(1), Fraction(2)], size=0)
        assert encloses(sizeless[0] + sizeless[1], Fraction(5, 3))
