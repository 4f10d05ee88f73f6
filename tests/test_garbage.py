"""Random garbage to every public constructor: it succeeds, or raises our own error, and returns."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import reference
from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    Additive,
    BackwardKernel,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    InputError,
    PointedDAG,
    Sampler,
    Symbolic,
    Table,
    lift,
    marginal,
    pointed_dag,
)

DAG = pointed_dag({"o": ["a", "x"], "a": ["x", "y"], "x": [], "y": []})
LIFTED = lift(DAG, History())

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.just(10**400),
    st.floats(),
    st.fractions(),
    st.text(max_size=3),
    st.complex_numbers(),
    st.sampled_from([np.float32(1), np.int64(2), np.array([0.5, 0.5]), object()]),
)
LEAVES = st.one_of(SCALARS, st.sampled_from([DAG, LIFTED, RATIONAL, FLOAT64, BALL, "o", "x"]))
GARBAGE = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["o", "a", "x", 0, (1,)]), inner, max_size=3),
    ),
    max_leaves=8,
)
# Close to valid: lists of numbers with as many entries as the DAG has edges or terminals.
NUMBERS = st.one_of(
    st.lists(SCALARS, min_size=4, max_size=4), st.lists(st.fractions(0, 1), min_size=2, max_size=5)
)
FIELDS = st.sampled_from([RATIONAL, FLOAT64, BALL, Symbolic("p")])
KINDS = st.sampled_from([BackwardKernel, BackwardPolicy, ForwardPolicy])

hard = settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=5000)


def attempt(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result, or None after our own error; any other exception fails the test."""
    try:
        return call(*args, **kwargs)
    except InputError:
        return None


def test_the_list_of_constructors_below_is_complete() -> None:
    classes = {n for n in reference.__all__ if isinstance(getattr(reference, n), type)}
    protocols_and_results = {"Dynamics", "Problem", "Field", "InputError", "TooLargeError"}
    records = {"Estimate", "Objective"}  # plain tuples of results
    assert classes - protocols_and_results - records == {
        "Additive",
        "BackwardKernel",
        "BackwardPolicy",
        "Forgetful",
        "ForwardPolicy",
        "History",
        "LiftedDAG",
        "PointedDAG",
        "Sampler",
        "Symbolic",
        "Table",
    }


@hard
@given(GARBAGE, GARBAGE, GARBAGE)
def test_pointed_dag_takes_anything(children: Any, initial: Any, terminals: Any) -> None:
    for options in ({}, {"initial": initial}, {"terminals": terminals}):
        dag = attempt(pointed_dag, children, **options)
        if dag is not None:
            _check_pointed(dag)


@hard
@given(
    st.dictionaries(
        st.integers(0, 4), st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=5
    )
)
def test_pointed_dag_of_a_random_graph_is_one_or_refused(children: Any) -> None:
    dag = attempt(pointed_dag, children)
    if dag is not None:
        _check_pointed(dag)
        assert set(dag.labels) == set(children)


def _check_pointed(dag: PointedDAG[Any]) -> None:
    entered = {v for _, v in dag.edges}
    assert entered == set(range(1, len(dag.labels)))
    assert all(u < v for u, v in dag.edges)
    assert len(set(dag.edges)) == len(dag.edges)
    assert dag.terminals


@hard
@given(GARBAGE, GARBAGE)
def test_the_class_pointed_dag_takes_anything(labels: Any, children: Any) -> None:
    dag = attempt(PointedDAG, labels, children)
    if dag is not None:
        _check_pointed(dag)


@hard
@given(KINDS, GARBAGE, FIELDS | GARBAGE, NUMBERS | GARBAGE)
def test_policies_take_anything(kind: Any, dag: Any, field: Any, values: Any) -> None:
    for where in (dag, DAG):
        attempt(kind, where, field, values)
        attempt(kind.from_weights, where, field, values)
        attempt(kind.uniform, where, field)
        if kind is ForwardPolicy:
            attempt(kind.from_rows, where, field, values)


@hard
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_an_accepted_policy_is_one(values: list[float]) -> None:
    policy = attempt(ForwardPolicy, DAG, FLOAT64, values)
    if policy is not None:
        assert abs(sum(marginal(policy)) - 1) < 1e-14
    policy = attempt(ForwardPolicy.from_weights, DAG, FLOAT64, values)
    if policy is not None:
        assert abs(sum(marginal(policy)) - 1) < 1e-14


@hard
@given(GARBAGE, GARBAGE)
@example(np.float32(1.0), (None, ()))
@example(10**400, 0j)
def test_lifts_by_any_dynamics_are_lifts_or_refused(value: Any, initial: Any) -> None:
    dynamics = [
        Additive(lambda state, latent: value, initial),
        Table(value, initial) if isinstance(value, dict) else Table({}, initial),
        Table({("a", initial): value} if _hashable(initial) else {}, initial),
    ]
    for phi in dynamics:
        lifted = attempt(lift, DAG, phi)
        if lifted is not None:
            _check_pointed(lifted.dag)
    attempt(lift, value, History())
    attempt(lift, DAG, value)
    attempt(lift, DAG, Forgetful(), max_nodes=value)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@hard
@given(GARBAGE, GARBAGE, GARBAGE)
def test_the_classes_of_lifts_and_samplers_take_anything(a: Any, b: Any, c: Any) -> None:
    attempt(reference.LiftedDAG, a, b, c, a)
    attempt(reference.LiftedDAG, DAG, DAG, a, b)
    attempt(reference.LiftedDAG, LIFTED.base, LIFTED.dag, LIFTED.projection, a)
    attempt(Sampler, a, b, c)
    attempt(Sampler, LIFTED, a, b)


@hard
@given(GARBAGE)
def test_symbolic_fields_take_anything(names: Any) -> None:
    attempt(Symbolic, names)
    for field in (RATIONAL, FLOAT64, BALL, Symbolic("p")):
        converted = attempt(field.convert, names)
        assert converted is None or field.contains(converted)


@hard
@given(NUMBERS | GARBAGE, st.floats() | GARBAGE)
def test_solvers_and_residuals_take_anything(rewards: Any, z: Any) -> None:
    for field in (RATIONAL, FLOAT64):
        p_f, p_b = ForwardPolicy.uniform(DAG, field), BackwardPolicy.uniform(DAG, field)
        solved = attempt(reference.forward_from_backward, p_b, rewards)
        if solved is not None:
            assert abs(float(sum(marginal(solved[0]))) - 1) < 1e-14
        attempt(_consume, reference.tb_residuals, p_f, p_b, rewards, z)
        attempt(_consume, reference.cb_residuals, p_f, p_b, rewards)
        attempt(_consume, reference.log_tb_residuals, p_f, p_b, rewards, z)
        attempt(_consume, reference.fm_residuals, p_f, z, rewards)
        attempt(_consume, reference.db_residuals, p_f, p_b, z, rewards)
        attempt(_consume, reference.subtb_residuals, p_f, p_b, z, rewards)
        attempt(reference.tb_objective, p_f, p_b, rewards, z, p_f)
        attempt(reference.cb_objective, p_f, p_b, rewards, p_f)


def _consume(residuals: Callable[..., Any], *args: Any) -> list[Any]:
    return list(residuals(*args))


@hard
@given(NUMBERS | GARBAGE, NUMBERS | GARBAGE, st.integers() | GARBAGE)
def test_metrics_take_anything(p: Any, q: Any, size: Any) -> None:
    normalized = attempt(reference.normalize, p)
    if normalized is not None:
        assert abs(float(sum(normalized)) - 1) < 1e-12
    distance = attempt(reference.total_variation, p, q)
    assert distance is None or not math.isnan(float(distance)) or _holds_nan(p, q)
    attempt(reference.kl_divergence, p, q)
    attempt(reference.fcs, p, q, size)


def _holds_nan(*laws: Any) -> bool:
    return any(isinstance(v, float) and not math.isfinite(v) for law in laws for v in law)


@hard
@given(GARBAGE, GARBAGE)
def test_enumeration_takes_any_problem(children: Any, reward: Any) -> None:
    class Problem:
        initial: Any = "o"

        def children(self, state: Any) -> Any:
            return children if state == "o" else ()

        def reward(self, terminal: Any) -> Any:
            return reward

    problem = Problem()
    dag = attempt(reference.enumerate_dag, problem)
    if dag is not None:
        _check_pointed(dag)
        rewards = attempt(reference.enumerate_rewards, problem, dag)
        assert rewards is None or all(isinstance(r, Fraction) and r > 0 for r in rewards)
    attempt(reference.enumerate_dag, children)


def test_control_the_harness_sees_a_foreign_exception() -> None:
    with pytest.raises(IndexError):
        attempt(lambda: [][0])
