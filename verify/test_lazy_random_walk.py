"""lazy-random-walk: the cells that each set of moves reaches."""

from itertools import product
from typing import Any

import pytest

from reference import enumerate_dag
from reference.problems import LazyRandomWalk

Position = tuple[int, ...]


def reached(moves: list[Position], radius: int, steps: int, dimension: int) -> set[Position]:
    """The positions after exactly that many moves inside the box."""
    places = {(0,) * dimension}
    for _ in range(steps):
        sums = {tuple(map(sum, zip(x, v, strict=True))) for x in places for v in moves}
        places = {x for x in sums if max(map(abs, x)) <= radius}
    return places


def units(dimension: int, *signs: int) -> list[Position]:
    return [
        tuple(sign * (i == j) for j in range(dimension)) for i in range(dimension) for sign in signs
    ]


def box(radius: int, dimension: int) -> set[Position]:
    return set(product(range(-radius, radius + 1), repeat=dimension))


WALKS = [(m, d, t) for d in (1, 2, 3) for m in (1, 2) for t in range(1, m * d + 3)]


@pytest.mark.claim("lazy-random-walk")
def test_with_steps_both_ways_a_cell_is_reached_iff_the_steps_suffice(scope: Any) -> None:
    for m, d, t in WALKS:
        near = {x for x in box(m, d) if sum(map(abs, x)) <= t}
        assert reached([(0,) * d, *units(d, 1, -1)], m, t, d) == near
        assert (near == box(m, d)) == (t >= m * d)
    scope(f"{len(WALKS)} walks, M = 1, 2, d = 1 to 3")


@pytest.mark.claim("lazy-random-walk")
def test_the_reference_walk_has_these_terminals() -> None:
    dag = enumerate_dag(LazyRandomWalk(2, 5, 2))
    assert {dag.labels[x].position for x in dag.terminals} == box(2, 2)


@pytest.mark.control("lazy-random-walk")
def test_the_printed_moves_reach_nine_of_twenty_five_cells() -> None:
    assert reached([(0, 0), (1, 0), (0, 1)], 2, 5, 2) == set(product(range(3), repeat=2))
    for m, d, t in WALKS:
        upward = reached([(0,) * d, *units(d, 1)], m, t, d)
        assert all(min(x) >= 0 for x in upward)
        if t >= m * d:
            assert (len(upward), len(box(m, d))) == ((m + 1) ** d, (2 * m + 1) ** d)


@pytest.mark.control("lazy-random-walk")
def test_without_the_lazy_move_only_one_parity_is_reached() -> None:
    odd = reached(units(2, 1, -1), 2, 5, 2)
    assert odd == {x for x in box(2, 2) if sum(x) % 2}
    assert len(odd) == 12


@pytest.mark.control("lazy-random-walk")
def test_the_printed_power_of_the_box_is_not_the_dimension() -> None:
    assert 33**2 == 1089
    assert 33**15 > 10**22
