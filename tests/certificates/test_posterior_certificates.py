"""Certificates of samplers of graphs: exact where enumerated, and beyond beside exact marginals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pdai
from reference import BackwardPolicy, enumerate_dag, enumerate_rewards, forward_from_backward
from reference.certificates.betting import Interval
from reference.fields.field import RATIONAL
from reference.problems import StructureLearning, VariableSelection
from reference.problems.networks import edge_indicators
from reference.problems.selections import inclusion_indicators


def balanced(problem: Any) -> Any:
    """The policy that balances the uniform backward policy: its law is the target."""
    dag = enumerate_dag(problem)
    forward, _ = forward_from_backward(
        BackwardPolicy.uniform(dag, RATIONAL), enumerate_rewards(problem, dag)
    )
    rows = {
        dag.labels[u]: {dag.labels[dag.edges[e][1]]: forward.values[e] for e in row}
        for u, row in enumerate(dag.out_edges)
    }
    return lambda state: rows[state]


def uniform(problem: Any) -> Any:
    return lambda state: [1 / len(problem.children(state))] * len(problem.children(state))


def lines(found: Any) -> dict[str, Any]:
    return {line.name: line for line in found.lines}


@pytest.mark.parametrize("problem", [StructureLearning.minimal(), VariableSelection.minimal()])
def test_the_balanced_sampler_is_certified_to_be_exact(problem: Any) -> None:
    found = pdai.certify(balanced(problem), problem)
    assert found.regime == "E"
    # Rows are read as floats.
    assert 0 <= found.tv < 1e-15
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
    found = pdai.certify(
        uniform(problem), problem, regime="Z", features=features, samples=256, max_states=10
    )
    assert found.regime == "Z"
    shown = lines(found)
    for name, value in marginals(problem).items():
        assert shown[f"{name}: target"].value == value
        assert shown[f"{name}: target"].kind == "exact"
        assert isinstance(shown[f"{name}: sampler"].value, Interval)
    log_z = shown["log Z, nats"].value
    assert isinstance(log_z, Interval | float)
    # Control: features that the problem does not know are bounded by TV alone.
    other = pdai.certify(
        uniform(problem),
        problem,
        regime="Z",
        features=lambda x: {"finished": float(x.stopped)},
        samples=256,
        max_states=10,
    )
    assert "finished: target (with TV)" in lines(other)
    assert "finished: target" not in lines(other)


def test_known_means_are_those_enumerated() -> None:
    problems: tuple[Any, ...] = (StructureLearning.minimal(), VariableSelection.minimal())
    for problem in problems:
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
    found = pdai.certify(
        uniform(problem), problem, regime=regime, features=edge_indicators, samples=256
    )
    shown = lines(found)
    edges = [name.removesuffix(": sampler") for name in shown if name.endswith(": sampler")]
    assert set(edges) == set(problem.quantity_means())

    def gap(edge: str) -> float:
        sampler, target = (shown[f"{edge}: {whose}"].value for whose in ("sampler", "target"))
        middle = sum(sampler) / 2 if isinstance(sampler, Interval) else sampler
        return abs(float(middle - target))

    gaps = list(map(gap, edges))
    assert gaps == sorted(gaps, reverse=True)
