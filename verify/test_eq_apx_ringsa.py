"""eq:apx:ringsa: the printed reward has two rings, and is nearly flat."""

from fractions import Fraction
from math import hypot
from typing import Any

import pytest
from flint import arb

from reference.fields.balls import enclose
from reference.problems import LazyRandomWalk


def height(r: Fraction) -> tuple[Fraction, Fraction]:
    """An enclosure of the printed reward at `|s~| = r`."""

    def ring(weight: str, radius: str) -> arb:
        gap = r - Fraction(radius)
        exponent = -10 * gap * gap
        share = Fraction(weight)
        scale = arb(share.numerator) / share.denominator
        return scale * (arb(exponent.numerator) / exponent.denominator).exp()

    return enclose(ring("0.6", "0.2") + ring("0.3", "0.9"))


def above(higher: str, lower: str) -> bool:
    """True if the reward is proved to be higher at the first radius."""
    return height(Fraction(higher))[0] > height(Fraction(lower))[1]


@pytest.mark.claim("eq:apx:ringsa")
def test_the_profile_has_a_maximum_near_each_radius() -> None:
    # Higher inside an interval than at both of its ends: there is a maximum within.
    assert above("0.2", "0")
    assert above("0.2", "0.6")
    assert above("0.9", "0.65")
    assert above("0.9", "1.2")
    outer, trough = height(Fraction("0.9")), height(Fraction("0.65"))
    assert Fraction("1.26") < outer[0] / trough[1] < outer[1] / trough[0] < Fraction("1.28")


@pytest.mark.claim("eq:apx:ringsa")
def test_the_reference_has_the_printed_reward_at_every_cell(scope: Any) -> None:
    walk = LazyRandomWalk.paper("rings")
    side = range(-16, 17)
    values = dict(zip(((x, y) for x in side for y in side), walk.rewards, strict=True))
    for (x, y), reward in values.items():
        r = hypot(x, y) / 16
        low, high = height(Fraction(r))
        assert low > 0
        # Rounded to 24 bits.
        assert low * (1 - Fraction(1, 2**23)) <= reward <= high * (1 + Fraction(1, 2**23))
    ratio = max(values.values()) / min(values.values())
    assert Fraction("28.15") < ratio < Fraction("28.25")
    scope(f"{len(values):,} cells")


@pytest.mark.control("eq:apx:ringsa")
def test_without_the_scale_the_mass_is_at_the_origin() -> None:
    side = range(-16, 17)
    squares = [(x * x + y * y, hypot(x, y)) for x in side for y in side]
    heights = [(square, height(Fraction(r))) for square, r in squares]
    near = sum(low for square, (low, _) in heights if square <= 2)
    far = sum(high for square, (_, high) in heights if square > 2)
    assert far < near / 100_000
