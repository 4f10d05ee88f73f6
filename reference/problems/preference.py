"""Preference learning: the posterior of a linear utility given pairwise comparisons."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, prod
from random import Random
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.errors import InputError, TooLargeError, check_integer, check_list
from reference.fields import gamma
from reference.problems.base import dyadic
from reference.problems.closed_form import Enclosure

Order = Literal["fixed", "any"]

MAX_SUMMED = 100_000_000


class Weights(NamedTuple):
    """A state: the components chosen so far, `None` where not yet."""

    components: tuple[int | None, ...]

    def __str__(self) -> str:
        return " ".join("?" if w is None else f"{w:+d}" for w in self.components)


@dataclass(frozen=True)
class Preference:
    """Bayesian preference learning over integer weights `w` in `{-m, ..., m}^d`.

    With a uniform prior, `R(w) = prod_k sigmoid(w . x_k)`, where `x_k` is the difference between
    the features of the preferred item of comparison k and those of the other, and
    `sigmoid(n)` of the integer `w . x_k` is rounded to 24 bits: `R` is an exact product. (The paper
    prints `w in {-m, ..., m}` without the power d.) Components are chosen one by one, in the order
    1 to d (a tree) or in any.

    Attributes:
        differences: `x_k`, one tuple of d integers in {-1, 0, 1} per comparison.
        bound: `m`, at least 1.
        order: the order in which components are chosen.
    """

    differences: tuple[tuple[int, ...], ...]
    bound: int = 4
    order: Order = "fixed"

    def __post_init__(self) -> None:
        check_integer("Preference", "bound", self.bound, 1)
        if self.order not in ("fixed", "any"):
            raise InputError(
                f"Preference: the order is {self.order!r}, but must be 'fixed' or 'any'"
            )
        rows = check_list("Preference", "differences", self.differences)
        if not rows:
            raise InputError("Preference: no comparison is given: give at least one difference")
        for k, row in enumerate(rows):
            entries = check_list("Preference", f"difference {k}", row)
            if len(entries) != len(rows[0]) or not entries:
                raise InputError(
                    f"Preference: difference {k} has {len(entries)} entries, but the first has "
                    f"{len(rows[0])}: give one per feature, at least one"
                )
            for entry in entries:
                if isinstance(entry, bool) or entry not in (-1, 0, 1):
                    raise InputError(
                        f"Preference: difference {k} has the entry {entry!r}, but features are 0 "
                        "or 1, so their difference is -1, 0 or 1"
                    )

    @classmethod
    def random(
        cls, comparisons: int, dimension: int, bound: int, order: Order = "fixed", seed: int = 0
    ) -> Self:
        """Comparisons by a hidden `w*`, uniform on the box: the first of a stream fixed by `seed`.

        Both items have independent fair binary features, equal pairs being redrawn; the first is
        preferred with probability `sigmoid(w* . (x_1 - x_2))`. Fewer comparisons are a prefix of
        more.
        """
        for name, value in (("comparisons", comparisons), ("dimension", dimension)):
            check_integer("Preference.random", name, value, 1)
        check_integer("Preference.random", "bound", bound, 1)
        rng = Random(seed)
        hidden = [rng.randint(-bound, bound) for _ in range(dimension)]
        rows: list[tuple[int, ...]] = []
        while len(rows) < comparisons:
            first, second = ([rng.randrange(2) for _ in hidden] for _ in range(2))
            if first == second:
                continue
            row = [a - b for a, b in zip(first, second, strict=True)]
            utility = sum(w * x for w, x in zip(hidden, row, strict=True))
            sign = 1 if rng.random() < 1 / (1 + exp(-utility)) else -1
            rows.append(tuple(sign * x for x in row))
        return cls(tuple(rows), bound, order)

    @classmethod
    def minimal(cls) -> Self:
        """Two components in {-1, 0, 1}, any order."""
        return cls.random(5, dimension=2, bound=1, order="any")

    @classmethod
    def paper(cls, comparisons: int = 50, order: Order = "fixed", seed: int = 0) -> Self:
        """`d = 8`, `m = 4`: 43,046,721 terminal states; 50, 100 or 150 comparisons."""
        return cls.random(comparisons, dimension=8, bound=4, order=order, seed=seed)

    @property
    def dimension(self) -> int:
        """`d`."""
        return len(self.differences[0])

    @property
    def initial(self) -> Weights:
        """No component chosen."""
        return Weights((None,) * self.dimension)

    def children(self, state: Weights) -> tuple[Weights, ...]:
        """Choose a component: the first one that is open, or any."""
        w = state.components
        places = [i for i, value in enumerate(w) if value is None]
        if self.order == "fixed":
            places = places[:1]
        return tuple(
            Weights((*w[:i], value, *w[i + 1 :]))
            for i in places
            for value in range(-self.bound, self.bound + 1)
        )

    @cached_property
    def likelihood(self) -> tuple[Fraction, ...]:
        """`sigmoid(n)` for `n = -m d, ..., m d`, rounded to 24 bits."""
        largest = self.bound * self.dimension
        return tuple(dyadic(1 / (1 + exp(-n))) for n in range(-largest, largest + 1))

    def reward(self, terminal: Weights) -> Fraction:
        """The likelihood of all comparisons."""
        table, middle = self.likelihood, self.bound * self.dimension
        components = [w for w in terminal.components if w is not None]
        return prod(
            (
                table[middle + sum(w * x for w, x in zip(components, row, strict=True))]
                for row in self.differences
            ),
            start=Fraction(1),
        )

    def log_z(self) -> Enclosure:
        """`log Z` by summing the likelihood of every `w` in float64, in nats.

        There is no closed form, but the sum is affordable (9^8 terms take about a minute); its
        terms are positive products of exact factors, so the rounding is bounded. There are no
        exact samples: those of float conditionals would only be close.

        Raises:
            TooLargeError: if there are more than 10^8 terms.
        """
        values = 2 * self.bound + 1
        terms = values**self.dimension
        if terms > MAX_SUMMED:
            raise TooLargeError(
                f"Preference has {terms:,} terminal states, and at most {MAX_SUMMED:,} are summed: "
                "lower the dimension or the bound"
            )
        data = np.array(self.differences, np.int64)
        table = np.array([float(p) for p in self.likelihood])
        tail = min(self.dimension, 5)
        tails = _box(tail, self.bound) @ data[:, self.dimension - tail :].T
        heads = _box(self.dimension - tail, self.bound) @ data[:, : self.dimension - tail].T
        middle = self.bound * self.dimension
        # A product of at most 150 factors >= sigmoid(-32) > 1e-14 could underflow: scale by the
        # largest reward seen, in logarithms, would round; powers of two do not.
        total, exponent = 0.0, 0
        for head in heads:
            product, powers = _scaled_products(table, tails + head + middle)
            largest = int(powers.max())
            part = float(np.sum(np.ldexp(product, powers - largest)))
            shift = max(exponent, largest) if total else largest
            total = float(np.ldexp(total, exponent - shift) + np.ldexp(part, largest - shift))
            exponent = shift
        # Per term the products, then the pairwise and the outer sums; log adds a few ulps.
        roundings = len(self.differences) + values**tail + len(heads)
        log_z = float(np.log(total) + exponent * np.log(2.0))
        return Enclosure(log_z, gamma(roundings) * 1.01 + gamma(8) * (1 + abs(log_z)))


def _box(dimension: int, bound: int) -> npt.NDArray[np.int64]:
    """Every point of `{-m, ..., m}^dimension`, one per row."""
    axis = np.arange(-bound, bound + 1)
    points = np.zeros((1, 0), np.int64)
    for _ in range(dimension):
        points = np.concatenate(
            [np.repeat(points, len(axis), 0), np.tile(axis, len(points))[:, None]], axis=1
        )
    return points


def _scaled_products(
    table: npt.NDArray[np.float64], indices: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The product of each row's factors as mantissa and power of two, against underflow."""
    product = np.ones(len(indices))
    powers = np.zeros(len(indices), np.int64)
    # Sixteen factors above 2^-50 stay far from the least normal number, 2^-1022.
    for start in range(0, indices.shape[1], 16):
        product *= table[indices[:, start : start + 16]].prod(axis=1)
        product, steps = np.frexp(product)
        powers += steps
    return product, powers
