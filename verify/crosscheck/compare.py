"""Comparisons of numbers and counts, and counts of compilations."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import numpy as np
from scipy.stats import chi2

Precision = Literal["float32", "float64"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# What two orders of the same operations may differ by, relative to the largest number: kernels are
# sums and products of a few hundred numbers of order one, and soft-maxes of logits up to about 30,
# so some hundreds of the units in the last place, 6e-8 and 1e-16.
TOLERANCE: dict[Precision, float] = {"float32": 1e-4, "float64": 1e-12}

# What float32 may differ by from float64, on kernels of a few dozen operations. Measured: at most
# 4e-7, over all dynamics but one and all losses; 6e-8 is a unit in the last place.
ROUNDED = 2e-6


def distance(actual: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    difference = np.abs(actual - expected).max(initial=0)
    return float(difference / max(np.abs(expected).max(initial=0), 1e-30))


def tree_distance(actual: Any, expected: Any) -> float:
    """The largest distance of two leaves; infinite if types, shapes, integers or flags differ."""
    if jax.tree.structure(actual) != jax.tree.structure(expected):  # type: ignore[operator]
        return np.inf
    leaves, others = jax.tree.leaves(actual), jax.tree.leaves(expected)
    worst = 0.0
    for a, b in zip(map(np.asarray, leaves), map(np.asarray, others), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return np.inf
        if np.issubdtype(a.dtype, np.inexact):
            worst = max(worst, distance(a, b))
        elif not np.array_equal(a, b):
            return np.inf
    return worst


# A goodness-of-fit test rejects a right sampler with this probability, and no more often.
ERROR_PROBABILITY = 1e-6


def excess(counts: Any, expected: Any) -> float:
    """Pearson's statistic over its critical value, small cells pooled; above 1 is a rejection."""
    order = np.argsort(expected)
    counts, expected = np.asarray(counts)[order].astype(float), np.asarray(expected)[order]
    # Pool cells until each expects at least 20, where the chi-square law is accurate.
    groups, total = np.zeros(len(expected), int), 0.0
    for i in range(1, len(expected)):
        total += expected[i - 1]
        groups[i] = groups[i - 1] + (total >= 20)
        total = 0.0 if total >= 20 else total
    c, e = np.bincount(groups, counts), np.bincount(groups, expected)
    if e[-1] < 20 and len(e) > 1:
        c, e = np.append(c[:-2], c[-2:].sum()), np.append(e[:-2], e[-2:].sum())
    if len(e) == 1:
        return 0.0
    critical = chi2.ppf(1 - ERROR_PROBABILITY, len(e) - 1)
    return float(((c - e) ** 2 / e).sum() / critical)


class Compiled:
    """A function under `jax.jit`, what is no array being constant, which counts its `traces`."""

    def __init__(self, function: Callable[..., Any]):
        self.traces = 0

        def traced(*arguments: Any) -> Any:
            self.traces += 1
            return function(*arguments)

        self._jitted = eqx.filter_jit(traced)

    def __call__(self, *arguments: Any) -> Any:
        """The result of the compiled function."""
        return self._jitted(*arguments)


def eagerly(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the same function, operation by operation, loops in Python."""
    with jax.disable_jit():
        return function(*arguments)


_programs = 0


def _count(event: str, duration_secs: float, **kwargs: str | int) -> None:
    global _programs
    _programs += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(_count)


def compilations(function: Callable[..., Any], *arguments: Any) -> int:
    """The number of programs that a call compiles, in it and in all that it calls."""
    before = _programs
    function(*arguments)
    return _programs - before


def perceptron(network: Any, x: Any) -> Any:
    """Leaky ReLUs between linear layers, by hand, in float64."""
    pairs = list(zip(network.weights, network.biases, strict=True))
    for i, (weight, bias) in enumerate(pairs):
        x = x @ np.asarray(weight, np.float64) + np.asarray(bias, np.float64)
        x = np.where(x > 0, x, 0.01 * x) if i < len(pairs) - 1 else x
    return x
