"""Variable selection: the posterior of the set of regressors of a linear regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from reference.contract.errors import InputError, TooLargeError, check_integer, check_type
from reference.posterior.columns import (
    LEAST_RESIDUE,
    Ints,
    Table,
    column_names,
    data_names,
    matrix,
    read_table,
    standard_columns,
)
from reference.posterior.regression_priors import RegressionPrior, ZellnerPrior, residual_sums
from reference.posterior.weights import Dyadics, dyadic_exponentials
from reference.problems.closed_form import FiniteLaw, Summed, check_count, seeded, seeded_arrays

# Above this, 2^p weights take more than a gigabyte.
MAX_VARIABLES = 22

UNIT_INFORMATION = ZellnerPrior()


class Selection(NamedTuple):
    """A state: whether each variable is chosen; terminal if it is stopped."""

    chosen: tuple[bool, ...]
    stopped: bool = False

    @property
    def mask(self) -> int:
        """The set as a bit mask."""
        return sum(1 << i for i, here in enumerate(self.chosen) if here)

    def __str__(self) -> str:
        members = ",".join(str(i) for i, here in enumerate(self.chosen) if here)
        return f"{{{members}}}" if self.stopped else f"{{{members}}} ..."


def inclusion_indicators(state: Selection) -> dict[str, float]:
    """Indicators of the variables of a set, by number, for `pdai certify --features`."""
    return {str(i): float(here) for i, here in enumerate(state.chosen)}


@dataclass(frozen=True)
class VariableSelection(Summed):
    """Sets of variables, one added per step in any order until it stops.

    `R(S)` is the marginal likelihood of the linear regression on the variables in S under a prior
    of its coefficients (`RegressionPrior`), over that of the best set, rounded to 24 bits once:
    these numbers, `mantissa 2^exponent` by bit mask with mantissas from `2^23` on, below `2^24`,
    are the instance, and everything after is exact. All sets have one prior probability. The
    `offset` is the log Bayes factor of the best set against the empty one, nats.
    """

    mantissas: tuple[int, ...] = field(repr=False)
    exponents: tuple[int, ...] = field(repr=False)
    names: tuple[str, ...]
    offset: float = 0.0
    # The function with the same features as `quantities`, by number.
    indicators = staticmethod(inclusion_indicators)

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
        mantissas, exponents = np.array(self.mantissas), np.array(self.exponents)
        if exponents.dtype != np.int64 or np.abs(exponents).max() > 10**6:
            raise InputError(
                "VariableSelection: every exponent must be an integer of at most 10^6 in size"
            )
        if mantissas.dtype != np.int64 or mantissas.min() < 2**23 or mantissas.max() >= 2**24:
            raise InputError("VariableSelection: every mantissa must be an integer of 24 bits")

    @classmethod
    def regression(
        cls,
        data: object,
        outcome: object,
        names: Sequence[str] | None = None,
        prior: RegressionPrior = UNIT_INFORMATION,
    ) -> Self:
        """The posterior given observations and their outcomes.

        Args:
            data: the observations, shape (N, p), N above p + 1.
            outcome: the outcome of each, shape (N,).
            names: the names of the columns, by default "0", "1", ...
            prior: the prior of the coefficients.

        Raises:
            InputError: if a value is missing, a column or the outcome constant or a combination of
                columns, there are too many columns, or too few rows.
        """
        owner = "VariableSelection.regression"
        labels = data_names(owner, data, names)
        _check_size(len(labels))
        check_type(owner, "prior", prior, RegressionPrior)
        columns = standard_columns(owner, data, labels)
        y = matrix(owner, np.reshape(np.asarray(outcome), (-1, 1)), ("the outcome",))
        if len(y) != len(columns):
            raise InputError(
                f"{owner}: there are {len(y)} outcomes for {len(columns)} rows: give one for each"
            )
        both = standard_columns(owner, np.hstack([columns, y]), (*labels, "the outcome"))
        rows = len(both)
        sizes = np.bitwise_count(np.arange(2 ** len(labels))).astype(np.int64)
        unexplained = np.clip(residual_sums(both) / rows, LEAST_RESIDUE**2, 1.0)
        logs = prior.log_factors(rows, sizes, unexplained)
        best = float(logs.max())
        weights = dyadic_exponentials(logs - best)
        return cls(
            tuple(weights.mantissas.tolist()), tuple(weights.exponents.tolist()), labels, best
        )

    @classmethod
    def from_csv(
        cls, path: str | Path, outcome: str = "", prior: RegressionPrior = UNIT_INFORMATION
    ) -> Self:
        """The posterior given the columns of a CSV file whose first line names them.

        Args:
            path: the file.
            outcome: the column that the others explain; the last one by default.
            prior: the prior of the coefficients.

        Raises:
            InputError: as `read_table` and `regression` do, or if there is no such column.
        """
        return cls.from_table(read_table(Path(path)), outcome, prior)

    @classmethod
    def from_table(
        cls, table: Table, outcome: str = "", prior: RegressionPrior = UNIT_INFORMATION
    ) -> Self:
        """The posterior given a table; errors as for `from_csv`.

        Args:
            table: the data.
            outcome: the column that the others explain; the last one by default.
            prior: the prior of the coefficients.
        """
        outcome = outcome or table.names[-1]
        if outcome not in table.names:
            raise InputError(
                f"outcome is {outcome!r}, but the columns of {table.source} are "
                f"{', '.join(table.names)}"
            )
        numbers = table.numbers("leave the column out, or code it")
        others = [j for j, name in enumerate(table.names) if name != outcome]
        y, labels = numbers[:, table.names.index(outcome)], [table.names[j] for j in others]
        return cls.regression(numbers[:, others], y, labels, prior)

    @classmethod
    def random(
        cls,
        variables: int,
        rows: int = 100,
        seed: int = 0,
        prior: RegressionPrior = UNIT_INFORMATION,
    ) -> Self:
        """The posterior given correlated standard normal columns, every third of which matters.

        Neighbours have the correlation 1/2; coefficients are 1/2 or -1/2, the noise standard
        normal.

        Args:
            variables: the number of columns.
            rows: the number of observations.
            seed: the seed of columns, coefficients and noise.
            prior: the prior of the coefficients.
        """
        _check_size(variables)
        check_integer("VariableSelection.random", "rows", rows, variables + 2)
        rng = seeded_arrays("VariableSelection.random", seed)
        data = rng.normal(size=(rows, variables))
        for j in range(1, variables):
            data[:, j] = (data[:, j - 1] + math.sqrt(3) * data[:, j]) / 2
        signs = rng.choice([-0.5, 0.5], size=variables) * (np.arange(variables) % 3 == 0)
        return cls.regression(data, data @ signs + rng.normal(size=rows), prior=prior)

    @classmethod
    def minimal(cls) -> Self:
        """Three variables."""
        return cls.random(3, rows=20)

    @property
    def initial(self) -> Selection:
        """The empty set."""
        return Selection((False,) * len(self.names))

    def children(self, state: Selection) -> tuple[Selection, ...]:
        """The finished set, and all sets with one more variable."""
        if state.stopped:
            return ()
        return (Selection(state.chosen, True), *_changed(state.chosen, False))

    def parents(self, state: Selection) -> tuple[Selection, ...]:
        """The unfinished set, or all sets with one variable less."""
        return (Selection(state.chosen),) if state.stopped else _changed(state.chosen, True)

    def reward(self, terminal: Selection) -> Fraction:
        """`R(S)`."""
        mask = terminal.mask
        return self.mantissas[mask] * Fraction(2) ** self.exponents[mask]

    def z(self) -> Fraction:
        """`Z`, the sum over all `2^p` sets."""
        return self._sum(np.ones(len(self.mantissas), bool))

    def inclusion_probabilities(self) -> tuple[Fraction, ...]:
        """For each variable, the probability that it is chosen."""
        masks, z = np.arange(len(self.mantissas)), self.z()
        return tuple(self._sum(masks >> i & 1 == 1) / z for i in range(len(self.names)))

    def quantities(self, terminal: Selection) -> dict[str, float]:
        """Indicators of the variables of a set, by their names."""
        return dict(zip(self.names, map(float, terminal.chosen), strict=True))

    def quantity_means(self) -> dict[str, Fraction]:
        """The expectations of the quantities: the inclusion probabilities."""
        return dict(zip(self.names, self.inclusion_probabilities(), strict=True))

    def mode(self) -> Selection:
        """A most probable set."""
        return self.best(1)[0]

    def best(self, count: int) -> list[Selection]:
        """The most probable sets, best first; all, if there are fewer."""
        order = np.lexsort((-self._dyadics.mantissas, -self._dyadics.exponents))
        return [self._selection(int(mask)) for mask in order[: check_count(count, "best")]]

    def sample(self, count: int, seed: int) -> list[Selection]:
        """Independent samples of the posterior, drawn with integers alone."""
        rng = seeded(seed)
        return [self._draw(rng) for _ in range(check_count(count))]

    def _draw(self, rng: Random) -> Selection:
        """A set, by the power of two of its weight, and then among the sets with that power."""
        members, sums = self._by_exponent[self._exponent_law.draw(rng)]
        place = int(np.searchsorted(sums, rng.randrange(int(sums[-1])), side="right"))
        return self._selection(int(members[place]))

    def _selection(self, mask: int) -> Selection:
        return Selection(tuple(mask >> i & 1 == 1 for i in range(len(self.names))), True)

    def _sum(self, chosen: npt.NDArray[np.bool_]) -> Fraction:
        """The exact sum of the weights of some sets; at most 2^22 mantissas of 24 bits fit."""
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
        return {
            int(value): (group, np.cumsum(mantissas[group]))
            for value, group in zip(values, np.split(order, starts[1:]), strict=True)
        }

    @cached_property
    def _exponent_law(self) -> FiniteLaw[int]:
        groups = self._by_exponent.items()
        return FiniteLaw.of({power: int(s[-1]) * Fraction(2) ** power for power, (_, s) in groups})


def _changed(chosen: tuple[bool, ...], were: bool) -> tuple[Selection, ...]:
    """The sets that differ from a set in one variable: one fewer, or one more."""
    return tuple(
        Selection((*chosen[:i], not were, *chosen[i + 1 :]))
        for i, here in enumerate(chosen)
        if here == were
    )


def _check_size(variables: int) -> int:
    """The number of variables, if their sets can be summed; TooLargeError for more than 22."""
    column_names("VariableSelection", None, variables)
    if variables > MAX_VARIABLES:
        raise TooLargeError(
            f"VariableSelection: {variables} variables have 2^{variables} = {2**variables:,} sets, "
            f"and at most 2^{MAX_VARIABLES} are summed: leave variables out"
        )
    return variables
