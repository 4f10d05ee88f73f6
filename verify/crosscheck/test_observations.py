"""Features of states, against the formula, and their length."""

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import chain, permutations
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.checking.environment import check_environment
from fast.encoding import Encoding
from fast.environments import (
    AbstractEnvironment,
    TabularEnvironment,
    WalkEnvironment,
    feature_count,
    feature_norm,
    make_environment,
)
from fast.environments.base import SAMPLES
from fast.environments.encodings import encode_numbers, first_of_block, last_letters
from fast.laws.enumeration import enumerate_environment
from fast.training.compose import configure
from reference import enumerate_dag
from reference.contract.errors import InputError
from reference.expressivity.coarse import action, block_of_cell, end_of_string
from reference.posterior import Network
from reference.problems import Grid, LazyRandomWalk, Lines, Order, Sets, SyntheticSequences
from reference.problems.preference import Preference, Weights
from verify.crosscheck.instances import DAGS, OBSERVED, PROBLEMS, make_instance
from verify.lib import forks
from verify.lib.all_dags import has_path

WALK = LazyRandomWalk(1, 3, 2)
# float32: sines and cosines of at most 3.
CLOSE = 1e-6


def one_hot(value: int, values: range) -> list[float]:
    """1 at the value, and 0 at the others."""
    return [float(value == other) for other in values]


def waves(time: float) -> list[float]:
    """Sines and cosines of Vaswani et al. (2017), of 16 wavelengths."""
    return [wave(time / 10_000 ** (k / 16)) for wave in (math.sin, math.cos) for k in range(16)]


@pytest.mark.crosscheck("fast.environments.encodings.encode_numbers")
@pytest.mark.parametrize("encoding", ["natural", "affine", "fourier"])
def test_numbers_are_encoded_as_the_formula_says(encoding: Encoding) -> None:
    numbers = [0.0, 1.0, -3.0, 7.5]
    expected = {
        "natural": numbers,
        "affine": [*numbers, 1.0],
        "fourier": [*chain(*map(waves, numbers))],
    }[encoding]
    encoded = jax.jit(encode_numbers, static_argnums=1)(np.array(numbers), encoding)
    # float32: angles up to 7.5, rounded to 5e-7.
    assert encoded == pytest.approx(expected, abs=1e-6)


def seen(environment: AbstractEnvironment, problem: Any) -> dict[Any, Any]:
    """The features of every state."""
    labels = enumerate_dag(problem).labels
    return {label: np.asarray(environment.observe(environment.encode(label))) for label in labels}


def differs_from(features: dict[Any, Any], expected: Any) -> bool:
    """True if the features of some state are not as expected."""
    return any(
        row.shape != np.shape(wanted := expected(label)) or np.abs(row - wanted).max() > CLOSE
        for label, row in features.items()
    )


@pytest.mark.parametrize("name", OBSERVED)
def test_an_environment_seen_otherwise_is_one_of_its_problem(name: str) -> None:
    problem, environment = OBSERVED[name]
    report = check_environment(problem, environment)
    assert report.states == len(enumerate_dag(problem).labels)


def cells(label: Any) -> list[float]:
    return [x for c in label.position for x in one_hot(c, range(-1, 2))]


SEEN: list[tuple[dict[str, Any], Any]] = [
    ({}, lambda s: [*cells(s), *one_hot(s.time, range(4))]),
    ({"time_code": "fourier"}, lambda s: [*cells(s), *waves(s.time)]),
    ({"encoding": "natural", "time_code": "fourier"}, lambda s: [*s.position, *waves(s.time)]),
    ({"encoding": "affine"}, lambda s: [*s.position, s.time, 1]),
]


@pytest.mark.parametrize(("options", "expected"), SEEN)
def test_a_walk_is_seen_by_the_codes_of_its_position_and_of_its_time(
    options: dict[str, Any], expected: Any
) -> None:
    environment = WalkEnvironment.from_problem(WALK, **options)
    features = seen(environment, WALK)
    assert feature_count(environment) == len(expected(WALK.initial))
    for other, code in SEEN:
        # Control: every other code is seen to be another.
        assert differs_from(features, code) == (other != options)


SMALL: dict[str, dict[str, Any]] = {
    "grid": {"side": 4},
    "random-walk": {"radius": 1, "walk_steps": 3},
    "syn": {"length": 3, "letters": 2},
    "bits": {"length": 8},
    "structure": {"nodes": 3, "graph_code": "edges"},
}


@pytest.mark.parametrize(
    ("task", "option", "value"),
    [
        ("grid", "coarse", 2),
        ("random-walk", "coarse", 3),
        ("random-walk", "time_code", "fourier"),
        ("syn", "last", 1),
        ("bits", "last", 0),
        ("structure", "graph_code", "ahead"),
    ],
)
def test_a_task_hands_what_is_to_be_seen_to_the_environment(
    task: str, option: str, value: Any
) -> None:
    made: list[Any] = []
    for options in ({}, {option: value}):
        chosen = configure(task, **SMALL[task] | options).task
        problem = chosen.make_problem()
        made.append(chosen.make_environment(problem, 1_000))
        assert eqx.tree_equal(made[-1], make_environment(problem, **options))
    # Control: the option changes the environment.
    assert not eqx.tree_equal(*made)


@pytest.mark.catches(
    "A weight of the least value is seen as one that is not chosen yet.",
    "fast/environments/preference.py",
    "self._weights(state), state.values > 0",
    "self._weights(state), state.values > 1",
)
@pytest.mark.parametrize("encoding", ["one-hot", "natural"])
def test_weights_are_seen_by_their_values_and_by_which_are_chosen(encoding: Encoding) -> None:
    def expected(label: Weights) -> list[float]:
        of = label.components
        if encoding == "natural":
            return [*(w or 0 for w in of), *(w is not None for w in of)]
        return [x for w in of for x in one_hot(-2 if w is None else w, range(-2, 2))]

    problem = Preference.minimal()
    assert not differs_from(seen(make_environment(problem, encoding), problem), expected)


def paths(label: Network) -> Iterator[tuple[int, int]]:
    """The pairs of nodes with a path from the first to the second."""
    pairs = permutations(range(len(label.parents)), 2)
    return (pair for pair in pairs if has_path(label.parents, *pair))


def ahead(label: Network, order: Order) -> list[list[float]]:
    """The features that edges to come depend on, of every edge: edges to the node, and paths."""
    pairs, linked = list(permutations(range(len(label.parents)), 2)), set(paths(label))
    at_hand = max((v for _, v in label.edges), default=-1)
    chosen = [float((u, v) in label.edges and v == at_hand) for u, v in pairs]
    first = at_hand if order == "fixed" else 0
    closed = [float((v, u) in linked and v >= first) for u, v in pairs]
    return [chosen, closed] if order == "fixed" else [closed]


@pytest.mark.catches(
    "In the fixed order a network does not see paths from the node at hand.",
    "pdai/posteriors/environments.py",
    "paths & (self.targets >= node)",
    "paths & (self.targets > node)",
    only="fixed",
)
@pytest.mark.parametrize("order", get_args(Order))
def test_a_dag_is_seen_by_its_edges_and_by_what_bears_on_edges_to_come(order: Order) -> None:
    problem, environment = OBSERVED[f"dags, {order} order, ahead"]
    pairs = list(permutations(range(4), 2))

    def expected(label: Network) -> list[float]:
        edges = [float(pair in label.edges) for pair in pairs]
        return [*edges, *chain(*ahead(label, order)), float(label.stopped)]

    assert not differs_from(seen(environment, problem), expected)
    # Control: by its edges alone it is seen otherwise.
    assert differs_from(seen(make_environment(problem), problem), expected)


def test_in_the_fixed_order_balance_is_a_function_of_what_bears_on_edges_to_come() -> None:
    problem = DAGS["fixed"]

    @cache
    def flow(label: Network) -> Fraction:
        if label.stopped:
            return problem.reward(label)
        return sum(map(flow, problem.children(label)), Fraction(0))

    laws: dict[Any, set[Any]] = defaultdict(set)
    inner = [label for label in enumerate_dag(problem).labels if not label.stopped]
    for label in inner:
        steps = [
            (*({*to.edges} - {*label.edges}), flow(to) / flow(label))
            for to in problem.children(label)
        ]
        chosen, closed = map(tuple, ahead(label, "fixed"))
        for key in ((chosen, closed), ("edges", chosen), ("paths", closed)):
            laws[key].add(tuple(steps))
    several = {key[0] for key, of_key in laws.items() if len(of_key) > 1}
    # Controls: it is a function of neither part alone, and states do share features.
    assert several == {"edges", "paths"}
    assert len({key for key in laws if key[0] not in several}) < len(inner)


LOOKS: dict[str, Any] = {
    "walk, in blocks": lambda s: (tuple((x + 2) // 2 for x in s.position), s.time),
    "grid, in blocks": lambda s: block_of_cell(s, 4),
    "grid, in blocks of integers": lambda s: block_of_cell(s, 2),
    "strings, last letter": lambda s: end_of_string(s, 1),
    "strings of two ends, last two letters": lambda s: end_of_string(s, 2),
    "bits, no word": lambda s: end_of_string(s, 0, 2),
}


def same_partition(features: dict[Any, Any], observe: Any) -> bool:
    """True if states have equal features exactly where they are to look alike."""
    return forks.same_partition(
        (row.tobytes() for row in features.values()), map(observe, features)
    )


@pytest.mark.crosscheck(
    "fast.environments.encodings.first_of_block", "fast.environments.encodings.last_letters"
)
@pytest.mark.parametrize("name", LOOKS)
def test_states_look_alike_exactly_where_the_reference_says_so(name: str) -> None:
    problem, environment = OBSERVED[name]
    features = seen(environment, problem)
    assert same_partition(features, LOOKS[name])
    # Control: neither all states nor none look alike.
    assert not same_partition(features, lambda s: getattr(s, "coordinates", s))
    assert not same_partition(features, lambda s: "the same")


@pytest.mark.parametrize("name", LOOKS)
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
    ("task", "options", "message"),
    [
        ("grid", {"coarse": 0}, "coarse is 0, but must be at least 1"),
        ("random-walk", {"coarse": -1}, "coarse is -1, but must be at least 1"),
        ("syn", {"last": -1}, "last is -1, but must be at least 0"),
        ("pho4", {"last": -1}, "last is -1, but must be at least 0"),
        ("syn", {"coarse": 2}, "coarse is an option of .*, and not of syn"),
        (
            "random-walk",
            {"encoding": "fourier", "time_code": "fourier"},
            "time_code is 'fourier' with encoding 'fourier'",
        ),
        ("random-walk", {"time_code": "waves"}, "time_code is 'waves'"),
        ("grid", {"time_code": "fourier"}, "time_code is an option of random-walk"),
    ],
)
def test_what_has_no_meaning_or_two_names_is_refused(
    task: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        configure(task, **options)


def test_a_code_of_time_that_no_environment_knows_is_refused() -> None:
    with pytest.raises(InputError, match="the time code is 'waves'"):
        WalkEnvironment.from_problem(WALK, time_code="waves")  # type: ignore[arg-type]


# How many features there are, and how long they are.


@pytest.mark.long
@pytest.mark.crosscheck(
    "fast.environments.base.feature_count", "fast.environments.base.feature_norm"
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_typical_length_is_that_over_all_terminal_states(name: str) -> None:
    _, environment, enumeration = make_instance(name)
    seen = enumeration.observations[list(enumeration.dag.terminals)].astype(np.float64)
    expected = (seen**2).sum(-1)
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


def test_the_length_is_that_of_integers_and_not_that_of_their_one_hot_code() -> None:
    line = Lines.sparse(20, 2, (2, 20))
    norms = {
        encoding: float(feature_norm(make_environment(line, encoding)))
        for encoding in get_args(Encoding)
    }
    # The mean of i^2 for i = 0, ..., 20.
    assert norms["natural"] ** 2 == pytest.approx(20 * 41 / 6, rel=0.1)
    assert norms["affine"] ** 2 == pytest.approx(norms["natural"] ** 2 + 1, rel=1e-5)
    assert norms["one-hot"] == pytest.approx(1)


def test_features_that_are_zero_at_the_end_have_length_one() -> None:
    grid = Grid(3, 2)
    nothing = TabularEnvironment.from_problem(grid, lambda cell: [float(not cell.stopped)])
    assert float(feature_norm(nothing)) == 1


def test_the_length_is_the_same_each_time_and_inside_a_program() -> None:
    environment = make_environment(Grid(16, 2), "natural")
    alone = float(feature_norm(environment))
    assert float(jax.jit(lambda: feature_norm(environment))()) == pytest.approx(alone, rel=1e-6)
    assert float(feature_norm(environment)) == alone
