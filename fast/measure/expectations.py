"""Expectations of features of terminal states, such as marginals of a posterior."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats
from fast.laws.paths import drawn_terminals
from fast.laws.terminal_law import TerminalLaw
from fast.measure.report import Expectation
from fast.measure.weights import mean_of, normalised
from fast.policies.policy import Policy
from reference.metrics import Estimate
from reference.rows.features import Features, table

# Trajectories for expectations that cannot be summed.
SAMPLES = 16_384


def features_of(problem: Any) -> Features | None:
    """The features that a problem defines by a method `quantities`; None if it has none."""
    features: Any = getattr(problem, "quantities", None)
    return features if callable(features) else None


def summed_expectations(
    features: Features, enumeration: Enumeration, law: TerminalLaw, target: Floats
) -> tuple[Expectation, ...]:
    """Expectations under a sampler's law and the target, summed over all terminal states.

    Args:
        features: names, and their values by terminal state.
        enumeration: the listed states, with their features and rewards.
        law: p_T; a histogram's expectations have standard errors.
        target: R(x) / Z by terminal.
    """
    dag = enumeration.dag
    names, values = table(features, [dag.labels[x] for x in dag.terminals], is_bounded=False)
    means = law.probabilities @ values
    variances = np.maximum(law.probabilities @ values**2 - means**2, 0) / (law.samples or np.inf)
    columns = (part.tolist() for part in (means, np.sqrt(variances), target @ values))
    rows = zip(names, *columns, strict=True)
    return tuple(Expectation(name, Estimate(mean, e), target=q) for name, mean, e, q in rows)


def drawn_expectations(
    features: Features | None,
    policy: Policy,
    environment: AbstractEnvironment,
    exact: Mapping[str, Any],
    seed: int,
) -> tuple[Expectation, ...]:
    """Expectations under a sampler and its target, from drawn trajectories and their weights.

    Args:
        features: names, and their values by terminal state; None for what networks see.
        policy: the sampler.
        environment: the state graph as array code.
        exact: known expectations under the target, by name.
        seed: the seed of every draw.
    """
    drawn = drawn_terminals(policy, environment, SAMPLES, seed)
    if features is None:
        batch = environment.encode_batch(drawn.states)
        values = np.asarray(jax.vmap(environment.observe)(batch), np.float64)
        names = tuple(f"feature {i}" for i in range(values.shape[1]))
    else:
        names, values = table(features, drawn.states, is_bounded=False)
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
