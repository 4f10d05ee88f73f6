"""The lazy random walk: T steps on a box, of which the last position is sampled."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, NamedTuple, Self, get_args

from reference.errors import InputError, check_integer
from reference.problems.base import dyadic
from reference.problems.closed_form import Enclosure, FiniteLaw

Landscape = Literal["rings", "sharp-rings", "sinusoidal"]


class Walker(NamedTuple):
    """A state of the walk: where it is, after how many steps."""

    position: tuple[int, ...]
    time: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.position))} @{self.time}"


@dataclass(frozen=True)
class LazyRandomWalk:
    """A walk on `{-M, ..., M}^d` that stays or moves by one in one coordinate, for `T` steps.

    The position at time `T` is sampled. (The paper prints moves `+e_i` only, which reach no
    negative coordinate, and `[-M, M]^15`.) Landscapes, with `r = |s|_2 / M`:

    - "rings" (eq:apx:ringsa): `0.6 exp(-10 (r - 0.2)^2) + 0.3 exp(-10 (r - 0.9)^2)`;
    - "sharp-rings": `0.6 exp(-200 (r - 0.2)^2) + 0.4 exp(-200 (r - 0.8)^2)`;
    - "sinusoidal" (eq:apx:sinusoidala, repaired): `1 + cos(s_d)`. The paper prints `cos(s_2)`,
      which is negative for `|s_2|` in {2, 3, 4} and so is no reward.

    Rewards are rounded to 24 bits.

    Attributes:
        radius: `M`, at least 1.
        steps: `T`, at least `M d`, so that every corner can be reached.
        dimension: `d`, at least 1.
        landscape: the reward.
    """

    radius: int = 16
    steps: int = 32
    dimension: int = 2
    landscape: Landscape = "rings"

    def __post_init__(self) -> None:
        for name in ("radius", "steps", "dimension"):
            check_integer("LazyRandomWalk", name, getattr(self, name), 1)
        if self.landscape not in get_args(Landscape):
            raise InputError(
                f"LazyRandomWalk: the landscape is {self.landscape!r}, but must be one of "
                f"{', '.join(get_args(Landscape))} (the printed cos(s_2) takes negative values)"
            )
        needed = self.radius * self.dimension
        if self.steps < needed:
            raise InputError(
                f"LazyRandomWalk: {self.steps} steps do not reach the corners of the box "
                f"[-{self.radius}, {self.radius}]^{self.dimension}: give at least {needed}"
            )

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
        """Stay, or move by one along an axis, inside the box."""
        x, time = state
        if time == self.steps:
            return ()
        moved = [
            (*x[:i], x[i] + step, *x[i + 1 :])
            for i in range(self.dimension)
            for step in (1, -1)
            if abs(x[i] + step) <= self.radius
        ]
        return tuple(Walker(position, time + 1) for position in (x, *moved))

    def reward(self, terminal: Walker) -> Fraction:
        """The landscape at the position."""
        return self._height(terminal.position)

    def _height(self, position: tuple[int, ...]) -> Fraction:
        r = math.hypot(*position) / self.radius
        if self.landscape == "sinusoidal":
            return dyadic(1 + math.cos(position[-1]))
        inner, outer, width = (0.9, 0.3, 10.0) if self.landscape == "rings" else (0.8, 0.4, 200.0)
        return dyadic(
            0.6 * math.exp(-width * (r - 0.2) ** 2) + outer * math.exp(-width * (r - inner) ** 2)
        )

    def law(self) -> FiniteLaw[Walker]:
        """The target, cell by cell: every cell of the box is a terminal state."""
        cells = product(range(-self.radius, self.radius + 1), repeat=self.dimension)
        return FiniteLaw.of({Walker(cell, self.steps): self._height(cell) for cell in cells})

    def z(self) -> Fraction:
        """`Z`, the sum over the box."""
        return self.law().z()

    def log_z(self) -> Enclosure:
        """`log Z`, in nats."""
        return Enclosure.log_of(self.z())

    def sample(self, count: int, seed: int) -> list[Walker]:
        """Independent samples of the target."""
        return self.law().sample(count, seed)
