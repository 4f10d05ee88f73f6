"""Certificates of samplers of graphs: exact where enumerated, and beyond beside exact marginals."""

from fractions import Fraction
from typing import Any

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
    for problem, features in (
        (StructureLearning.minimal(), edge_indicators),
        (VariableSelection.minimal(), inclusion_indicators),
    ):
        dag = enumerate_dag(problem)  # type: ignore[arg-type, var-annotated]
        rewards = enumerate_rewards(problem, dag)  # type: ignore[arg-type]
        known: Any = problem.feature_means(features)  # type: ignore[attr-defined]
        sums = dict.fromkeys(known, Fraction(0))
        for x, reward in zip(dag.terminals, rewards, strict=True):
            for name, value in features(dag.labels[x]).items():  # type: ignore[operator]
                sums[name] += int(value) * reward
        assert known == {name: total / sum(rewards) for name, total in sums.items()}
        assert problem.feature_means(len) is None  # type: ignore[attr-defined]
