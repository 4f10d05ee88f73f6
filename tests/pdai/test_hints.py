"""Sentences for what figures alone do not say, each where it holds and not elsewhere."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fast.measure.report import Figures, Report
from fast.runs.meter import hints
from fast.runs.setup import set_up
from fast.training.compose import configure
from reference.dag import PointedDAG
from reference.errors import TooLargeError
from reference.inspection import inspect_problem
from reference.metrics import Estimate
from reference.problems import Grid, StructureLearning, enumerate_dag
from reference.problems.presets import MINIMAL

FIGURES = Figures(None, None, None, Estimate(0.0, 0.0), best=-2.0)
REPORT = Report((FIGURES,), FIGURES, None, "sampled", "sampled", 0.0, False, 10, terminals=9)


class Everything:
    """Every subset counts, and only the full one is terminal: a stop action is missing."""

    initial = ()

    def children(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(sorted((*state, i))) for i in range(2) if i not in state)

    def reward(self, terminal: tuple[int, ...]) -> Fraction:
        return Fraction(1 + len(terminal))


def setup(dynamics: str, **options: Any) -> Any:
    found = configure("grid", side=3, dynamics=dynamics, parameters=0, **options)
    return set_up(found)


def test_where_nothing_is_to_be_said_nothing_is() -> None:
    assert hints(setup("markov"), REPORT) == ()
    assert hints(setup("gru"), replace(REPORT, tv_kind="exact")) == ()


def test_a_single_terminal_state_is_likely_a_mistake() -> None:
    (told,) = hints(setup("markov"), replace(REPORT, terminals=1))
    assert "stop action" in told
    assert "stop action" in inspect_problem(Everything()).hint
    # Control: a grid has more.
    assert inspect_problem(Grid.minimal()).hint == ""


class Subsets:
    """Of four items, in increasing order, of which only those with the last item are answers."""

    initial: tuple[int, ...] = ()

    def children(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple((*state, i) for i in range(max(state, default=-1) + 1, 4))

    def reward(self, terminal: tuple[int, ...]) -> Fraction:
        return Fraction(1 + sum(terminal) ** 2)


def test_states_that_are_never_answers_are_counted() -> None:
    assert inspect_problem(Subsets()).hint.startswith("8 of 16 states are never answers")


@pytest.mark.parametrize("name", MINIMAL)
def test_no_built_in_problem_overlooks_a_state(name: str) -> None:
    assert inspect_problem(MINIMAL[name]()).hint == ""


def test_histories_that_cannot_be_summed_have_a_markovian_way_out() -> None:
    (told,) = hints(setup("gru"), REPORT)
    assert "--dynamics markov" in told


def test_a_log_reward_that_float32_does_not_resolve_is_told() -> None:
    far = replace(REPORT, learned=(replace(FIGURES, best=-20_000.0),))
    (told,) = hints(setup("markov"), far)
    assert "float64" in told
    assert "20,000" in told
    assert hints(setup("markov", precision="float64"), far) == ()


def test_what_is_too_large_to_enumerate_names_environments_and_certify() -> None:
    with pytest.raises(TooLargeError, match=r"--environment MODULE:NAME.*pdai certify") as told:
        enumerate_dag(StructureLearning.uniform(5), 1_000)
    assert "\n" not in str(told.value)
    # Control: what is small enough is enumerated.
    assert isinstance(enumerate_dag(StructureLearning.minimal()), PointedDAG)
