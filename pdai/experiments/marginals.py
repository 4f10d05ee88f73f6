"""Errors of the edge marginals of a posterior over graphs. Imports no JAX."""

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from reference.problems import StructureLearning

# The draws by which trained samplers are measured; for exact draws the error is known.
DRAWS = 16_384

Floats = npt.NDArray[np.float64]


def marginals_of(problem: StructureLearning) -> Floats:
    """The exact probability of each edge; the row is where it starts."""
    return np.array([[float(p) for p in row] for row in problem.edge_marginals()])


def distance(marginals: Floats, exact: Floats) -> float:
    """The mean of `|p - p*|` over the `n (n - 1)` edges there can be."""
    pairs = ~np.eye(len(exact), dtype=bool)
    return float(np.abs(marginals - exact)[pairs].mean())


def spread_of_draws(exact: Floats, draws: int = DRAWS) -> float:
    """The expectation of `distance` for the shares of edges in as many exact draws.

    `E |K - N p| = 2 p (1 - p) N P(K' = k)` of a binomial K, with K' one of `N - 1` and `k` the
    largest integer up to `N p` (De Moivre; Diaconis and Zabell, 1991).
    """
    pairs = ~np.eye(len(exact), dtype=bool)
    p = exact[pairs]
    mean = 2 * p * (1 - p) * binom.pmf(np.floor(draws * p), draws - 1, p)
    return float(mean.mean())
