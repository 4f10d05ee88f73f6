"""Sentences for what figures alone do not say, each where it holds and not elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
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
from reference.problems import StructureLearning, enumerate_dag
from reference.problems.presets import MINIMAL

FIGURES = Figures(None, None, None, Estimate(0.0, 0.0), best=-2.0)
REPORT = Report((FIGURES,), FIGURES, None, "sampled", "sampled", 0.0, False, 10, terminals=9)


@dataclass(frozen=True)
class Subsets:
    """Subsets of items, added in increasing order or any; those that lack none are answers."""

    items: int
    is_ordered: bool
    initial: tuple[int, ...] = ()

    def children(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        first = max(state, default=-1) + 1 if self.is_ordered else 0
        new = (i for i in range(first, self.items) if i not in state)
        return tuple(tuple(sorted((*state, i))) for i in new)

    def reward(self, terminal: tuple[int, ...]) -> Fraction:
        return Fraction(1 + sum(terminal) ** 2)


@cache
def setup(dynamics: Any, precision: Any) -> Any:
    options = {"side": 3, "parameters": 0, "precision": precision}
    return set_up(configure("grid", dynamics=dynamics, **options))


FAR = replace(FIGURES, best=-20_000.0)


@pytest.mark.parametrize(
    ("dynamics", "precision", "changes", "words"),
    [
        ("markov", "float32", {}, ()),
        ("markov", "float32", {"terminals": 1}, ("stop action",)),
        # Histories that cannot be summed, and that need not be.
        ("gru", "float32", {}, ("--dynamics markov",)),
        ("gru", "float32", {"tv_kind": "exact"}, ()),
        # A log-reward that float32 does not resolve, and float64 does.
        ("markov", "float32", {"learned": (FAR,)}, ("float64", "20,000")),
        ("markov", "float64", {"learned": (FAR,)}, ()),
    ],
)
def test_a_hint_is_given_where_it_holds_and_not_elsewhere(
    dynamics: str, precision: str, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    sentences = hints(setup(dynamics, precision), replace(REPORT, **changes))
    assert len(sentences) == bool(words)
    assert all(word in sentences[0] for word in words)


@pytest.mark.parametrize(
    ("problem", "hint"),
    [
        (lambda: Subsets(2, False), "stop action"),
        (lambda: Subsets(4, True), "8 of 16 states are never answers"),
        *((make, "") for make in MINIMAL.values()),
    ],
)
def test_a_problem_that_overlooks_states_is_told_and_no_built_in_one_does(
    problem: Callable[[], Any], hint: str
) -> None:
    answer = inspect_problem(problem()).hint
    assert hint in answer
    assert bool(answer) == bool(hint)


def test_what_is_too_large_to_enumerate_names_environments_and_certify() -> None:
    with pytest.raises(TooLargeError, match=r"--environment MODULE:NAME.*pdai certify") as refusal:
        enumerate_dag(StructureLearning.uniform(5), 1_000)
    assert "\n" not in str(refusal.value)
    # Control: what is small enough is enumerated.
    assert isinstance(enumerate_dag(StructureLearning.minimal()), PointedDAG)
