"""A user's number is the fraction that it is, and a user's function is called and asked twice."""

import itertools
import math
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import sympy

from reference import user_code
from reference.errors import InputError, TooLargeError
from reference.inspection import inspect_problem
from reference.problems import base, enumerate_dag, enumerate_rewards
from reference.user_code import AskTwice, called, exact, number_or_infinite, same_states
from tests.certificates.problems import other

INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble, ml_dtypes.bfloat16]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_an_integer_of_numpy_does_not_wrap(kind: np.dtype[Any]) -> None:
    most = np.iinfo(kind).max
    for value in (kind.type(most), np.array(most, kind), np.array([most], kind)[0]):
        given = exact(value, "it")
        assert given == int(most)
        assert type(given.numerator) is int
        assert given + given == 2 * int(most)


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("scale", [2.0**-10, 0.0, 1.5, 96.0])
def test_a_float_is_the_dyadic_rational_that_it_is(kind: Any, scale: float) -> None:
    assert exact(kind(scale), "it") == Fraction(scale)
    assert exact(np.asarray(scale, kind), "it") == Fraction(scale)


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (3, Fraction(3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (0.1, Fraction(0.1)),
        (Decimal("0.1"), Fraction(1, 10)),
        (jnp.asarray(5), Fraction(5)),
        (jnp.asarray(1.5, jnp.bfloat16), Fraction(3, 2)),
        (np.longdouble(2) ** -60 + 1, 1 + Fraction(1, 2**60)),
        (sympy.Rational(2, 3), Fraction(2, 3)),
        (1e-300, Fraction(1e-300)),
        (10**400, Fraction(10**400)),
    ],
    ids=str,
)
def test_numbers_of_every_kind_are_exact(value: object, fraction: Fraction) -> None:
    assert exact(value, "it") == fraction


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        jnp.asarray(True),
        None,
        "1",
        1j,
        np.complex64(1),
        [1],
        np.array([1]),
        np.timedelta64(3, "ns"),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_number_is_refused(value: object) -> None:
    for convert in (exact, number_or_infinite):
        with pytest.raises(InputError, match=r"^the reward is .*, but must be a number: return a"):
            convert(value, "the reward")


@pytest.mark.parametrize("kind", [*FLOATS, Decimal, jnp.float32], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("text", ["nan", "snan", "inf", "-inf"])
def test_only_what_may_be_infinite_is(kind: Any, text: str) -> None:
    value = Decimal(text) if kind is Decimal else kind(float(text.replace("snan", "nan")))
    with pytest.raises(InputError, match="must be a finite number"):
        exact(value, "the reward")
    if "nan" in text:
        with pytest.raises(InputError, match="must be a finite number"):
            number_or_infinite(value, "the logit")
    else:
        assert number_or_infinite(value, "the logit") == float(text)


def test_what_a_users_function_raises_is_one_error_with_its_line() -> None:
    def reward(state: str) -> float:
        return math.log(len(state))

    assert called("P", "reward", reward, "ab") == math.log(2)
    with pytest.raises(InputError, match=r"^P: reward\(''\) raises ValueError, .*test_user_code"):
        called("P", "reward", reward, "")


counts, late = itertools.count(1), itertools.count(1)


class _Number(int):
    """A numbered state."""

    __eq__, __hash__ = object.__eq__, object.__hash__


@dataclass(frozen=True)
class _Held:
    before: Any


@pytest.mark.catches(
    "What a user's function answers the second time is not compared with the first time.",
    "reference/user_code.py",
    "if not self._same(first, again):",
    "if False:",
)
@pytest.mark.parametrize(
    ("members", "call"),
    [
        ({"reward": lambda p, x: 1 + random.random()}, "reward"),
        ({"reward": lambda p, x: next(counts)}, "reward"),
        (
            {
                "children": lambda p, s: [s + c for c in "ab"] if len(s) < 8 else [],
                "reward": lambda p, x: 1 + (next(late) > 250),
            },
            "reward",
        ),
        ({"children": lambda p, s: random.sample([s + c for c in "abcdef"], 6)}, "children"),
        ({"initial": 0, "children": lambda p, s: [_Number(s + 1)]}, "children"),
        ({"initial": 0, "children": lambda p, s: [float("nan")]}, "children"),
        (
            {"initial": 0, "children": lambda p, s: [] if s else [(1, True)[next(counts) % 2]]},
            "children",
        ),
    ],
    ids=[
        "random",
        "counter",
        "changes once",
        "shuffled",
        "without equality",
        "nan",
        "of two kinds",
    ],
)
def test_what_is_not_a_function_is_refused(members: Any, call: str) -> None:
    random.seed(0)
    with pytest.raises(InputError, match=rf"^P: {call}\(.*\) is .*, and asked again "):
        inspect_problem(other(**members))


@pytest.mark.parametrize(
    "kind",
    [*INTEGERS, *FLOATS, jnp.asarray, Decimal, Fraction],
    ids=lambda kind: getattr(kind, "__name__", str(kind)),
)
def test_rewards_of_any_kind_of_number_have_one_sum(kind: Any) -> None:
    make = kind.type if isinstance(kind, np.dtype) else kind
    dag = enumerate_dag(other())
    rewards = enumerate_rewards(other(reward=lambda p, x: make(30 * (1 + x.count("a")))), dag)
    assert rewards == tuple(Fraction(30 * (1 + dag.labels[x].count("a"))) for x in dag.terminals)
    assert sum(rewards) == 600


@pytest.mark.parametrize(
    ("initial", "children"),
    [
        ("", lambda p, s: [s + "a"]),
        ((), lambda p, s: ["stop", (*s, 1)] if s != "stop" else []),
        (0, lambda p, s: [s + 1]),
    ],
    ids=["strings", "tuples", "numbers"],
)
def test_an_endless_graph_is_refused_with_the_path_that_grows(initial: Any, children: Any) -> None:
    with pytest.raises(InputError, match=r"^P: the path .* -> .* has more than .* has no end"):
        enumerate_dag(other(initial=initial, children=children))


@pytest.mark.parametrize(
    ("initial", "children"),
    [
        ((), lambda p, s: [(s,)]),
        (frozenset(), lambda p, s: [frozenset([s])]),
        (_Held(None), lambda p, s: [_Held(s)]),
        ((), lambda p, s: [(s, s)]),
        ("a", lambda p, s: [s + s]),
        ((0,), lambda p, s: ["stop", s + s] if s != "stop" else []),
    ],
    ids=["nested", "sets", "records", "pairs", "doubled", "doubled tuples"],
)
def test_states_that_grow_without_end_are_refused_before_they_fill_the_memory(
    initial: Any, children: Any
) -> None:
    with pytest.raises(InputError, match=r"^P: the states of the path .* -> .* grow to more than"):
        enumerate_dag(other(initial=initial, children=children))


def test_an_enumeration_ends_when_its_time_or_memory_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "MAX_SECONDS", -1.0)
    with pytest.raises(TooLargeError, match=r"P is too large: .* s were used up at depth 1"):
        enumerate_dag(other())
    monkeypatch.undo()
    monkeypatch.setattr(user_code, "memory_of_machine", lambda: 0)
    monkeypatch.setattr(user_code, "memory_in_use", itertools.count(0, 2**20).__next__)
    with pytest.raises(TooLargeError, match="P is too large: 1 MiB were used up at depth 1"):
        enumerate_dag(other())


def test_equal_states_of_two_kinds_are_not_the_same() -> None:
    assert not same_states([1], [True])
    assert not same_states([1, 2], [2, 1])
    assert not same_states([1], [1, 2])


def test_the_first_hundred_answers_are_asked_again_and_about_as_many_later() -> None:
    twice = AskTwice()
    due = [twice.due() for _ in range(100_000)]
    assert all(due[:100])
    # The expectation is 100 log(1000) = 691, its standard deviation below 27.
    assert 600 < sum(due[100:]) < 800
