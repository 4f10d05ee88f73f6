"""The hypergrid: increase a coordinate or stop; the modes sit near the corners."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from reference.errors import InputError


class Cell(NamedTuple):
    """A state of the grid; `stopped` cells are terminal."""

    coordinates: tuple[int, ...]
    stopped: bool = False

    def __str__(self) -> str:
        return " ".join(map(str, self.coordinates)) + (" stop" if self.stopped else "")


@dataclass(frozen=True)
class Grid:
    """The hypergrid `{0, ..., H-1}^d` with the standard reward (Bengio et al., 2021).

    `R(x) = R_0 + R_1 prod_i [1/2 < n_i] + R_2 prod_i [3/5 < n_i < 4/5]`, `n_i = |2 x_i/(H-1) - 1|`
    and `(R_0, R_1, R_2) = (1/1000, 1/2, 2)`, compared in integers: in float64, `n(12)` at `H = 16`
    exceeds 3/5 by rounding. The paper prints `[n > 0.6][n > 0.8]` for the last factor and `x` for
    `n(x)` in the one before, which are misprints.

    Attributes:
        side: `H`, at least 2.
        dimension: `d`.
    """

    side: int = 16
    dimension: int = 2

    def __post_init__(self) -> None:
        if self.side < 2:
            raise InputError(f"Grid has side H = {self.side}, but H must be at least 2")
        if self.dimension < 1:
            raise InputError(f"Grid has dimension {self.dimension}, but it must be at least 1")

    @property
    def initial(self) -> Cell:
        """The origin."""
        return Cell((0,) * self.dimension)

    def children(self, state: Cell) -> tuple[Cell, ...]:
        """Stop here, or increase one coordinate."""
        if state.stopped:
            return ()
        x = state.coordinates
        return (
            Cell(x, stopped=True),
            *(
                Cell((*x[:i], x[i] + 1, *x[i + 1 :]))
                for i in range(self.dimension)
                if x[i] + 1 < self.side
            ),
        )

    def reward(self, terminal: Cell) -> Fraction:
        """The standard reward, exactly."""
        side = self.side - 1
        n = [abs(2 * x - side) for x in terminal.coordinates]
        value = Fraction(1, 1000)
        if all(2 * m > side for m in n):
            value += Fraction(1, 2)
        if all(3 * side < 5 * m < 4 * side for m in n):
            value += 2
        return value
