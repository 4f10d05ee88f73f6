"""PROMISE.md, 5: what is nearly of the right type or shape is refused, or answered rightly."""

import contextlib
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdai
from reference.contract.errors import InputError
from reference.problems import Lines
from tests.promise.worlds import (
    ROUNDING,
    SHAPES,
    World,
    contains,
    exponentials,
    unless_refused,
    worlds,
)

# Draws are independent, so not those that Hypothesis would choose.
seeds = st.integers(0, 10**6).map(Random)
FLOATS: list[Any] = [float, np.float16, np.float32, np.float64, np.longdouble, jnp.float32]
# From a row of numbers and the children that it is over to what means the same row,
SAME_ROW: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "list": lambda row, _: row,
    "tuple": lambda row, _: tuple(row),
    "iterator": lambda row, _: iter(row),
    "array": lambda row, _: np.array(row),
    "array of JAX": lambda row, _: jnp.array([float(p) for p in row]),
    "mapping": lambda row, children: dict(zip(children, row, strict=True)),
    "mapping turned": lambda row, children: dict([*zip(children, row, strict=True)][::-1]),
}
# and to what is none of these children.
NO_ROW: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "a row of rows": lambda row, _: [row],
    "matrix": lambda row, _: np.array([row]),
    "set": lambda row, _: {*map(float, row)},
    "text": lambda row, _: "1" + "0" * (len(row) - 1),
    "texts": lambda row, _: [str(float(p)) for p in row],
    "scalar": lambda row, _: row[0],
    "nothing": lambda *_: None,
    "one too few": lambda row, _: row[1:],
    "one too many": lambda row, _: [*row, 0.0],
    "NaN": lambda row, _: [*row[1:], math.nan],
    "below zero": lambda row, _: [float(row[0]) + 0.25, *row[1:-1], float(row[-1]) - 1.25],
    "sum off": lambda row, _: [float(p) * 1.001 for p in row],
    "other keys": lambda row, children: dict(zip(map(repr, children), row, strict=True)),
    "complex": lambda row, _: [complex(float(p)) for p in row],
}
TAKES: dict[str, Callable[[Any], Any]] = {
    "state": lambda row: row,
    "states": lambda row: lambda states: [row(state) for state in states],
    "history": lambda row: lambda history: row(history[-1]),
    "histories": lambda row: lambda histories: [row(h[-1]) for h in histories],
}


def certified(world: World, make: Any, rows: Any, takes: str, gives: str) -> Any:
    """The certificate of rows in a container, of states or histories, one or many."""
    ask = TAKES[takes](lambda state: make(rows[state], world.rows[state]))
    return pdai.certify(ask, world.problem(), takes=takes, gives=gives)


containers = st.sampled_from(sorted(SAME_ROW))
takes_any = st.sampled_from([*TAKES])


@settings(max_examples=150, deadline=None)
@given(world=worlds, name=containers, takes=takes_any, kind=st.sampled_from([*FLOATS, Fraction]))
def test_probabilities_in_every_container_are_that_row(
    world: World, name: str, takes: str, kind: Any
) -> None:
    convert = kind if kind is Fraction else lambda p: kind(float(p))
    rows = {state: [convert(p) for p in row] for state, row in world.policy.items()}
    made = certified(world, SAME_ROW[name], rows, takes, "probabilities")
    assert abs(made.tv - world.tv()) <= ROUNDING


@settings(max_examples=100, deadline=None)
@given(world=worlds, name=containers, takes=takes_any, data=st.data())
def test_logits_in_every_container_are_their_softmax(
    world: World, name: str, takes: str, data: Any
) -> None:
    far = data.draw(st.sampled_from([1, 30, 1000, 1e4]))
    logit = st.floats(-far, far, width=16).filter(lambda x: abs(x) >= 2**-14 or x == 0)
    rows = {s: [data.draw(logit) for _ in row] for s, row in world.policy.items()}
    # A row that is one of probabilities is refused as logits, by intent.
    alike = all(abs(sum(row) - 1) < 0.01 and min(row) >= 0 for row in rows.values())
    for state, row in rows.items():
        sizes = exponentials([Fraction(x) for x in row])
        world.policy[state] = [size / sum(sizes) for size in sizes]
    made = unless_refused(lambda: certified(world, SAME_ROW[name], rows, takes, "logits"))
    assert alike if made is None else abs(made.tv - world.tv()) <= ROUNDING


@settings(max_examples=150, deadline=None)
@given(
    world=worlds,
    name=st.sampled_from(sorted(NO_ROW)),
    takes=takes_any,
    kind=st.sampled_from(FLOATS),
)
def test_what_is_no_row_of_the_children_is_refused(
    world: World, name: str, takes: str, kind: Any
) -> None:
    rows = {state: [kind(float(p)) for p in row] for state, row in world.policy.items()}
    with pytest.raises(InputError):
        certified(world, NO_ROW[name], rows, takes, "probabilities")
    words = [("statez", "logits"), ("State", "probabilities"), ("state", "Logits"), ("state", 1)]
    for one, other in words:
        with pytest.raises(InputError):
            pdai.certify(world.sampler, world.problem(), takes=one, gives=other)


@settings(max_examples=80, deadline=None)
@given(world=worlds, base=st.sampled_from([0, 0, 800, -800, 1e4]), data=st.data())
def test_a_log_z_that_is_off_is_refused_or_what_all_is_relative_to(
    world: World, base: float, data: Any
) -> None:
    logs = {x: base + math.log(w) for x, w in world.weights.items()}
    problem = world.problem(logs, "log_reward") if base else world.problem()
    far = st.floats(-1e4, 1e4) | st.sampled_from([-base, -685.0, -690.0, math.inf, math.nan])
    off = data.draw(st.sampled_from([0, 1e-3, -1e-3, 0.3, -0.3, 3]) | far)
    form = data.draw(st.sampled_from([float, np.float32, Decimal, tuple, str, list, "told"]))
    truth, slack = base + math.log(world.z), 1e-9
    value: Any = truth + off
    if form is tuple:
        value, slack = (value - 0.01, value + 0.01), 0.0101
    elif form == "told":
        problem.log_z, value = (lambda: truth + off), None
    else:
        value = [value] if form is list else form(value)
        slack = 1e-6 * (abs(base) + 3) if form is np.float32 else slack
    made = unless_refused(
        lambda: pdai.certify(world.sampler, problem, regime="Z", log_z=value, samples=256)
    )
    if made is None:
        assert off != 0 or form in (str, list)
        return
    # What is far too low is refuted; else all is relative to the log Z that is given.
    assert -3 < off < math.inf
    assert form not in (str, list)
    factors = (math.exp(way - off) if off < 700 else 0.0 for way in (slack, -slack))
    least, most = map(world.shortfall, factors)
    low, high = made.interval
    assert 0 <= low <= most + ROUNDING
    assert least - ROUNDING <= high <= 1


# States that print alike, look like numbers, or equal others of another kind.
LABELS: list[Any] = ["1", 1, "1.0", 1.0, "True", True, "None", None, "0101", "101", 101, "1e2", 100]
LABELS += ["100", "1_0", "10", 10, "0x10", "16", "1e400", "inf", "x", "'x'", (1,), "(1,)", " x"]
LABELS += ["\u0661", "1,0", "nan", "[/b]", "0.1", 0.1, "1e-1", "00", "0", 0, "-0", False, "False"]


def from_file(lines: list[list[Any]], *arguments: Any, **options: Any) -> Any:
    """A certificate of a CSV file of these lines."""
    with TemporaryDirectory() as scratch:
        path = Path(scratch, "samples.csv")
        cells = [['"' + str(cell).replace('"', '""') + '"' for cell in line] for line in lines]
        path.write_text("\n".join(map(",".join, cells)), encoding="utf-8")
        return pdai.certify(path, *arguments, **options)


@settings(max_examples=80, deadline=None)
@given(rng=seeds, data=st.data())
def test_states_that_are_nearly_one_another_are_told_apart_or_refused(rng: Any, data: Any) -> None:
    pool = data.draw(st.sampled_from([LABELS, [x for x in LABELS if isinstance(x, str)]]))
    labels = data.draw(
        st.lists(st.sampled_from(pool), min_size=2, max_size=4, unique_by=lambda x: (type(x), x))
    )
    world, write = World(rng, {"o": labels}), data.draw(st.sampled_from([str, repr]))
    regime = data.draw(st.sampled_from("SSEZ"))
    options: Any = {"regime": regime, "samples": 64}
    if regime == "S":
        options = {"regime": "S"}
        if data.draw(st.booleans()):
            chances = [float(world.weights[label]) for label in labels]
            options |= {"target": rng.choices(labels, chances, k=600), "max_states": 1}
        drawn = rng.choices(labels, world.sampler("o"), k=600)
        lines = [["terminal"], *([write(label)] for label in drawn)]
        made = unless_refused(lambda: from_file(lines, world.problem(), **options))
    else:
        made = unless_refused(lambda: pdai.certify(world.sampler, world.problem(), **options))
    assert made is None or contains(made, world.tv())


@settings(max_examples=60, deadline=None)
@given(world=worlds, rng=seeds, data=st.data())
def test_recorded_log_rewards_are_the_problems_or_refused(
    world: World, rng: Any, data: Any
) -> None:
    base = data.draw(st.sampled_from([0, -460, 7000]))
    off = data.draw(st.sampled_from([0, 0, 1e-9, 1e-6, 4e-5, -4e-5, 1e-3]))
    logs = {x: base + math.log(w) for x, w in world.weights.items()}
    problem = world.problem(logs, "log_reward") if base else world.problem()
    ways = world.trajectories()
    drawn = rng.choices(ways, [float(p) for _, p, _ in ways], k=300)
    lines = [["terminal", "log_p_f", "log_p_b", "log_reward"]]
    lines += [[x, math.log(p), math.log(b), logs[x] * (1 + off)] for x, p, b in drawn]
    words = ["1_0", "1e400", "nan", "-0x1", "", "0.5", "\u0661", "-1e999", "True"]
    if data.draw(st.booleans()):
        lines[7][data.draw(st.integers(1, 3))] = data.draw(st.sampled_from(words))
    made = unless_refused(lambda: from_file(lines, problem))
    assert made is None or world.bears_out(made)


@settings(max_examples=80, deadline=None)
@given(rng=seeds, data=st.data())
def test_parents_that_are_nearly_those_of_the_problem(rng: Any, data: Any) -> None:
    world = World(rng, data.draw(st.sampled_from(SHAPES[2:])))
    problem = world.problem()
    states = [*world.rows, *world.terminals]
    right = {x: [s for s, row in world.rows.items() if x in row] for x in states}
    state = data.draw(st.sampled_from(states[1:]))
    row, kind = right[state], data.draw(st.sampled_from([list, tuple, iter, np.array, set]))
    changes = {"right": row, "lost": row[1:], "twice": row * 2, "order": row[::-1], "none": None}
    changes |= {"new": [*row, "new"], "no parent": [*row, "x"]}
    way = data.draw(st.sampled_from(list(changes)))
    rows = {**right, state: changes[way]}
    if way == "new":
        # A state that is never reached, of which this one is a child, and before it others.
        before = lambda s: [state] if s == "new" else [s[:-1]]  # noqa: E731
        problem.children = lambda s: before(s) if s[:3] == "new" else world.rows.get(s, [])
    listed = lambda s: [s + "w"] if s[:3] == "new" else rows[s]  # noqa: E731
    problem.parents = lambda s: listed(s) if listed(s) is None else kind(listed(s))
    options: Any = {"regime": data.draw(st.sampled_from(["Z", "S", None]))}
    if options["regime"] == "S":
        chances = [float(w) for w in world.weights.values()]
        options["target"] = rng.choices(world.terminals, chances, k=256)
    made = unless_refused(
        lambda: pdai.certify(world.sampler, problem, samples=256, seconds=3, **options)
    )
    assert made is not None or way != "right" or kind not in (list, tuple)
    assert made is None or world.bears_out(made)


# Arguments of `certify`, and values that are nearly what they should be.
NEARLY: dict[str, list[Any]] = {
    "level": [1e-6, np.float32(0.01), Fraction(1, 100), Decimal("0.01"), "0.01", 0, 1, 5e-324],
    "samples": [64, np.int64(64), 64.0, 64.5, "64", True, 0, 1, -1, math.inf, math.nan, [64]],
    "seconds": [5, 5.0, np.float32(5), "5", -1, math.nan, None],
    "width": [0.1, 0, np.float32(0.1), "0.1", -0.1, math.nan, 2, None],
    "seed": [0, np.int64(3), 2**64, -1, 0.0, "0", True, None],
    "tighten": [0, 1, np.int64(1), 1.5, -1, "1", True, None],
    "max_states": [100, np.int64(100), 100.0, 1e9, "100", 0, -1, True, None],
    "of": [None, 0, 1, 3, "0", 0.0],
    "regime": [None, "E", "Z", "z", "e", "ZS", "", 1, "N", b"E"],
    "mode_states": [(), ["x"], "x", "xy", ["zz"], [None], 5],
    "features": [lambda x: {"f": np.float32(x == "x")}, lambda x: {"f": x == "x"}, 5, {}, None,
                 lambda x: {"f": "1"}, lambda x: {"f": math.nan}, lambda x: {"f": 1.5},
                 lambda x: 1.0, lambda x: {1: 0.5}, lambda x: {"f": jnp.float32(0.5)}],
    "target": [None, [], ["zz"], [1, 2]],
    "p_b": [None, 5, lambda s: [1.0], lambda s: [0.5, 0.5], lambda s: {}, lambda s: {"o": 1.0}],
}  # fmt: skip
arguments = st.sampled_from([(name, value) for name in NEARLY for value in NEARLY[name]])


@settings(max_examples=150, deadline=None)
@given(rng=seeds, regime=st.sampled_from(["E", "Z", None]),
       wrong=st.lists(arguments, min_size=1, max_size=2))  # fmt: skip
def test_arguments_that_are_nearly_right_are_refused_or_right(
    rng: Any, regime: str | None, wrong: list[tuple[str, Any]]
) -> None:
    world = World(rng, {"o": ["x", "y"]})
    options: Any = {"regime": regime, "samples": 64, "seconds": 5, **dict(wrong)}
    made = unless_refused(lambda: pdai.certify(world.sampler, world.problem(), **options))
    assert made is None or world.bears_out(made)


# What is an argument of none of these; a name of nothing but of a folder that is to be made.
WRONG = [object(), b"x", math.nan, {"a": 1}, -1, "nowhere"]
FIRST = ("inspect", "check", "train", "solve", "posterior", "power", "load", "report", "certify")
ROWS = np.random.default_rng(0).normal(size=(40, 2))
# A right call, and the arguments beside that are tried.
CALLS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "solve": (Lines.minimal(), {"out": "run"}, "p_b way max_states"),
    "power": (0.25, {"outcomes": 4}, "law support outcomes against level seed"),
    "posterior": (ROWS, {}, "outcome score max_parents forbid require levels bins"),
    "train": ("lines", {"length": 3}, "steps batch seed loss dynamics learning_rate p_b precision"),
    "check": ("fast.balance.losses:TrajectoryBalance", {}, "precision starts seed seconds"),
    "certify": (lambda state: [0.5, 0.5], {"problem": Lines.minimal()}, "level samples seed width "
                "seconds tighten max_states of regime mode_states features p_b takes gives"),
}  # fmt: skip


def refuses_every(call: Callable[[Any], Any], words: str | None = None) -> None:
    for wrong in WRONG:
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            with pytest.raises(InputError, match=words):
                call(wrong)
            assert [*Path().iterdir()] == []


@pytest.mark.parametrize("name", FIRST)
def test_a_first_argument_of_a_wrong_type_is_one_error(name: str) -> None:
    refuses_every(getattr(pdai, name))


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name in CALLS for each in CALLS[name][2].split()]
)
def test_an_argument_of_a_wrong_type_is_one_error_before_any_work(name: str, argument: str) -> None:
    first, right, _ = CALLS[name]
    call = getattr(pdai, name)
    refuses_every(lambda wrong: call(first, **{**right, argument: wrong}), f"{argument}|name a f")


def test_control_the_right_call_is_answered(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("solve", "power", "posterior"):
        first, right, _ = CALLS[name]
        assert getattr(pdai, name)(first, **right)
