"""Preference learning: the posterior of a linear utility given pairwise comparisons."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from random import Random
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.contract.errors import (
    InputError,
    TooLargeError,
    check_fields,
    check_integer,
    check_seed,
    shown,
)
from reference.fields.field import gamma
from reference.problems.base import Order, PlaceByPlace, dyadic
from reference.problems.closed_form import Enclosure, check_count, seeded_arrays

# The largest score whose sigmoid, exp(-87) at its smallest, is a normal float32.
MAX_SCORE = 87
MAX_SUMMED = 100_000_000
# With at most 512 comparisons, 2^n R fits a float64, and terms that underflow are below 2^-500 of
# Z.
MAX_COMPARISONS = 512
# The sum takes the first components one by one, and at most the last four at once.
BLOCK = 10_000


class Weights(NamedTuple):
    """A state: the components chosen so far, `None` for an open one."""

    components: tuple[int | None, ...]

    def __str__(self) -> str:
        return " ".join("?" if w is None else f"{w:+d}" for w in self.components)


@dataclass(frozen=True)
class Preference(PlaceByPlace[Weights]):
    """Bayesian preference learning over integer weights `w` in `{-m, ..., m}^d`.

    With a uniform prior, `R(w) = prod_k sigmoid(w . x_k)`, where `x_k`, d integers in {-1, 0, 1},
    is the difference between the features of the preferred item of comparison k and those of the
    other, and `sigmoid(n)` of the integer `w . x_k` is rounded to 24 bits: `R` is an exact product.
    (The paper prints `w in {-m, ..., m}` without the power d.) Components are chosen one by one, in
    the order 1 to d (a tree) or in any. The `bound` is m >= 1.
    """

    differences: tuple[tuple[int, ...], ...]
    bound: int = 4
    order: Order = "fixed"

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        check_integer("Preference", "bound", self.bound, 1)
        if not self.differences:
            raise InputError("Preference: there is no comparison: give at least one difference")
        for k, row in enumerate(self.differences):
            if len(row) != len(self.differences[0]) or not row:
                raise InputError(
                    f"Preference: difference {k} has {len(row)} entries, but the first has "
                    f"{len(self.differences[0])}: give one per feature, at least one"
                )
            for entry in row:
                if entry not in (-1, 0, 1):
                    raise InputError(
                        f"Preference: difference {k} has the entry {shown(entry)}, but features "
                        "are 0 or 1, so their difference is -1, 0 or 1"
                    )
        if self.bound * self.dimension > MAX_SCORE:
            raise InputError(
                f"Preference: scores reach m d = {self.bound * self.dimension}, where "
                f"sigmoid(-{MAX_SCORE}) is the least that float32 holds in full precision: lower "
                "the bound or the dimension"
            )

    @classmethod
    def random(
        cls,
        comparisons: int = 50,
        dimension: int = 8,
        bound: int = 4,
        order: Order = "fixed",
        seed: int = 0,
    ) -> Self:
        """Comparisons by a hidden `w*`, uniform on the box: the first of a stream fixed by `seed`.

        Both items have independent fair binary features, equal pairs being redrawn; the first is
        preferred with probability `sigmoid(w* . (x_1 - x_2))`. Fewer comparisons are a prefix of
        more.

        Args:
            comparisons: number of comparisons; the paper has 50, 100 and 150.
            dimension: d, the number of weights.
            bound: m: each weight lies in -m, ..., m.
            order: choose the weights one after the other (a tree), or in any order.
            seed: seed of the comparisons.
        """
        check_integer("Preference.random", "comparisons", comparisons, 1)
        check_integer("Preference.random", "dimension", dimension, 1)
        check_integer("Preference.random", "bound", bound, 1)
        check_seed("Preference.random", seed)
        rng = Random(seed)
        hidden = [rng.randint(-bound, bound) for _ in range(dimension)]
        rows: list[tuple[int, ...]] = []
        while len(rows) < comparisons:
            first, second = ([rng.randrange(2) for _ in hidden] for _ in range(2))
            if first == second:
                continue
            row = [a - b for a, b in zip(first, second, strict=True)]
            utility = sum(w * x for w, x in zip(hidden, row, strict=True))
            sign = 1 if rng.random() < 1 / (1 + math.exp(-utility)) else -1
            rows.append(tuple(sign * x for x in row))
        return cls(tuple(rows), bound, order)

    @classmethod
    def minimal(cls) -> Self:
        """Two components in {-1, 0, 1}, any order."""
        return cls.random(5, dimension=2, bound=1, order="any")

    @classmethod
    def paper(cls, comparisons: int = 50) -> Self:
        """`d = 8`, `m = 4`: 43,046,721 terminal states; 50, 100 or 150 comparisons."""
        return cls.random(comparisons)

    @property
    def dimension(self) -> int:
        """`d`."""
        return len(self.differences[0])

    @property
    def initial(self) -> Weights:
        """No component chosen."""
        return Weights((None,) * self.dimension)

    def choices(self, values: tuple[int | None, ...], place: int) -> range:
        """All weights."""
        return range(-self.bound, self.bound + 1)

    @cached_property
    def likelihood(self) -> tuple[Fraction, ...]:
        """`sigmoid(n)` for `n = -m d, ..., m d`, rounded to 24 bits.

        The values for n and -n sum to 1 only up to that rounding: as a reward `R` is exact, as a
        posterior it is correct up to `2^-24` per comparison.
        """
        largest = self.bound * self.dimension
        return tuple(dyadic(1 / (1 + math.exp(-n))) for n in range(-largest, largest + 1))

    def reward(self, terminal: Weights) -> Fraction:
        """The likelihood of all comparisons."""
        components = [w for w in terminal.components if w is not None]
        middle = self.bound * self.dimension
        scores = Counter(
            sum(w * x for w, x in zip(components, row, strict=True)) for row in self.differences
        )
        factors = (self.likelihood[middle + score] ** n for score, n in scores.items())
        return math.prod(factors, start=Fraction(1))

    @property
    def factor_count(self) -> int:
        """The number of comparisons: each is a factor."""
        return len(self.differences)

    def with_factors(self, kept: Sequence[int]) -> Self:
        """The posterior given these comparisons alone, at least one; the prior is no factor."""
        return replace(self, differences=tuple(self.differences[k] for k in kept))

    def log_z(self) -> Enclosure:
        """`log Z`, in nats, by summing the likelihood of every `w` in float64, with a proved error.

        There is no formula, but the sum is affordable: the `9^8` terms of the paper take a few
        seconds. With n comparisons `2^n R(w)` is a product of n factors `2 sigmoid` that are exact
        in float64, at most `2^n`, and exactly 1 at `w = 0`. So there are `n - 1` roundings per term
        and one per addition, in whatever order, and no cancellation; the roundings of a logarithm
        or of an exponential do not enter. Raises TooLargeError if there are more than 10^8 terms,
        or more than 512 comparisons.
        """
        blocks = self._blocks
        roundings = len(self.differences) + blocks.terms + 2
        log_z = Enclosure.log_of(
            Fraction(math.fsum(blocks.totals.tolist())) / 2 ** len(self.differences)
        )
        # |log(1 + e)| <= e / (1 - e) for |e| <= gamma_k: gamma_2k leaves room for underflow, too.
        return Enclosure(log_z.value, math.nextafter(log_z.error + gamma(2 * roundings), math.inf))

    def sample(self, count: int, seed: int) -> list[Weights]:
        """Independent samples of the posterior: a block by its sum, then a term by its weight.

        Both are drawn in float64. With B blocks of t terms, the roundings of the weights, of their
        cumulative sums (one per term, and two for their quotients) and of the uniform variates put
        the law within `(B + 2 t + n) 2^-52` of `R / Z` in total variation, which is below `5e-12`
        at the paper's size. Raises TooLargeError as `log_z` does.
        """
        rng, blocks = seeded_arrays("sample", seed), self._blocks
        law = blocks.totals / blocks.totals.sum()
        chosen = rng.choice(len(law), size=check_count(count), p=law)
        samples = np.empty((count, self.dimension), np.int64)
        samples[:, : blocks.heads.shape[1]] = blocks.heads[chosen]
        for block in np.unique(chosen):
            (rows,) = np.nonzero(chosen == block)
            weights = blocks.weights(block)
            terms = rng.choice(blocks.terms, size=len(rows), p=weights / weights.sum())
            samples[rows, blocks.heads.shape[1] :] = blocks.tails[terms]
        return [Weights(tuple(row)) for row in samples.tolist()]

    @cached_property
    def _blocks(self) -> "_Blocks":
        return _Blocks(self)


class _Blocks:
    """`2^n R(w)` for all `w` with the same first components, block by block.

    For the remaining components t only the distinct patterns (up to sign) of the differences there
    matter, at most 41 for four components and any number of comparisons: per pattern u, the product
    over its comparisons is a function of the integer `u . t` alone. A row of `heads` is for a
    block, a row of `tails` for each of its terms.
    """

    def __init__(self, problem: Preference) -> None:
        values = 2 * problem.bound + 1
        if values**problem.dimension > MAX_SUMMED or len(problem.differences) > MAX_COMPARISONS:
            raise TooLargeError(
                f"Preference has {values**problem.dimension:,} terminal states and "
                f"{len(problem.differences)} comparisons, and at most {MAX_SUMMED:,} and "
                f"{MAX_COMPARISONS} are summed: lower the dimension, the bound or the comparisons"
            )
        size = max(k for k in range(1, min(4, problem.dimension) + 1) if values**k <= BLOCK)
        head = problem.dimension - size
        self.heads, self.tails = _box(head, problem.bound), _box(size, problem.bound)
        self.terms = len(self.tails)
        data = np.array(problem.differences, np.int64)
        # Fold x and -x together: a pattern's first entry that is not 0 becomes 1.
        nonzero = data[:, head:] != 0
        first = np.take_along_axis(data[:, head:], nonzero.argmax(axis=1)[:, None], axis=1)
        signs = np.where(first < 0, -1, 1)
        patterns, pattern = np.unique(data[:, head:] * signs, axis=0, return_inverse=True)
        order = np.argsort(pattern, kind="stable")
        self._starts = np.searchsorted(pattern[order], np.arange(len(patterns)))
        self._head_data = data[order, :head].T
        reach = problem.bound * size
        middle = problem.bound * problem.dimension
        # Row k: where comparison k finds its factor, if the head scores 0, for u . t = -reach ...
        self._columns = middle + signs[order] * np.arange(-reach, reach + 1)
        width = 2 * reach + 1
        self._places = width * np.arange(len(patterns))[:, None] + patterns @ self.tails.T + reach
        self._factors = np.array([2 * float(p) for p in problem.likelihood])

    def weights(self, block: int | np.int64) -> npt.NDArray[np.float64]:
        """`2^n R`, one number per row of `tails`."""
        scores = (self.heads[block] @ self._head_data)[:, None]
        tables = np.multiply.reduceat(self._factors[self._columns + scores], self._starts)
        weights: npt.NDArray[np.float64] = tables.ravel()[self._places].prod(axis=0)
        return weights

    @cached_property
    def totals(self) -> npt.NDArray[np.float64]:
        """The sum of the weights of each block."""
        return np.array([self.weights(block).sum() for block in range(len(self.heads))])


def _box(dimension: int, bound: int) -> npt.NDArray[np.int64]:
    """Every point of `{-m, ..., m}^dimension` in lexicographic order, one per row."""
    return np.array(list(product(range(-bound, bound + 1), repeat=dimension)), np.int64)
