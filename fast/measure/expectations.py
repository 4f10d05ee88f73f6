"""Expectations of features of terminal states, such as marginals of a posterior."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.paths import drawn_terminals
from fast.measure.weights import mean_of, normalised
from fast.policies.policy import Policy
from reference.errors import InputError, shown
from reference.metrics import Estimate

# Trajectories for expectations that cannot be summed.
SAMPLES = 16_384

# The named features of a terminal state, from its label.
Features = Callable[[Any], Mapping[str, float]]


@dataclass(frozen=True)
class Expectation:
    """The expectation of a feature.

    Attributes:
        name: the name of the feature.
        sampler: the mean under the sampler; exact if it has no standard error.
        weighted: the mean by importance weights, where trajectories are drawn.
        target: the exact mean under the target, where it is known.
    """

    name: str
    sampler: Estimate
    weighted: float | None = None
    target: float | None = None


def features_of(problem: Any) -> Features | None:
    """The features that a problem defines by a method `quantities`; None if it has none."""
    features: Any = getattr(problem, "quantities", None)
    return features if callable(features) else None


def summed_expectations(
    features: Features, enumeration: Enumeration, law: Floats, target: Floats
) -> tuple[Expectation, ...]:
    """Exact expectations under a sampler's law and the target, on all terminal states.

    Args:
        features: the features of a state.
        enumeration: the enumerated problem.
        law: the law of the sampler.
        target: `R / Z`.
    """
    dag = enumeration.dag
    names, values = _table(features, [dag.labels[x] for x in dag.terminals])
    pairs = zip(names, law @ values, target @ values, strict=True)
    return tuple(
        Expectation(name, Estimate(float(p), 0.0), target=float(q)) for name, p, q in pairs
    )


def drawn_expectations(
    features: Features | None,
    policy: Policy,
    environment: AbstractEnvironment[Any],
    exact: Mapping[str, Any],
    seed: int,
) -> tuple[Expectation, ...]:
    """Expectations under a sampler and its target, from drawn trajectories and their weights.

    Args:
        features: the features of a state; by default the features that networks see.
        policy: the sampler.
        environment: the state graph.
        exact: known expectations, by name.
        seed: the seed of the draws.
    """
    drawn = drawn_terminals(policy, environment, SAMPLES, seed)
    if features is None:
        states = map(environment.encode, drawn.states)
        batch = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
        values = np.asarray(jax.vmap(environment.observe)(batch), np.float64)
        names = tuple(f"feature {i}" for i in range(values.shape[1]))
    else:
        names, values = _table(features, drawn.states)
    shares = normalised(drawn.log_reward + drawn.log_p_b - drawn.log_p_f)
    return tuple(
        Expectation(
            name,
            mean_of(column),
            float(shares @ column),
            float(exact[name]) if name in exact else None,
        )
        for name, column in zip(names, values.T, strict=True)
    )


def _table(features: Features, states: list[Any]) -> tuple[tuple[str, ...], Floats]:
    """Names of features, and a row of values per state.

    Raises:
        InputError: if the names are not those of the first state, or a value is no finite number.
    """
    rows: dict[Any, list[float]] = {}
    names: tuple[str, ...] = ()
    for state in states:
        if state in rows:
            continue
        values = features(state)
        names = names or tuple(values)
        if tuple(values) != names:
            raise InputError(
                f"quantities({shown(state)}) has the names {shown(tuple(values))}, but must have "
                f"{shown(names)} in that order, as those of other states"
            )
        rows[state] = [float(value) for value in values.values()]
        if not np.isfinite(rows[state]).all():
            raise InputError(
                f"quantities({shown(state)}) is {shown(values)}, but must be finite numbers by name"
            )
    return names, np.array([rows[state] for state in states])
