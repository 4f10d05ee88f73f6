"""A user's number is the fraction that it is, and a user's function is called and asked twice."""

import itertools
import math
import random
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import sympy

from reference import user_code
from reference.errors import InputError, TooLargeError
from reference.inspection import inspect_problem
from reference.problems import base, enumerate_dag
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
def test_a_float_is_the_dyadic_rational_that_it_is(kind: Any) -> None:
    for value in (2.0**-10, 0.0, 1.5, 96.0):
        assert exact(kind(value), "it") == exact(np.asarray(value, kind), "it") == value


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


NO_NUMBERS = (True, np.True_, jnp.asarray(True), None, "1", 1j, np.complex64(1), [1], np.array([1]))


@pytest.mark.parametrize("convert", [exact, number_or_infinite])
def test_what_is_no_number_is_refused(convert: Any) -> None:
    for value in (*NO_NUMBERS, np.timedelta64(3, "ns"), object()):
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


def eight(_: Any, state: str) -> list[str]:
    return [state + c for c in "ab"] if len(state) < 8 else []


def one_of_two_kinds() -> Any:
    return (1, True)[next(counts) % 2]


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
    ("call", "members"),
    [
        ("reward", {"reward": lambda p, x: 1 + random.random()}),
        ("reward", {"reward": lambda p, x: next(counts)}),
        ("reward", {"children": eight, "reward": lambda p, x: 1 + (next(late) > 250)}),
        ("children", {"children": lambda p, s: random.sample([s + c for c in "abcdef"], 6)}),
        ("children", {"initial": 0, "children": lambda p, s: [_Number(s + 1)]}),
        ("children", {"initial": 0, "children": lambda p, s: [float("nan")]}),
        ("children", {"initial": 0, "children": lambda p, s: [] if s else [one_of_two_kinds()]}),
    ],
    ids=["random", "counter", "changes once", "shuffled", "no equality", "nan", "of two kinds"],
)
def test_what_is_not_a_function_is_refused(call: str, members: Any) -> None:
    random.seed(0)
    with pytest.raises(InputError, match=rf"^P: {call}\(.*\) is .*, and asked again "):
        inspect_problem(other(**members))


def product_of(kind: Any, result: Any = int) -> Any:
    """A reward that is a product of scalars, 300 for "aab"."""
    return lambda _, x: result(kind(100) * kind(1 + x.count("a"))) + result(kind(1))


def far(_: Any, x: str) -> int:
    """Infinity on the way is meant."""
    return 1 + int(9 / (1 + np.exp(np.float64(1_000))))


def meant(_: Any, x: str) -> int:
    with np.errstate(over="ignore"):
        return 1 + int(np.uint8(100) * np.uint8(3))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    ("reward", "wraps"),
    [
        (product_of(np.uint8), True),
        (product_of(np.uint8, np.uint8), True),
        (product_of(np.int16), False),
        (product_of(int), False),
        (product_of(np.float64, float), False),
        (far, False),
        (meant, False),
    ],
)
def test_an_integer_that_wraps_on_the_way_to_a_reward_is_refused(reward: Any, wraps: bool) -> None:
    if not wraps:
        inspect_problem(other(reward=reward))
        return
    with pytest.raises(InputError, match=r"^P: reward\('.*'\) is .*, but on the way an integer of"):
        inspect_problem(other(reward=reward))


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_an_integer_that_wraps_at_one_terminal_of_many_is_refused() -> None:
    """The calls that were repeated, 100 and then few, were looked at alone."""
    large = np.int64(2**62)
    long = other(
        children=lambda p, s: [s + c for c in "ab"] if len(s) < 11 else [],
        reward=lambda p, x: large * np.int64(1 + 4 * (x == "b" * 11)),
    )
    with pytest.raises(InputError, match=r"reward\('b{11}'\) is .*, but on the way an integer of"):
        inspect_problem(long)


@dataclass(frozen=True)
class _Sorted:
    """A state with a number that equality leaves out."""

    text: str
    left: int = field(default=1, compare=False)


def doubled(_: Any, state: _Sorted) -> list[_Sorted]:
    """The number tells in which order the letters came."""
    if len(state.text) == 3 or state.left == 6:
        return []
    return [_Sorted("".join(sorted(state.text + c)), 2 * state.left + (c == "b")) for c in "ab"]


def reduced(_: Any, state: _Sorted) -> list[_Sorted]:
    """The number is one of the letters alone."""
    more = "ab" if len(state.text) < 3 else ""
    return [_Sorted("".join(sorted(state.text + c)), state.left + (c == "b")) for c in more]


class Push(NamedTuple):
    """A state that equals another one."""

    number: int


class Jump(NamedTuple):
    """A state that equals another one."""

    number: int


def flagged(_: Any, state: Any) -> list[Any]:
    return {(): [(1,), (2,)], (1,): [(1, 0)], (2,): [(1, False), (2, 0)]}.get(state, [])


@pytest.mark.catches(
    "Equal states whose rewards differ are taken for one.",
    "reference/problems/base.py",
    "differ = abs(one - two) * 1_000 > one + two",
    "differ = False",
)
@pytest.mark.parametrize(
    ("word", "members"),
    [
        ("children", {"initial": _Sorted(""), "children": doubled, "reward": lambda p, x: 1}),
        ("rewards", {"initial": (), "children": flagged, "reward": lambda p, x: len(str(x))}),
        (
            "classes",
            {
                "initial": "",
                "children": lambda p, s: {
                    "": ["p", "j"],
                    "p": [(Push(1),)],
                    "j": [(Jump(1),), (2,)],
                }.get(s, []),
                "reward": lambda p, x: 1,
            },
        ),
        ("", {"initial": _Sorted(""), "children": reduced, "reward": lambda p, x: x.left}),
    ],
    ids=[
        "a part that children read",
        "1 and True",
        "named tuples",
        "a part that the others determine",
    ],
)
def test_equal_states_are_alike(word: str, members: Any) -> None:
    if not word:
        inspect_problem(other(**members))
        return
    with pytest.raises(InputError, match=f"^P: the states .* are equal, but have other {word}: "):
        inspect_problem(other(**members))


STEPS = r"^P: the path .* -> .* has more than .* has no end"
SIZE = r"^P: the states of the path .* -> .* grow to more than"


@pytest.mark.parametrize(
    ("words", "initial", "children"),
    [
        (STEPS, "", lambda p, s: [s + "a"]),
        (STEPS, (), lambda p, s: ["stop", (*s, 1)] if s != "stop" else []),
        (STEPS, 0, lambda p, s: [s + 1]),
        (SIZE, (), lambda p, s: [(s,)]),
        (SIZE, frozenset(), lambda p, s: [frozenset([s])]),
        (SIZE, _Held(None), lambda p, s: [_Held(s)]),
        (SIZE, (), lambda p, s: [(s, s)]),
        (SIZE, "a", lambda p, s: [s + s]),
        (SIZE, (0,), lambda p, s: ["stop", s + s] if s != "stop" else []),
    ],
    ids=["str", "tuple", "int", "nested", "set", "record", "pairs", "doubled", "doubled tuple"],
)
def test_a_graph_without_end_is_refused_before_it_fills_the_memory(
    words: str, initial: Any, children: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A quarter of the longest path, so a sixteenth of what its states hold.
    monkeypatch.setattr(user_code, "LONGEST", user_code.LONGEST // 4)
    monkeypatch.setattr(user_code, "GROWN", user_code.GROWN // 16)
    with pytest.raises(InputError, match=words):
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
