"""A search for the tied policy whose terminal law is nearest to a target."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from fast.checking.minimise import Minimiser, Vector
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.balls import BALL, enclose
from reference.marginals import marginal
from reference.policies import ForwardPolicy

# |x| is smoothed to sqrt(x^2 + s^2) - s, with decreasing s.
SMOOTHING = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
# The range of logits, so that all weights are positive floats.
LARGEST_LOGIT = 20.0
SEARCH = {"maxiter": 2_000, "maxfun": 4_000}


class Attained(NamedTuple):
    """A policy of the class, by a weight per class, and an upper bound on its TV to the target.

    That is exact up to rounding in ball arithmetic.
    """

    weights: tuple[Fraction, ...]
    distance: Fraction


def nearest(
    tied: TiedPolicies, target: Sequence[Fraction], starts: int = 4, near: Sequence[Vector] = ()
) -> Attained:
    """A tied policy with a law near a target, by local search.

    L-BFGS on a smoothed TV. It is not convex in the logits, so another policy may be nearer. The
    stated distance of this policy is proved.

    Args:
        tied: the class of policies.
        target: one probability per terminal.
        starts: the number of searches from normal logits; at least 1 if none are near.
        near: further logits to start at, one per class.
    """
    distance = _SmoothedDistance(tied, target)
    rng = np.random.default_rng(0)
    points = [*(rng.normal(size=tied.count) for _ in range(starts)), *near]
    minima = [distance.search(point) for point in points]
    best = min(minima, key=lambda logits: distance(logits, 0.0)[0])
    weights = tuple(Fraction(w) for w in np.exp(best).tolist())
    policy = ForwardPolicy.from_weights(tied.dag, BALL, [weights[c] for c in tied.classes])
    pairs = zip(marginal(policy), target, strict=True)
    apart = enclose(BALL.sum(abs(p - BALL.convert(q)) for p, q in pairs) / 2)[1]
    return Attained(weights, apart)


class _SmoothedDistance:
    """TV, smoothed, as a function of logits, with its gradient: one pass forwards, one back."""

    def __init__(self, tied: TiedPolicies, target: Sequence[Fraction]):
        self.edges = np.array(tied.dag.edges)
        self.classes, self.count = np.array(tied.classes), tied.count
        self.terminals = np.array(tied.dag.terminals)
        self.target = np.array([float(p) for p in target])
        self.nodes = len(tied.dag.labels)
        # Edges into a node of depth d come from lower depths, so layers are processed in order.
        starts = np.array(tied.dag.depths)[self.edges[:, 0]]
        self.layers = [np.nonzero(starts == d)[0] for d in range(max(tied.dag.depths))]

    def __call__(self, logits: Vector, smoothing: float) -> tuple[float, Vector]:
        start, end = self.edges.T
        weight = np.exp(logits[self.classes])
        p = weight / np.bincount(start, weight, self.nodes)[start]
        visits = np.zeros(self.nodes)
        visits[0] = 1
        for layer in self.layers:
            np.add.at(visits, end[layer], visits[start[layer]] * p[layer])
        gap = visits[self.terminals] - self.target
        size = np.hypot(gap, smoothing)
        value = np.zeros(self.nodes)
        value[self.terminals] = np.divide(gap, size, out=np.zeros_like(gap), where=size > 0)
        for layer in reversed(self.layers):
            np.add.at(value, start[layer], p[layer] * value[end[layer]])
        by_edge = visits[start] * p * (value[end] - value[start])
        slope = np.bincount(self.classes, by_edge, self.count)
        return float(np.sum(size - smoothing)) / 2, slope / 2

    def search(self, logits: Vector) -> Vector:
        """The logits of a local minimum near the starting logits."""
        every = np.arange(self.count)
        for smoothing in SMOOTHING:
            graded = partial(self, smoothing=smoothing)
            logits = Minimiser(graded, every, SEARCH, largest=LARGEST_LOGIT).minimum(logits)
        return logits
