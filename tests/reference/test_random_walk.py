"""The lazy random walk: reach, heights by hand, counted trajectories, exact samples."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference import (
    BALL,
    History,
    InputError,
    enumerate_dag,
    lift,
)
from reference.fields.balls import enclose, precision
from reference.problems import dyadic, positive_reward
from reference.problems.random_walk import LazyRandomWalk, Walker

LANDSCAPES = ["rings", "sharp-rings", "sinusoidal"]


class Printed(LazyRandomWalk):
    """The moves as the paper prints them: stay, or add a unit vector."""

    def children(self, state: Walker) -> tuple[Walker, ...]:
        x = sum(state.position)
        return tuple(child for child in super().children(state) if sum(child.position) >= x)


@pytest.mark.catches(
    "A step adds +e_i only, as printed, so that no negative coordinate is reached.",
    "reference/problems/random_walk.py",
    "for step in (1, -1)",
    "for step in (1,)",
)
def test_a_step_stays_or_moves_along_an_axis_inside_the_box() -> None:
    walk = LazyRandomWalk(2, 5, 2)
    moves = [child.position for child in walk.children(walk.initial)]
    assert moves == [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    corner = walk.children(Walker((2, -2), 4))
    assert corner == tuple(Walker(x, 5) for x in ((2, -2), (1, -2), (2, -1)))
    assert walk.children(corner[0]) == ()


def test_every_cell_of_the_box_is_terminal_at_the_last_step() -> None:
    dag = enumerate_dag(LazyRandomWalk(2, 5, 2))
    cells = product(range(-2, 3), repeat=2)
    assert {dag.labels[x] for x in dag.terminals} == {Walker(cell, 5) for cell in cells}


def test_control_the_printed_moves_reach_nine_of_twenty_five_cells() -> None:
    dag = enumerate_dag(Printed(2, 5, 2))
    assert {dag.labels[x].position for x in dag.terminals} == set(product(range(3), repeat=2))


def test_the_number_of_cells_out_of_reach_is_the_one_enumerated() -> None:
    for steps in range(1, 6):
        missed = sum(sum(map(abs, cell)) > steps for cell in product(range(-2, 3), repeat=3))
        with pytest.raises(InputError, match=rf"{steps} steps do not reach {missed} of the 125"):
            LazyRandomWalk(2, steps, 3)
    assert len(enumerate_dag(LazyRandomWalk(2, 6, 3)).terminals) == 125


def test_the_history_lifts_of_small_walks_are_small() -> None:
    for walk, states, lifted in (
        (LazyRandomWalk.minimal(), 1 + 5 + 9, 1 + 5 + 9),
        (LazyRandomWalk(2, 5, 2), 1 + 5 + 13 + 21 + 25 + 25, 1 + 5 + 25 + 121 + 569 + 25),
    ):
        dag = enumerate_dag(walk)
        assert len(dag.labels) == states
        assert len(lift(dag, History()).dag.labels) == lifted


def trajectory_counts(walk: LazyRandomWalk) -> Counter[Walker]:
    """The number of trajectories that end in each terminal, by convolution over the steps."""
    counts = Counter({walk.initial: 1})
    for _ in range(walk.steps):
        following: Counter[Walker] = Counter()
        for state, count in counts.items():
            for child in walk.children(state):
                following[child] += count
        counts = following
    return counts


@pytest.mark.parametrize("dimension", [1, 2])
def test_trajectories_are_counted_as_enumeration_counts_them(dimension: int) -> None:
    walk = LazyRandomWalk(2, 5, dimension)
    dag = enumerate_dag(walk)
    assert trajectory_counts(walk) == Counter(dag.labels[dag.end(t)] for t in dag.trajectories())


def test_trajectories_away_from_the_walls_are_counted_by_trinomial_coefficients() -> None:
    # With M = T no wall is in the way of any walk: the coefficients of (1 + x + 1/x)^T.
    counts = trajectory_counts(LazyRandomWalk(6, 6, 1))
    coefficients = np.ones(1, dtype=np.int64)
    for _ in range(6):
        coefficients = np.convolve(coefficients, [1, 1, 1])
    assert [counts[Walker((x,), 6)] for x in range(-6, 7)] == coefficients.tolist()


@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_the_paper_walk_is_the_one_described(landscape: Any) -> None:
    walk = LazyRandomWalk.paper(landscape)
    assert (walk.radius, walk.dimension, walk.steps, len(walk.rewards)) == (16, 2, 32, 1089)
    assert all(Fraction(float(np.float32(float(r)))) == r for r in walk.rewards)
    counts = trajectory_counts(walk)
    assert len(counts) == 1089
    # A corner takes all 32 steps, 16 of them along the first axis.
    assert counts[Walker((16, -16), 32)] == math.comb(32, 16)


def test_rings_by_hand() -> None:
    walk, sharp = LazyRandomWalk.paper(), LazyRandomWalk.paper("sharp-rings")
    assert walk.reward(Walker((0, 0), 32)) == dyadic(0.6 * math.exp(-0.4) + 0.3 * math.exp(-8.1))
    # |(8, -6)| / 16 = 5/8; a Gaussian of standard deviation 1/20 has a factor of 200.
    for problem, value in (
        (walk, 0.6 * math.exp(-10 * 0.425**2) + 0.3 * math.exp(-10 * 0.275**2)),
        (sharp, 0.6 * math.exp(-((0.425 / 0.05) ** 2) / 2) + 0.4 * math.exp(-((3.5) ** 2) / 2)),
    ):
        assert float(problem.reward(Walker((8, -6), 32))) == pytest.approx(value, rel=2.0**-23)
    assert 28.2 < max(walk.rewards) / min(walk.rewards) < 28.3
    assert min(sharp.rewards) == sharp.reward(Walker((16, 16), 32)) < Fraction(1, 10**33)


@pytest.mark.catches(
    "A cell's reward is looked up as if a side of the box had 2M cells instead of 2M + 1.",
    "reference/problems/random_walk.py",
    "row = row * (2 * self.radius + 1) + x + self.radius",
    "row = row * (2 * self.radius) + x + self.radius",
)
def test_rewards_are_listed_in_the_order_of_the_cells() -> None:
    # All coordinates differ in their effect, so that a transposed table is seen.
    walk = LazyRandomWalk(3, 9, 3, "sinusoidal")
    for row, cell in enumerate(product(range(-3, 4), repeat=3)):
        assert walk.reward(Walker(cell, 9)) == walk.rewards[row]
        assert float(walk.rewards[row]) == pytest.approx(1 + math.cos(cell[2]), rel=2.0**-23)


def test_the_sinusoidal_reward_keeps_its_digits_near_its_zeros() -> None:
    # 355/113 is close to pi, so that cos(355) is close to -1.
    walk = LazyRandomWalk(355, 355, 1, "sinusoidal")
    with precision(128):
        lower, upper = enclose(1 + BALL.convert(355).cos())
    assert upper - lower < lower / 2**60
    assert abs(walk.reward(Walker((355,), 355)) - lower) < lower / 2**23
    # Control: the sum as printed loses half of the digits of a float.
    assert abs(Fraction(1 + math.cos(355)) - lower) > lower / 2**26


def test_control_the_printed_cosine_is_no_reward() -> None:
    negative = [k for k in range(-16, 17) if math.cos(k) < 0]
    assert negative == [-16, -15, -10, -9, -8, -4, -3, -2, 2, 3, 4, 8, 9, 10, 15, 16]
    with pytest.raises(InputError, match=r"\(0, 2\) is -.*cannot be negative"):
        positive_reward(math.cos(2), (0, 2))
    with pytest.raises(InputError, match=r"landscape is 'cosine', but must be one of"):
        LazyRandomWalk(landscape="cosine")  # type: ignore[arg-type]
