"""Importance weights of drawn trajectories, which measure a sampler where `Z` is unknown.

Imports no JAX.
"""

import math
from dataclasses import dataclass

import numpy as np

from fast.laws.samples import Floats
from reference.metrics import Estimate
from reference.rows.importance import effective_size, log_mean, pareto_k


@dataclass(frozen=True)
class Weights:
    """Figures of the weights `R(x) p_B(tau|x) / p_F(tau)`; blind to modes that were never drawn.

    Attributes:
        drawn: the number of trajectories.
        effective: the effective sample size, `(sum of w)^2 / sum of w^2`.
        pareto_k: the shape of the tail; above 0.7 means are unreliable. None if there are too few
            weights, or no tail.
        log_z_below: the mean log weight, whose expectation is at most `log Z`, in nats.
        log_mean: the logarithm of the mean weight, which converges to `log Z`, in nats.
    """

    drawn: int
    effective: float
    pareto_k: float | None
    log_z_below: Estimate
    log_mean: float

    @classmethod
    def of(cls, log_weights: Floats) -> "Weights":
        """The figures of log weights, in nats."""
        tail = pareto_k(log_weights)
        return cls(
            len(log_weights),
            effective_size(log_weights),
            tail if math.isfinite(tail) else None,
            mean_of(log_weights),
            log_mean(log_weights),
        )


def mean_of(values: Floats) -> Estimate:
    """The mean of independent values, with its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


def scaled(logs: Floats) -> Floats:
    """Exponentials, divided by the largest."""
    weights: Floats = np.exp(logs - logs.max())
    return weights


def normalised(log_weights: Floats) -> Floats:
    """Weights that sum to 1."""
    weights = scaled(log_weights)
    shares: Floats = weights / weights.sum()
    return shares
