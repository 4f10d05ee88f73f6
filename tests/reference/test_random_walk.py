"""The lazy random walk: reach, heights by hand, counted trajectories, exact samples."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference import BALL, History, enumerate_dag, lift
from reference.fields.balls import enclose, precision
from reference.problems.random_walk import LazyRandomWalk, Walker

LANDSCAPES = ["rings", "sharp-rings", "sinusoidal"]


@pytest.mark.catches(
    "A step adds +e_i only, as printed, so that no negative coordinate is reached.",
    "reference/problems/random_walk.py",
    "product(range(self.dimension), (1, -1))",
    "product(range(self.dimension), (1,))",
)
def test_a_step_stays_or_moves_along_an_axis_inside_the_box() -> None:
    walk = LazyRandomWalk(2, 5, 2)
    moves = [child.position for child in walk.children(walk.initial)]
    assert moves == [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    corner = walk.children(Walker((2, -2), 4))
    assert corner == tuple(Walker(x, 5) for x in ((2, -2), (1, -2), (2, -1)))
    assert walk.children(corner[0]) == ()


def test_the_history_lift_of_a_small_walk_is_small() -> None:
    dag = enumerate_dag(LazyRandomWalk(2, 5, 2))
    assert len(dag.labels) == 1 + 5 + 13 + 21 + 25 + 25
    assert len(lift(dag, History()).dag.labels) == 1 + 5 + 25 + 121 + 569 + 25


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


def test_sharp_rings_by_hand() -> None:
    sharp = LazyRandomWalk.paper("sharp-rings")
    # |(8, -6)| / 16 = 5/8; a Gaussian of standard deviation 1/20 has a factor of 200.
    value = 0.6 * math.exp(-((0.425 / 0.05) ** 2) / 2) + 0.4 * math.exp(-(3.5**2) / 2)
    assert float(sharp.reward(Walker((8, -6), 32))) == pytest.approx(value, rel=2.0**-23)
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
