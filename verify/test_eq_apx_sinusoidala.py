"""eq:apx:sinusoidala: the sign of the cosine on boxes, enclosed by balls."""

import math
from fractions import Fraction
from typing import Any

import pytest

from reference import BALL, InputError
from reference.fields.balls import enclose, precision
from reference.problems import positive_reward


def cosines(radius: int, scale: int = 1) -> dict[int, tuple[Fraction, Fraction]]:
    """Enclosures of `cos(k / scale)` for every coordinate of the box."""
    with precision(64):
        return {
            k: enclose(BALL.convert(Fraction(k, scale)).cos()) for k in range(-radius, radius + 1)
        }


@pytest.mark.claim("eq:apx:sinusoidala")
def test_of_the_scaled_position_or_with_one_added_the_cosine_is_positive(scope: Any) -> None:
    for radius in (1, 2, 16, 64):
        scaled = cosines(radius, radius)
        least = min(scaled, key=lambda k: scaled[k])
        assert abs(least) == radius
        assert scaled[least][0] > Fraction(54, 100)  # cos 1
        assert all(1 + lower > 0 for lower, _ in cosines(radius).values())
    scope("boxes of radius 1, 2, 16, 64")


@pytest.mark.catches(
    "Takes a negative reward for a positive one.",
    "reference/problems/enumeration.py",
    'exact(value, Of("the reward", terminal))',
    'abs(exact(value, Of("the reward", terminal)))',
)
@pytest.mark.control("eq:apx:sinusoidala")
def test_the_printed_cosine_is_negative_from_radius_two_on() -> None:
    assert cosines(1)[1][0] > 0
    assert cosines(2)[2][1] < 0
    negative = [k for k, (_, upper) in cosines(16).items() if upper < 0]
    assert [k for k in negative if k > 0] == [2, 3, 4, 8, 9, 10, 15, 16]
    assert all(lower > 0 for k, (lower, _) in cosines(16).items() if k not in negative)
    with pytest.raises(InputError, match="cannot be negative"):
        positive_reward(math.cos(2), (0, 2))
