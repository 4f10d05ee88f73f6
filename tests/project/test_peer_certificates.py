"""The cases of the harness that certifies samplers of other libraries, without these libraries."""

import itertools
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.problems import Cell

FOLDER = Path(__file__).parents[2] / "benchmarks" / "certify"


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, which puts the tasks of `benchmarks/peers` on the path itself."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    import cases

    return cases


def energies(task: Any) -> Any:
    """`log R` of all states of spins, from the coupling matrix."""
    spins = np.array(list(itertools.product((-1.0, 1.0), repeat=task.side**2)))
    return np.einsum("ni,ij,nj->n", spins, np.array(task.matrix), spins)


@pytest.mark.parametrize(("side", "coupling"), [(2, 0.3), (3, 0.2), (4, -0.1)])
def test_log_z_of_a_torus_is_that_of_all_its_states(cases: Any, side: int, coupling: float) -> None:
    task = cases.IsingTask(side, coupling)
    exact = np.logaddexp.reduce(energies(task))
    assert cases.log_z_of_torus(task) == pytest.approx(exact, abs=1e-12)
    assert np.sum(task.matrix) == pytest.approx(2 * side**2 * coupling)
    # Control: without the couplings it would be the logarithm of the number of states.
    assert abs(exact - side**2 * math.log(2)) > 0.01


def test_every_case_knows_log_z_and_names_its_terminals(cases: Any) -> None:
    for case in cases.CASES.values():
        assert (case.problem is None) != (case.log_z is None)
    assert cases.cell((3, 0)) == Cell((3, 0), stopped=True)
    assert cases.string((0, 15, 2, 8, 1, 0, 0, 7)) == "00001111001010000001000000000111"
    assert cases.BITS.distance(cases.string((0,) * 8)) <= 8


def test_the_table_of_six6_is_in_the_order_of_its_strings(cases: Any) -> None:
    case = cases.CASES["SIX6, left to right"]
    task, six6 = case.task, case.problem
    assert (task.letters**task.length, six6.length) == (len(task.log_rewards), task.length)
    for digits in ((0,) * 8, (0, 1, 2, 3, 3, 2, 1, 0), (3,) * 7 + (1,)):
        place = sum(x * 4**power for power, x in enumerate(reversed(digits)))
        assert task.log_rewards[place] == math.log(six6.reward(cases.letters(digits)))
    # Control: read from the right, it would be another table.
    assert task.log_rewards[1] != task.log_rewards[4**7]
