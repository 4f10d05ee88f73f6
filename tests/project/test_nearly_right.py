"""Input that is nearly right, to `certify` and `inspect`: refused, or answered rightly.

`python -m tests.project.test_nearly_right 100000` tries so many cases and prints the outcomes.
Garbage is not tried: what goes wrong in silence is what means something, and not what was meant.
"""

import math
import sys
from collections import Counter
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

import pdai
from tests.nearly_right import (
    ROUNDING,
    SHAPES,
    Case,
    HungError,
    World,
    contains,
    endings,
    exponentials,
    outcome,
    shown,
    table,
)


def log_z(rng: Random) -> Case:
    """A `log Z`, given or told by the problem, that is right, a little off, or far off."""
    world, base = World(rng), rng.choice([0, 0, 800, -800, 1e4])
    logs = {x: base + math.log(w) for x, w in world.weights.items()}
    problem = world.problem(logs, "log_reward") if base else world.problem()
    far = [rng.uniform(-1e4, 1e4), -base, -685.0, -690.0, math.inf, -math.inf, math.nan]
    off = rng.choice([0, 0, 1e-3, -1e-3, 0.3, -0.3, 3, *far])
    truth, slack = base + math.log(world.z), 1e-9
    form = rng.choice([float, float, np.float64, np.float32, Decimal, tuple, str, list, "told"])
    value: Any = truth + off
    if form is tuple:
        value, slack = (value - 0.01, value + 0.01), 0.0101
    elif form == "told":
        problem.log_z, value = (lambda: truth + off), None
    else:
        value = [value] if form is list else form(value)
        slack = 1e-6 * (abs(base) + 3) if form is np.float32 else slack

    def is_right(made: Any) -> bool:
        # What is far too low is refuted; else all is relative to the log Z that is given.
        if not -3 < off < math.inf or form in (str, list):
            return False
        least, most = (
            world.shortfall(math.exp(way - off) if off < 700 else 0.0) for way in (slack, -slack)
        )
        low, high = made.interval
        return bool(0 <= low <= most + ROUNDING and least - ROUNDING <= high <= 1)

    return Case(
        f"log_z={shown(value)} ({form}), off by {off}, log R {logs} of {world}",
        lambda: pdai.certify(world.sampler, problem, regime="Z", log_z=value, samples=256),
        is_right,
    )


KINDS_OF_ROWS: list[Any] = [float, Fraction, Decimal, np.float16, np.float32, np.float64]
KINDS_OF_ROWS += [np.longdouble, jnp.float32, jnp.bfloat16]
# From a row of numbers and the children that it is over to what means the same row,
SAME_ROW: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "list": lambda row, _: row,
    "tuple": lambda row, _: tuple(row),
    "iterator": lambda row, _: iter(row),
    "array": lambda row, _: np.array(row),
    "array of JAX": lambda row, _: jnp.array([float(p) for p in row]),
    "mapping": lambda row, children: dict(zip(children, row, strict=True)),
    "mapping turned": lambda row, children: dict([*zip(children, row, strict=True)][::-1]),
    "a row of rows": lambda row, _: [row],
    "matrix": lambda row, _: np.array([row]),
}
# and to what is no row of these children.
NO_ROW: dict[str, Callable[[list[Any], list[Any]], Any]] = {
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
NO_WORDS = [("statez", "logits"), ("State", "probabilities"), ("state", "Logits"), ("state", None)]


def policies(rng: Random) -> Case:
    """Rows in every container and kind of number, and the words for what they are."""
    world, kind = World(rng), rng.choice(KINDS_OF_ROWS)
    name = rng.choice([*SAME_ROW, *NO_ROW])
    takes, gives, is_row = rng.choice(list(TAKES)), "probabilities", name in SAME_ROW
    rows: Any = world.policy
    if is_row and rng.random() < 0.3:
        # A softmax is what is meant.
        gives, far = "logits", rng.choice([1, 30, 1000, 1e4])
        draw = lambda: Fraction(float(np.float16(rng.uniform(-far, far))))  # noqa: E731
        rows = {s: [draw() for _ in row] for s, row in rows.items()}
        for state, row in rows.items():
            sizes = exponentials(row)
            world.policy[state] = [size / sum(sizes) for size in sizes]
    same = kind in (Fraction, Decimal) or gives == "probabilities"
    kind = kind if same or kind in (np.float32, np.float16) else float
    convert = {Fraction: Fraction, Decimal: lambda p: Decimal(p.numerator) / p.denominator}.get(
        kind, lambda p: kind(float(p))
    )
    given = {state: [convert(p) for p in row] for state, row in rows.items()}
    if rng.random() < 0.1:
        is_row, (takes, gives) = False, rng.choice(NO_WORDS)
    make = {**SAME_ROW, **NO_ROW}[name]
    ask = TAKES.get(takes, TAKES["state"])(lambda state: make(given[state], world.rows[state]))
    options: Any = {"takes": takes, "gives": gives}
    return Case(
        f"{name}, {options}, {shown(given)} of {world}",
        lambda: pdai.certify(ask, world.problem(), **options),
        lambda made: is_row and abs(made.tv - world.tv()) <= ROUNDING,
    )


class Thing:
    """A state without equality."""

    def __init__(self, name: str):
        self.name = name


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


def no_functions(rng: Random) -> Case:
    """Children, rewards, rows and states that are others when they are asked for again."""
    world = World(rng)
    problem = world.problem()
    children, reward, pick = problem.children, problem.reward, rng.random
    sure = lambda s: [1.0, *[0.0] * (len(children(s)) - 1)]  # noqa: E731
    mixed = lambda s: [(u := pick()), 1 - u, *sure(s)[2:]][: len(sure(s))]  # noqa: E731
    # Not at random each time: an order that comes twice by chance is that of a function.
    shuffled = in_turn(children, lambda s: rng.sample(children(s), len(children(s))))
    ways: dict[str, tuple[Any, Any, Any]] = {
        "as it is": (children, reward, world.sampler),
        "turned": (in_turn(children, lambda s: children(s)[::-1]), reward, world.sampler),
        "shuffled": (shuffled, reward, world.sampler),
        "lost": (in_turn(children, lambda s: children(s)[:1]), reward, world.sampler),
        "rewards at random": (children, lambda x: reward(x) + pick(), world.sampler),
        "rewards in turn": (children, in_turn(reward, lambda x: 3 * reward(x)), world.sampler),
        "rows turned": (children, reward, in_turn(sure, lambda s: sure(s)[::-1])),
        "rows at random": (children, reward, mixed),
    }
    for name, kind in {"no equality": Thing, "all alike": Equal, "NaN": lambda _: math.nan}.items():
        states = lambda s, kind=kind: [kind(x) for x in children(getattr(s, "name", s))]  # noqa: E731
        even = lambda s, states=states: [1 / len(states(s))] * len(states(s))  # noqa: E731
        ways[name] = states, lambda _: 1, even
    way, right = rng.choice(list(ways)), ("as it is", "turned", "shuffled", "lost")
    problem.children, problem.reward, sampler = ways[way]
    options: Any = {"regime": rng.choice(["E", "E", "Z", None]), "samples": 256}
    return Case(
        f"{way}, {options}, of {world}",
        lambda: pdai.certify(sampler, problem, **options),
        lambda made: way in right and world.bears_out(made),
    )


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


def samples(rng: Random) -> Case:
    """A file of samples, and a target, of states that are nearly one another."""
    texts = [label for label in LABELS if isinstance(label, str)]
    labels = rng.sample(rng.choice([texts, LABELS]), rng.choice([2, 3, 4]))
    world, write = World(rng, {"o": labels}), rng.choice([str, repr])
    drawn = rng.choices(labels, world.sampler("o"), k=600)
    options: Any = {"regime": "S"}
    if rng.random() < 0.5:
        chances = [float(world.weights[label]) for label in labels]
        options |= {"target": rng.choices(labels, chances, k=600), "max_states": 1}
    lines = [["terminal"], *([write(label)] for label in drawn)]
    call = lambda: from_file(lines, world.problem(), **options)  # noqa: E731
    if rng.random() < 0.3:
        options = {"regime": rng.choice(["E", "Z"]), "samples": 64}
        call = lambda: pdai.certify(world.sampler, world.problem(), **options)  # noqa: E731
    story = f"{write.__name__}, {[*options]}, {options['regime']}, of {world}"
    return Case(story, call, lambda made: contains(made, world.tv()))


def recorded(rng: Random) -> Case:
    """Recorded trajectories whose log rewards are nearly the problem's, or are no numbers."""
    world, base = World(rng), rng.choice([0, 0, -460, 7000])
    logs = {x: base + math.log(w) for x, w in world.weights.items()}
    problem = world.problem(logs, "log_reward") if base else world.problem()
    ways, off = world.trajectories(), rng.choice([0, 0, 0, 1e-9, 1e-6, 4e-5, -4e-5, 1e-3])
    drawn = rng.choices(ways, [float(p) for _, p, _ in ways], k=300)
    lines = [["terminal", "log_p_f", "log_p_b", "log_reward"]]
    lines += [[x, math.log(p), math.log(b), logs[x] * (1 + off)] for x, p, b in drawn]
    if rng.random() < 0.3:
        spoilt = rng.choice(["1_0", "1e400", "nan", "-0x1", "", "0.5", "\u0661", "-1e999", "True"])
        lines[7][rng.randrange(1, 4)] = spoilt
    return Case(
        f"log rewards recorded off by {off}, {lines[7]}, log R {logs} of {world}",
        lambda: from_file(lines, problem),
        world.bears_out,
    )


def parents(rng: Random) -> Case:
    """Parents that are nearly those of the problem, in a sequence or not."""
    world = World(rng, rng.choice(SHAPES[2:]))
    problem = world.problem()
    states = [*world.rows, *world.terminals]
    right = {x: [s for s, row in world.rows.items() if x in row] for x in states}
    state = rng.choice(states[1:])
    row, kind = right[state], rng.choice([list, list, tuple, iter, np.array, set])
    changes = {"right": row, "lost": row[1:], "twice": row * 2, "order": row[::-1], "none": None}
    changes |= {"new": [*row, "new"], "no parent": [*row, "x"]}
    way = rng.choice(list(changes))
    rows = {**right, state: changes[way]}
    if way == "new":
        # A state that is never reached, of which this one is a child, and before it others.
        before = lambda s: [state] if s == "new" else [s[:-1]]  # noqa: E731
        problem.children = lambda s: before(s) if s[:3] == "new" else world.rows.get(s, [])
    given = lambda s: [s + "w"] if s[:3] == "new" else rows[s]  # noqa: E731
    problem.parents = lambda s: given(s) if given(s) is None else kind(given(s))
    options: Any = {"regime": rng.choice(["Z", "S", None]), "samples": 256, "seconds": 3}
    if options["regime"] == "S":
        chances = [float(w) for w in world.weights.values()]
        options["target"] = rng.choices(world.terminals, chances, k=256)
    return Case(
        f"parents {way} of {state} by {kind.__name__}, {options['regime']}, of {world}",
        lambda: pdai.certify(world.sampler, problem, **options),
        world.bears_out,
    )


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


def arguments(rng: Random) -> Case:
    """One or two arguments of `certify` that are nearly right."""
    world = World(rng, {"o": ["x", "y"]})
    options: Any = {"regime": rng.choice(["E", "Z", "N", None]), "samples": 64, "seconds": 5}
    for name in rng.sample(list(NEARLY), rng.choice([1, 2])):
        options[name] = rng.choice(NEARLY[name])
    return Case(
        f"{shown(options)}, of {world}",
        lambda: pdai.certify(world.sampler, world.problem(), **options),
        world.bears_out,
    )


# Each with its share of the cases.
KINDS: dict[Callable[[Random], Case], int] = {
    policies: 20, no_functions: 8, arguments: 8, log_z: 4, samples: 3,
    recorded: 2, parents: 4,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_nearly_right_is_refused_or_answered_rightly(kind: Any) -> None:
    ends = endings(kind, max(100, 20 * KINDS[kind]))
    # Some of each, so that neither everything is refused, nor everything fine.
    assert min(ends["refused"], ends["right"]) >= 2


def test_control_what_goes_wrong_is_seen() -> None:
    def hang() -> None:
        raise HungError

    for call, ending in ((lambda: 1 / 0, "foreign error"), (hang, "foreign error"), (int, "right")):
        assert outcome(Case("", call, lambda made: made == 0))[0] == ending
    assert outcome(Case("", int, bool))[0] == "silent wrong"
    world = World(Random(0))
    assert world.bears_out(pdai.certify(world.sampler, world.problem()))
    assert not World(Random(1)).bears_out(pdai.certify(world.sampler, world.problem()))


if __name__ == "__main__":
    sys.exit(table(KINDS, *map(int, sys.argv[1:])))
