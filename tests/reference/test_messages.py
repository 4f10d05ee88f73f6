"""Refusals of the reference, word by word: the object, the value, the rule and the fix."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    Additive,
    BackwardKernel,
    BackwardPolicy,
    Forgetful,
    ForwardPolicy,
    History,
    InputError,
    LiftedSampler,
    Symbolic,
    TooLargeError,
    aggregated_residuals,
    cb_objective,
    check_clients,
    enumerate_dag,
    enumerate_rewards,
    fcs,
    flows,
    forward_from_backward,
    lift,
    log_tb_residuals,
    pointed_dag,
    product_rewards,
    streaming_residuals,
    subtb_residuals,
)
from reference.bounds import one_sided_tv_bound, residual_spread, tv_bound_from_loss
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.memory import aliasing_kl, memory_kl
from reference.fields.balls import precision
from reference.metrics import fcs_estimate, fcs_under
from reference.problems import (
    BitSequences,
    EdgeAddition,
    Grid,
    HardCore,
    Ising,
    LazyRandomWalk,
    Lines,
    Preference,
    Sets,
    SyntheticSequences,
    TableSequences,
    Torus,
    positive_reward,
    restrict,
)
from reference.problems.closed_form import closed_form
from reference.problems.graphs import Graph, graph
from tests.refusals import refused, refuses, whole
from verify.lib.named_dags import DIAMOND, FORK
from verify.lib.symbolic_scope import backward_and_rewards

ONE, ZERO = Fraction(1), Fraction(0)
HALF, REWARDS = ONE / 2, (ONE, ONE)
LIFTED = lift(DIAMOND, History())
P_F, P_B = ForwardPolicy.uniform(DIAMOND, RATIONAL), BackwardPolicy.uniform(DIAMOND, RATIONAL)
ABOVE, BELOW = BackwardPolicy.uniform(LIFTED.dag, RATIONAL), ForwardPolicy.uniform(DIAMOND, FLOAT64)
BLIND = BackwardPolicy.from_weights(DIAMOND, FLOAT64, [1, 1, 1, 0, 1, 1])
SURE = ForwardPolicy(FORK, RATIONAL, [ONE, ZERO])
FLOW = [ONE] * len(DIAMOND.labels)
EDGE = pointed_dag({"o": ["x"], "x": []})
TWIN = pointed_dag({u: list(row) for u, row in enumerate(DIAMOND.children)})
LAWS = ((HALF, HALF, ZERO), (HALF, HALF, ZERO))
WIDE: Any = np.array([np.longdouble("1e4000"), 1])
LINES = lift(enumerate_dag(Lines.minimal()), Forgetful())
CHILDREN = {s: Lines.minimal().children(s) for s in ("p2", "p3", "p5")}
LINE_ACTIONS = {(s, t): f"{t[0]}{i}" for s, row in CHILDREN.items() for i, t in enumerate(row)}
FACTORS: Any = SyntheticSequences.random(3, 2, form="sum")
NAN: Any = math.nan
FORK_F, FORK_B = ForwardPolicy.uniform(FORK, RATIONAL), BackwardPolicy.uniform(FORK, RATIONAL)
FLOATS = BackwardPolicy.uniform(FORK, FLOAT64)
GRID_B = BackwardPolicy.uniform(enumerate_dag(Grid(2)), RATIONAL)
PATH = pointed_dag({"o": ["a"], "a": ["x"], "x": []})
ARRAYS: Any = SimpleNamespace(initial=0, children=lambda state: [np.ones(2)])
LISTS: Any = SimpleNamespace(initial=None, advance=lambda state, latent: [state])


class Mutable:
    """A state whose hash moves."""

    def __init__(self, at: int = 0):
        self.at = at

    def __hash__(self) -> int:
        return hash(self.at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mutable) and other.at == self.at

    def grown(self) -> "list[Mutable]":
        """Children, after a change of this one."""
        if self.at == 1:
            return []
        self.at = 10
        return [Mutable(1)]


def rewards(**members: Any) -> Any:
    """The rewards of a problem with these members, and right ones for the rest."""
    children = lambda state: ("x", "y") if state == "o" else ()  # noqa: E731
    right = {"initial": "o", "children": children, "reward": lambda _: 1}
    problem: Any = SimpleNamespace(**{**right, **members})
    return enumerate_rewards(problem, enumerate_dag(problem, max_nodes=1_000))


def doses(zero: float, step: float) -> Any:
    """The rewards of sums of one step or two, in floats."""
    of = lambda x: (x, frozenset([x]))  # noqa: E731
    more = lambda s: [of(s[0] + step), of(s[0] + 2 * step)] if s[0] < 0.95 else []  # noqa: E731
    return rewards(initial=of(zero), children=more, reward=lambda _: 1)


GRAPHS: list[tuple[Any, dict[str, Any], str]] = [
    ({"o": ["a"], "a": ["b"], "b": ["a", "x"], "x": []}, {}, "cycle .*remove one"),
    ({"o": ["o", "x"], "x": []}, {}, "cycle 'o' -> 'o'"),
    ({"o": ["x"], "u": ["x"], "x": []}, {}, "has 2: 'o', 'u'; connect"),
    ({"o": ["x"], "x": [], "z": []}, {"initial": "o"}, "exactly one .* has 2: 'o', 'z'"),
    ({"o": ["x"], "x": []}, {"initial": "x"}, "'x' is not a state without incoming"),
    ({"o": ["x"], "x": []}, {"initial": np.zeros((0, 2))}, "initial state is array.*tuple"),
    ({"o": ["x"]}, {}, "'o' has the child 'x', which is not a state.*entry"),
    ({"o": ["x", "x"], "x": []}, {}, "'o' lists the child 'x' twice.*once"),
    ({"o": []}, {}, "'o' has no children.*give it"),
    ({}, {}, "has 0: none"),
]
NO_REWARDS = [
    (0, "'x' is 0, and .*log 0: leave it out .*log_reward"),
    (Fraction(-1, 2), "'x' is -1/2.*negative"),
    (NAN, "'x' is nan.*finite"),
    (float("inf"), "'x' is inf.*finite"),
]


def sampler(dag: Any) -> LiftedSampler[Fraction]:
    """A uniform one over that base."""
    lifted = lift(dag, History())
    kinds = (ForwardPolicy, BackwardPolicy)
    return LiftedSampler(lifted, *(kind.uniform(lifted.dag, RATIONAL) for kind in kinds))


def compared(start: str, end: str, actions: Any = LINE_ACTIONS) -> object:
    """Two states of Lines, by their actions."""
    return aliasing_kl(LINES, ForwardPolicy.uniform(LINES.dag, RATIONAL), start, end, actions)


def broken(*latent: Any) -> object:
    """A lift whose latents are of this kind."""
    advance = lambda state, before: latent[0]  # noqa: E731
    return lift(DIAMOND, SimpleNamespace(initial=0.0, advance=advance))


def posterior(log_reward: Any) -> object:
    """The rewards of a problem with that logarithm."""
    rows: Any = lambda state: ["y"] if state == "o" else []  # noqa: E731
    problem = SimpleNamespace(initial="o", children=rows, log_reward=lambda _: log_reward)
    return enumerate_rewards(problem, enumerate_dag(problem))


Row = tuple[Callable[[], object], str]
REFUSED: list[Row] = [
    *((lambda c=c, o=o: pointed_dag(c, **o), words) for c, o, words in GRAPHS),
    *((lambda v=v: rewards(reward=lambda _: v), words) for v, words in NO_REWARDS),
    (lambda: rewards(reward=lambda x: {"x": 1}[x]), r"'y'\) raises KeyError, 'y' .*line"),
    (lambda: rewards(reward=lambda x, scale: 1), "reward must .* 1 argument .*'scale'"),
    (lambda: rewards(children=("x",)), r"children is \('x',\), but must be a function"),
    (lambda: rewards(initial=Mutable().grown), "initial is a method, but must be"),
    (lambda: enumerate_dag(Grid), r"is a class, but must be .* Grid\(\)"),
    (lambda: rewards(initial=Mutable(), children=Mutable.grown), "was changed .* copy"),
    (lambda: doses(0.0, 0.1), r" and \(0.999.* differ by rounding alone, but count as two"),
    (lambda: doses(np.float32(0), np.float32(0.1)), "differ by rounding .* whole numbers"),
    (lambda: ForwardPolicy(FORK, BALL, [HALF, HALF]), "Fraction"),
    (lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [0, 0]), "weights at state"),
    (lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {}), "no row for the state 'o'"),
    (lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {"o": {"z": ONE}}), "'z', which is"),
    (lambda: forward_from_backward(FORK_B, (ZERO, ZERO)), "sum to zero"),
    (lambda: list(log_tb_residuals(FORK_F, FORK_B, (ONE, ZERO), 0.0)), "R = 0, but the log"),
    (lambda: fcs((ONE, ZERO), (ONE, ZERO), 1), r"batch \(1,\) has probability zero"),
    (lambda: enumerate_dag(ARRAYS), "a child of .* not hashable"),
    (lambda: lift(PATH, LISTS), "'a' is .*, of type list, not hashable"),
    (lambda: lift(PATH, Additive(lambda s, w: [s], initial=[])), "'o' is .* type list"),
    (lambda: lift(PATH, Additive(lambda s, w: (1,), (0, 0))), "cannot be added .* shorter"),
    (lambda: BackwardPolicy.uniform(TWIN, RATIONAL).on(LIFTED), "the lift is of another DAG"),
    (lambda: memory_kl(LIFTED, BELOW), "not live on this lift"),
    (lambda: LIFTED.above((5,)), "does not leave the state 'o'"),
    (lambda: flows(P_B, (-ONE, ONE)), "reward of 'x' is -1"),
    (lambda: [*aggregated_residuals(sampler(DIAMOND), [])], "no client"),
    (lambda: [*aggregated_residuals(sampler(DIAMOND), [sampler(TWIN)])], "another base"),
    (lambda: [*streaming_residuals(sampler(DIAMOND), sampler(TWIN), REWARDS)], "another"),
    (lambda: check_clients([]), "no client given"),
    (lambda: tv_bound_from_loss(1.0, 0.0), "coverage c is 0.0"),
    (lambda: tv_bound_from_loss(1.0, 1.5), r"c is 1.5, but must lie in \(0, 1\]"),
    (lambda: residual_spread(SURE, FORK_B, REWARDS), "need all positive"),
    (lambda: one_sided_tv_bound(SURE, FORK_B, REWARDS, 0 * ONE), "Z is 0, but must be positive"),
    (lambda: fcs_estimate(WIDE, np.ones(2), np.array([[0, 1], [1, 0]])), "not finite"),
    (lambda: fcs_under(*LAWS, {(2,): ONE}), "probability zero"),
    (lambda: fcs_under(*LAWS, {(0, 1): 3 * HALF, (0, 2): -HALF}), "is -1/2"),
    (lambda: compared("p2", "p5"), "same actions"),
    (lambda: compared("p2", "p3", {}), "have the actions \\[None.*name each"),
    (lambda: compared("p2", "p3", dict.fromkeys(LINE_ACTIONS, 0)), "0, 0.*no two alike"),
    (lambda: compared("p2", "q3"), "not a non-terminal state"),
    (lambda: cb_objective(P_F, P_B, REWARDS, P_F), "in FLOAT64, or in BALL"),
    (lambda: cb_objective(BELOW, BLIND, [1.0, 1.0], BELOW), "'b' -> 'c', which the exploratory p"),
    (lambda: TiedPolicies(FORK, (0, 1)).policy([ONE]), "one positive weight per class"),
    (lambda: TiedPolicies(FORK, (0, 1)).policy([ONE, ZERO]), "one positive weight per"),
    (lambda: broken(NAN), "nan.*: a NaN equals nothing"),
    (lambda: broken((0, NAN)), "nan.*: a NaN equals nothing"),
    (lambda: broken(frozenset({NAN})), "nan.*: a NaN equals nothing"),
    (lambda: RATIONAL.log(2 * ONE), "logarithm .* not a rational"),
    (lambda: Symbolic("p").log(2 * ONE), "logarithm .* not a rational"),
    (lambda: FLOAT64.log(0.0), "does not exist"),
    (lambda: BALL.log(arb(0)), "does not exist"),
    (lambda: precision(0), "at least 2"),
    (lambda: ForwardPolicy(FORK, BALL, [arb("nan")] * 2), "must be a number >= 0"),
    (lambda: ForwardPolicy(FORK, BALL, [BALL.one, BALL.one]), "not to 1"),
    (lambda: ForwardPolicy(EDGE, BALL, [1.0]), "edge is 1.0, a float, .* not compute with"),
    (
        lambda: forward_from_backward(BackwardPolicy.uniform(EDGE, FLOAT64), np.ones(1, "f4")),
        "reward is .*, a float32",
    ),
    (lambda: Symbolic("p").convert(Symbolic("q").symbols[0]), "another symbolic"),
    (lambda: Symbolic("p").convert(math.nan), "finite float"),
    (lambda: posterior(-2e6), "-2000000.0 nats, .* at most 1,000,000 in size: add the same"),
    (lambda: restrict(Grid.minimal(), 2, (0,)), "Grid does not split .*: Sets, Prefer"),
    (lambda: restrict(Sets.random(5, 3, "sum"), 2, (0,)), "Sets: with form='sum' the"),
    (lambda: restrict(FACTORS, 2, (0,)), "SyntheticSequences: with form"),
    (lambda: restrict(Sets.minimal(), 6, (0,)), "in 6 parts: its reward is .* 5 factors"),
    (lambda: product_rewards(RATIONAL, [(ONE, 1.0)]), "factor 0 number 1 is 1.0, a"),
    (
        lambda: product_rewards(RATIONAL, [(ONE, ZERO), (ZERO, ONE)]),
        "the product of 2 factors is zero at each of the 2 terminals",
    ),
    (lambda: product_rewards(RATIONAL, [(ONE, ONE), (ONE, ONE, ONE)]), "1 has 3 terminals, and"),
]
TOO_LARGE: list[Row] = [
    (lambda: rewards(children=lambda _: range(1, 10**30)), "1,000 states .*depth 1"),
    (lambda: rewards(children=lambda _: [*map(str, range(10**4))]), "more than 1,000 states"),
    (lambda: enumerate_dag(Grid(16), max_nodes=50), r"more than 50 states .* --max-nodes"),
    (lambda: lift(enumerate_dag(Grid(4)), History(), 30), "lift has more than 30 states"),
    (lambda: list(enumerate_dag(Grid(4)).trajectories(10)), "trajectories, and at most 10"),
    (lambda: next(subtb_residuals(P_F, P_B, FLOW, REWARDS, limit=15)), "16 paths"),
    (lambda: Symbolic(" ".join(f"p{k}" for k in range(25))), "25 parameters"),
    (lambda: backward_and_rewards(DIAMOND, max_parameters=2), "at most 2"),
]

# Parameters that make no problem.
SETS, BITS, WALK, PAIR = Sets, BitSequences, LazyRandomWalk, ((1, 0),)
SUM: Any = {"form": "sum", "build": "append"}
EMPTY, P, Q = graph([]), graph([(0, 1)]), graph([(0, 1), (0, 2)])
INNER = {"inner": (EMPTY, graph([(0, 2)])), "terminals": (P, Q), "rewards": (ONE, ONE)}


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


NO_PROBLEMS: list[Row] = [
    (lambda: SyntheticSequences.random(3, 27), "number of letters is 27"),
    (lambda: SyntheticSequences("a", 1, u=(10**400,), v=(1.0,)), "u "),
    (lambda: SETS((ONE, 2 * ONE), 3), "subsets of 3 of 2 items do not exist"),
    (lambda: BITS(("0101",), 3), "words of 3 bits do not make up 4"),
    (lambda: closed_form(BITS.minimal()), "has no closed form"),
    (lambda: Preference(PAIR, 44), "m d = 88"),
    (lambda: Preference.random(5, 8, 100), "m d = 800"),
    (lambda: WALK(2, 3, 2), "3 steps do not reach 4 of the 25 cells.* at least 4"),
    *((lambda t=t: WALK(2, t, 3), missed(t)) for t in range(1, 6)),
    (lambda: WALK(1, 8, 8, "sharp-rings"), r"\(1, 1, .* is 0, and"),
    (lambda: Ising((ONE,), ()), "1 fields and 0 directions"),
    (lambda: Ising((), ()), "at least one spin"),
    (lambda: Ising((800 * ONE,), (ZERO,)), "log R can reach 800"),
    (lambda: Ising((ZERO,), (40 * ONE,)), "log R can reach 800"),
    (lambda: HardCore.strip(2, 2, 0.0), "fugacity is 0: give one above 0"),
    (lambda: Torus(512, 512, 2.0), "262,144 spins at most 1.9"),
    (lambda: Grid(4, 2, "sparse"), "at least 5"),
    (lambda: letters((1.0, -1.0), (1.0, 0.5)), "every u.* at least 0"),
    (lambda: letters((1.0, 1.0), (0.0, 0.5)), r"some u\(i\) v\(a\) > 0"),
    (lambda: TableSequences.pho4("nothing.npz"), "cannot be read"),
    (lambda: positive_reward(math.cos(2), (0, 2)), r"\(0, 2\) is -.*cannot be negative"),
    (lambda: edges(inner=(EMPTY, Graph(((1, 0),)))), r"\(i, j\) with 0 <= i < j < 3"),
    (lambda: edges(terminals=(graph([(0, 1), (0, 3)]),)), "0-3. must .* 0 <= i < j < 3"),
    (lambda: edges(inner=(EMPTY, Graph(((0, 1, 2),)))), "must be a pair of node numbers"),
    (lambda: edges(terminals=(Graph(((0, 2), (0, 1))),)), "in increasing order"),
    (lambda: edges(inner=(EMPTY, P, P)), r"the state \[0-1\] is listed twice"),
    (lambda: edges(inner=(EMPTY, P, graph([(1, 2)]), graph([(0, 2)]))), r"state is \[1-2\]"),
    (lambda: edges(terminals=(P, Q), rewards=(ONE, ONE)), "is listed twice"),
    (lambda: edges(**INNER), r"terminal \[0-1\] leads to the listed state \[0-1 0-2\]"),
    (lambda: edges(inner=(P, EMPTY)), r"\[no edges\] is not an inner state with one edge"),
    (lambda: edges(inner=(EMPTY,)), r"\[0-1 0-2\] is not an inner state with one edge mo"),
    (lambda: EdgeAddition.fork(3, (), (0, 1), (0, 2)), "ends with p"),
]
TOO_LARGE += [
    (lambda: Preference(((1,),) * 513).log_z(), "513 comparisons"),
    (lambda: Preference.random(5, 12, 4).log_z(), "282,429,536,481 terminal states"),
    (lambda: WALK(16, 99, 6), "more than 2,000,000 cells"),
]


@pytest.mark.catches(
    "A p_B whose rows do not sum to one passes, as long as they are positive.",
    "reference/policies.py",
    "            if not self.field.agree(total, self.field.one, 2 * len(row) + 2):\n",
    "            if not self.field.positive(total):\n",
)
@pytest.mark.catches(
    "A latent that is a set with a NaN in it passes.",
    "reference/lifted.py",
    "isinstance(latent, tuple | frozenset)",
    "isinstance(latent, tuple)",
)
@pytest.mark.parametrize(("call", "words"), REFUSED + NO_PROBLEMS)
def test_a_mistake_is_refused_in_these_words(call: Callable[[], object], words: str) -> None:
    refused(words, call)


test_what_is_too_large_is_refused_in_these_words = refuses(whole, *TOO_LARGE, kind=TooLargeError)


def test_what_is_nearly_refused_is_accepted() -> None:
    assert BackwardKernel(FORK, RATIONAL, [HALF, HALF]).values == [HALF, HALF]
    expected = pointed_dag({"o": ["x"], "x": []}).children
    assert pointed_dag({"o": iter(["x"]), "x": ()}).children == expected
    assert pointed_dag({"o": {"x"}, "x": set()}).children == expected
    assert edges() is not None
    base = enumerate_dag(Grid(3))
    states = len(lift(base, History()).dag.labels)
    assert len(lift(base, History(), states).dag.labels) == states
    with pytest.raises(TooLargeError, match=f"more than {states - 1} states"):
        lift(base, History(), states - 1)


def test_messages_have_an_end() -> None:
    ring = {number: [(number + 1) % 100_000] for number in range(100_000)}
    words = r"has the cycle .* 0 -> 1 .* \[\.\.\. [0-9,]+ characters"
    with pytest.raises(InputError, match=words) as refused:
        pointed_dag(ring)
    assert len(str(refused.value)) < 2_100
