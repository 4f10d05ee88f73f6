"""Random garbage to the constructors of problems and of the other public classes."""

from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference import (
    InputError,
    LiftedDAG,
    TooLargeError,
    enumerate_dag,
    enumerate_rewards,
    pointed_dag,
)
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.linear import LinearLines
from reference.problems import (
    BitSequences,
    EdgeAddition,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Preference,
    Sequences,
    Sets,
    StructureLearning,
    SyntheticSequences,
    TableSequences,
    VariableSelection,
)
from reference.problems.closed_form import ClosedForm
from reference.problems.graphs import Graph, graph
from reference.stochastic.gaussian import GaussianForward, GaussianTarget
from reference.stochastic.lift import StochasticLift
from tests.test_garbage import DAG, GARBAGE, SCALARS

NEAR = st.one_of(
    st.lists(st.fractions(-1, 3), max_size=4).map(tuple),
    st.lists(st.lists(st.integers(-2, 2), max_size=3).map(tuple), max_size=3).map(tuple),
    st.lists(st.text("01a", max_size=4), max_size=3).map(tuple),
    st.lists(st.floats(0, 1), max_size=3).map(tuple),
    st.text("abAC", max_size=3),
    st.sampled_from(["append", "prepend-append", "sum", "product", "any", "fixed", "sparse"]),
    st.sampled_from([np.zeros(4, np.float32), np.arange(4, dtype=np.float32), np.arange(4)]),
    st.sampled_from([(graph([(0, 1)]),), (graph([]), graph([(0, 1)])), (Graph(("x",)),)]),
)
ARGUMENT = st.one_of(st.integers(-1, 4), NEAR, SCALARS, GARBAGE)
hard = settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)

# Each class with how many arguments it takes, and its constructors by name.
CLASSES: list[tuple[Any, int, list[str]]] = [
    (Lines, 2, ["laplaces", "sparse"]),
    (Grid, 3, []),
    (Sets, 3, ["random"]),
    (Sequences, 3, []),
    (SyntheticSequences, 6, ["random"]),
    (TableSequences, 5, ["load", "pho4"]),
    (BitSequences, 4, ["random"]),
    (Preference, 3, ["random"]),
    (LazyRandomWalk, 4, []),
    (Ising, 3, ["random"]),
    (EdgeAddition, 4, ["fork", "matching"]),
    (StructureLearning, 5, ["from_scores", "gaussian", "discrete", "random", "uniform"]),
    (VariableSelection, 4, ["regression", "random"]),
]


def attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except InputError:
        return None


@pytest.mark.long
@pytest.mark.parametrize(("kind", "arity", "constructors"), CLASSES)
@hard
@given(data=st.data())
def test_problems_take_anything(
    kind: Any, arity: int, constructors: list[str], data: st.DataObject
) -> None:
    arguments = data.draw(st.lists(ARGUMENT, min_size=arity, max_size=arity))
    problem = None
    for make in (kind, *(getattr(kind, name) for name in constructors)):
        parameters = signature(make).parameters.values()
        required = sum(p.default is p.empty for p in parameters)
        for count in range(required, min(arity, len(parameters)) + 1):
            made = attempt(make, *arguments[:count])
            problem = problem or made
    if problem is not None and kind is not Sequences:
        _use(problem)


def _use(problem: Any) -> None:
    """What is accepted can be used: enumerated if it is small, and its closed form is finite."""
    try:
        dag = enumerate_dag(problem, max_nodes=2000)
    except TooLargeError:
        return
    rewards = enumerate_rewards(problem, dag)
    assert all(isinstance(r, Fraction) and r > 0 for r in rewards)
    if isinstance(problem, ClosedForm):
        assert np.isfinite(problem.log_z().value)
        terminals = {dag.labels[x] for x in dag.terminals}
        assert set(problem.sample(3, 0)) <= terminals


@hard
@given(ARGUMENT, ARGUMENT, ARGUMENT, ARGUMENT)
def test_other_classes_take_anything(a: Any, b: Any, c: Any, d: Any) -> None:
    attempt(LinearLines, a, b)
    attempt(TiedPolicies, a, b)
    attempt(TiedPolicies, DAG, a)
    attempt(StochasticLift, a, b, c, d, a)
    attempt(StochasticLift, DAG, a, b, c, d)
    attempt(StochasticLift.from_forward, DAG, a, b, c)
    attempt(StochasticLift, DAG, ("w",), a, b, c)
    attempt(GaussianTarget, a, b, c)
    attempt(GaussianForward, a, b, c, d)
    attempt(GaussianForward, DAG, [(a, b, c)], attempt, attempt)


@hard
@given(ARGUMENT, ARGUMENT)
def test_samplers_of_accepted_problems_take_any_count_and_seed(count: Any, seed: Any) -> None:
    if isinstance(count, int) and count > 10**4:
        return
    for problem in (Sets.minimal(), Ising.minimal(), Lines.minimal(), Grid.minimal()):
        samples = attempt(problem.sample, count, seed)
        assert samples is None or len(samples) == count


DIAMOND = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["x"], "x": []})
ONCE: dict[str, Callable[[], Any]] = {
    "Sets": lambda: Sets(iter([Fraction(1)] * 4), 1),  # type: ignore[arg-type]
    "SyntheticSequences": lambda: SyntheticSequences("a", 1, u=iter([1.0]), v=(1.0,)),  # type: ignore[arg-type]
    "BitSequences": lambda: BitSequences(iter(["01"])),  # type: ignore[arg-type]
    "LiftedDAG": lambda: LiftedDAG(DIAMOND, DIAMOND, iter(range(4)), range(4)),  # type: ignore[arg-type]
    "TiedPolicies": lambda: TiedPolicies(DIAMOND, iter(range(4))),  # type: ignore[arg-type]
    "LinearLines": lambda: LinearLines(iter([(Fraction(1),)])),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", ONCE)
def test_what_can_be_read_only_once_is_no_sequence(name: str) -> None:
    with pytest.raises(InputError, match="must be a sequence, such as a list"):
        ONCE[name]()


def test_numbers_that_are_none_or_too_large_are_refused() -> None:
    for u in ((10**400,), (float("nan"),), ("1",), -1.0):
        with pytest.raises(InputError, match="SyntheticSequences: u "):
            SyntheticSequences("a", 1, u=u, v=(1.0,))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="build lifts with `lift`"):
        LiftedDAG(DIAMOND, DIAMOND, range(4), np.array([[0, 1], [1, 0]]))  # type: ignore[arg-type]
