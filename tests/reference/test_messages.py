"""What the modules behind the facade refuse, and in which words; `tests/project` has the facade."""

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
    flows,
    fm_residuals,
    forward_from_backward,
    h_transform,
    lift,
    markov_projection,
    pointed_dag,
    product_rewards,
    streaming_residuals,
    subtb_residuals,
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
