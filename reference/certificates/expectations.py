"""Expectations of features, such as inclusion probabilities and masses of modes.

`|E_{p_T} f - E_pi f| <= TV(p_T, pi) (max f - min f)`: widened by TV, an interval of the first
expectation contains the second.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reference.certificates.betting import Interval, MeanInterval
from reference.certificates.statement import FLOAT_INPUT, Kind, Line
from reference.contract.user_code import are_rational
from reference.rows.features import Features, rows_of, table
from reference.rows.importance import Walks


def modes(states: Sequence[Hashable]) -> Features:
    """Indicators of terminal states, whose means are their probabilities."""
    return lambda x: {f"mass of {state!r}": float(x == state) for state in states}


def both(first: Features | None, second: Features | None) -> Features | None:
    """The features of two sets together."""
    if first is None or second is None:
        return first or second
    return lambda x: {**first(x), **second(x)}


class FeatureMeans:
    """Means of features, summed up while trajectories are drawn.

    Features are a function from a terminal state to numbers in [0, 1], always by the same names.
    """

    def __init__(self, features: Features):
        self.features = features
        self.means: dict[str, MeanInterval] = {}
        self._values: list[Any] = []
        self._weights: list[Any] = []

    def add(self, walks: Walks) -> None:
        """Adds trajectories; raises `InputError` as `table` does."""
        names, values = table(self.features, walks.terminals, tuple(self.means))
        for name, column in zip(names, values.T, strict=True):
            self.means.setdefault(name, MeanInterval()).add(column)
        self._values.append(values)
        self._weights.append(walks.log_weight)

    def lines(
        self, level: float, tv: Interval, known: Mapping[str, Fraction] | None = None
    ) -> list[Line]:
        """For each feature, its mean under the sampler, under the target, and by weights.

        Features are sorted by the distance of the sampler from the target, or from the weights.

        Args:
            level: that of each interval.
            tv: of the sampler, whose upper end fails with probability at most `level / 2`.
            known: the exact means under the target that are known, by name.
        """
        if not self.means:
            return []
        logs = np.concatenate(self._weights)
        weights = np.exp(logs - logs.max())
        weighted = weights @ np.concatenate(self._values) / weights.sum()
        known, groups = known or {}, []
        for (name, mean), estimate in zip(self.means.items(), weighted.tolist(), strict=True):
            model = mean.interval(level)
            # The other half of the level is for the upper end of TV.
            low, high = mean.interval(level / 2)
            within = Interval(max(0.0, low - tv.high), min(1.0, high + tv.high))
            target = Line(f"{name}: target (with TV)", within, "bound")
            if name in known:
                target = Line(f"{name}: target", known[name], "exact")
            lines = [
                Line(f"{name}: sampler", model, "bound"),
                target,
                Line(f"{name}: target, by importance weights", estimate, "estimate"),
            ]
            gap = (model.low + model.high) / 2 - float(known.get(name, estimate))
            groups.append((abs(gap), lines))
        return _farthest_first(groups)


def exact_lines(
    features: Features, law: Sequence[tuple[Any, Fraction, Fraction]], kind: Kind = "exact"
) -> list[Line]:
    """The expectations of features under a sampler and its target, by rational arithmetic.

    Args:
        features: a function from a terminal state to numbers in [0, 1] by name.
        law: `x`, `p_T(x)` and `pi(x)` of every terminal state.
        kind: the evidence for these.

    Returns:
        Two lines for each feature, those farthest apart first.
    """
    rows = rows_of(features, [x for x, _, _ in law])
    groups: list[tuple[Fraction, list[Line]]] = []
    for name in next(iter(rows.values()), ()):
        values = [rows[x][name] for x, _, _ in law]
        of = kind if are_rational(values) else FLOAT_INPUT
        model, target = (
            sum((row[at] * f for row, f in zip(law, values, strict=True)), start=Fraction(0))
            for at in (1, 2)
        )
        pair = [Line(f"{name}: sampler", model, of), Line(f"{name}: target", target, of)]
        groups.append((abs(model - target), pair))
    return _farthest_first(groups)


def sample_lines(
    features: Features,
    samples: Sequence[Hashable],
    target: Mapping[Hashable, Fraction],
    level: float,
    kind: Kind = "exact",
) -> list[Line]:
    """The expectations of features under a sampler and a listed target, farthest apart first.

    Args:
        features: a function from a terminal state to numbers in [0, 1] by name; outside of the
            target, a number may be any of these.
        samples: independent draws.
        target: `pi(x)` of every terminal state.
        level: the most with which any interval fails.
        kind: the evidence for the target.
    """
    counts = Counter(samples)
    inside = [x for x in counts if x in target]
    names, values = table(features, inside)
    times = [counts[x] for x in inside]
    outside = np.zeros(len(samples) - sum(times))
    exact = exact_lines(features, [(x, p, p) for x, p in target.items()], kind)
    means = {line.name: line for line in exact}
    groups = []
    for name, column in zip(names, values.T, strict=True):
        mean, known = MeanInterval(), means[f"{name}: target"]
        low = np.concatenate([np.repeat(column, times), outside])
        mean.add(low, np.concatenate([low[: len(low) - len(outside)], outside + 1]))
        bound = mean.interval(level / len(names))
        gap = abs((bound.low + bound.high) / 2 - float(known.value))  # type: ignore[arg-type]  # a fraction
        groups.append((gap, [Line(f"{name}: sampler", bound, "bound"), known]))
    return _farthest_first(groups)


def _farthest_first(groups: Sequence[tuple[Fraction | float, Sequence[Line]]]) -> list[Line]:
    """The lines of groups, each with the distance that it shows."""
    return [line for _, lines in sorted(groups, key=lambda group: -group[0]) for line in lines]
