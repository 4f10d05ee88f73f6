"""The hypergrid: increase a coordinate or stop; the modes sit near the corners."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, Self

from reference.contract.errors import InputError, check_integer, check_value
from reference.problems.base import Order, set_last
from reference.problems.closed_form import FiniteLaw, Summed, check_count, seeded

Landscape = Literal["standard", "printed", "sparse"]


class Cell(NamedTuple):
    """A state of the grid; `stopped` cells are terminal."""

    coordinates: tuple[int, ...]
    stopped: bool = False

    def __str__(self) -> str:
        return " ".join(map(str, self.coordinates)) + (" stop" if self.stopped else "")


FLOOR = Fraction(1, 1000)


@dataclass(frozen=True)
class Grid(Summed):
    """The hypergrid `{0, ..., H-1}^d`; trajectories may stop at every cell (Bengio et al., 2021).

    Landscapes, with `n_i = |2 x_i / (H-1) - 1|`, compared in integers: in float64, `n(12)` at
    `H = 16` exceeds 3/5 by rounding.

    - "standard": `1/1000 + 1/2 prod_i [1/2 < n_i] + 2 prod_i [3/5 < n_i < 4/5]`;
    - "printed": the paper's `1/1000 + 1/2 prod_i [1 <= x_i] + 2 prod_i [4/5 < n_i]`, where
      `[x > 0.5]` stands for `[n(x) > 0.5]` and `[n > 0.6][n > 0.8]` for `[n > 0.6][n < 0.8]`;
    - "sparse": 1 at the cells whose coordinates are all 1 or `H-2`, except that the one with all
      1 moves to all 2, and 1/1000 elsewhere (the paper's own figure is lost).

    Attributes:
        side: H, cells per axis, at least 2; at least 5 if sparse.
        dimension: d, the number of axes.
        landscape: the reward: the usual one, the paper's as printed, or four cells of 1 in a sea of
            1/1000.
        order: the order in which coordinates are increased: any, or the first to its end, then the
            second, and so on (a tree).
    """

    side: int = 16
    dimension: int = 2
    landscape: Landscape = "standard"
    order: Order = "any"

    def __post_init__(self) -> None:
        check_integer("Grid", "the side H", self.side, 2)
        check_integer("Grid", "the dimension", self.dimension, 1)
        check_value("Grid", "landscape", self.landscape, Landscape)
        check_value("Grid", "order", self.order, Order)
        if self.landscape == "sparse" and self.side < 5:
            raise InputError(
                f"Grid: on a side of {self.side} the peaks of the sparse landscape would touch: "
                "give a side of at least 5"
            )

    @classmethod
    def minimal(cls) -> Self:
        """A 4 x 4 grid: 16 terminal states, 69 trajectories."""
        return cls(4, 2)

    @classmethod
    def paper(cls, landscape: Landscape = "standard") -> Self:
        """The 16 x 16 grid."""
        return cls(16, 2, landscape)

    @property
    def initial(self) -> Cell:
        """The origin."""
        return Cell((0,) * self.dimension)

    def children(self, state: Cell) -> tuple[Cell, ...]:
        """The stopped cell, and the cells with one coordinate increased."""
        if state.stopped:
            return ()
        x = state.coordinates
        first = max((i for i in range(self.dimension) if x[i]), default=0)
        moved = (
            Cell((*x[:i], x[i] + 1, *x[i + 1 :]))
            for i in range(first if self.order == "fixed" else 0, self.dimension)
            if x[i] + 1 < self.side
        )
        return (Cell(x, stopped=True), *moved)

    def parents(self, state: Cell) -> tuple[Cell, ...]:
        """The cell before a stop, or the cells with one coordinate less."""
        x = state.coordinates
        if state.stopped:
            return (Cell(x),)
        return tuple(Cell((*x[:i], x[i] - 1, *x[i + 1 :])) for i in set_last(x, 0, self.order))

    def reward(self, terminal: Cell) -> Fraction:
        """The landscape at the cell, exactly."""
        if self.landscape == "sparse":
            return Fraction(1) if terminal.coordinates in self.peaks else FLOOR
        value = FLOOR
        for height, inside in self._boxes:
            if all(x in inside for x in terminal.coordinates):
                value += height
        return value

    @cached_property
    def peaks(self) -> tuple[tuple[int, ...], ...]:
        """The cells with reward 1 of the sparse landscape."""
        corners = product((1, self.side - 2), repeat=self.dimension)
        origin = (1,) * self.dimension
        return ((2,) * self.dimension, *(cell for cell in corners if cell != origin))

    @cached_property
    def _boxes(self) -> tuple[tuple[Fraction, frozenset[int]], ...]:
        """The terms of the reward: a height, and the coordinates at which each factor is 1."""
        last = self.side - 1
        n = {x: abs(2 * x - last) for x in range(self.side)}
        if self.landscape == "standard":
            outer = frozenset(x for x in n if 2 * n[x] > last)
            band = frozenset(x for x in n if 3 * last < 5 * n[x] < 4 * last)
        else:
            outer = frozenset(x for x in n if x >= 1)
            band = frozenset(x for x in n if 5 * n[x] > 4 * last)
        return (Fraction(1, 2), outer), (Fraction(2), band)

    @property
    def _parts(self) -> list[tuple[Fraction, frozenset[int] | tuple[int, ...], int]]:
        """The terms of the reward: a height, with its box or peak, and the number of its cells."""
        everywhere = frozenset(range(self.side))
        if self.landscape == "sparse":
            # A peak has 1/1000, like every cell, plus the rest.
            peaks = [(1 - FLOOR, peak, 1) for peak in self.peaks]
            return [(FLOOR, everywhere, self.side**self.dimension), *peaks]
        boxes = [(FLOOR, everywhere), *self._boxes]
        return [(height, box, len(box) ** self.dimension) for height, box in boxes]

    def z(self) -> Fraction:
        """`Z`, by counting the cells of each box."""
        return sum((height * cells for height, _, cells in self._parts), Fraction(0))

    def sample(self, count: int, seed: int) -> list[Cell]:
        """Independent samples of the target: a term of the reward, then a cell of its box."""
        rng, parts = seeded(seed), self._parts
        law = FiniteLaw.of({i: height * cells for i, (height, _, cells) in enumerate(parts)})
        samples = []
        for _ in range(check_count(count)):
            box = parts[law.draw(rng)][1]
            if isinstance(box, frozenset):
                axis = sorted(box)
                box = tuple(rng.choice(axis) for _ in range(self.dimension))
            samples.append(Cell(box, stopped=True))
        return samples
