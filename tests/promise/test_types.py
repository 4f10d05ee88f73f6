"""PROMISE.md, 5: a wrong type or shape at a public function is one error, which names it.

Here are the functions and problems of the reference; `test_types_public.py` has those of `pdai`.
"""

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from reference import BALL, FLOAT64, RATIONAL, BackwardPolicy, ForwardPolicy, History, lift
from reference.bounds import kl_bound, one_sided_tv_bound, residual_spread, tv_bound
from reference.contract.errors import InputError
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.symbolic import Symbolic
from reference.looking.networks import from_networkx
from reference.looking.show import draw
from reference.metrics import fcs_under
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
    restrict,
)
from reference.problems.graphs import graph
from verify.lib.named_dags import DIAMOND, FORK

HALF, ONE = Fraction(1, 2), Fraction(1)
P_F, P_B = ForwardPolicy.uniform(DIAMOND, RATIONAL), BackwardPolicy.uniform(DIAMOND, RATIONAL)
F_F, F_B = ForwardPolicy.uniform(DIAMOND, FLOAT64), BackwardPolicy.uniform(DIAMOND, FLOAT64)
EDGES, NODES = len(DIAMOND.edges), len(DIAMOND.labels)

# What is nearly right, by what is right.
INTEGER: list[Any] = [True, 2.0, np.float64(2), "2", None, -1, 10**400, math.nan, [2]]
SEED: list[Any] = [None, -1, 2**64, 1.0, "0", True]
CHOICE: list[Any] = ["anyway", "Any", None, 1, ("any",), True, b"any"]
NUMBER: list[Any] = ["1", None, True, [1.0], 1 + 0j, math.nan, -1.0]
NO_VALUE: list[Any] = ["half", None, math.nan, [1], 1 + 0j]
FIELD: list[Any] = [None, "rational", Fraction]
ROW: list[Any] = ["01", b"01", None, 3, {0, 1}]
FRACTIONS = [*ROW, [ONE], iter([ONE, ONE]), (1.0, 1.0), (True, ONE), (ONE, "1"), (ONE, math.nan)]
POLICY: list[Any] = [None, "p_F", 3, [HALF] * EDGES, DIAMOND, ForwardPolicy]
REWARDS: list[Any] = ["11", None, 3, {1, 2}, iter([ONE, ONE]), (ONE,), (ONE, ONE, ONE), {"x": ONE},
                      (ONE, 1.0), (ONE, True), (ONE, "1"), {"x": ONE, "z": ONE}]  # fmt: skip
LAW: list[Any] = [None, "ab", 3, {HALF}, iter([HALF, HALF]), (ONE,), (HALF, 0.5), (1, 0), (),
                  (True, False), (HALF, HALF, ONE), (3 * HALF, -HALF), (0.5, math.nan)]  # fmt: skip
OTHERS = [ForwardPolicy.uniform(FORK, RATIONAL), ForwardPolicy.uniform(lift(DIAMOND, History()).dag,
          RATIONAL), F_F]  # fmt: skip
BACK = [BackwardPolicy.uniform(x.dag, x.field) for x in OTHERS] + [P_F]
LIFTED = lift(DIAMOND, History())
L_F, L_B = ForwardPolicy.uniform(LIFTED.dag, RATIONAL), BackwardPolicy.uniform(LIFTED.dag, RATIONAL)
PATH, ENDS = graph([(0, 1)]), graph([(0, 1), (0, 2)])
Arguments = dict[str, tuple[Any, list[Any]]]
DAG: list[Any] = [None, DIAMOND.children, "DIAMOND", P_F, lift(DIAMOND, History())]

forward: Arguments = {"forward": (P_F, [*POLICY, P_B])}
backward: Arguments = {"backward": (P_B, [*POLICY, *BACK])}
rewards: Arguments = {"rewards": ((ONE, ONE), REWARDS)}
number: Arguments = {"z": (ONE, ["1", None, True, 1.0, [ONE], math.nan])}
flow: Arguments = {
    "flow": ([ONE] * NODES, [*ROW, [ONE] * 3, [1.0] * NODES, [ONE, None, *[ONE] * 4]])
}
pair: Arguments = {"p": ((HALF, HALF), LAW), "q": ((HALF, HALF), LAW)}
floats: Arguments = {
    "forward": (F_F, [*POLICY, F_B]),
    "backward": (F_B, [*POLICY, *BACK[:2], P_B]),
    "rewards": ((1.0, 1.0), [*REWARDS[:6], (1.0, True), (1.0, "1"), (1.0, math.nan)]),
    "exploratory": (F_F, [*POLICY, F_B, *OTHERS[:2]]),
}
fork: Arguments = {"dag": (FORK, DAG)}
lifted: Arguments = {"lifted": (LIFTED, [None, DIAMOND, LIFTED.dag, "lift"])}
build: Arguments = {"build": ("append", CHOICE)}
order: Arguments = {"order": ("fixed", CHOICE)}
seed: Arguments = {"seed": (0, SEED)}
form: Arguments = {"form": ("sum", CHOICE)}
draws: Arguments = {"count": (2, [True, 2.0, "2", None, -1, math.nan]), **seed}
t: Arguments = {"t": (HALF, [0.5, "1/2", None, math.nan, True, 2 * ONE, -HALF])}


def integers(**right: int) -> Arguments:
    """Arguments that are integers of at least 1."""
    return {name: (value, INTEGER) for name, value in right.items()}


# A public function, with its right arguments, and for each what is nearly right.
CASES: list[tuple[Callable[..., Any], Arguments]] = [
    (reference.fm_residuals, forward | flow | rewards),
    (reference.db_residuals, forward | backward | flow | rewards),
    (reference.subtb_residuals, forward | backward | flow | rewards),
    (reference.tb_residuals, forward | backward | rewards | number),
    (reference.log_tb_residuals, forward | backward | rewards | {"log_z": (0.0, NUMBER[:-1])}),
    (reference.cb_residuals, forward | backward | rewards),
    (reference.flows, {"backward": (P_B, [*POLICY, P_F])} | rewards),
    (reference.forward_from_backward, {"backward": (P_B, [*POLICY, P_F])} | rewards),
    (reference.marginal, {"policy": (P_F, [*POLICY, P_B])}),
    (reference.mass, {"kernel": (P_B, [*POLICY, P_F])}),
    (reference.tb_objective, floats | {"log_z": (0.0, NUMBER[:-1])}),
    (reference.cb_objective, floats),
    (reference.optimal_log_z, floats),
    (reference.markov_projection, lifted | {"forward": (L_F, [*POLICY, P_F])}),
    (reference.h_transform, lifted | {"backward": (P_B, [*POLICY, *BACK[:2]])}),
    (reference.LiftedSampler, lifted | {"forward": (L_F, [*POLICY, P_F]),
                                  "backward": (L_B, [*POLICY, P_B])}),
    (reference.lift, {"base": (DIAMOND, DAG), "dynamics": (History(), [None, {}, History])}
     | integers(max_nodes=10)),
    (reference.enumerate_dag, {"problem": (Grid(2), [None, Grid, "Grid", 3, DIAMOND])}
     | integers(max_nodes=99)),
    (reference.normalize, {"rewards": ((ONE, ONE), [*LAW[:5], *LAW[6:7], *LAW[8:10], (0 * ONE,)])}),
    (reference.total_variation, pair),
    (reference.kl_divergence, pair),
    (reference.fcs, pair | integers(batch_size=2)),
    (fcs_under, pair | {"batches": ({(0, 1): ONE}, [
        None, [(0, 1)], {}, {(0, 0): ONE}, {(0, 7): ONE}, {(0, 1): HALF}, {(0, 1): "1"}])}),
    (reference.uniform_batches, integers(terminals=3, batch_size=2, batches=2) | seed),
    (tv_bound, {"oscillation": (1.0, NUMBER)}),
    (kl_bound, {"oscillation": (1.0, NUMBER)}),
    (residual_spread, forward | backward | rewards | {"log_z": (0.0, NUMBER[:-1])}),
    (one_sided_tv_bound, forward | backward | rewards | number),
    (reference.gamma, integers(roundings=3)),
    (RATIONAL.convert, {"value": (1, [*NO_VALUE, math.inf])}),
    (FLOAT64.convert, {"value": (1, [*NO_VALUE, 10**400])}),
    (BALL.convert, {"value": (1, [x for x in NO_VALUE if x is not math.nan])}),
    (ForwardPolicy, fork | {"field": (RATIONAL, FIELD), "values": ((HALF, HALF), [
        *FRACTIONS, (HALF,), (HALF,) * 3, (1, 1), (3 * HALF, -HALF), (HALF, HALF / 2)])}),
    (ForwardPolicy, fork | {"field": (FLOAT64, FIELD), "values": ((0.5, 0.5), [
        (0.5,), (1, 1), (np.float32(0.5),) * 2, (math.nan, 1.0), (0.5, 0.5 + 1e-9)])}),
    (BackwardPolicy, fork | {"field": (RATIONAL, FIELD), "values": ((ONE, ONE), [
        *FRACTIONS[:5], *FRACTIONS[7:], (HALF, HALF), (1, 2)])}),
    (from_networkx, {"graph": (nx.DiGraph([(0, 1)]), [
        None, {0: [1]}, nx.Graph([(0, 1)]), nx.MultiDiGraph([(0, 1)] * 2),
        nx.DiGraph([(0, 1), (1, 0)])])}),
    (Symbolic, {"names": ("p", [None, 3, ["p"], "p p", ""]), **integers(max_parameters=2)}),
    (EdgeAddition, {
        "features": ((0, 0, 0), [None, "000", [0, 0, 0], (0, 0.5, 0), (0, True, 0)]),
        "inner": ((graph([]), PATH), [None, (), [graph([])], (graph([]), ((0, 1),))]),
        "terminals": ((ENDS,), [None, (), ENDS, (((0, 1), (0, 2)),)]),
        "rewards": ((ONE,), [*ROW, (), (0.5,), (0 * ONE,), (True,), (ONE, ONE), (-ONE,)])}),
    (TiedPolicies, {"dag": (FORK, DAG), "classes": ((0, 1), [*ROW, iter([0, 1]), (0,), (0, 2)])}),
    (restrict, {"problem": (Sets.minimal(), [None, 3, Grid(2)]), **integers(parts=2),
                "kept": ((0,), [None, 3, "0", (), (2,), ("a",), (0.0,), math.nan])}),
    (draw, {"drawable": (DIAMOND, [None, 3, "kite", Grid(2)]),
            "path": (Path("kite.png"), [None, 3, "kite", "no/kite.png"]),
            "colour": ("reward", CHOICE)}),
    (Grid, integers(side=4, dimension=2) | {"landscape": ("standard", CHOICE)} | order),
    (Lines, {"rewards": ((ONE, ONE), [*ROW, (ONE,), (ONE, "1"), (ONE, 0 * ONE)]),
             **integers(step=2)}),
    (Lines.laplaces, integers(length=4, step=2) | seed),
    (Lines.sparse, integers(length=9, step=2)
     | {"peaks": ((2,), [None, 2, "2", (2.0,), (99,), (-1,)])}),
    (LazyRandomWalk, integers(radius=1, steps=2, dimension=2) | {"landscape": ("rings", CHOICE)}),
    (Sets, {"weights": ((ONE, HALF), [(ONE, 0 * ONE), *(x for x in FRACTIONS if x != [ONE])])}
     | integers(size=1) | form),
    (Sets.random, integers(items=4, size=2) | form | seed),
    (SyntheticSequences.random, integers(length=2, letters=2) | build | seed | form
     | {"decisive": (1, [x for x in INTEGER if x is not None])}),
    (SyntheticSequences, {"alphabet": ("ab", [None, 3, "", "aa", ["a", "b"]]), **integers(length=2),
                          "u": ((1.0, 2.0), [None, "12", (1.0,), ("1", 2.0), (1.0, math.nan)]),
                          "v": ((1.0, 2.0), [None, "12", (1.0,), (1.0, None)])} | build),
    (TableSequences, {"alphabet": ("ab", [3, "", "aa"]), **integers(length=1, exponent=3), **build,
                      "scores": (np.float32([1, 2]), [None, [1, 2], np.ones(2), np.float32([1])])}),
    (BitSequences, integers(word=1, exponent=3) | build | {"modes": (("01", "11"), [
        None, "01", (), ("01", "1"), ("02",), (1,), iter(["01"])])}),
    (BitSequences.random, {"length": (8, [*INTEGER, 12])} | integers(word=1, exponent=3, draws=2)
     | build | seed),
    (Preference, {"differences": (((1, 0), (0, 1)), [None, (), [(1, 0)], ([1, 0],), ((1,), (1, 0)),
                                                     ((2, 0),), ((True, 0),), ((1.0, 0),)])}
     | integers(bound=2) | order),
    (Preference.random, integers(comparisons=3, dimension=2, bound=2) | order | seed),
    (Ising, dict.fromkeys(("fields", "direction"), ((ONE, HALF), FRACTIONS)) | order),
    (Ising.random, integers(spins=3) | order | seed),
    (Torus, {name: (2, [*INTEGER, 1]) for name in ("rows", "columns")} | order
     | {"coupling": (0.4, NUMBER)}),
    (HardCore, {"vertices": (3, INTEGER), "fugacity": (ONE, [1.0, "1", None, True, -ONE, math.nan]),
                "edges": (((0, 1),), [None, 3, [(0, 1)], ((0, 3),), ((0, "1"),)])} | order),
    (HardCore.strip, integers(rows=2, columns=2) | order),
    (Phylogeny, {"names": (("a", "b"), [None, "ab", ["a", "b"], ("a", "a"), ("a",), (1, 2)]),
                 "rows": (("A", "C"), [None, "AC", ["A", "C"], ("A", "CC"), ("", ""), (1, 2)]),
                 "cost": (1.0, [*NUMBER, 0.0])}),
    (Phylogeny.random, {"taxa": (3, [*INTEGER, 1, 31])} | integers(sites=2) | seed),
    (EdgeAddition.matching, t),
    (EdgeAddition.cycles, {"size": (6, [*INTEGER, 5])} | t),
    *((made.sample, draws) for made in (Grid(2), Ising.minimal(), LazyRandomWalk.minimal(),
                                        Preference.minimal(), Sets.minimal())),
]  # fmt: skip

# What messages say where they name neither the argument nor the function or class.
SAYS = {
    **dict.fromkeys(("forward", "backward", "exploratory"), "polic"),
    "rewards": "reward",
    "q": "laws",
    "z": "Z",
    "log_z": "log Z",
    "oscillation": "bound",
    "kept": "parts",
    "path": "written",
    "value": "number",
}
RIGHT = [(call, {name: right for name, (right, _) in given.items()}) for call, given in CASES]


def done(call: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Makes a call, and draws what it yields."""
    result = call(**arguments)
    if hasattr(result, "__next__"):
        list(result)


@pytest.mark.catches(
    "Policies in fractions and in floats are compared, as if all were exact.",
    "reference/balance.py",
    "if len(names) > 1:",
    "if len(names) > 2:",
)
def test_each_nearly_right_argument_is_refused_by_its_name(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        for (call, right), (_, arguments) in zip(RIGHT, CASES, strict=True):
            for name, value in [(n, x) for n, (_, nearly) in arguments.items() for x in nearly]:
                with pytest.raises(InputError) as refusal:
                    done(call, right | {name: value})
                message = str(refusal.value)
                words = {name, SAYS.get(name, name), call.__qualname__.split(".")[0]}
                assert any(word in message for word in words), (call, name, value, message)
                assert "\n" not in message
    assert [*tmp_path.iterdir()] == []


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_several_nearly_right_arguments_are_one_error(data: Any) -> None:
    number = data.draw(st.sampled_from(range(len(CASES))))
    (call, right), (_, arguments) = RIGHT[number], CASES[number]
    chosen = data.draw(st.sets(st.sampled_from(sorted(arguments)), min_size=1))
    wrong = {name: data.draw(st.sampled_from(arguments[name][1])) for name in sorted(chosen)}
    with pytest.raises(InputError):
        done(call, right | wrong)


def test_control_what_is_right_is_accepted(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        for call, right in RIGHT:
            done(call, right)
