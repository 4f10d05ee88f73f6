"""Garbage for every public function and class of `reference` and `reference.problems`."""

import inspect
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any, get_origin

import numpy as np

import reference
import reference.problems
from reference import (
    FLOAT64,
    RATIONAL,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    History,
    PointedDAG,
    Sampler,
    Table,
    lift,
    pointed_dag,
)
from reference.problems import Grid, Lines, Sets
from tests.attack.outcome import Outcome, attempted

DAG = pointed_dag({"o": ["a", "x"], "a": ["x", "y"], "x": [], "y": []})
OTHER = pointed_dag({"o": ["x", "y"], "x": [], "y": []})
LIFTED = lift(DAG, History())
HALVES = (Fraction(1, 2), Fraction(1, 2))


class Odd:
    """A problem, nearly: what it gives is drawn by whoever makes it."""

    def __init__(self, children: Any, reward: Any):
        self.initial: Any = "o"
        self._children, self._reward = children, reward

    def children(self, state: Any) -> Any:
        """What was given, of the initial state."""
        return self._children if state == "o" else ()

    def reward(self, terminal: Any) -> Any:
        """What was given."""
        return self._reward


def names() -> dict[str, Callable[..., Any]]:
    """Every public function, class and constructor by name, from `__all__`."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (reference, reference.problems):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and getattr(thing, "_is_protocol", False):
                continue
            if not (inspect.isfunction(thing) or inspect.isclass(thing)) or get_origin(thing):
                continue
            if inspect.isabstract(thing) or _is_record(thing):
                continue
            found[name] = thing
            if isinstance(thing, type):
                found |= {
                    f"{name}.{member}": getattr(thing, member)
                    for member, kind in vars(thing).items()
                    if isinstance(kind, classmethod) and not member.startswith("_")
                }
    return found


def _is_record(thing: Any) -> bool:
    """Whether this is a plain tuple of results, an error, or a law that it computes itself."""
    return isinstance(thing, type) and (
        issubclass(thing, BaseException)
        or thing.__name__ in ("Estimate", "Objective", "Enclosure", "Graph", "Cell")
    )


def _policies() -> list[Any]:
    found: list[Any] = []
    for dag in (DAG, LIFTED.dag, OTHER):
        for field in (RATIONAL, FLOAT64):
            found += [kind.uniform(dag, field) for kind in (ForwardPolicy, BackwardPolicy)]
            found.append(BackwardKernel(dag, field, [field.one] * len(dag.edges)))
    return found


POLICIES = _policies()
SAMPLERS = [
    Sampler(LIFTED, ForwardPolicy.uniform(LIFTED.dag, f), BackwardPolicy.uniform(LIFTED.dag, f))
    for f in (RATIONAL, FLOAT64)
]
LISTS: list[Any] = [
    HALVES,
    [0.5, 0.5],
    [3.0, 4.0],
    (Fraction(1), Fraction(2)),
    [1, 2],
    [math.nan, 1.0],
    [math.inf, 0.0],
    [-0.5, 1.5],
    [],
    (),
    [Fraction(1, 2)] * 4,
    [0.25] * 4,
    [0.5] * 6,
    [Fraction(1)] * 5,
    [1.0] * 8,
    np.array([0.5, 0.5]),
    np.array(1.0),
    np.array([[0, 1], [1, 0]]),
    np.zeros((0, 2)),
    np.arange(4, dtype=np.float32),
    [[0, 1]],
    [[1.0, 2.0], [1.0]],
    (HALVES, HALVES),
    SAMPLERS,
    [SAMPLERS[0], "o"],
    ["a", "b"],
    range(3),
]
SCALARS: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, -1, 7, 2**64, 10**400, 10**5000, -(10**30)),
    *(0.5, 0.0, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf, 1j),
    *(Fraction(1, 3), Fraction(10**5000, 3), Fraction(-1)),
    *("", "o", "append", "sum", "\x00", "x" * 100_000, b"x"),
    *(np.float32(1), np.int64(2), np.float64(0.5), np.longdouble("1e4000"), np.bool_(True)),
    *(object(), int, Grid, len, NotImplemented, ...),
]
THINGS: list[Any] = [
    DAG,
    OTHER,
    LIFTED,
    RATIONAL,
    FLOAT64,
    reference.BALL,
    History(),
    History,
    Table({}, 0),
    PointedDAG,
    {},
    {"o": ["x"], "x": []},
    {"o": {"a": 0.5, "x": 0.5}, "a": {"x": 1, "y": 0}},
    {(0,): 1.0, (1, 0): 0.0},
    {(0, 1): Fraction(1)},
    set(),
    {1, 2},
    Grid.minimal(),
    Sets.minimal(),
    Lines.minimal(),
    Lines,
    lambda: 0,
    lambda tau: 1.0,
    lambda tau: Fraction(1, 3),
    lambda tau: "x",
    lambda state, latent: 1,
]


def drawn(rng: random.Random, depth: int = 0) -> Any:
    """Something, of any kind."""
    kind = rng.randrange(12)
    if kind < 3:
        return rng.choice(SCALARS)
    if kind < 5:
        return rng.choice(LISTS)
    if kind < 7:
        return rng.choice(THINGS)
    if kind < 9:
        return rng.choice(POLICIES)
    if kind == 9:
        return Odd(drawn(rng, depth + 1), drawn(rng, depth + 1)) if depth < 2 else "o"
    if depth > 2:
        return rng.choice(SCALARS)
    entries = [drawn(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 10:
        return rng.choice([list, tuple, iter])(entries)
    return dict(zip(["o", "a", "x", 0, (1,)], entries, strict=False))


# What an argument of a name is usually: with it, a call gets further.
USUAL: dict[str, list[Any]] = {
    "dag": [DAG, OTHER, LIFTED.dag],
    "base": [DAG, OTHER],
    "lifted": [LIFTED],
    "field": [RATIONAL, FLOAT64, reference.BALL],
    "problem": [Grid.minimal(), Lines.minimal()],
    "seed": [0, 1, 2**64, -1],
    **dict.fromkeys(("forward", "exploratory", "policy", "policy_space"), POLICIES),
    **dict.fromkeys(("backward", "kernel", "weights"), POLICIES),
    **dict.fromkeys(("p", "q", "rewards", "values", "flow", "factors"), LISTS),
    **dict.fromkeys(("combined", "current", "previous"), SAMPLERS),
}
FORWARD = ("forward", "exploratory", "policy", "policy_space")
BACKWARD = ("backward", "kernel")
LAWS = ("total_variation", "kl_divergence", "fcs")


def is_meant(name: str, arguments: dict[str, Any]) -> bool:
    """Whether arguments that were accepted mean what the function computes.

    That is read from their kinds alone, not as the function reads them.
    """
    for argument, value in arguments.items():
        if argument in FORWARD and type(value) is not ForwardPolicy:
            return False
        if argument in BACKWARD and type(value) not in (BackwardPolicy, BackwardKernel):
            return False
    if name in LAWS:
        return all(abs(float(sum(arguments[p])) - 1) < 0.01 for p in ("p", "q"))
    return True


def attacks(rng: random.Random) -> Iterator[Outcome]:
    """Calls without end."""
    functions = names()
    while True:
        name = rng.choice(list(functions))
        yield attack(rng, name, functions[name])


def attack(rng: random.Random, name: str, function: Callable[..., Any]) -> Outcome:
    """One call."""
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and rng.random() < 0.5:
            continue
        usual = USUAL.get(parameter.name)
        close = usual is not None and rng.random() < 0.6
        arguments[parameter.name] = rng.choice(usual or [0]) if close else drawn(rng)

    def call() -> Any:
        answer = function(**arguments)
        return list(islice(answer, 50)) if isinstance(answer, Iterator) else answer

    story = f"{name}({', '.join(f'{k}={_shown(v)}' for k, v in arguments.items())})"
    return attempted(story, call, lambda _: is_meant(name, arguments))


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.120}"
    except (ValueError, TypeError):
        return f"a {type(value).__name__}"
