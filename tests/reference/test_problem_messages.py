"""The parameters that make no problem, and in which words they are refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from reference import InputError, TooLargeError
from reference.expressivity.aliasing import TiedPolicies
from reference.problems import (
    BitSequences,
    EdgeAddition,
    Grid,
    HardCore,
    Ising,
    LazyRandomWalk,
    Lines,
    Phylogeny,
    Preference,
    Sets,
    SyntheticSequences,
    TableSequences,
    Torus,
    positive_reward,
)
from reference.problems.closed_form import closed_form
from reference.problems.graphs import Graph, graph
from verify.lib.named_dags import DIAMOND

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)
SETS, BITS, WALK, PAIR = Sets, BitSequences, LazyRandomWalk, ((1, 0),)
SUM: Any = {"form": "sum", "build": "append"}
EMPTY, P, Q = graph([]), graph([(0, 1)]), graph([(0, 1), (0, 2)])
FORK = {"inner": (EMPTY, graph([(0, 2)])), "terminals": (P, Q), "rewards": (ONE, ONE)}


def edges(**changes: Any) -> EdgeAddition:
    """Edge addition to one graph of two edges, with other fields."""
    fields = {"features": (0, 0, 0), "inner": (EMPTY, P), "terminals": (Q,), "rewards": (ONE,)}
    return EdgeAddition(**(fields | changes))


def letters(u: Any, v: Any) -> SyntheticSequences:
    """Sequences with that sum of utilities for a reward."""
    return SyntheticSequences("ab", 2, "append", u, v, "sum")


def missed(steps: int) -> str:
    """The number of cells of a box of radius 2 in three dimensions beyond so many steps."""
    side = range(-2, 3)
    far = sum(abs(x) + abs(y) + abs(z) > steps for x in side for y in side for z in side)
    return f"{steps} steps do not reach {far} of the 125 cells.* at least 6"


Row = tuple[str, Callable[[], object], str]
# Of "size" are those that are too large.
REFUSED: list[Row] = [
    ("problem", lambda: Lines((ONE,)), "N = 0, but N must be at least 1"),
    ("problem", lambda: Lines((ONE, ZERO)), "'q1' is 0"),
    ("problem", lambda: Lines.laplaces(0), "the length N is 0, .*at least 1"),
    ("problem", lambda: Lines.laplaces(4, 0), "the step M is 0, .*at least 1"),
    ("problem", lambda: Lines.sparse(10), "peak 20 lies outside 0..10: .* length of at least 20"),
    ("problem", lambda: Grid(1), "the side H is 1, .*at least 2"),
    ("problem", lambda: Grid(2, 0), "the dimension is 0"),
    ("problem", lambda: SyntheticSequences.random(0), "length is 0"),
    ("problem", lambda: SyntheticSequences.random(3, 27), "number of letters is 27"),
    ("problem", lambda: SyntheticSequences.random(3, 2, "insert"), "build is 'insert'"),  # type: ignore[arg-type]
    ("problem", lambda: SyntheticSequences("ab", 2, "append", (1.0,), (1.0, 2.0)), "u has 1 value"),
    ("problem", lambda: SyntheticSequences("aa", 2), "'aa' must be one or more distinct letters"),
    ("problem", lambda: SyntheticSequences("a", 1, u=(10**400,), v=(1.0,)), "u "),
    ("problem", lambda: TableSequences.six6(exponent=0), "exponent is 0"),
    ("problem", lambda: Ising.random(2, order=10**5_000), "an integer of 16610 bits, but"),  # type: ignore[arg-type]
    ("once", lambda: Sets(iter([ONE] * 4), 1), "must be a sequence, such as"),  # type: ignore[arg-type]
    ("once", lambda: BitSequences(iter(["01"])), "must be a sequence, such as"),  # type: ignore[arg-type]
    ("once", lambda: TiedPolicies(DIAMOND, iter(range(6))), "must be a sequence, such as"),  # type: ignore[arg-type]
    ("sets", lambda: SETS((ONE, 2 * ONE), 3), "subsets of 3 of 2 items do not exist"),
    ("sets", lambda: SETS((ONE, ZERO), 1), "weight of item 1 is .* positive Fraction"),
    ("sets", lambda: SETS((1.0,), 1), "weight of item 0 is 1.0"),
    ("sets", lambda: SETS((ONE,), 0), "size is 0"),
    ("sets", lambda: SETS((ONE,), 1, "mean"), "form is 'mean'"),
    ("bits", lambda: BITS(()), "there is no mode"),
    ("bits", lambda: BITS(("01", "011")), "has 3 bits, but the first has 2"),
    ("bits", lambda: BITS(("012",)), "zeros and ones"),
    ("bits", lambda: BITS(("0101",), 3), "words of 3 bits do not make up 4"),
    ("bits", lambda: BITS.random(12), "made of words of 8 bits"),
    ("bits", lambda: BITS(("01",), exponent=0), "exponent is 0"),
    ("bits", lambda: closed_form(BITS.minimal()), "has no closed form"),
    ("preference", lambda: Preference(()), "no comparison"),
    ("preference", lambda: Preference([(1,)]), "differences is .* must be a tuple"),
    ("preference", lambda: Preference(((1, 0), (1,))), "difference 1 has 1 entries"),
    ("preference", lambda: Preference(([1],)), r"differences\[0\] is .* must be a tuple"),
    ("preference", lambda: Preference(((2, 0),)), "entry 2"),
    ("preference", lambda: Preference(((True,),)), r"differences\[0\]\[0\] is True"),
    ("preference", lambda: Preference(PAIR, bound=True), "bound is True"),
    ("preference", lambda: Preference(PAIR, 44), "m d = 88"),
    ("preference", lambda: Preference(PAIR, order="random"), "order is 'random'"),
    ("preference", lambda: Preference.random(5, 8, 100), "m d = 800"),
    (
        "preference",
        lambda: Preference.random(5, 10**400, 1),
        "dimension is an integer of 1329 bits",
    ),
    ("preference", lambda: Preference.random(0, 2, 1), "comparisons is 0"),
    ("preference", lambda: Preference.random(5, 2, 1, seed=-1), "seed is -1"),
    ("preference", lambda: Preference.minimal().sample(1, None), "seed is None"),
    ("size", lambda: Preference(((1,),) * 513).log_z(), "513 comparisons"),
    ("size", lambda: Preference.random(5, 12, 4).log_z(), "282,429,536,481 terminal states"),
    ("walk", lambda: WALK(radius=1.5), "radius is 1.5"),
    ("walk", lambda: WALK(2, 3, 2), "3 steps do not reach 4 of the 25 cells.* at least 4"),
    *(("walk", lambda t=t: WALK(2, t, 3), missed(t)) for t in range(1, 6)),
    ("walk", lambda: WALK(10**400, 3, 10**400), "radius is an integer of 1329"),
    ("size", lambda: WALK(16, 99, 6), "more than 2,000,000 cells"),
    ("walk", lambda: WALK(True, 2, 2), "radius is True"),
    ("walk", lambda: WALK(1, 0, 2), "steps is 0"),
    ("walk", lambda: WALK(1, 8, 8, "sharp-rings"), r"\(1, 1, .* is 0, where"),
    ("walk", lambda: WALK(landscape="cosine"), "landscape is 'cosine', but must be one of"),
    ("walk", lambda: WALK.minimal().sample(1, None), "seed is None"),
    ("ising", lambda: Ising((ONE,), ()), "1 fields and 0 directions"),
    ("ising", lambda: Ising((), ()), "at least one spin"),
    ("ising", lambda: Ising([ONE], (ONE,)), "fields is .* must be a tuple"),
    ("ising", lambda: Ising((1.0,), (1.0,)), r"fields\[0\] is 1.0"),
    ("ising", lambda: Ising((ONE,), (0.5,)), r"direction\[0\] is 0.5, a float, but must"),
    ("ising", lambda: Ising((ONE,), (True,)), r"direction\[0\] is True"),
    ("ising", lambda: Ising((800 * ONE,), (ZERO,)), "log R can reach 800"),
    ("ising", lambda: Ising((ZERO,), (40 * ONE,)), "log R can reach 800"),
    ("ising", lambda: Ising((ONE,), (ONE,), "random"), "order is 'random'"),
    ("ising", lambda: Ising.random(0), "number of spins is 0"),
    ("ising", lambda: Ising.random(10_001), "number of spins is 10001"),
    ("ising", lambda: Ising.random(3, seed=-1), "seed is -1"),
    ("ising", lambda: Ising.paper(36.0), "number of spins is 36.0"),
    ("ising", lambda: Ising.minimal().sample(1, None), "seed is None"),
    (
        "hard-core",
        lambda: HardCore(2, ((0, 2),)),
        "edge .0, 2. must join two of the vertices 0 to 1",
    ),
    ("hard-core", lambda: HardCore.strip(2, 2, 0.0), "fugacity is 0: give one above 0"),
    ("phylogeny", lambda: Phylogeny(("a", "b"), ("A", "CC")), r"the lengths \[1, 2\], but must be"),
    ("phylogeny", lambda: Phylogeny(("a", "a"), ("A", "C")), "each name once"),
    ("phylogeny", lambda: Phylogeny.random(4, cost=0.0), "cost of a change is 0.0, .*above 0"),
    ("torus", lambda: Torus(1, 3), "number of rows is 1"),
    ("torus", lambda: Torus(2, 3, -0.5), "coupling is -0.5, but must be positive"),
    ("torus", lambda: Torus(512, 512, 2.0), "262,144 spins at most 1.9"),
    ("grid", lambda: Grid(16, 2, "flat"), "landscape is 'flat'"),
    ("grid", lambda: Grid(4, 2, "sparse"), "at least 5"),
    ("grid", lambda: Grid(16.0), "the side H is 16.0"),
    ("sequences", lambda: SyntheticSequences.random(2, 2, form="mean"), "form is 'mean'"),
    ("sequences", lambda: letters((1.0, -1.0), (1.0, 0.5)), "every u.* at least 0"),
    ("sequences", lambda: letters((1.0, 1.0), (0.0, 0.5)), r"some u\(i\) v\(a\) > 0"),
    ("sequences", lambda: TableSequences.pho4("nothing.npz"), "cannot be read"),
    ("reward", lambda: positive_reward(math.cos(2), (0, 2)), r"\(0, 2\) is -.*cannot be negative"),
    ("graphs", lambda: edges(features=(0, 0.5, 0)), r"features\[1\] is 0.5"),
    ("graphs", lambda: edges(inner=()), "at least one inner and one terminal"),
    ("graphs", lambda: edges(inner=(EMPTY, ((0, 1),))), "a tuple, but must be a Graph"),
    ("graphs", lambda: edges(inner=(EMPTY, Graph(((1, 0),)))), r"\(i, j\) with 0 <= i < j < 3"),
    ("graphs", lambda: edges(terminals=(graph([(0, 1), (0, 3)]),)), r"with 0 <= i < j < 3"),
    ("graphs", lambda: edges(inner=(EMPTY, Graph(((0, 1, 2),)))), "must be a pair of node numbers"),
    ("graphs", lambda: edges(terminals=(Graph(((0, 2), (0, 1))),)), "in increasing order"),
    ("graphs", lambda: edges(inner=(EMPTY, P, P)), r"the state \[0-1\] is listed twice"),
    ("graphs", lambda: edges(rewards=(ONE, ONE)), "2 rewards for 1 terminals"),
    ("graphs", lambda: edges(rewards=(0.5,)), r"rewards\[0\] is 0.5, a float, but must be a Frac"),
    ("graphs", lambda: edges(rewards=(ZERO,)), "is 0, where the balance losses need log R"),
    ("graphs", lambda: edges(rewards=(True,)), r"rewards\[0\] is True"),
    (
        "graphs",
        lambda: edges(inner=(EMPTY, P, graph([(1, 2)]), graph([(0, 2)]))),
        r"no listed state is \[1-2\]",
    ),
    ("graphs", lambda: edges(terminals=(P, Q), rewards=(ONE, ONE)), "is listed twice"),
    ("graphs", lambda: edges(**FORK), r"terminal \[0-1\] leads to the listed state \[0-1 0-2\]"),
    (
        "graphs",
        lambda: edges(inner=(P, EMPTY)),
        r"\[no edges\] is not an inner state with one edge",
    ),
    (
        "graphs",
        lambda: edges(inner=(EMPTY,)),
        r"\[0-1 0-2\] is not an inner state with one edge mo",
    ),
    ("graphs", lambda: EdgeAddition.matching(ZERO), "t must lie between 0 and 1"),
    ("graphs", lambda: EdgeAddition.matching(ONE), "t must lie between 0 and 1"),
    ("graphs", lambda: EdgeAddition.matching(-HALF), "t must lie between 0 and 1"),
    ("graphs", lambda: EdgeAddition.matching(math.nan), "must be a Fraction"),
    ("graphs", lambda: EdgeAddition.matching(0.5), "must be a Fraction"),
    ("graphs", lambda: EdgeAddition.cycles(5), "size"),
    ("graphs", lambda: EdgeAddition.fork(3, (), (0, 1), (0, 2)), "ends with p"),
]


@pytest.mark.parametrize(("part", "call", "words"), REFUSED)
def test_a_mistake_is_refused_in_these_words(
    part: str, call: Callable[[], object], words: str
) -> None:
    assert edges() is not None
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, TooLargeError) == (part == "size")
