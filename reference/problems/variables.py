"""Variable selection: the posterior of the set of regressors of a linear regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.errors import InputError, TooLargeError, check_integer, check_seed, check_type
from reference.problems.closed_form import Enclosure, FiniteLaw, check_count, seeded
from reference.problems.columns import (
    check_positive,
    column_names,
    data_names,
    matrix,
    standard_columns,
)
from reference.problems.dyadic_weights import Dyadics, dyadic_exponentials

Ints = npt.NDArray[np.int64]

# Beyond, 2^p weights take gigabytes.
MAX_VARIABLES = 20


class Selection(NamedTuple):
    """A state: the variables chosen so far, and whether it is finished.

    Attributes:
        chosen: whether each variable is.
        stopped: whether the state is terminal.
    """

    chosen: tuple[bool, ...]
    stopped: bool = False

    @property
    def mask(self) -> int:
        """The set as a bit mask."""
        return sum(1 << i for i, here in enumerate(self.chosen) if here)

    def __str__(self) -> str:
        members = ",".join(str(i) for i, here in enumerate(self.chosen) if here)
        return f"{{{members}}}" if self.stopped else f"{{{members}}} ..."


@dataclass(frozen=True)
class VariableSelection:
    """Sets of variables, one added per step in any order until it stops.

    `R(S)` is the marginal likelihood of the linear regression on the variables in S under Zellner's
    g-prior, over that of the best set, rounded to 24 bits once: these numbers are the instance, and
    everything after is exact. All sets have one prior probability.

    Attributes:
        mantissas: one per bit mask of a set, from `2^23` on, below `2^24`.
        exponents: `R(S) = mantissa 2^exponent`.
        names: of the variables.
        offset: the log Bayes factor of the best set against the empty one, nats.
    """

    mantissas: tuple[int, ...] = field(repr=False)
    exponents: tuple[int, ...] = field(repr=False)
    names: tuple[str, ...]
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mantissas", "exponents", "names"):
            check_type("VariableSelection", name, getattr(self, name), tuple)
        count = 2 ** _check_size(len(self.names))
        column_names("VariableSelection", self.names, len(self.names))
        check_type("VariableSelection", "offset", self.offset, float)
        if not len(self.mantissas) == len(self.exponents) == count:
            raise InputError(
                f"VariableSelection: mantissas and exponents must be {count:,} integers each, one "
                f"per set of {len(self.names)} variables"
            )
        for exponent in self.exponents:
            check_integer("VariableSelection", "an exponent", exponent, -(10**6), most=10**6)
        if not all(type(m) is int and 2**23 <= m < 2**24 for m in self.mantissas):
            raise InputError("VariableSelection: every mantissa must be an integer of 24 bits")

    @classmethod
    def regression(
        cls,
        data: object,
        outcome: object,
        names: Sequence[str] | None = None,
        g: float | None = None,
    ) -> Self:
        """The posterior given observations.

        With an intercept, N observations and `R2` the explained share of variance, the log Bayes
        factor of a set of k variables against the empty one is

            (N - 1 - k)/2 log(1 + g) - (N - 1)/2 log(1 + g (1 - R2))

        (Zellner, 1986; Liang et al., 2008).

        Args:
            data: shape (N, p), N above p + 1.
            outcome: N numbers.
            names: of the columns.
            g: of the prior, positive; N by default, the unit-information prior.

        Raises:
            InputError: if a value is missing, a column or the outcome constant or a combination of
                columns, there are too many columns or too few rows, or g is not positive.
        """
        owner = "VariableSelection.regression"
        found = data_names(owner, data, names)
        _check_size(len(found))
        columns = standard_columns(owner, data, found)
        y = matrix(owner, np.reshape(np.asarray(outcome), (-1, 1)), ("the outcome",))
        if len(y) != len(columns):
            raise InputError(
                f"{owner}: there are {len(y)} outcomes for {len(columns)} rows: give one for each"
            )
        both = standard_columns(owner, np.hstack([columns, y]), (*found, "the outcome"))
        rows = len(both)
        g = float(rows) if g is None else g
        check_positive(owner, "g", g)
        sizes = np.bitwise_count(np.arange(2 ** len(found))).astype(np.int64)
        unexplained = residual_sums(both.T @ both / rows)
        logs = (rows - 1 - sizes) / 2 * math.log1p(g)
        logs -= (rows - 1) / 2 * np.log1p(g * np.maximum(unexplained, 0.0))
        best = float(logs.max())
        weights = dyadic_exponentials(logs - best)
        return cls(
            tuple(weights.mantissas.tolist()), tuple(weights.exponents.tolist()), found, best
        )

    @classmethod
    def random(cls, variables: int, rows: int = 100, seed: int = 0) -> Self:
        """Correlated standard normal columns, of which one in three matters.

        Neighbours have the correlation 1/2; coefficients are 1/2 or -1/2, the noise standard
        normal.
        """
        _check_size(variables)
        check_integer("VariableSelection.random", "rows", rows, variables + 2)
        check_seed("VariableSelection.random", seed)
        rng = np.random.default_rng(seed)
        data = rng.normal(size=(rows, variables))
        for j in range(1, variables):
            data[:, j] = (data[:, j - 1] + math.sqrt(3) * data[:, j]) / 2
        signs = rng.choice([-0.5, 0.5], size=variables) * (np.arange(variables) % 3 == 0)
        return cls.regression(data, data @ signs + rng.normal(size=rows))

    @classmethod
    def minimal(cls) -> Self:
        """Three variables."""
        return cls.random(3, rows=20)

    @property
    def initial(self) -> Selection:
        """No variable."""
        return Selection((False,) * len(self.names))

    def children(self, state: Selection) -> tuple[Selection, ...]:
        """The same set, finished, and all with one variable more."""
        if state.stopped:
            return ()
        return (Selection(state.chosen, True), *_changed(state.chosen, False))

    def parents(self, state: Selection) -> tuple[Selection, ...]:
        """The set before it was finished, or all with one variable less."""
        return (Selection(state.chosen),) if state.stopped else _changed(state.chosen, True)

    def reward(self, terminal: Selection) -> Fraction:
        """`R(S)`."""
        mask = terminal.mask
        return self.mantissas[mask] * Fraction(2) ** self.exponents[mask]

    def z(self) -> Fraction:
        """`Z`, the sum over all `2^p` sets."""
        return self._sum(np.ones(len(self.mantissas), bool))

    def log_z(self) -> Enclosure:
        """`log Z`, in nats."""
        return Enclosure.log_of(self.z())

    def inclusion_probabilities(self) -> tuple[Fraction, ...]:
        """For each variable, the probability that it is chosen."""
        masks, z = np.arange(len(self.mantissas)), self.z()
        return tuple(self._sum(masks >> i & 1 == 1) / z for i in range(len(self.names)))

    def feature_means(self, features: object) -> dict[str, Fraction] | None:
        """The inclusion probabilities by number, if `inclusion_indicators` are meant."""
        if features is not inclusion_indicators:
            return None
        return {str(i): p for i, p in enumerate(self.inclusion_probabilities())}

    def mode(self) -> Selection:
        """A most probable set."""
        order = zip(self.exponents, self.mantissas, strict=True)
        return self._selection(max(enumerate(order), key=lambda entry: entry[1])[0])

    def sample(self, count: int, seed: int) -> list[Selection]:
        """Independent samples of the posterior, drawn with integers alone."""
        rng = seeded(seed)
        return [self._draw(rng) for _ in range(check_count(count))]

    def _draw(self, rng: Random) -> Selection:
        """First the power of two of the weight, then a set among those that share it."""
        members, sums = self._by_exponent[self._exponent_law.draw(rng)]
        place = int(np.searchsorted(sums, rng.randrange(int(sums[-1])), side="right"))
        return self._selection(int(members[place]))

    def _selection(self, mask: int) -> Selection:
        return Selection(tuple(mask >> i & 1 == 1 for i in range(len(self.names))), True)

    def _sum(self, chosen: npt.NDArray[np.bool_]) -> Fraction:
        """The sum of the weights of some sets, exactly: at most 2^20 mantissas of 24 bits fit."""
        total = Fraction(0)
        for exponent, (members, _) in self._by_exponent.items():
            here = self._dyadics.mantissas[members[chosen[members]]]
            total += int(here.sum()) * Fraction(2) ** exponent
        return total

    @cached_property
    def _dyadics(self) -> Dyadics:
        return Dyadics(np.array(self.mantissas, np.int64), np.array(self.exponents, np.int64))

    @cached_property
    def _by_exponent(self) -> dict[int, tuple[Ints, Ints]]:
        """The sets of each power of two, with the cumulative sums of their mantissas."""
        mantissas, exponents = self._dyadics
        order = np.argsort(exponents, kind="stable")
        values, starts = np.unique(exponents[order], return_index=True)
        groups = np.split(order, starts[1:])
        return {
            int(value): (group, np.cumsum(mantissas[group]))
            for value, group in zip(values, groups, strict=True)
        }

    @cached_property
    def _exponent_law(self) -> FiniteLaw[int]:
        return FiniteLaw.of(
            {
                exponent: int(sums[-1]) * Fraction(2) ** exponent
                for exponent, (_, sums) in self._by_exponent.items()
            }
        )


def residual_sums(gram: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What each set of variables leaves of the last one: a Schur complement for every bit mask.

    One variable after the other is taken out, or not: for p of them `2^p` divisions, not inverses.

    Args:
        gram: inner products of p variables and the outcome, shape (p + 1, p + 1).
    """
    left = np.array(gram, np.float64)[None]
    while left.shape[-1] > 1:
        rest, row = left[:, 1:, 1:], left[:, 1:, 0]
        taken = rest - row[:, :, None] * row[:, None, :] / left[:, :1, :1]
        left = np.concatenate([rest, taken])
    return np.asarray(left[:, 0, 0], np.float64)


def inclusion_indicators(state: Selection) -> dict[str, float]:
    """Which variables a set has, by number, for `pdai certify --features`: 1 where it has one."""
    return {str(i): float(here) for i, here in enumerate(state.chosen)}


def _changed(chosen: tuple[bool, ...], were: bool) -> tuple[Selection, ...]:
    """The sets that differ in one variable, which was chosen, or was not."""
    return tuple(
        Selection((*chosen[:i], not were, *chosen[i + 1 :]))
        for i, here in enumerate(chosen)
        if here == were
    )


def _check_size(variables: int) -> int:
    """The number of variables, if their sets can be summed.

    Raises:
        TooLargeError: if there are more than 20.
    """
    column_names("VariableSelection", None, variables)
    if variables > MAX_VARIABLES:
        raise TooLargeError(
            f"VariableSelection: {variables} variables have 2^{variables} = {2**variables:,} sets, "
            f"and at most 2^{MAX_VARIABLES} are summed: leave variables out"
        )
    return variables
