"""Certificates of samplers of graphs: exact where enumerated, and beyond beside exact marginals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pdai
from reference import enumerate_dag, enumerate_rewards
from reference.certificates.betting import Interval
from reference.posterior import StructureLearning, VariableSelection
from reference.posterior.networks import edge_indicators
from reference.posterior.variables import inclusion_indicators
from tests.certificates.problems import balanced, uniform

SMALL: tuple[Any, ...] = (StructureLearning.minimal(), VariableSelection.minimal())


def lines(problem: Any, regime: Any, features: Any, **options: Any) -> dict[str, Any]:
    """The certified numbers of the uniform sampler, by name."""
    asked = {"regime": regime, "features": features, "samples": 256, **options}
    result = pdai.certify(uniform(problem), problem, **asked)
    assert result.regime == regime
    return {line.name: line for line in result.lines}


@pytest.mark.parametrize("problem", SMALL)
def test_the_balanced_sampler_is_certified_to_be_exact(problem: Any) -> None:
    result = pdai.certify(balanced(problem), problem)
    assert result.regime == "E"
    # Rows are floats.
    assert 0 <= result.tv < 1e-15
    # Control: the uniform one is not.
    assert pdai.certify(uniform(problem), problem).interval.low > 0.1


@pytest.mark.parametrize(
    ("problem", "features", "marginals"),
    [
        (
            StructureLearning.random(4, rows=20),
            edge_indicators,
            lambda p: {f"{u} -> {v}": p.edge_marginals()[u][v] for u in (0, 3) for v in (1, 2)},
        ),
        (
            VariableSelection.random(9),
            inclusion_indicators,
            lambda p: {str(i): x for i, x in enumerate(p.inclusion_probabilities())},
        ),
    ],
)
def test_beyond_enumeration_exact_marginals_stand_beside_the_intervals(
    problem: Any, features: Any, marginals: Any
) -> None:
    shown = lines(problem, "Z", features, max_states=10)
    for name, value in marginals(problem).items():
        target = shown[f"{name}: target"]
        assert (target.value, target.kind) == (value, "exact")
        assert isinstance(shown[f"{name}: sampler"].value, Interval)
    assert isinstance(shown["log Z, nats"].value, Interval | float)
    # Control: features that the problem does not know are bounded by TV alone.
    others = lines(problem, "Z", lambda x: {"finished": float(x.stopped)}, max_states=10)
    assert "finished: target (with TV)" in others
    assert "finished: target" not in others


@pytest.mark.parametrize("problem", SMALL)
def test_known_means_are_those_enumerated(problem: Any) -> None:
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    known = problem.quantity_means()
    sums = dict.fromkeys(known, Fraction(0))
    for x, reward in zip(dag.terminals, rewards, strict=True):
        values = problem.quantities(dag.labels[x])
        assert list(values.values()) == list(problem.indicators(dag.labels[x]).values())
        for name, value in values.items():
            sums[name] += int(value) * reward
    assert known == {name: total / sum(rewards) for name, total in sums.items()}


@pytest.mark.parametrize("regime", ["E", "Z"])
def test_features_have_the_names_of_columns_and_the_farthest_off_is_first(regime: Any) -> None:
    data = np.random.default_rng(0).normal(size=(30, 3))
    problem = StructureLearning.gaussian(data, ["age", "dose", "2 -> 3"])
    shown = lines(problem, regime, edge_indicators)
    edges = [name.removesuffix(": sampler") for name in shown if name.endswith(": sampler")]
    assert set(edges) == set(problem.quantity_means())

    def gap(edge: str) -> float:
        sampler, target = (shown[f"{edge}: {whose}"].value for whose in ("sampler", "target"))
        middle = sum(sampler) / 2 if isinstance(sampler, Interval) else sampler
        return abs(float(middle - target))

    gaps = list(map(gap, edges))
    assert gaps == sorted(gaps, reverse=True)
