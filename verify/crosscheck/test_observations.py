"""What networks see of a state where an option says so, against the formula, state by state."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from fast.checking.environment import check_environment
from fast.environments import AbstractEnvironment, WalkEnvironment, make_environment
from fast.environments.coarse import first_of_block, last_letters
from fast.environments.features import feature_count
from fast.laws.enumeration import enumerate_environment
from fast.training.compose import configure
from reference import enumerate_dag
from reference.errors import InputError
from reference.expressivity.coarse import (
    action,
    block_of_cell,
    block_of_walker,
    end_of_string,
)
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
        configure("random-walk", encoding="fourier", time_code="fourier")
    configure("random-walk", encoding="natural", time_code="fourier")
    with pytest.raises(InputError, match="time_code is 'waves'"):
        configure("random-walk", time_code="waves")
    with pytest.raises(InputError, match="the time code is 'waves'"):
        WalkEnvironment.from_problem(WALK, time_code="waves")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time_code is an option of random-walk, and not of grid"):
        configure("grid", time_code="fourier")


def looks(name: str) -> Any:
    """What the reference says that is seen of a state, of an environment of `OBSERVED`."""
    return {
        "walk, in blocks": lambda s: block_of_walker(s, 2, 2),
        "grid, in blocks": lambda s: block_of_cell(s, 4),
        "grid, in blocks of integers": lambda s: block_of_cell(s, 2),
        "strings, last letter": lambda s: end_of_string(s, 1),
        "strings of two ends, last two letters": lambda s: end_of_string(s, 2),
        "bits, no word": lambda s: end_of_string(s, 0, 2),
    }[name]


COARSE = [name for name in OBSERVED if name != "walk, waves of time"]


def same_partition(found: dict[Any, Any], observe: Any) -> bool:
    """Whether states have equal features exactly where they are to look alike."""
    pairs = {(row.tobytes(), observe(label)) for label, row in found.items()}
    features, observations = zip(*pairs, strict=True)
    return len(set(features)) == len(set(observations)) == len(pairs)


@pytest.mark.crosscheck(
    "fast.environments.coarse.first_of_block", "fast.environments.coarse.last_letters"
)
@pytest.mark.parametrize("name", COARSE)
def test_states_look_alike_exactly_where_the_reference_says_so(name: str) -> None:
    problem, environment = OBSERVED[name]
    found = seen(environment, problem)
    assert same_partition(found, looks(name))
    # Control: neither all states nor none look alike.
    assert not same_partition(found, lambda s: getattr(s, "coordinates", s))
    assert not same_partition(found, lambda s: "the same")


@pytest.mark.parametrize("name", COARSE)
def test_an_action_has_the_same_name_in_the_environment_and_the_reference(name: str) -> None:
    problem, environment = OBSERVED[name]
    enumeration = enumerate_environment(problem, environment)
    dag, names = enumeration.dag, set()
    for u, row in enumerate(enumeration.edge):
        for number, edge in enumerate(row):
            if edge >= 0:
                v = dag.edges[edge][1]
                names.add((number, action(dag.labels[v], dag.labels[u])))
    numbers, named = zip(*names, strict=True)
    assert len(set(numbers)) == len(set(named)) == len(names)


def test_what_is_seen_is_the_code_of_the_state_that_stands_for_others() -> None:
    width, places = 3, jnp.arange(8)
    assert first_of_block(places, width).tolist() == [0, 0, 0, 3, 3, 3, 6, 6]
    tokens, size = jnp.array([3, 2, 4, 2, 0]), jnp.int32(4)
    shown = {last: last_letters(tokens, size, last).tolist() for last in (0, 1, 2, 4, 9, None)}
    assert shown == {
        0: [1, 1, 1, 1, 0],
        1: [1, 1, 1, 2, 0],
        2: [1, 1, 4, 2, 0],
        4: [3, 2, 4, 2, 0],
        9: [3, 2, 4, 2, 0],
        None: [3, 2, 4, 2, 0],
    }


@pytest.mark.parametrize(
    ("task", "options", "different"),
    [
        ("grid", {"side": 4, "coarse": 2}, 4),
        ("random-walk", {"radius": 1, "walk_steps": 3, "coarse": 3}, 3),
        ("syn", {"length": 3, "letters": 2, "last": 1}, 1 + 2 + 2),
        ("bits", {"length": 8, "last": 0}, 8),
    ],
)
def test_a_task_hands_its_coarseness_to_the_environment(
    task: str, options: dict[str, Any], different: int
) -> None:
    chosen = configure(task, **options).task
    problem = chosen.make_problem()
    report = check_environment(problem, chosen.make_environment(problem, 1_000))
    assert report.observations == different < report.inner_states


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("grid", {"coarse": 0}, "coarse is 0, but must be at least 1"),
        ("random-walk", {"coarse": -1}, "coarse is -1, but must be at least 1"),
        ("syn", {"last": -1}, "last is -1, but must be at least 0"),
        ("pho4", {"last": -1}, "last is -1, but must be at least 0"),
        ("syn", {"coarse": 2}, "coarse is an option of .*, and not of syn"),
    ],
)
def test_coarseness_of_no_meaning_is_refused(
    task: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        configure(task, **options)


def test_control_by_default_no_states_look_alike() -> None:
    for task in ("grid", "random-walk", "syn", "bits"):
        options: dict[str, Any] = {
            "grid": {"side": 4}, "random-walk": {"radius": 1, "walk_steps": 2}, "syn": {"length": 2}
        }.get(task, {"length": 8})  # fmt: skip
        chosen = configure(task, **options).task
        problem = chosen.make_problem()
        report = check_environment(problem, chosen.make_environment(problem, 1_000))
        assert report.observations == report.inner_states
