"""How many features there are and how long they are, against all terminal states, enumerated."""

from typing import Any, get_args

import jax
import numpy as np
import pytest

from fast.environments import Encoding, TabularEnvironment, make_environment
from fast.environments.features import SAMPLES, feature_count, feature_norm
from reference.problems import Grid, Lines, Sets, SyntheticSequences
from verify.crosscheck.instances import PRESETS, make_instance


def squares(name: str) -> Any:
    """`|observe(x)|^2` of every terminal state."""
    enumeration = make_instance(name).enumeration
    seen = enumeration.observations[list(enumeration.dag.terminals)].astype(np.float64)
    return (seen**2).sum(-1)


@pytest.mark.long
@pytest.mark.crosscheck(
    "fast.environments.features.feature_count", "fast.environments.features.feature_norm"
)
@pytest.mark.parametrize("name", PRESETS)
def test_the_typical_length_is_that_over_all_terminal_states(name: str) -> None:
    environment = make_instance(name).environment
    expected = squares(name)
    assert feature_count(environment) == environment.observe(environment.initial()).size
    # Five standard deviations of a mean of samples, and rounding.
    tolerance = 5 * expected.std() / SAMPLES**0.5 + 1e-4
    assert abs(float(feature_norm(environment)) ** 2 - expected.mean()) <= tolerance


CLOSED: dict[str, tuple[Any, Encoding, float]] = {
    "one of 16 on each of two axes": (Grid(16, 2), "one-hot", 2**0.5),
    "16 of 64": (Sets.random(64, 16), "one-hot", 4.0),
    "32 letters": (SyntheticSequences.random(32, 6, "append"), "one-hot", 32**0.5),
    "16 waves of two numbers": (Grid(16, 2), "fourier", 32**0.5),
}


@pytest.mark.parametrize("name", CLOSED)
def test_where_all_terminal_states_are_equally_long_it_is_their_length(name: str) -> None:
    problem, encoding, expected = CLOSED[name]
    assert float(feature_norm(make_environment(problem, encoding))) == pytest.approx(expected)


def test_it_is_that_of_integers_and_not_that_of_their_one_hot_code() -> None:
    line = Lines.sparse(20, 2, (2, 20))
    found = {
        encoding: float(feature_norm(make_environment(line, encoding)))
        for encoding in get_args(Encoding)
    }
    # The mean of i^2 for i = 0, ..., 20.
    assert found["natural"] ** 2 == pytest.approx(20 * 41 / 6, rel=0.1)
    assert found["affine"] ** 2 == pytest.approx(found["natural"] ** 2 + 1, rel=1e-5)
    assert found["one-hot"] == pytest.approx(1)


def test_features_that_are_zero_at_the_end_have_length_one() -> None:
    grid = Grid(3, 2)
    nothing = TabularEnvironment.from_problem(grid, lambda cell: [float(not cell.stopped)])
    assert float(feature_norm(nothing)) == 1


def test_it_is_the_same_each_time_and_inside_a_program() -> None:
    environment = make_environment(Grid(16, 2), "natural")
    alone = float(feature_norm(environment))
    assert float(jax.jit(lambda: feature_norm(environment))()) == pytest.approx(alone, rel=1e-6)
    assert float(feature_norm(environment)) == alone
