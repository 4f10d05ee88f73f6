"""What networks see of a state where an option says so, against the formula, state by state."""

import math
from typing import Any

import numpy as np
import pytest

from fast.environments import AbstractEnvironment, WalkEnvironment, make_environment
from fast.environments.features import feature_count
from fast.measure.check_environment import check_environment
from fast.tasks import RandomWalkTask
from fast.training.compose import configure
from reference import enumerate_dag
from reference.errors import InputError
from reference.problems import LazyRandomWalk
from verify.crosscheck.instances import OBSERVED

WALK = LazyRandomWalk(1, 3, 2)
# float32: sines and cosines of at most 3.
CLOSE = 1e-6


def one_hot(value: int, values: range) -> list[float]:
    """1 at the value, and 0 at the others."""
    return [float(value == other) for other in values]


def waves(time: int) -> list[float]:
    """Sines and cosines of Vaswani et al. (2017), of 16 wavelengths."""
    return [wave(time / 10_000 ** (k / 16)) for wave in (math.sin, math.cos) for k in range(16)]


def seen(environment: AbstractEnvironment[Any], problem: Any) -> dict[Any, Any]:
    """The features of every state."""
    labels = enumerate_dag(problem).labels
    return {label: np.asarray(environment.observe(environment.encode(label))) for label in labels}


def differs_from(found: dict[Any, Any], expected: Any) -> bool:
    """Whether the features of some state are not as expected."""
    return any(
        row.shape != np.shape(wanted := expected(label)) or np.abs(row - wanted).max() > CLOSE
        for label, row in found.items()
    )


@pytest.mark.parametrize("name", OBSERVED)
def test_an_environment_seen_otherwise_is_one_of_its_problem(name: str) -> None:
    problem, environment = OBSERVED[name]
    report = check_environment(problem, environment)
    assert report.states == len(enumerate_dag(problem).labels)


def test_the_time_of_a_walk_is_coded_by_waves_beside_one_hot_positions() -> None:
    environment = WalkEnvironment.from_problem(WALK, time_code="fourier")
    assert feature_count(environment) == 2 * 3 + 32
    found = seen(environment, WALK)

    def expected(label: Any) -> list[float]:
        cells = [x for c in label.position for x in one_hot(c, range(-1, 2))]
        return [*cells, *waves(label.time)]

    assert not differs_from(found, expected)
    # Control: the same waves of another time.
    assert differs_from(found, lambda s: [*expected(s)[:6], *waves(s.time + 1)])


def test_beside_integers_the_time_alone_is_coded_by_waves() -> None:
    found = seen(WalkEnvironment.from_problem(WALK, "natural", "fourier"), WALK)
    assert not differs_from(found, lambda s: [*s.position, *waves(s.time)])
    assert differs_from(found, lambda s: [*s.position, *waves(0)])


def test_by_default_time_and_position_are_coded_alike() -> None:
    found = seen(make_environment(WALK), WALK)
    cells = range(-1, 2)

    def expected(label: Any) -> list[float]:
        one_hots = [x for c in label.position for x in one_hot(c, cells)]
        return [*one_hots, *one_hot(label.time, range(4))]

    assert not differs_from(found, expected)
    assert all(set(row.tolist()) == {0.0, 1.0} for row in found.values())
    # Control: the option changes what is seen.
    other = seen(WalkEnvironment.from_problem(WALK, time_code="fourier"), WALK)
    assert differs_from(other, expected)
    natural = seen(make_environment(WALK, "affine"), WALK)
    assert not differs_from(natural, lambda s: [*s.position, s.time, 1])


def test_the_task_hands_its_code_of_time_to_the_environment() -> None:
    for options, features in (({}, 5 + 5 + 6), ({"time_code": "fourier"}, 5 + 5 + 32)):
        task = configure("random-walk", radius=2, walk_steps=5, **options).task
        made = task.make_environment(task.make_problem(), 1_000)
        assert feature_count(made) == features


def test_one_code_has_one_name_and_others_are_refused() -> None:
    with pytest.raises(InputError, match="time_code is 'fourier' with encoding 'fourier'"):
        RandomWalkTask(encoding="fourier", time_code="fourier")
    RandomWalkTask(encoding="natural", time_code="fourier")
    with pytest.raises(InputError, match="time_code is 'waves'"):
        configure("random-walk", time_code="waves")
    with pytest.raises(InputError, match="the time code is 'waves'"):
        WalkEnvironment.from_problem(WALK, time_code="waves")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time_code is an option of random-walk, and not of grid"):
        configure("grid", time_code="fourier")
