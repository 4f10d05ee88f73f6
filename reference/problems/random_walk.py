"""The lazy random walk: T steps on a box; the last position is sampled."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, Self

from reference.contract.errors import InputError, TooLargeError, check_integer, check_value
from reference.problems.base import MAX_NODES, dyadic
from reference.problems.closed_form import FiniteLaw, Listed
from reference.problems.enumeration import positive_reward

Landscape = Literal["rings", "sharp-rings", "sinusoidal"]


class Walker(NamedTuple):
    """A state of the walk: the position, and the number of steps taken."""

    position: tuple[int, ...]
    time: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.position))} @{self.time}"


@dataclass(frozen=True)
class LazyRandomWalk(Listed[Walker]):
    """A walk on `{-M, ..., M}^d` that stays or moves by one in one coordinate, for `T` steps.

    The position at time `T` is sampled. (The paper prints moves `+e_i` only, which reach no
    negative coordinate, and `[-M, M]^15`.) A cell is reached if and only if `|s|_1 <= T`, hence
    every cell if and only if `T >= M d`. Landscapes, with `r = |s|_2 / M`:

    - "rings" (eq:apx:ringsa): `0.6 exp(-10 (r - 0.2)^2) + 0.3 exp(-10 (r - 0.9)^2)`;
    - "sharp-rings": `0.6 exp(-200 (r - 0.2)^2) + 0.4 exp(-200 (r - 0.8)^2)`;
    - "sinusoidal" (eq:apx:sinusoidala, repaired): `1 + cos(s_d)`, positive because no integer is an
      odd multiple of pi. The paper prints `cos(s_2)`, which is negative for `|s_2|` in {2, 3, 4}
      and, at `M = 16`, in {8, 9, 10, 15, 16}, and so is no reward.

    Rewards are rounded to 24 bits. Sharp rings fall below the range of float32 in the corners from
    `d = 3` on, and below that of float64 from `d = 8` on, where the problem is refused.

    Attributes:
        radius: M: coordinates lie in -M, ..., M.
        steps: T, the length of a walk, at least M d, so that every corner can be reached.
        dimension: d, the number of axes.
        landscape: the reward of the last position.
    """

    radius: int = 16
    steps: int = 32
    dimension: int = 2
    landscape: Landscape = "rings"

    def __post_init__(self) -> None:
        for name in ("radius", "steps", "dimension"):
            check_integer("LazyRandomWalk", name, getattr(self, name), 1)
        check_value("LazyRandomWalk", "landscape", self.landscape, Landscape)
        side, needed = 2 * self.radius + 1, self.radius * self.dimension
        # A side has at least 3 cells; the first comparison keeps the power small.
        if 3 ** min(self.dimension, 64) > MAX_NODES or side**self.dimension > MAX_NODES:
            raise TooLargeError(
                f"LazyRandomWalk: a box of radius {self.radius} and dimension {self.dimension} has "
                f"more than {MAX_NODES:,} cells: lower one of them"
            )
        if self.steps < needed:
            missed = sum(sum(map(abs, cell)) > self.steps for cell in self._cells())
            raise InputError(
                f"LazyRandomWalk: {self.steps} steps do not reach {missed} of the "
                f"{side**self.dimension} cells of the box "
                f"[-{self.radius}, {self.radius}]^{self.dimension}: give at least {needed}"
            )
        # Only exp of a large negative number gives 0, and beyond the rings heights fall with r.
        corner = (self.radius,) * self.dimension
        positive_reward(self._height(corner), corner)

    @classmethod
    def minimal(cls) -> Self:
        """A walk of two steps on nine cells."""
        return cls(radius=1, steps=2, dimension=2)

    @classmethod
    def paper(cls, landscape: Landscape = "rings") -> Self:
        """`M = 16`, `T = 32`, `d = 2`: 1,089 terminal states."""
        return cls(16, 32, 2, landscape)

    @property
    def initial(self) -> Walker:
        """The origin, at time 0."""
        return Walker((0,) * self.dimension, 0)

    def children(self, state: Walker) -> tuple[Walker, ...]:
        """The states after one more step: stay, or move by one along an axis, inside the box."""
        x, time = state
        return () if time == self.steps else tuple(Walker(y, time + 1) for y in self._near(x))

    def parents(self, state: Walker) -> tuple[Walker, ...]:
        """The states one step before, of those whose time suffices to come from the origin."""
        before = state.time - 1
        near = self._near(state.position)
        return tuple(Walker(y, before) for y in near if sum(map(abs, y)) <= before)

    def _near(self, x: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        yield x
        for i, step in product(range(self.dimension), (1, -1)):
            if abs(x[i] + step) <= self.radius:
                yield (*x[:i], x[i] + step, *x[i + 1 :])

    def reward(self, terminal: Walker) -> Fraction:
        """The landscape at the position."""
        row = 0
        for x in terminal.position:
            row = row * (2 * self.radius + 1) + x + self.radius
        return self.rewards[row]

    @cached_property
    def rewards(self) -> tuple[Fraction, ...]:
        """`R`, one per cell of the box in lexicographic order."""
        return tuple(map(self._height, self._cells()))

    def _cells(self) -> Iterator[tuple[int, ...]]:
        return product(range(-self.radius, self.radius + 1), repeat=self.dimension)

    def _height(self, position: tuple[int, ...]) -> Fraction:
        r = math.hypot(*position) / self.radius
        if self.landscape == "sinusoidal":
            # 1 + cos(k) = 2 cos(k / 2)^2, without cancellation near its least values.
            return dyadic(2 * math.cos(position[-1] / 2) ** 2)
        inner, outer, width = (0.9, 0.3, 10.0) if self.landscape == "rings" else (0.8, 0.4, 200.0)
        return dyadic(
            0.6 * math.exp(-width * (r - 0.2) ** 2) + outer * math.exp(-width * (r - inner) ** 2)
        )

    def law(self) -> FiniteLaw[Walker]:
        """The target, cell by cell: every cell of the box is a terminal state."""
        terminals = (Walker(cell, self.steps) for cell in self._cells())
        return FiniteLaw.of(dict(zip(terminals, self.rewards, strict=True)))
