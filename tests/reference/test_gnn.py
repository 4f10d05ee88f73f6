"""Graph networks: dynamics and state graphs that are refused."""

from fractions import Fraction

import pytest

from reference import InputError, TooLargeError
from reference.problems.graphs import EdgeAddition, graph
from verify.lib.gnn import (
    Memory,
    PrintedTemporalDegree,
    TemporalDegree,
    symmetries,
    wl_policies,
)


@pytest.mark.parametrize("value", [0.5, True, Fraction(0), Fraction(3, 2), float("nan")])
def test_a_gate_outside_the_unit_interval_or_inexact_is_refused(value: Fraction) -> None:
    problem = EdgeAddition.matching()
    for dynamics in (TemporalDegree, PrintedTemporalDegree):
        with pytest.raises(InputError, match=r"the gate at \[.*\] is .* must be a Fraction in"):
            wl_policies(problem, dynamics(problem, lambda _: value))


def test_dynamics_of_another_problem_are_refused() -> None:
    with pytest.raises(InputError, match="build the dynamics from the same problem"):
        wl_policies(EdgeAddition.matching(), TemporalDegree(EdgeAddition.paper()))
    assert TemporalDegree(EdgeAddition.minimal()).initial == Memory((Fraction(0),) * 6, graph([]))


def test_symmetries_of_many_nodes_are_refused() -> None:
    with pytest.raises(TooLargeError, match="all relabellings of at most 3"):
        symmetries(EdgeAddition.minimal(), max_nodes=3)
