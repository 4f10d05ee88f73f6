"""Marginal likelihoods of linear regressions: all sets of regressors, under priors with a scale g.

A regression on k variables has an intercept with a flat prior, an error variance with the prior
`1 / s`, and coefficients `N(0, g s (X'X)^-1)`. With N observations and `R2` the explained share of
variance, the Bayes factor against no variable is, for a fixed g (Zellner, 1986; Liang et al.,
Mixtures of g priors for Bayesian variable selection, 2008),

    (1 + g)^((N - 1 - k)/2) (1 + g (1 - R2))^(-(N - 1)/2)
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from reference.contract.errors import InputError
from reference.posterior.columns import Floats, Ints, check_positive

# Below this, the second term of the series in R2 is below the resolution of float64.
SMALL = 1e-9


class RegressionPrior(ABC):
    """A prior of the coefficients."""

    @abstractmethod
    def log_factors(self, rows: int, sizes: Ints, unexplained: Floats) -> Floats:
        """The log Bayes factors of sets of variables against the empty one, nats.

        Args:
            rows: the number of observations, N.
            sizes: the number k of variables of each set.
            unexplained: `1 - R2` of each set.
        """


@dataclass(frozen=True)
class ZellnerPrior(RegressionPrior):
    """A fixed g, positive; by default N, the unit-information prior."""

    g: float | None = None

    def __post_init__(self) -> None:
        if self.g is not None:
            check_positive("ZellnerPrior", "g", self.g)

    def log_factors(self, rows: int, sizes: Ints, unexplained: Floats) -> Floats:
        """The logarithm of the module's formula."""
        g = float(rows) if self.g is None else self.g
        gain = (rows - 1 - sizes) / 2 * math.log1p(g)
        return np.asarray(gain - (rows - 1) / 2 * np.log1p(g * unexplained), np.float64)


@dataclass(frozen=True)
class HyperGPrior(RegressionPrior):
    """A random g, of density `(a - 2)/2 (1 + g)^(-a/2)`.

    With `c = (k + a)/2` and `b = (N - 1)/2` the factor is `(a - 2)/(k + a - 2) 2F1(b, 1; c; R2)`
    (Liang et al., 2008, equation 17), and by `s = R2 (1 - t)/(1 - R2 t)` in Euler's integral

        2F1(b, 1; c; R2) = (c - 1) R2^(1 - c) (1 - R2)^(c - b - 1) B(R2; c - 1, b - c + 1)

    with the incomplete beta function B.

    Attributes:
        a: the parameter, above 2.
    """

    a: float = 3.0

    def __post_init__(self) -> None:
        check_positive("HyperGPrior", "a", self.a)
        if not self.a > 2:
            raise InputError(
                f"HyperGPrior: a is {self.a}, but must be above 2, or g has no law; 3 and 4 are "
                "usual"
            )

    def log_factors(self, rows: int, sizes: Ints, unexplained: Floats) -> Floats:
        """The logarithm of the factor; raises InputError for no more than k + a - 1 rows."""
        if rows <= int(sizes.max()) + self.a - 1:
            raise InputError(
                f"HyperGPrior: {rows} rows, but {int(sizes.max())} variables need more than "
                f"{int(sizes.max()) + self.a - 1:g}: leave variables out, or add rows"
            )
        # SciPy takes long to import.
        from scipy.special import betainc, betaln

        b, c = (rows - 1) / 2, (sizes + self.a) / 2
        explained = np.clip(1 - unexplained, SMALL, None)
        logs = (
            np.log(betainc(c - 1, b - c + 1, explained))
            + betaln(c - 1, b - c + 1)
            - (c - 1) * np.log(explained)
            - (b - c + 1) * np.log(unexplained)
        )
        usual = math.log(self.a / 2 - 1) + logs
        few = math.log(self.a - 2) - np.log(sizes + self.a - 2) + b / c * (1 - unexplained)
        return np.asarray(np.where(1 - unexplained < SMALL, few, usual), np.float64)


def residual_sums(columns: Floats) -> Floats:
    """The residual sum of squares of each set of p variables, by bit mask; the outcome comes last.

    Each variable is kept or left out in turn. Its column of a triangular factor goes, and with a
    variable that is kept its row; nothing is squared before the end, so that columns that are
    nearly combinations of others keep their digits. The columns have the shape (N, p + 1).
    """
    left: Floats = np.asarray(np.linalg.qr(columns, mode="r"), np.float64)[None]
    while left.shape[-1] > 1:
        left = np.concatenate([np.linalg.qr(left[:, :, 1:], mode="r"), left[:, 1:, 1:]])
    return np.asarray(left[:, 0, 0] ** 2, np.float64)
