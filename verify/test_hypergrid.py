"""hypergrid: the modes of the printed and of the repaired reward, exactly."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from reference import normalize, total_variation
from reference.problems import Grid
from reference.problems.grid import Cell

Indicator = Callable[[int, Fraction], bool]


def hypergrid(side: int, first: Indicator, second: Indicator) -> dict[tuple[int, int], Fraction]:
    """The printed form of `R`, with `r_1` and `r_2` as functions of x and n(x)."""
    n = {x: abs(Fraction(2 * x, side - 1) - 1) for x in range(side)}
    one, two = ({x: int(r(x, n[x])) for x in n} for r in (first, second))
    return {
        (x, y): Fraction(1, 1000) + 2 * one[x] * one[y] + Fraction(two[x] * two[y], 2)
        for x, y in product(n, repeat=2)
    }


def printed(side: int) -> dict[tuple[int, int], Fraction]:
    return hypergrid(
        side,
        lambda x, n: n > Fraction(3, 5) and n > Fraction(4, 5),
        lambda x, n: x > Fraction(1, 2),
    )


def repaired(side: int) -> dict[tuple[int, int], Fraction]:
    return hypergrid(
        side, lambda x, n: Fraction(3, 5) < n < Fraction(4, 5), lambda x, n: n > Fraction(1, 2)
    )


@pytest.mark.claim("hypergrid")
def test_repaired_it_is_the_standard_reward_with_four_modes() -> None:
    rewards = repaired(16)
    modes = [cell for cell, reward in rewards.items() if reward > 2]
    assert modes == [(2, 2), (2, 13), (13, 2), (13, 13)]
    assert {rewards[mode] for mode in modes} == {Fraction(2501, 1000)}
    assert sum(rewards.values()) == Fraction(5032, 125)
    assert sorted(Counter(rewards.values()).values()) == [4, 60, 192]


@pytest.mark.catches(
    "The band of a grid's modes includes its boundary, where floats put one more cell.",
    "reference/problems/grid.py",
    "3 * last < 5 * n[x] < 4 * last",
    "3 * last <= 5 * n[x] < 4 * last",
)
@pytest.mark.claim("hypergrid")
def test_the_reference_has_both_forms_exactly(scope: Any) -> None:
    for side in range(2, 25):
        for rewards, grid in (
            (repaired(side), Grid(side)),
            (printed(side), Grid(side, landscape="printed")),
        ):
            assert all(grid.reward(Cell(cell, True)) == r for cell, r in rewards.items())
            assert grid.z() == sum(rewards.values())
    scope("grids of side 2 to 24")


@pytest.mark.control("hypergrid")
def test_as_printed_the_modes_are_in_the_corners() -> None:
    modes = [cell for cell, reward in printed(16).items() if reward > 2]
    assert modes == list(product((0, 1, 14, 15), repeat=2))
    assert sum(printed(16).values()) == Fraction(36189, 250)
    p, q = (normalize(list(form(16).values())) for form in (printed, repaired))
    assert total_variation(p, q) == Fraction(4991875, 7587627)  # 0.658
    # At no side are the two forms the same.
    for side in range(2, 25):
        assert normalize(list(printed(side).values())) != normalize(list(repaired(side).values()))


@pytest.mark.control("hypergrid")
def test_compared_in_floats_a_grid_of_sixteen_has_nine_modes() -> None:
    band = [x for x in range(16) if 0.6 < abs(2 * x / 15 - 1) < 0.8]
    assert band == [2, 12, 13]  # n(12) = 0.6000000000000001
