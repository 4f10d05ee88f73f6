"""Input of `pdai.certify`, refused or taken, and the functions and numbers of a user."""

import itertools
import math
import os
import random
import shutil
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pdai
from pdai.certifying.target import log_z_interval
from reference import InputError, TooLargeError
from reference.contract.loading import load_object
from reference.contract.user_code import called, same_states
from reference.looking.inspection import inspect_problem
from reference.problems import enumerate_dag, enumeration
from reference.rows.importance import Walks
from reference.rows.walks import Sampler
from tests.certificates.problems import Words, drawn, half, noisy, other
from tests.made_up_runs import two_runs
from tests.refusals import refused, refuses

test_what_is_no_row_is_refused = refuses(
    lambda row: pdai.certify(lambda s: row if s == "" else half(s), Words),
    ([True, False], "the row of '' is True, a bool, but must be a number"),
    (np.array([[0.5], [0.5]]), "the row of '' is .*, a ndarray, but must be a number"),
    (pd.Series([0.5, 0.5]), "the row of '' is over 0, which is none of"),
    (pd.Series([0.5, 0.5], index=["b", "b"]), r"the row of '' has a state twice among \['b', 'b'"),
    (np.ma.array([0.5, 0.5], mask=[0, 1]), "the row of '' is .*, a Masked.*, but must be a number"),
)


def test_a_row_of_pandas_is_read_by_its_labels() -> None:
    """By position TV was certified to be 6e-18, of a sampler at 0.8."""
    rows: list[Any] = [
        lambda s: {s + "a": 0.9, s + "b": 0.1},
        lambda s: pd.Series([0.1, 0.9], index=[s + "b", s + "a"]),
        lambda s: [0.1, 0.9],
    ]
    named, labelled, other_way = (pdai.certify(row, Words).tv for row in rows)
    assert named == labelled != other_way


test_rows_of_many_states_come_in_their_order = refuses(
    lambda rows: pdai.certify(rows, Words, takes="states"),
    *(
        (rows, "give one row each, in a sequence in the order of the states")
        for rows in (
            lambda states: {s: [0.5, 0.5] for s in states},
            lambda states: {(0.5, 0.5 + i) for i, _ in enumerate(states)},
            lambda states: pd.DataFrame([[0.5, 0.5]] * len(states), index=states),
        )
    ),
)


def test_a_certificate_that_cannot_name_its_states_is_not_written(tmp_path: Path) -> None:
    """The file that was left was accepted, as its claim is right."""

    class Letter(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return "a letter"

    unnamed = other(children=lambda p, s: [Letter(s + c) for c in "ab"] if len(s) < 3 else [])
    path = tmp_path / "certificate"
    refused("have the same label", lambda: pdai.certify(half, unnamed, certificate=path))
    assert not path.exists()


@dataclass(frozen=True)
class Bag:
    """Letters in any order, and the last, which equality leaves out."""

    letters: str
    last: str = field(default="", compare=False)


def test_rows_that_tell_equal_states_apart_are_refused() -> None:
    """TV was certified to be 4e-17 of a sampler that had 0.233 as it ran."""
    bags = other(
        initial=Bag(""),
        children=lambda p, s: (
            [Bag("".join(sorted(s.letters + c)), c) for c in "ab"] if len(s.letters) < 3 else []
        ),
        reward=lambda p, x: 1,
    )
    uneven = lambda s: [0.9, 0.1] if s.last == "b" else [0.5, 0.5]  # noqa: E731
    refused("which are equal: equal states are one", lambda: pdai.certify(uneven, bags))
    even = lambda s: [0.9, 0.1] if s.letters == "b" else [0.5, 0.5]  # noqa: E731
    assert pdai.certify(even, bags).regime == "E"

    # The order of children may be that of a set, in which equal ones differ.
    turned = other(
        initial=Bag(""),
        children=lambda p, s: bags.children(s)[:: -1 if s.last == "b" else 1],
        reward=lambda p, x: 1,
    )
    by_child = lambda s: dict(zip(bags.children(s), [0.9, 0.1], strict=True))  # noqa: E731
    assert pdai.certify(by_child, turned).tv == pdai.certify(by_child, bags).tv


class Wrapped:
    """An object of one's own around a run, whose draws are not the run's."""

    def __init__(self, folder: Path):
        self.folder = folder


def test_a_run_whose_folder_has_another_is_loaded_again(tmp_path: Path) -> None:
    """The new run was certified, and the old one drawn from."""
    run, other_run = map(pdai.load, sorted(two_runs(tmp_path).iterdir()))
    run.sample(1)
    assert pdai.certify(run).regime == "E"
    shutil.rmtree(run.folder)
    shutil.copytree(other_run.folder, run.folder)
    refused("draws from other parameters than its folder has", lambda: pdai.certify(run))
    assert pdai.certify(run.folder).tv == pdai.certify(other_run).tv


def test_a_run_stays_that_of_its_folder_when_the_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of that name in the new directory was certified."""
    runs = []
    for task in ("lines", "graphs"):
        (tmp_path / task).mkdir()
        monkeypatch.chdir(tmp_path / task)
        runs.append(pdai.solve(task, out="run"))
    first, second = (set(run.law().labels) for run in runs)
    assert {x for x, _, _ in pdai.certify(runs[0]).table} == first != second


def test_an_object_that_has_the_folder_of_a_run_is_not_that_run(tmp_path: Path) -> None:
    """The run's TV, 0.001, was certified of it."""
    folder = tmp_path / "run"
    pdai.solve("lines", out=folder)
    assert pdai.certify(folder).regime == "E"
    refused("type Wrapped, but must be a run folder", lambda: pdai.certify(Wrapped(folder)))


@pytest.mark.parametrize("regime", ["E", "Z"])
def test_probabilities_that_are_called_logits_are_refused(regime: Any) -> None:
    """TV of their softmax was certified: [0.1, 0.9] was [0.31, 0.69]."""
    rows = {"probabilities": [0.1, 0.9], "indicator": [1, 0], "even": [0.5, 0.5], "logits": [1, 2]}
    for name, row in rows.items():
        asked = {"gives": "logits", "regime": regime, "samples": 64}
        call = lambda row=row, asked=asked: pdai.certify(lambda s: row, Words, **asked)  # noqa: E731
        if name == "probabilities":
            refused("each of its rows is at least 0 and sums to 1, as probabilities do", call)
        else:
            assert call().regime == regime
    first = pdai.certify(lambda s: [0.1, 0.9] if s else [0.1, 0.8], Words, gives="logits")
    assert first.regime == "E"


def centred(states: Any) -> Any:
    """A row that depends on those beside it, as in batch normalisation in training."""
    counts = np.array([s.count("a") for s in states])
    first = 0.5 + 0.1 * (counts - counts.mean())
    return np.stack([first, 1 - first], 1)


test_what_answers_otherwise_the_second_time_is_refused = refuses(
    lambda regime, policy, options: pdai.certify(
        policy, Words, regime=regime, samples=4_096, **options
    ),
    *(
        (regime, policy, options, "and asked again .*the same question")
        for regime in ("E", "Z")
        for policy, options in (
            (noisy, {}),
            (lambda s: [random.random(), 0.0], {"gives": "logits"}),
            (noisy, {"takes": "history"}),
            (lambda states: [noisy(s) for s in states], {"takes": "states"}),
            (lambda histories: [noisy(h) for h in histories], {"takes": "histories"}),
            (centred, {"takes": "states"}),
            (half, {"features": lambda x: {"u": random.random()}}),
        )
    ),
)


def test_a_batch_of_another_size_may_round_otherwise() -> None:
    def rounded(states: Any) -> Any:
        x = 0.5 + 2.0**-12 * (len(states) % 2)
        return [[x, 1 - x]] * len(states)

    assert pdai.certify(rounded, Words, takes="states").regime == "E"


@pytest.mark.parametrize("takes", ["state", "states"])
def test_a_policy_that_changes_while_it_is_asked_is_refused(takes: Any) -> None:
    calls = itertools.count()

    def drifting(state: Any) -> Any:
        return half(state) if next(calls) < 400 else [0.9, 0.1]

    policy = drifting if takes == "state" else lambda states: [drifting(s) for s in states]
    long = other(children=lambda p, s: [s + c for c in "ab"] if len(s) < 10 else [])
    refused("and asked again", lambda: pdai.certify(policy, long, takes=takes))


def fails(*_: Any) -> Any:
    raise KeyError("mine")


Z, FEW = {"regime": "Z"}, {"max_states": 5}


test_what_is_nearly_right_is_refused_by_name = refuses(
    lambda problem, options: pdai.certify(half, problem, **options),
    (
        other(children=lambda p, s: [s + c for c in "aab"] if len(s) < 3 else []),
        {"log_z": 0, **Z, **FEW},
        "state '' lists the child 'a' twice",
    ),
    (other(children=fails), {}, r"P: children\(''\) raises KeyError, 'mine' \(.*line \d+\)"),
    (other(reward=fails), {}, r"P: reward\('aaa'\) raises KeyError"),
    (other(parents=fails), Z, r"P: parents\('\w+'\) raises KeyError"),
    (other(parents=lambda p, s: (s,)[:0]), Z, "is .*: give each parent once"),
    (other(parents=lambda p, s: iter([s[:-1]])), Z, "must be a sequence"),
    (other(parents=lambda p, s: (s[:-1], "zz")), FEW, "the mass of p_B is not one"),
    (other(parents=None), FEW, r"has no parents\(state\)"),
    (other(log_z=fails), Z, r"P: log_z\(\) raises KeyError"),
    (other(log_z=lambda p: None), Z, r"P.log_z\(\) is None, .* be a number"),
    (other(log_z=lambda p: math.nan), Z, r"P.log_z\(\) is nan, .* finite"),
    (other(log_z=lambda p: 3.1), Z, r"P.log_z\(\) is 3.1, but all rewards .* of 2.99573"),
    (Words, {"log_z": 3.1, **Z}, "log_z is 3.1, but all rewards of the problem sum to"),
    (object(), {}, "of type object has no member 'initial'"),
    (None, {}, "add --problem"),
    (Words, {"p_b": fails, **Z}, r"p_b\('\w+'\) raises KeyError"),
    (Words, {"features": fails}, r"fails\('aaa'\) raises KeyError"),
    (Words, {"features": lambda x: 0.5}, "is 0.5, a float, but must be a Mapping"),
    (Words, {"features": lambda x: {"f": "0"}}, "the feature 'f' of 'aaa' is '0', a str"),
    (Words, {"features": lambda x: {"f": np.uint8(2)}}, r"is 2, but must lie in \[0, 1\]"),
    (Words, {"features": lambda x: {1: 0.5, "1": 0.7}}, r"names \[1, '1'\], two of which"),
    (Words, {"features": lambda x: {x: 0.5}}, "unlike those of other states"),
    (Words, {"gives": "Logits"}, "gives is 'Logits', but must be one of .*: did you mean"),
    (Words, {"takes": "statez"}, "takes is 'statez', but must be one of .*: did you mean"),
    (Words, {**Z, **FEW}, "regime Z needs log Z"),
    (Words, {"certificate": "c", "regime": "N"}, "a certificate file, or a theorem, needs"),
    (Words, {"mode_states": ["zzz"]}, "mode_states has 'zzz', which is none of .* 8 terminal"),
    (Words, {"mode_states": ["aa"]}, "'aa' is not terminal: it has the children"),
    (Words, {"mode_states": [["a"]]}, r"mode_states\[0\] is .*, a list, but must be a Hash"),
    (Words, {"target": [["a"]] * 9, "regime": "S"}, "a sample of the target is .* hashable"),
    (Words, {"target": np.eye(3), "regime": "S"}, "a sample of the target is .* hashable"),
    (Words, {"log_z": [1.0]}, "log_z is .* must be a finite number, or two bounds"),
)


def test_a_problem_without_end_is_refused_when_its_time_is_used_up() -> None:
    endless = other(children=lambda p, s: [s + "a", s + "b"])
    soon = {"log_z": 0, "samples": 2, "max_states": 10, "seconds": 0.1}
    words = "P is too large: .* were used up at depth"
    refused(words, lambda: pdai.certify(half, endless, **soon), kind=TooLargeError)


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        (["a", "b"] * 99, "P: initial is '.', and asked again '.': the same question"),
        ([], r"P: initial\(\) raises IndexError, pop from empty list"),
        (["a"] * 5, r"P: initial\(\) raises IndexError, pop from empty list"),
    ],
)
def test_an_initial_state_is_the_same_again(starts: list[str], words: str) -> None:
    """With one of two at random, TV was 0 (exact), where it is 1/4."""
    drawn = property(lambda _: starts.pop())
    steps = {"initial": drawn, "children": lambda _, s: [s + "0", s + "1"] if len(s) < 4 else []}
    problem = other(**steps, reward=lambda _, x: 3 if x[0] == "a" else 1)
    with pytest.raises(InputError, match=words):
        pdai.certify(half, problem)


def test_numpy_may_have_been_told_to_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exponentials underflow: outside of pdai, or by a module that it imports."""
    law, draws = {"a": 1, "b": 1}, drawn(2_997, (0.3, 0.7, 0))
    expected = pdai.certify(draws, law=law).interval
    with np.errstate(all="raise"):
        assert pdai.certify(draws, law=law).interval == expected
    (tmp_path / "that_raises.py").write_text("import numpy\nnumpy.seterr(all='raise')\nx = 1")
    monkeypatch.chdir(tmp_path)
    before = np.geterr()
    assert load_object("that_raises:x", "number", "m:x") == 1
    assert np.geterr() == before


def test_log_z_is_rounded_outwards() -> None:
    third = log_z_interval(Fraction(1, 3), "it")
    assert third.low < Fraction(1, 3) < third.high == math.nextafter(third.low, 1)


def drawing(p_f: Any, p_b: Any = None, error: Any = None, ends: Any = ()) -> Any:
    """An object that draws these numbers, of reward one."""
    zero = np.zeros(np.shape(p_f)[:1])
    columns = (p_f, zero if p_b is None else p_b, zero, zero if error is None else error)
    return draws(lambda *_, labels: Walks(ends, *columns))


def draws(draw: Any) -> Any:
    """A sampler that draws so, and does nothing else."""
    return type("D", (Sampler,), {"draw": draw, "draw_backward": fails, "findings": fails})()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("r_mlp", "there is no run folder and no file 'r_mlp' here"),
        (Path("r_mlp"), "there is no run folder and no file 'r_mlp' here"),
        ("r" * 5_000, r"no run folder and no file 'r+\.\.\. here"),
        (lambda: [0.5, 0.5], r"the sampler: <lambda>\(''\) raises TypeError, .* 0 positional"),
        (draws(lambda d, n, labels: [1]), "the answer of draw is .*be a Walks"),
        (draws(fails), r"D: draw\(\d+\) raises"),
        (drawing(np.zeros((4, 1))), "D: draw gives log_p_f = .*one real number for each traj"),
        (drawing(-0.5), "D: draw gives log_p_f = -0.5, but must give one real number for each"),
        (drawing([-1j] * 4), "D: draw gives log_p_f = .* must give one real number for each"),
        (drawing([-0.5] * 4, [0.0]), "D: draw gives log_p_b = .* one real number for each"),
        (drawing([0.3] * 4), "D: draw gives log_p_f = 0.3, but the logarithm of a probability"),
        (drawing([-0.5] * 4, [0.1] * 4), "D: draw gives log_p_b = 0.1, but the logarithm of"),
        (drawing([-0.5] * 4, error=[-0.1] * 4), "D: draw gives an error below 0"),
        (drawing([-0.5] * 4, ends=["aaa"]), "D: draw gives 1 terminals for 4 trajectories"),
        (drawing([-0.5] * 4), "D: draw gives no terminal states, of which the problem has the"),
        (drawing([-0.5], ends=["aaa"]), r"log R\('aaa'\) is 0 in the sampler, 1.386.* in the prob"),
        (drawing([-0.5], ends=["aa"]), "'aa' is not terminal"),
        (drawing([]), "the sampler draws no trajectory"),
        (os.environ, r"is of the type _Environ, but must be a run folder, a function"),
    ],
)
def test_what_is_no_sampler_is_refused(what: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        pdai.certify(what, Words)
    with pytest.raises(InputError, match=words):
        pdai.certify(what, Words, regime="S", target=["aaa"] * 9)
    assert "PATH" not in str(refused.value)


def test_what_a_users_function_raises_is_one_error_with_its_line() -> None:
    def reward(state: str) -> float:
        return math.log(len(state))

    assert called("P", "reward", reward, "ab") == math.log(2)
    with pytest.raises(InputError, match=r"^P: reward\(''\) raises ValueError, .*test_certify"):
        called("P", "reward", reward, "")


@dataclass(frozen=True)
class _Held:
    before: Any


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
        *((product_of(*kinds), True) for kinds in ((np.uint8,), (np.uint8, np.uint8))),
        *((product_of(*kinds), False) for kinds in ((np.int16,), (int,), (np.float64, float))),
        *((far, False), (meant, False)),
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
    refused(r"reward\('b{11}'\) is .*, but on the way an integer of", inspect_problem, long)


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


def flagged(_: Any, state: Any) -> list[Any]:
    return {(): [(1,), (2,)], (1,): [(1, 0)], (2,): [(1, False), (2, 0)]}.get(state, [])


@pytest.mark.catches(
    "Equal states whose rewards differ are taken for one.",
    "reference/problems/enumeration.py",
    "if abs(one - two) * 1_000 > one + two:",
    "if False:",
)
@pytest.mark.parametrize(
    ("word", "members"),
    [
        ("children", {"initial": _Sorted(""), "children": doubled, "reward": lambda p, x: 1}),
        ("rewards", {"initial": (), "children": flagged, "reward": lambda p, x: len(str(x))}),
        ("", {"initial": _Sorted(""), "children": reduced, "reward": lambda p, x: x.left}),
    ],
    ids=["read by children", "1 and True", "determined by the others"],
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
    monkeypatch.setattr(enumeration, "LONGEST", enumeration.LONGEST // 4)
    monkeypatch.setattr(enumeration, "GROWN", enumeration.GROWN // 16)
    refused(words, lambda: enumerate_dag(other(initial=initial, children=children)))


def test_an_enumeration_ends_with_its_time_or_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enumeration, "MAX_SECONDS", -1.0)
    with pytest.raises(TooLargeError, match=r"P is too large: .* s were used up at depth 1"):
        enumerate_dag(other())
    monkeypatch.undo()
    monkeypatch.setattr(enumeration, "memory_of_machine", lambda: 0)
    monkeypatch.setattr(enumeration, "memory_in_use", itertools.count(0, 2**20).__next__)
    with pytest.raises(TooLargeError, match="P is too large: 1 MiB were used up at depth 1"):
        enumerate_dag(other())


def test_equal_states_of_two_kinds_are_not_the_same() -> None:
    assert not same_states([1], [True])
    assert not same_states([1, 2], [2, 1])
    assert not same_states([1], [1, 2])
