"""PROMISE.md, 1: functions are functions; where the probe sees that they are not, it refuses."""

import dataclasses
import functools
import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdai
from reference.contract.errors import InputError
from tests.promise.worlds import World, unless_refused, worlds

LETTERS = "ab"
AGAIN = r"and asked again .*the same question"


class Words:
    """Words of three letters."""

    length = 3
    initial = ""

    def children(self, word: str) -> list[str]:
        return [word + c for c in LETTERS] if len(word) < self.length else []

    def reward(self, word: str) -> Any:
        return 1 + word.count("a")


class Recurrent:
    """A cell in a loop, which keeps its state between calls, and its last question."""

    def __init__(self) -> None:
        self.state, self.last = 0.0, None

    def __call__(self, history: Any) -> list[float]:
        if history != self.last:
            word, self.last = history[-1], history
            step = 1 if word[-1:] == "a" else -1
            self.state = 0.0 if word == "" else math.tanh(1.7 * self.state + step)
        p = 1 / (1 + math.exp(-2 * self.state))
        return [p, 1 - p]


@pytest.mark.catches(
    "The first hundred answers are not asked for again.",
    "reference/contract/user_code.py",
    "for question, first in reversed(self._first):",
    "for question, first in ():",
)
@pytest.mark.parametrize("length", [3, 6, 8])
def test_a_sampler_that_keeps_its_hidden_state_is_refused(length: int) -> None:
    """TV 0.3158 was called exact, and was 0.4696 as the sampler draws."""
    problem = type("Longer", (Words,), {"length": length})
    with pytest.raises(InputError, match=AGAIN):
        pdai.certify(Recurrent(), problem, takes="history")


@pytest.mark.catches(
    "What a user's function answers the second time is not compared with the first time.",
    "reference/contract/user_code.py",
    "if not self._same(first, again):",
    "if False:",
)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), kept=st.sampled_from([1, 2]))
def test_random_answers_behind_a_short_memory_are_refused(seed: int, kept: int) -> None:
    """Three certificates of one random reward said 0.12, 0.21 and 0.13, each of them exact."""
    rng = random.Random(seed)
    remembered = functools.lru_cache(maxsize=kept)(lambda question: 1 + 5 * rng.random())

    class Random(Words):
        def reward(self, word: str) -> Any:
            return remembered(word)

    def row(history: Any) -> list[float]:
        p = remembered(history) / 6
        return [p, 1 - p]

    for sampler, problem, takes in (
        (lambda s: [0.5, 0.5], Random, "state"),
        (row, Words, "history"),
    ):
        with pytest.raises(InputError, match=AGAIN):
            pdai.certify(sampler, problem, takes=takes)


class Thing:
    """A state without equality."""

    def __init__(self, word: str):
        self.word = word


class Equal(Thing):
    """A state that equals every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def in_turn(*ways: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that answers in another way each time, of each argument by itself."""
    calls = Counter[Any]()

    def answer(argument: Any) -> Any:
        calls[argument] += 1
        return ways[calls[argument] % len(ways)](argument)

    return answer


def no_function(way: str, world: World) -> tuple[Any, Any]:
    """A sampler and a problem, one of which answers otherwise when it is asked again."""
    problem, sampler = world.problem(), world.sampler
    children, reward = problem.children, problem.reward
    sure = lambda s: [1.0, *[0.0] * (len(children(s)) - 1)]  # noqa: E731
    if way == "children lost":
        problem.children = in_turn(children, lambda s: children(s)[:1])
    elif way == "children turned":
        problem.children = in_turn(children, lambda s: children(s)[::-1])
    elif way == "rewards in turn":
        problem.reward = in_turn(reward, lambda x: 3 * reward(x))
    elif way == "rows turned":
        sampler = in_turn(sure, lambda s: sure(s)[::-1])
    else:
        kind = {"no equality": Thing, "all alike": Equal}.get(way, lambda _: math.nan)
        problem.children = lambda s: [kind(x) for x in children(getattr(s, "word", s))]
        problem.reward, sampler = lambda _: 1, lambda s: [1 / len(children(s))] * len(children(s))
    return sampler, problem


NO_FUNCTIONS = ["children lost", "children turned", "rewards in turn", "rows turned"]
NO_FUNCTIONS += ["no equality", "all alike", "NaN"]


@settings(deadline=None, max_examples=100)
@given(world=worlds, way=st.sampled_from(NO_FUNCTIONS), regime=st.sampled_from(["E", "Z", None]))
def test_what_answers_otherwise_is_refused_or_answered_rightly(
    world: World, way: str, regime: str | None
) -> None:
    sampler, problem = no_function(way, world)
    made = unless_refused(lambda: pdai.certify(sampler, problem, regime=regime, samples=256))
    assert made is None or (way == "children turned" and world.bears_out(made))


@dataclasses.dataclass(frozen=True)
class Counted:
    """Steps, ones among them, and the path, which equality leaves out."""

    steps: int
    ones: int
    path: str = dataclasses.field(default="", compare=False)


def tosses(read: Callable[[Counted], int], steps: int) -> Any:
    """A problem whose reward may read the path."""

    class Tosses:
        initial = Counted(0, 0)

        def children(self, x: Counted) -> list[Counted]:
            bits = (0, 1) if x.steps < steps else ()
            return [Counted(x.steps + 1, x.ones + bit, f"{x.path}{bit}") for bit in bits]

        def reward(self, x: Counted) -> int:
            return read(x)

    return Tosses


@settings(deadline=None, max_examples=10)
@given(place=st.integers(0, 5), steps=st.integers(6, 20))
def test_a_reward_that_reads_what_equality_leaves_out_is_refused(place: int, steps: int) -> None:
    """Two orders of the children gave 0.874 and 0.702, both exact."""
    reads = tosses(lambda x: 1000 if x.path[place] == "0" else 1, steps)
    with pytest.raises(InputError, match="are equal, but have other rewards"):
        pdai.certify(lambda s: [0.5, 0.5], reads)
    honest = tosses(lambda x: 1 + x.ones, steps)
    assert pdai.certify(lambda s: [0.5, 0.5], honest).regime == "E"


def test_the_beginning_of_a_path_is_compared_with_its_end() -> None:
    reads = tosses(lambda x: 1000 if x.ones == 6 and x.path.startswith("0") else 1, 12)
    with pytest.raises(InputError, match="are equal, but have other rewards"):
        pdai.certify(lambda s: [0.5, 0.5], reads)


def test_what_is_assumed_of_functions_stands_in_the_certificate() -> None:
    made = pdai.certify(lambda s: [0.5, 0.5], Words)
    assert any("assumes that" in note and "PROMISE.md" in note for note in made.notes)
