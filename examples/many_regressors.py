r"""Variable selection beyond the sets that can be summed: a bound of Z, and so a certificate.

`reference.problems.VariableSelection` sums all sets of at most 22 variables. Here variables are
decided one after the other, so that the states are a tree, and what lies below a state is bounded:
`pdai certify` then finds `Z- <= Z <= Z+` by a search, and an interval of TV for any sampler.

    pdai certify examples.many_regressors:look_ahead --gives logits \
        --problem examples.many_regressors:TwentyFour
"""

import math
from functools import cache
from typing import Any

import numpy as np

Decided = tuple[bool, ...]


class Regression:
    """The posterior of the set of regressors of a linear regression, in the order of the columns.

    With Zellner's prior of the coefficients, N rows, k variables in S and `u(S) = 1 - R^2`,

        R(S) = (1 + g)^(-k/2) ((1 + g u(S)) / (1 + g))^(-(N - 1)/2)

    (Liang et al., Mixtures of g priors for Bayesian variable selection, 2008).

    Args:
        data: shape (N, p), with N above p + 1 and independent columns.
        outcome: N numbers.
        g: of the prior; by default N.
    """

    initial: Decided = ()

    def __init__(self, data: Any, outcome: Any, g: float | None = None):
        both = np.column_stack([data, outcome]).astype(float)
        both = (both - both.mean(0)) / both.std(0)
        self.rows, self.count = len(both), both.shape[1] - 1
        self.g = float(self.rows) if g is None else g
        self.gram = both.T @ both / self.rows
        self.unexplained = cache(self._unexplained)

    def children(self, state: Decided) -> list[Decided]:
        """The next variable left out, and taken."""
        return [] if len(state) == self.count else [(*state, False), (*state, True)]

    def parents(self, state: Decided) -> list[Decided]:
        """The state is a history."""
        return [state[:-1]]

    def log_reward(self, state: Decided) -> float:
        """`log R(S)`, in nats."""
        return self._log_factor(sum(state), self.unexplained(state))

    def log_mass_bound(self, state: Decided) -> float:
        """At least `log sum of R` over all ways to decide on the other variables, in nats.

        None of them leaves more unexplained than all together do, and `C(r, m)` of them take m of
        the r: the sum over m is a binomial one.
        """
        rest = self.count - len(state)
        least = self.unexplained((*state, *(True,) * rest))
        spread = rest * math.log1p((1 + self.g) ** -0.5)
        # Far more than linear algebra loses of columns that are not nearly dependent.
        return self._log_factor(sum(state), least) + spread + 1e-6

    def _log_factor(self, size: int, unexplained: float) -> float:
        shrink = math.log1p(self.g)
        fit = math.log1p(self.g * unexplained) - shrink
        return -(size * shrink + (self.rows - 1) * fit) / 2

    def _unexplained(self, state: Decided) -> float:
        chosen = np.flatnonzero(state)
        along = self.gram[chosen, -1]
        explained = along @ np.linalg.solve(self.gram[np.ix_(chosen, chosen)], along)
        return max(1 - float(explained), 1e-12)


class TwentyFour(Regression):
    """Twenty-four columns of 1,000 rows, of which each fifth matters."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        data = rng.normal(size=(1_000, 24))
        noise = rng.normal(size=1_000)
        super().__init__(data, data[:, ::5] @ [0.5, -0.5, 0.5, -0.3, 0.3] + noise)


def look_ahead(state: Decided) -> list[float]:
    """A sampler that needs no training: the logits are the bounds of what lies below."""
    problem = regression()
    return [problem.log_mass_bound(child) for child in problem.children(state)]


@cache
def regression() -> TwentyFour:
    """The problem that `look_ahead` samples, made once."""
    return TwentyFour()
