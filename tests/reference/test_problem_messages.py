"""The parameters that make no problem, and in which words they are refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from reference import TooLargeError
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
from tests.refusals import refuses, whole
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


Row = tuple[Callable[[], object], str]
REFUSED: list[Row] = [
    (lambda: Lines((ONE,)), "N = 0, but N must be at least 1"),
    (lambda: Lines((ONE, ZERO)), "'q1' is 0"),
    (lambda: Lines.laplaces(0), "the length N is 0, .*at least 1"),
    (lambda: Lines.laplaces(4, 0), "the step M is 0, .*at least 1"),
    (lambda: Lines.sparse(10), "peak 20 lies outside 0..10: .* length of at least 20"),
    (lambda: Grid(1), "the side H is 1, .*at least 2"),
    (lambda: Grid(2, 0), "the dimension is 0"),
    (lambda: SyntheticSequences.random(0), "length is 0"),
    (lambda: SyntheticSequences.random(3, 27), "number of letters is 27"),
    (lambda: SyntheticSequences.random(3, 2, "insert"), "build is 'insert'"),
    (lambda: SyntheticSequences("ab", 2, "append", (1.0,), (1.0, 2.0)), "u has 1 value"),
    (lambda: SyntheticSequences("aa", 2), "'aa' must be one or more distinct letters"),
    (lambda: SyntheticSequences("a", 1, u=(10**400,), v=(1.0,)), "u "),
    (lambda: TableSequences.six6(exponent=0), "exponent is 0"),
    (lambda: Ising.random(2, order=10**5_000), "an integer of 16610 bits, but"),
    (lambda: Sets(iter([ONE] * 4), 1), "must be a sequence, such as"),
    (lambda: BitSequences(iter(["01"])), "must be a sequence, such as"),
    (lambda: TiedPolicies(DIAMOND, iter(range(6))), "must be a sequence, such as"),
    (lambda: SETS((ONE, 2 * ONE), 3), "subsets of 3 of 2 items do not exist"),
    (lambda: SETS((ONE, ZERO), 1), "weight of item 1 is .* positive Fraction"),
    (lambda: SETS((1.0,), 1), "weight of item 0 is 1.0"),
    (lambda: SETS((ONE,), 0), "size is 0"),
    (lambda: SETS((ONE,), 1, "mean"), "form is 'mean'"),
    (lambda: BITS(()), "there is no mode"),
    (lambda: BITS(("01", "011")), "has 3 bits, but the first has 2"),
    (lambda: BITS(("012",)), "zeros and ones"),
    (lambda: BITS(("0101",), 3), "words of 3 bits do not make up 4"),
    (lambda: BITS.random(12), "made of words of 8 bits"),
    (lambda: BITS(("01",), exponent=0), "exponent is 0"),
    (lambda: closed_form(BITS.minimal()), "has no closed form"),
    (lambda: Preference(()), "no comparison"),
    (lambda: Preference([(1,)]), "differences is .* must be a tuple"),
    (lambda: Preference(((1, 0), (1,))), "difference 1 has 1 entries"),
    (lambda: Preference(([1],)), r"differences\[0\] is .* must be a tuple"),
    (lambda: Preference(((2, 0),)), "entry 2"),
    (lambda: Preference(((True,),)), r"differences\[0\]\[0\] is True"),
    (lambda: Preference(PAIR, bound=True), "bound is True"),
    (lambda: Preference(PAIR, 44), "m d = 88"),
    (lambda: Preference(PAIR, order="random"), "order is 'random'"),
    (lambda: Preference.random(5, 8, 100), "m d = 800"),
    (lambda: Preference.random(5, 10**400, 1), "dimension is an integer of 1329 bits"),
    (lambda: Preference.random(0, 2, 1), "comparisons is 0"),
    (lambda: Preference.random(5, 2, 1, seed=-1), "seed is -1"),
    (lambda: Preference.minimal().sample(1, None), "seed is None"),
    (lambda: WALK(radius=1.5), "radius is 1.5"),
    (lambda: WALK(2, 3, 2), "3 steps do not reach 4 of the 25 cells.* at least 4"),
    *((lambda t=t: WALK(2, t, 3), missed(t)) for t in range(1, 6)),
    (lambda: WALK(10**400, 3, 10**400), "radius is an integer of 1329"),
    (lambda: WALK(True, 2, 2), "radius is True"),
    (lambda: WALK(1, 0, 2), "steps is 0"),
    (lambda: WALK(1, 8, 8, "sharp-rings"), r"\(1, 1, .* is 0, where"),
    (lambda: WALK(landscape="cosine"), "landscape is 'cosine', but must be one of"),
    (lambda: WALK.minimal().sample(1, None), "seed is None"),
    (lambda: Ising((ONE,), ()), "1 fields and 0 directions"),
    (lambda: Ising((), ()), "at least one spin"),
    (lambda: Ising([ONE], (ONE,)), "fields is .* must be a tuple"),
    (lambda: Ising((1.0,), (1.0,)), r"fields\[0\] is 1.0"),
    (lambda: Ising((ONE,), (0.5,)), r"direction\[0\] is 0.5, a float, but must"),
    (lambda: Ising((ONE,), (True,)), r"direction\[0\] is True"),
    (lambda: Ising((800 * ONE,), (ZERO,)), "log R can reach 800"),
    (lambda: Ising((ZERO,), (40 * ONE,)), "log R can reach 800"),
    (lambda: Ising((ONE,), (ONE,), "random"), "order is 'random'"),
    (lambda: Ising.random(0), "number of spins is 0"),
    (lambda: Ising.random(10_001), "number of spins is 10001"),
    (lambda: Ising.random(3, seed=-1), "seed is -1"),
    (lambda: Ising.paper(36.0), "number of spins is 36.0"),
    (lambda: Ising.minimal().sample(1, None), "seed is None"),
    (lambda: HardCore(2, ((0, 2),)), "edge .0, 2. must join two of the vertices 0 to 1"),
    (lambda: HardCore.strip(2, 2, 0.0), "fugacity is 0: give one above 0"),
    (lambda: Phylogeny(("a", "b"), ("A", "CC")), r"the lengths \[1, 2\], but must be"),
    (lambda: Phylogeny(("a", "a"), ("A", "C")), "each name once"),
    (lambda: Phylogeny.random(4, cost=0.0), "cost of a change is 0.0, .*above 0"),
    (lambda: Torus(1, 3), "number of rows is 1"),
    (lambda: Torus(2, 3, -0.5), "coupling is -0.5, but must be positive"),
    (lambda: Torus(512, 512, 2.0), "262,144 spins at most 1.9"),
    (lambda: Grid(16, 2, "flat"), "landscape is 'flat'"),
    (lambda: Grid(4, 2, "sparse"), "at least 5"),
    (lambda: Grid(16.0), "the side H is 16.0"),
    (lambda: SyntheticSequences.random(2, 2, form="mean"), "form is 'mean'"),
    (lambda: letters((1.0, -1.0), (1.0, 0.5)), "every u.* at least 0"),
    (lambda: letters((1.0, 1.0), (0.0, 0.5)), r"some u\(i\) v\(a\) > 0"),
    (lambda: TableSequences.pho4("nothing.npz"), "cannot be read"),
    (lambda: positive_reward(math.cos(2), (0, 2)), r"\(0, 2\) is -.*cannot be negative"),
    (lambda: edges(features=(0, 0.5, 0)), r"features\[1\] is 0.5"),
    (lambda: edges(inner=()), "at least one inner and one terminal"),
    (lambda: edges(inner=(EMPTY, ((0, 1),))), "a tuple, but must be a Graph"),
    (lambda: edges(inner=(EMPTY, Graph(((1, 0),)))), r"\(i, j\) with 0 <= i < j < 3"),
    (lambda: edges(terminals=(graph([(0, 1), (0, 3)]),)), r"with 0 <= i < j < 3"),
    (lambda: edges(inner=(EMPTY, Graph(((0, 1, 2),)))), "must be a pair of node numbers"),
    (lambda: edges(terminals=(Graph(((0, 2), (0, 1))),)), "in increasing order"),
    (lambda: edges(inner=(EMPTY, P, P)), r"the state \[0-1\] is listed twice"),
    (lambda: edges(rewards=(ONE, ONE)), "2 rewards for 1 terminals"),
    (lambda: edges(rewards=(0.5,)), r"rewards\[0\] is 0.5, a float, but must be a Frac"),
    (lambda: edges(rewards=(ZERO,)), "is 0, where the balance losses need log R"),
    (lambda: edges(rewards=(True,)), r"rewards\[0\] is True"),
    (
        lambda: edges(inner=(EMPTY, P, graph([(1, 2)]), graph([(0, 2)]))),
        r"no listed state is \[1-2\]",
    ),
    (lambda: edges(terminals=(P, Q), rewards=(ONE, ONE)), "is listed twice"),
    (lambda: edges(**FORK), r"terminal \[0-1\] leads to the listed state \[0-1 0-2\]"),
    (lambda: edges(inner=(P, EMPTY)), r"\[no edges\] is not an inner state with one edge"),
    (lambda: edges(inner=(EMPTY,)), r"\[0-1 0-2\] is not an inner state with one edge mo"),
    (lambda: EdgeAddition.matching(ZERO), "t must lie between 0 and 1"),
    (lambda: EdgeAddition.matching(ONE), "t must lie between 0 and 1"),
    (lambda: EdgeAddition.matching(-HALF), "t must lie between 0 and 1"),
    (lambda: EdgeAddition.matching(math.nan), "must be a Fraction"),
    (lambda: EdgeAddition.matching(0.5), "must be a Fraction"),
    (lambda: EdgeAddition.cycles(5), "size"),
    (lambda: EdgeAddition.fork(3, (), (0, 1), (0, 2)), "ends with p"),
]
TOO_LARGE: list[Row] = [
    (lambda: Preference(((1,),) * 513).log_z(), "513 comparisons"),
    (lambda: Preference.random(5, 12, 4).log_z(), "282,429,536,481 terminal states"),
    (lambda: WALK(16, 99, 6), "more than 2,000,000 cells"),
]


test_a_mistake_is_refused_in_these_words = refuses(whole, *REFUSED)
test_what_is_too_large_is_refused_in_these_words = refuses(whole, *TOO_LARGE, kind=TooLargeError)


def test_control_a_right_graph_is_accepted() -> None:
    assert edges() is not None
