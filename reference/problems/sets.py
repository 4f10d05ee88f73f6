"""Set generation: subsets of a fixed size, built item by item."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from reference.contract.errors import InputError, check_integer, check_sequence, check_value, shown
from reference.problems.base import RewardForm, combined, dyadic
from reference.problems.closed_form import FiniteLaw, Summed, check_count, seeded, seeded_arrays

# The bits of a random word, which is compared with a probability before all of it is.
BITS = 64


class Items(NamedTuple):
    """A state: the numbers of its items, in increasing order."""

    members: tuple[int, ...]

    def __str__(self) -> str:
        return "{" + ",".join(map(str, self.members)) + "}"


@dataclass(frozen=True)
class Sets(Summed):
    """Subsets of K (`size`) out of S items with rational weights `w > 0`, one item added per step.

    `R(g)` is the product of the weights of its items, `log R(g) = sum of u(i)` with `w = exp(u)`.
    The paper prints their sum, `form="sum"`, for which at K = 24 a uniform sampler already does
    better than the trained Markovian one of its table (`proofs_notes/errata.md`).
    """

    weights: tuple[Fraction, ...]
    size: int
    form: RewardForm = "product"

    def __post_init__(self) -> None:
        for i, weight in enumerate(check_sequence("Sets", "weights", self.weights)):
            if not isinstance(weight, Fraction) or not weight > 0:
                raise InputError(
                    f"Sets: the weight of item {i} is {shown(weight)}, but must be a positive "
                    "Fraction: use `dyadic(math.exp(u))` for a log utility u"
                )
        check_integer("Sets", "size", self.size, 1)
        if self.size > len(self.weights):
            raise InputError(
                f"Sets: subsets of {self.size} of {len(self.weights)} items do not exist: lower "
                "the size"
            )
        check_value("Sets", "form", self.form, RewardForm)

    @classmethod
    def random(
        cls, items: int = 64, size: int = 16, form: RewardForm = "product", seed: int = 0
    ) -> Self:
        """Log utilities `u` from a standard normal law; `exp(u)` is rounded to 24 bits.

        Args:
            items: S, the number of items.
            size: K, the size of a set; the paper has 16, 24 and 32.
            form: whether R is the product of exp(u) or, as printed, their sum.
            seed: seed of the utilities u.
        """
        check_integer("Sets.random", "items", items, 1)
        utilities = seeded_arrays("Sets.random", seed).normal(size=items).tolist()
        return cls(tuple(dyadic(math.exp(u)) for u in utilities), size, form)

    @classmethod
    def minimal(cls) -> Self:
        """Three out of five items."""
        return cls.random(5, 3)

    @classmethod
    def paper(cls, size: int = 16) -> Self:
        """Sets out of 64 items; the paper's text has the sizes 16 and 32, its table 16 and 24."""
        return cls.random(64, size)

    @property
    def initial(self) -> Items:
        """The empty set."""
        return Items(())

    def children(self, state: Items) -> tuple[Items, ...]:
        """The sets with one item more."""
        if len(state.members) == self.size:
            return ()
        return tuple(
            Items(tuple(sorted((*state.members, i))))
            for i in range(len(self.weights))
            if i not in state.members
        )

    def parents(self, state: Items) -> tuple[Items, ...]:
        """The sets with one item less."""
        members = state.members
        return tuple(Items((*members[:i], *members[i + 1 :])) for i in range(len(members)))

    def reward(self, terminal: Items) -> Fraction:
        """The product, or the sum, of its items' weights."""
        return combined([self.weights[i] for i in terminal.members], self.form)

    @property
    def factor_count(self) -> int:
        """S: the reward is a product over all items, of w(i) for a chosen item, else of 1."""
        return len(self.weights)

    def with_factors(self, kept: Sequence[int]) -> Self:
        """The problem with weights 1 but of these items; raises InputError for `form="sum"`."""
        if self.form == "sum":
            raise InputError(
                "Sets: with form='sum' the reward is no product of factors: use form='product'"
            )
        weights = tuple(w if i in kept else Fraction(1) for i, w in enumerate(self.weights))
        return replace(self, weights=weights)

    def z(self) -> Fraction:
        """`Z`: the elementary symmetric polynomial `e_K(w)`, or `C(S-1, K-1) sum of w`."""
        if self.form == "sum":
            return math.comb(len(self.weights) - 1, self.size - 1) * sum(self.weights, Fraction(0))
        return elementary_symmetric(self.weights, self.size)[self.size]

    def inclusion_probabilities(self) -> tuple[Fraction, ...]:
        """For each item, the probability under `pi` that a set contains it."""
        z, items, size = self.z(), len(self.weights), self.size
        if self.form == "product":
            return tuple(
                w * elementary_symmetric(self._without((i,)), size - 1)[size - 1] / z
                for i, w in enumerate(self.weights)
            )
        total = sum(self.weights, Fraction(0))
        # Each set with item i has the term w(i), and C(S-2, K-2) of them have each other item.
        each = math.comb(items - 1, size - 1)
        pairs = math.comb(items - 2, size - 2) if size > 1 else 0
        return tuple((each * w + pairs * (total - w)) / z for w in self.weights)

    def flow(self, state: Items) -> Fraction:
        """The state flow `F(s)` under the uniform backward policy.

        It is the sum of `R(x)` over the terminal sets that contain `s`, divided by `C(K, |s|)`, the
        number of sets of `|s|` items in each: all orders of adding are equally likely.
        """
        chosen, missing = state.members, self.size - len(state.members)
        rest = self._without(chosen)
        if self.form == "product":
            above = math.prod((self.weights[i] for i in chosen), start=Fraction(1))
            above *= elementary_symmetric(rest, missing)[missing]
        else:
            held = sum((self.weights[i] for i in chosen), Fraction(0))
            above = math.comb(len(rest), missing) * held
            if missing:
                above += math.comb(len(rest) - 1, missing - 1) * sum(rest, Fraction(0))
        return above / math.comb(self.size, len(chosen))

    def sample(self, count: int, seed: int) -> list[Items]:
        """Independent samples of the target, drawn with integers alone.

        Items are decided from last to first, for all samples at once: the probability that item i
        is among k items of the first i + 1 is the share of such sets in their `Z`.
        """
        count = check_count(count)
        if self.form == "product":
            return self._by_item(count, seed)
        rng = seeded(seed)
        # R is a sum over items: one item by weight, the others uniformly.
        samples, law = [], FiniteLaw.of(dict(enumerate(self.weights)))
        for _ in range(count):
            first = law.draw(rng)
            others = [i for i in range(len(self.weights)) if i != first]
            samples.append(Items(tuple(sorted((first, *rng.sample(others, self.size - 1))))))
        return samples

    def _by_item(self, count: int, seed: int) -> list[Items]:
        arrays, rng, most = seeded_arrays("sample", seed), seeded(seed), 2**BITS - 1
        left, chosen = np.full(count, self.size), np.zeros((count, len(self.weights)), bool)
        for i in range(len(self.weights) - 1, -1, -1):
            without, total = self._sums[i], self._sums[i + 1]
            inside = [0, *(self._integers[i] * without[k] for k in range(self.size))]
            parts = [
                min(most, (x << BITS) // n) if n else 0 for x, n in zip(inside, total, strict=True)
            ]
            below = np.array(parts, np.uint64)[left]
            words = arrays.integers(most, endpoint=True, size=count, dtype=np.uint64)
            chosen[:, i] = words < below
            # All bits are equal: the rest of the probability decides, as in one draw of all.
            for row in np.flatnonzero(words == below).tolist():
                k = left[row]
                rest = (inside[k] << BITS) - parts[k] * total[k]
                chosen[row, i] = rng.randrange(total[k]) < rest
            left -= chosen[:, i]
        rows = np.nonzero(chosen)[1].reshape(count, self.size).tolist()
        return [Items(tuple(row)) for row in rows]

    @cached_property
    def _integers(self) -> tuple[int, ...]:
        """The weights over their common denominator."""
        scale = math.lcm(*(w.denominator for w in self.weights))
        return tuple(w.numerator * (scale // w.denominator) for w in self.weights)

    @cached_property
    def _sums(self) -> list[list[int]]:
        """`e_0, ..., e_K` of the first 0, 1, ..., S integer weights."""
        rows = [[1] + [0] * self.size]
        for w in self._integers:
            last = rows[-1]
            rows.append([1, *(last[k] + w * last[k - 1] for k in range(1, self.size + 1))])
        return rows

    def _without(self, items: tuple[int, ...]) -> list[Fraction]:
        return [w for i, w in enumerate(self.weights) if i not in items]


def elementary_symmetric(values: Sequence[Fraction], degree: int) -> list[Fraction]:
    """`e_0, ..., e_degree` of the values: `e_k` sums the products of all subsets of size k."""
    sums = [Fraction(1)] + [Fraction(0)] * degree
    for value in values:
        for k in range(degree, 0, -1):
            sums[k] += value * sums[k - 1]
    return sums
