"""Bounds of Z by best-first search hold the exact one."""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from examples.many_regressors import Regression
from reference import InputError
from reference.certificates.partition import bound_partition
from reference.posterior import VariableSelection
from reference.problems import Grid, Ising
from reference.problems.ising import Spins
from tests.certificates.problems import half
from tests.refusals import refused


@pytest.mark.parametrize(("spins", "order"), [(3, "fixed"), (9, "fixed"), (3, "any"), (5, "any")])
def test_the_exact_z_of_an_ising_model_lies_inside(spins: int, order: Any) -> None:
    problem = Ising.random(spins, order=order)
    log_z = problem.log_z()
    widths = []
    for most in (1, 20, 100_000):
        result = bound_partition(problem, most=most, gap=0.0)
        assert result.log_z.low <= log_z.value + log_z.error
        assert result.log_z.high >= log_z.value - log_z.error
        widths.append(result.log_z.width)
    assert widths[0] == math.inf
    assert widths[-1] < 1e-6
    assert result.terminals == 2**spins


def test_the_bound_of_an_ising_model_is_one_at_every_state() -> None:
    problem = Ising.random(6, order="fixed")
    for known in range(7):
        for start in product((-1, 1), repeat=known):
            ends = product((-1, 1), repeat=6 - known)
            mass = sum((problem.reward(Spins((*start, *end))) for end in ends), Fraction(0))
            bound = problem.log_mass_bound(Spins((*start, *(0,) * (6 - known))))
            assert math.log(mass) <= bound <= math.log(mass) + 4


def test_the_search_stops_when_the_bounds_are_close() -> None:
    result = bound_partition(Ising.random(11, order="fixed"), gap=0.2)
    assert result.expanded < 2**11 - 1
    assert result.log_z.width <= 0.21


class Unknown:
    """An Ising model that knows no Z, but a bound of what lies below."""

    def __init__(self) -> None:
        self.known = Ising.random(8, order="fixed")
        self.initial = self.known.initial
        self.children, self.reward = self.known.children, self.known.reward

    def parents(self, state: Spins) -> list[Spins]:
        x = state.values
        last = (x.index(0) if 0 in x else len(x)) - 1
        return [Spins((*x[:last], *(0,) * (len(x) - last)))]

    def log_mass_bound(self, state: Spins) -> float:
        return self.known.log_mass_bound(state)


def test_a_bound_of_mass_takes_a_sampler_from_regime_n_to_z() -> None:
    problem = Unknown()
    result = pdai.certify(half, problem, samples=4_096, max_states=100)
    known = pdai.certify(half, problem.known, max_states=100_000)
    assert result.regime == "Z"
    assert result.interval.low <= known.tv <= result.interval.high < 1
    assert any("best-first search" in note for note in result.notes)


def test_control_a_bound_that_is_none_is_refused() -> None:
    problem: Any = Unknown()
    problem.log_mass_bound = lambda state: problem.known.log_mass_bound(state) - 9
    refused("must bound the mass below", bound_partition, problem)
    problem.log_mass_bound = lambda state: math.nan
    refused("is nan, but must be a finite number", bound_partition, problem)
    # The largest reward below, with two ends below a state, and with one.
    pairs = lambda s: [s + "a", s + "b"] if len(s) < 3 else []  # noqa: E731
    stops = lambda s: [s + "a", s + "."] if len(s) < 3 and "." not in s else []  # noqa: E731
    for children in (pairs, stops):
        problem = SimpleNamespace(
            initial="", children=children, reward=lambda x: 1, log_mass_bound=lambda s: 0.0
        )
        with pytest.raises(
            InputError, match=r"is 0, but .* (0\.69|1\.38).* must bound their sum, and"
        ):
            bound_partition(problem)


def test_the_exact_z_of_a_variable_selection_lies_inside() -> None:
    """The sum over all sets by `VariableSelection`, whose rewards are rounded to 24 bits."""
    rng = np.random.default_rng(3)
    data = rng.normal(size=(60, 7))
    outcome = data[:, 0] - data[:, 1] / 2 + rng.normal(size=60)
    problem, summed = Regression(data, outcome), VariableSelection.regression(data, outcome)
    log_z = summed.log_z().value + summed.offset
    for most in (10, 1_000):
        low, high = bound_partition(problem, most=most, gap=0.0).log_z
        assert low - 1e-6 <= log_z <= high + 1e-6
    assert high - low < 1e-5
    for known in range(8):
        for start in product((False, True), repeat=known):
            ends = product((False, True), repeat=7 - known)
            logs = [problem.log_reward((*start, *end)) for end in ends]
            assert np.logaddexp.reduce(logs) <= problem.log_mass_bound(start)
            # Control: of the best completion alone it is no bound.
            assert known == 7 or np.logaddexp.reduce(logs) > max(logs) + 1e-6
    greedy = lambda s: [problem.log_mass_bound(x) for x in problem.children(s)]  # noqa: E731
    exact = pdai.certify(greedy, problem, gives="logits")
    result = pdai.certify(greedy, problem, gives="logits", regime="Z", samples=4_096)
    assert 0 < result.interval.low <= exact.tv <= result.interval.high < 1


def test_a_graph_that_is_no_tree_is_bounded_too() -> None:
    grid = Grid(4, 2)

    class Bounded(Grid):
        def log_mass_bound(self, state: Any) -> float:
            if state.stopped:
                return math.log(self.reward(state))
            cells = math.prod(4 - x for x in state.coordinates)
            return math.log(cells * 2.501)

    for most in (3, 10_000):
        low, high = bound_partition(Bounded(4, 2), most=most).log_z
        assert low <= math.log(grid.z()) <= high
    assert high - low < 1e-6
