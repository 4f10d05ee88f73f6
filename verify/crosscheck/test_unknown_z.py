"""Measurements where `Z` is unknown, against the same in exact numbers, enumerated."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jax
import numpy as np
import pytest

from fast.laws.enumeration import decode_all
from fast.laws.terminal_law import TerminalLaw, target_law
from fast.measure import estimates
from fast.measure.estimates import drawn_batches, estimated_report
from fast.measure.expectations import drawn_expectations, features_of, summed_expectations
from fast.measure.report import FCS_BATCHES, Report
from fast.measure.weights import Weights, normalised
from fast.policies.policy import Policy, uniform_policy
from reference.fields.field import RATIONAL, log_float
from reference.marginals import marginal
from reference.metrics import normalize
from reference.policies import ForwardPolicy
from reference.posterior import StructureLearning
from verify.crosscheck.instances import make_instance

SEED, ERRORS = 3, 5.0


@pytest.fixture(scope="module")
def instance() -> Any:
    return make_instance("variables")


@pytest.fixture(scope="module")
def uniform(instance: Any) -> Policy:
    class Actions:
        actions = instance.environment.actions

    return uniform_policy(Actions())  # type: ignore[arg-type]


def laws(instance: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Those of the uniform policy and of the target, in fractions."""
    dag, rewards = instance.enumeration.dag, instance.enumeration.rewards
    return list(marginal(ForwardPolicy.uniform(dag, RATIONAL))), list(normalize(rewards))


def chosen(instance: Any, law: list[Fraction], i: int) -> Fraction:
    """The probability of a variable."""
    return RATIONAL.sum(p for x, p in zip(instance.ends, law, strict=True) if x.chosen[i])


@pytest.mark.crosscheck(
    "fast.measure.expectations.summed_expectations", "fast.measure.expectations.features_of"
)
def test_summed_expectations_are_the_probabilities_of_the_variables(instance: Any) -> None:
    features = features_of(instance.problem)
    assert features is not None
    p_t, pi = laws(instance)
    law, of_target = TerminalLaw(np.array(p_t, float), "exact"), target_law(instance.enumeration)
    expectations = summed_expectations(features, instance.enumeration, law, of_target)
    law = replace(law, samples=100)
    drawn = summed_expectations(features, instance.enumeration, law, of_target)
    assert [x.name for x in expectations] == list(instance.problem.names)
    for i, value in enumerate(expectations):
        p = float(chosen(instance, p_t, i))
        assert value.sampler.mean == pytest.approx(p, abs=1e-12)
        assert value.sampler.standard_error == 0.0
        assert drawn[i].sampler.standard_error == pytest.approx((p * (1 - p) / 100) ** 0.5)
        assert value.target == pytest.approx(float(chosen(instance, pi, i)), abs=1e-12)
        # The problem's own, which come from its closed form.
        assert value.target == pytest.approx(
            float(instance.problem.quantity_means()[value.name]), abs=1e-12
        )
    assert features_of(make_instance("lines").problem) is None


def test_quantities_of_graphs_are_their_edges_by_name() -> None:
    problem = StructureLearning.uniform(3)
    means = problem.quantity_means()
    marginals = problem.edge_marginals()
    edges = [(u, v) for u in range(3) for v in range(3) if u != v]
    assert means == {f"{u} -> {v}": marginals[u][v] for u, v in edges}
    graph = problem.sample(1, seed=1)[0]
    assert problem.quantities(graph) == {f"{u} -> {v}": (u, v) in graph.edges for u, v in edges}


@pytest.mark.crosscheck(
    "fast.measure.expectations.drawn_expectations", "fast.measure.weights.normalised"
)
def test_drawn_expectations_are_of_the_sampler_and_weighted_ones_of_the_target(
    instance: Any, uniform: Policy
) -> None:
    p_t, pi = laws(instance)
    features = features_of(instance.problem)
    for given in (features, None):
        expectations = drawn_expectations(given, uniform, instance.environment, {}, SEED)
        apart = 0
        for i, value in enumerate(expectations[: len(instance.problem.names)]):
            truth = float(chosen(instance, p_t, i))
            error = value.sampler.standard_error
            assert abs(value.sampler.mean - truth) <= ERRORS * error
            target = float(chosen(instance, pi, i))
            assert value.weighted == pytest.approx(target, abs=0.05)
            # Control: the two are not the same.
            apart += abs(truth - target) > 0.1
        assert apart
    assert normalised(np.log([1.0, 3.0])) == pytest.approx([0.25, 0.75])


def test_weights_are_what_exact_numbers_say_of_the_uniform_policy(
    instance: Any, uniform: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "SAMPLES", 4_000)
    monkeypatch.setattr(estimates, "BACKWARD", 8)
    report, _, _ = estimated_report([uniform], None, instance.environment, None, SEED, 10**6)
    assert report.fcs_states == "drawn"
    assert report.log_z is None
    assert report.exact is None
    weights = report.learned[0].weights
    assert weights is not None
    true = log_float(sum(instance.enumeration.rewards, Fraction(0)))
    below = weights.log_z_below
    assert below.mean + ERRORS * below.standard_error < true
    assert weights.log_mean == pytest.approx(true, abs=0.2)
    assert 1 <= weights.effective < weights.drawn == 4_000
    assert Report.from_json(report.to_json()) == report
    # Of one trajectory there is no error, so that there are two at least.
    fewest, _, _ = estimated_report([uniform], None, instance.environment, None, SEED, 1)
    assert fewest.drawn == 2
    assert fewest.learned[0].log_z.standard_error > 0


def test_of_equal_weights_all_trajectories_count() -> None:
    weights = Weights.of(np.full(100, -3.0))
    assert weights.effective == pytest.approx(100)
    assert weights.log_mean == weights.log_z_below.mean == -3.0
    assert weights.pareto_k is None
    # Control: one weight that is all.
    assert Weights.of(np.array([0.0] + [-50.0] * 99)).effective == pytest.approx(1)


@pytest.mark.crosscheck("fast.measure.estimates.drawn_batches")
@pytest.mark.catches(
    "Batches are of the first sampler's draws alone.",
    "fast/measure/estimates.py",
    "ends for policy in policies]",
    "ends for policy in policies[:1]]",
)
def test_batches_are_of_different_states_that_were_drawn(instance: Any, uniform: Policy) -> None:
    environment = instance.environment
    states, size = drawn_batches([uniform], environment, 500, SEED)
    labels = decode_all(environment, states)
    assert size == 8
    for start in range(0, len(labels), size):
        assert len(set(labels[start : start + size])) == size
    # Control: what is never drawn is in no batch, though it is a terminal state.
    few, size = drawn_batches([uniform], environment, 2, SEED)
    assert size <= 2
    assert len(jax.tree.leaves(few)[0]) == size * FCS_BATCHES
    # Every sampler's draws count.
    drawn = lambda x, *_: SimpleNamespace(ends=np.full((3, 1), x))  # noqa: E731
    with patch.object(estimates, "forward_paths", drawn):
        states, size = drawn_batches([1, 2], environment, 3, SEED)  # type: ignore[list-item]
    assert (size, set(states.flat)) == (2, {1, 2})
