"""Refusals of the reference, word by word: the object, the value, the rule and the fix."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import networkx as nx
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
    Sampler,
    Symbolic,
    TooLargeError,
    aggregated_residuals,
    cb_objective,
    check_clients,
    db_residuals,
    enumerate_dag,
    enumerate_rewards,
    fcs,
    flows,
    fm_residuals,
    forward_from_backward,
    h_transform,
    lift,
    log_tb_residuals,
    markov_projection,
    normalize,
    pointed_dag,
    product_rewards,
    streaming_residuals,
    subtb_residuals,
    tb_residuals,
    total_variation,
)
from reference.bounds import kl_bound, residual_spread, tv_bound, tv_bound_from_loss
from reference.expressivity.aliasing import TiedPolicies
from reference.expressivity.memory import aliasing_kl, memory_kl
from reference.fields.balls import precision
from reference.metrics import fcs_estimate, fcs_under
from reference.networks import from_networkx
from reference.problems import Grid, Lines, Sets, SyntheticSequences, restrict
from reference.show import draw
from verify.lib.generic import generic
from verify.lib.named_dags import DIAMOND, FORK

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
LINE_ACTIONS: Any = {(s, t): t[0] for s in ("p2", "p3", "p5") for t in Lines.minimal().children(s)}
FACTORS: Any = SyntheticSequences.random(3, 2, form="sum")
NAN: Any = math.nan
FORK_F, FORK_B = ForwardPolicy.uniform(FORK, RATIONAL), BackwardPolicy.uniform(FORK, RATIONAL)
GRID_B = BackwardPolicy.uniform(enumerate_dag(Grid(2)), RATIONAL)
PATH = pointed_dag({"o": ["a"], "a": ["x"], "x": []})
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


GRAPHS: list[tuple[Any, dict[str, Any], str]] = [
    ({"o": ["a"], "a": ["b"], "b": ["a", "x"], "x": []}, {}, "cycle .*remove one"),
    ({"o": ["o", "x"], "x": []}, {}, "cycle 'o' -> 'o'"),
    ({"o": ["x"], "u": ["x"], "x": []}, {}, "has 2: 'o', 'u'; connect"),
    ({"o": ["x"], "x": [], "z": []}, {"initial": "o"}, "not reachable from .*'o': 'z'"),
    ({"o": ["x"], "x": []}, {"initial": "x"}, "'x' is not a state without incoming"),
    ({"o": ["x"], "x": []}, {"initial": np.zeros((0, 2))}, "initial state is array.*tuple"),
    ({"o": ["x"], "x": ["y"], "y": []}, {"terminals": ["x", "y"]}, "terminal 'x' has .*'y'"),
    ({"o": {"x"}, "x": set()}, {"terminals": ["o"]}, "terminal 'o' has the child 'x'"),
    ({"o": ["x", "d"], "x": [], "d": []}, {"terminals": ["x"]}, "'d' is not terminal but"),
    ({"o": ["x"], "x": []}, {"terminals": ["x", "z"]}, "terminal 'z' is not a state"),
    ({"o": ["x"]}, {}, "'o' has the child 'x', which is not a state.*entry"),
    ({"o": ["x", "x"], "x": []}, {}, "'o' lists the child 'x' twice.*once"),
    ({"o": []}, {}, "'o' has no children.*give it"),
    ({}, {}, "has 0: none"),
]
NO_REWARDS = [
    (0, "'x' is 0, where .*log R: leave it out .*log_reward"),
    (Fraction(-1, 2), "'x' is -1/2.*negative"),
    (NAN, "'x' is nan.*finite"),
    (float("inf"), "'x' is inf.*finite"),
]


def sampler(dag: Any) -> Sampler[Fraction]:
    """A uniform one over that base."""
    lifted = lift(dag, History())
    kinds = (ForwardPolicy, BackwardPolicy)
    return Sampler(lifted, *(kind.uniform(lifted.dag, RATIONAL) for kind in kinds))


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


Row = tuple[str, Callable[[], object], str]
# Of "size" are those that are too large.
REFUSED: list[Row] = [
    *(("graph", lambda c=c, o=o: pointed_dag(c, **o), words) for c, o, words in GRAPHS),
    *(("reward", lambda v=v: rewards(reward=lambda _: v), words) for v, words in NO_REWARDS),
    ("reward", lambda: rewards(reward=lambda x: {"x": 1}[x]), r"'y'\) raises KeyError, 'y' .*line"),
    ("reward", lambda: rewards(reward=lambda x, scale: 1), "reward is .* 1 argument .*'scale'"),
    ("size", lambda: rewards(children=lambda _: range(1, 10**30)), "1,000 states .*depth 1"),
    ("size", lambda: rewards(children=lambda _: ["x"] * 10**4), "more than 1,000 states"),
    ("children", lambda: rewards(children=("x",)), r"children is \('x',\), but must be a function"),
    ("initial", lambda: rewards(initial=Mutable().grown), "initial is a method, but must be"),
    ("initial", lambda: enumerate_dag(Grid), r"is a class, but must be .* Grid\(\)"),
    ("children", lambda: rewards(initial=Mutable(), children=Mutable.grown), "was changed .* copy"),
    ("size", lambda: enumerate_dag(Grid(16), max_nodes=50), r"more than 50 states .* --max-nodes"),
    ("size", lambda: lift(enumerate_dag(Grid(4)), History(), 30), "lift has more than 30 states"),
    ("size", lambda: list(enumerate_dag(Grid(4)).trajectories(10)), "trajectories, and at most 10"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [HALF, HALF / 2]), "'o' sums to 3/4"),
    ("policy", lambda: ForwardPolicy(FORK, FLOAT64, [0.5, 0.5 + 1e-9]), "'o' sums to 1.00"),
    ("policy", lambda: BackwardPolicy(FORK, RATIONAL, [HALF, HALF]), "'x' sums to 1/2"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [HALF]), "1 values for a DAG of 2 edges"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [3 * HALF, -HALF]), "'o' -> 'y' is -1/2"),
    ("policy", lambda: ForwardPolicy(FORK, FLOAT64, [NAN, 1.0]), "'o' -> 'x' is nan"),
    ("policy", lambda: ForwardPolicy(FORK, BALL, [HALF, HALF]), "Fraction"),
    ("weights", lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [0, 0]), "weights at state"),
    ("weights", lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [1]), "1 weights for a DAG"),
    ("rows", lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {}), "no row for the state 'o'"),
    ("rows", lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {"o": {"z": ONE}}), "'z', which is"),
    ("balance", lambda: list(tb_residuals(FORK_F, GRID_B, (HALF, ZERO), HALF)), "different DAGs"),
    (
        "balance",
        lambda: list(tb_residuals(FORK_F, FORK_B, (HALF,), HALF)),
        "1 rewards for 2 terminal",
    ),
    ("balance", lambda: forward_from_backward(FORK_B, (HALF,)), "1 rewards for 2 terminal states"),
    ("balance", lambda: forward_from_backward(FORK_B, (ZERO, ZERO)), "sum to zero"),
    (
        "balance",
        lambda: list(log_tb_residuals(FORK_F, FORK_B, (ONE, ZERO), 0.0)),
        "R = 0, but the log",
    ),
    ("metrics", lambda: normalize((ZERO, ZERO)), "sum to zero"),
    ("metrics", lambda: total_variation((HALF,), (HALF, HALF)), "laws on 1 and 2 states"),
    ("metrics", lambda: fcs((ONE, ZERO), (ONE, ZERO), 3), "batch_size is 3"),
    ("metrics", lambda: fcs((ONE, ZERO), (ONE, ZERO), 1), r"batch \(1,\) has probability zero"),
    ("latent", lambda: lift(PATH, LISTS), "'a' is .*, of type list, not hashable"),
    ("latent", lambda: lift(PATH, Additive(lambda s, w: [s], initial=[])), "'o' is .* type list"),
    ("lift", lambda: markov_projection(LIFTED, P_F), "not live on this lift"),
    ("lift", lambda: h_transform(LIFTED, ABOVE), "base of this lift"),
    ("lift", lambda: Sampler(LIFTED, P_F, ABOVE), "not live on this lift"),
    ("lift", lambda: memory_kl(LIFTED, BELOW), "not live on this lift"),
    ("lift", lambda: LIFTED.above((5,)), "does not leave the state 'o'"),
    ("balance", lambda: [*db_residuals(P_F, ABOVE, FLOW, REWARDS)], "different DAGs"),
    ("balance", lambda: [*fm_residuals(P_F, FLOW[1:], REWARDS)], "5 flows for a DAG of 6 nodes"),
    ("balance", lambda: [*fm_residuals(P_F, FLOW, (*REWARDS, ONE))], "3 rewards for 2 terminal"),
    ("balance", lambda: flows(P_B, (-ONE, ONE)), "reward of 'x' is -1"),
    ("size", lambda: next(subtb_residuals(P_F, P_B, FLOW, REWARDS, limit=15)), "16 paths"),
    ("base", lambda: [*aggregated_residuals(sampler(DIAMOND), [])], "no client"),
    ("base", lambda: [*aggregated_residuals(sampler(DIAMOND), [sampler(TWIN)])], "another base"),
    ("base", lambda: [*streaming_residuals(sampler(DIAMOND), sampler(TWIN), REWARDS)], "another"),
    ("base", lambda: check_clients([]), "no client given"),
    ("bounds", lambda: tv_bound(-0.1), "number >= 0"),
    ("bounds", lambda: tv_bound(math.nan), "number >= 0"),
    ("bounds", lambda: kl_bound("1"), "must be a number"),
    ("bounds", lambda: tv_bound_from_loss(1.0, 0.0), "coverage c is 0.0"),
    ("bounds", lambda: tv_bound_from_loss(1.0, 1.5), r"c is 1.5, but must lie in \(0, 1\]"),
    (
        "bounds",
        lambda: residual_spread(SURE, BackwardPolicy.uniform(FORK, RATIONAL), REWARDS),
        "need all positive",
    ),
    ("fcs", lambda: fcs_estimate(WIDE, np.ones(2), np.array([[0, 1], [1, 0]])), "not finite"),
    ("fcs", lambda: fcs_under(*LAWS, {(2,): ONE}), "probability zero"),
    ("fcs", lambda: fcs_under(*LAWS, {(0, 0): ONE}), "distinct"),
    ("fcs", lambda: fcs_under(*LAWS, {(0, 7): ONE}), "below 3"),
    ("fcs", lambda: fcs_under(*LAWS, {(0, 1): HALF}), "sums to 1/2"),
    ("fcs", lambda: fcs_under(*LAWS, {}), "is empty"),
    ("fcs", lambda: fcs_under(*LAWS, {(0, 1): 3 * HALF, (0, 2): -HALF}), "is -1/2"),
    ("law", lambda: total_variation((1, 0), (HALF, HALF)), "all Fractions or all floats"),
    ("law", lambda: total_variation((HALF, 0.5), (HALF, HALF)), "all Fractions or all floats"),
    ("law", lambda: total_variation((True, False), (HALF, HALF)), "all Fractions or all floats"),
    ("actions", lambda: compared("p2", "p5"), "same actions"),
    ("actions", lambda: compared("p2", "p3", {}), "has no action"),
    ("actions", lambda: compared("p2", "q3"), "not a non-terminal state"),
    ("objective", lambda: cb_objective(P_F, P_B, REWARDS, P_F), "in FLOAT64, or in BALL"),
    ("objective", lambda: cb_objective(P_F, ABOVE, REWARDS, P_F), "different DAGs"),
    (
        "objective",
        lambda: cb_objective(BELOW, BLIND, [1.0, 1.0], BELOW),
        "'b' -> 'c', which the exploratory policy takes",
    ),
    ("tied", lambda: TiedPolicies(FORK, (0, 1, 2)), "3 classes for a DAG of 2 edges"),
    ("tied", lambda: TiedPolicies(FORK, (0, 3)), "without gaps"),
    ("tied", lambda: TiedPolicies(FORK, (0, 1)).policy([ONE]), "one positive weight per class"),
    ("tied", lambda: TiedPolicies(FORK, (0, 1)).policy([ONE, ZERO]), "one positive weight per"),
    ("nan", lambda: broken(NAN), "nan.*: a NaN equals nothing"),
    ("nan", lambda: broken((0, NAN)), "nan.*: a NaN equals nothing"),
    ("nan", lambda: broken(frozenset({NAN})), "nan.*: a NaN equals nothing"),
    ("field", lambda: RATIONAL.log(2 * ONE), "logarithm .* not a rational"),
    ("field", lambda: Symbolic("p").log(2 * ONE), "logarithm .* not a rational"),
    ("field", lambda: FLOAT64.log(0.0), "does not exist"),
    ("field", lambda: BALL.log(arb(0)), "does not exist"),
    ("field", lambda: RATIONAL.convert("half"), "half"),
    ("field", lambda: FLOAT64.convert("half"), "half"),
    ("field", lambda: BALL.convert("half"), "half"),
    ("field", lambda: RATIONAL.convert(math.nan), "finite"),
    ("field", lambda: RATIONAL.convert(math.inf), "finite"),
    ("field", lambda: FLOAT64.convert(10**400), "magnitude below"),
    ("field", lambda: precision(0), "at least 2"),
    ("field", lambda: ForwardPolicy(FORK, BALL, [arb("nan")] * 2), "must be a number >= 0"),
    ("field", lambda: ForwardPolicy(FORK, BALL, [BALL.one, BALL.one]), "not to 1"),
    # An int among fractions divides into a float, silently.
    ("kind", lambda: ForwardPolicy(EDGE, RATIONAL, [1]), "edge number 0 .* does not compute with"),
    ("kind", lambda: ForwardPolicy(EDGE, RATIONAL, [1.0]), "edge number 0 .* does not compute"),
    ("kind", lambda: ForwardPolicy(EDGE, FLOAT64, [np.float32(1)]), "edge .* does not compute"),
    ("kind", lambda: ForwardPolicy(EDGE, BALL, [1.0]), "edge number 0 .* does not compute with"),
    (
        "kind",
        lambda: forward_from_backward(BackwardPolicy.uniform(EDGE, FLOAT64), np.ones(1, "f4")),
        "reward number 0 .* a float32",
    ),
    ("size", lambda: Symbolic(" ".join(f"p{k}" for k in range(25))), "25 parameters"),
    ("size", lambda: generic(DIAMOND, max_parameters=2), "at most 2"),
    ("symbolic", lambda: Symbolic("p p"), "distinct names"),
    ("symbolic", lambda: Symbolic("p").convert(Symbolic("q").symbols[0]), "another symbolic"),
    ("symbolic", lambda: Symbolic("p").convert(math.nan), "finite float"),
    ("log", lambda: posterior(NAN), "log_reward of 'y' is nan, but must be a finite number"),
    ("log", lambda: posterior(math.inf), "log_reward of 'y' is inf, but must be a finite number"),
    ("log", lambda: posterior(-math.inf), "log_reward of 'y' is -inf, but must be a finite"),
    ("log", lambda: posterior("-3"), "log_reward of 'y' is '-3', a str, but must be a number"),
    ("log", lambda: posterior(True), "the log_reward of 'y' is True, a bool"),
    ("log", lambda: posterior(None), "the log_reward of 'y' is None, a NoneType"),
    ("log", lambda: posterior(-2e6), "-2000000.0 nats, .* at most 1,000,000 in size: add the same"),
    ("split", lambda: restrict(Grid.minimal(), 2, (0,)), "Grid does not split .*: Sets, Prefer"),
    ("split", lambda: restrict(Sets.random(5, 3, "sum"), 2, (0,)), "Sets: with form='sum' the"),
    ("split", lambda: restrict(FACTORS, 2, (0,)), "SyntheticSequences: with form"),
    ("split", lambda: restrict(Sets.minimal(), 6, (0,)), "in 6 parts: its reward is .* 5 factors"),
    ("split", lambda: restrict(Sets.minimal(), 0, (0,)), "parts is 0, .* integer of at least 1"),
    ("split", lambda: restrict(Sets.minimal(), True, (0,)), "number of parts is True"),
    ("split", lambda: restrict(Sets.minimal(), 2, (2,)), "each from 0 to 1"),
    ("split", lambda: restrict(Sets.minimal(), 2, ()), "name at least one"),
    ("split", lambda: restrict(Sets.minimal(), 2, ("a",)), "name at least one"),
    ("split", lambda: restrict(Sets.minimal(), 2, math.inf), "must be a sequence"),
    ("product", lambda: product_rewards(RATIONAL, []), "no factor given"),
    ("product", lambda: product_rewards(RATIONAL, [(ONE, 1.0)]), "factor 0 number 1 is 1.0, a"),
    (
        "product",
        lambda: product_rewards(RATIONAL, [(ONE, ZERO), (ZERO, ONE)]),
        "the product of 2 factors is zero at each of the 2 terminals",
    ),
    (
        "product",
        lambda: product_rewards(RATIONAL, [(ONE, ONE), (ONE, ONE, ONE)]),
        "factor 1 has 3 terminals, and factor 0 2",
    ),
    ("networkx", lambda: from_networkx(nx.DiGraph([(0, 1), (1, 0)])), "cycle"),
    ("networkx", lambda: from_networkx(nx.Graph([(0, 1)])), "simple directed graph"),
    ("networkx", lambda: from_networkx(nx.MultiDiGraph([(0, 1)] * 2)), "simple directed graph"),
    ("networkx", lambda: from_networkx({0: [1]}), "simple directed graph"),
    ("draw", lambda: draw(3, "three.png"), "what is drawn is 3, a int, but must be a"),
    ("draw", lambda: draw(DIAMOND, "kite.png", "red"), "the colour is 'red'"),
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
@pytest.mark.parametrize(
    ("part", "call", "words"),
    REFUSED,
)
def test_a_mistake_is_refused_in_these_words(
    part: str, call: Callable[[], object], words: str, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, TooLargeError) == (part == "size")
    assert [*tmp_path.iterdir()] == []


def test_what_is_nearly_refused_is_accepted() -> None:
    assert BackwardKernel(FORK, RATIONAL, [HALF, HALF]).values == [HALF, HALF]
    expected = pointed_dag({"o": ["x"], "x": []}).children
    assert pointed_dag({"o": iter(["x"]), "x": ()}).children == expected  # type: ignore[dict-item]
    assert pointed_dag({"o": {"x"}, "x": set()}, terminals=["x"]).children == expected  # type: ignore[dict-item]
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
