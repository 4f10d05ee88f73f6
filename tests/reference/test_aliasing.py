"""Policies with ties: their weights, distances to intervals, and input that is refused."""

from fractions import Fraction

import pytest

from reference import InputError, TooLargeError, marginal, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from verify.lib.attainable import Interval, attainable

HALF = Fraction(1, 2)

# Class 0 leads from o to s, class 1 from s to y.
TURN = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})
TURNING = TiedPolicies(TURN, (0, 1, 1, 0))


def test_a_policy_has_the_weights_of_its_classes() -> None:
    assert TURNING.count == 2
    assert TURNING.row(0) == TURNING.row(1) == (0, 1)
    assert TURNING.separates(0)
    assert not TiedPolicies(TURN, (0, 0, 1, 2)).separates(0)
    w = Fraction(3, 4)
    law = marginal(TURNING.policy([Fraction(3), Fraction(1)]))
    assert [TURN.labels[x] for x in TURN.terminals] == ["x", "y", "z"]
    assert law == (1 - w, w * (1 - w), w * w)


def test_distance_is_to_the_closed_interval() -> None:
    interval = Interval(Fraction(1, 4), Fraction(3, 4))
    distances = [interval.distance(Fraction(n, 8)) for n in (0, 2, 4, 6, 7)]
    assert distances == [Fraction(1, 4), 0, 0, 0, Fraction(1, 8)]
    assert Interval(HALF, HALF).forced
    assert not interval.forced


def test_malformed_classes_weights_and_names_are_refused() -> None:
    with pytest.raises(InputError, match="3 classes for a DAG of 4 edges"):
        TiedPolicies(TURN, (0, 1, 2))
    with pytest.raises(InputError, match="without gaps"):
        TiedPolicies(TURN, (0, 1, 1, 3))
    with pytest.raises(InputError, match="one positive weight per class"):
        TURNING.policy([Fraction(1)])
    with pytest.raises(InputError, match="one positive weight per class"):
        TURNING.policy([Fraction(1), Fraction(0)])
    with pytest.raises(InputError, match="'s' is not a terminal"):
        attainable(TURNING, "s")
    with pytest.raises(TooLargeError, match="more than 2 beliefs"):
        attainable(TURNING, "x", max_beliefs=2)
