"""eq:max_kl: optimal policies at two neighbours of sparse Lines, and the KL between them."""

import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from reference.dag import PointedDAG
from reference.expressivity.memory import aliasing_kl
from reference.fields.field import RATIONAL
from reference.lifted import Additive, Dynamics, Forgetful, History, LiftedDAG, lift
from reference.marginals import marginal
from reference.metrics import kl_divergence, normalize
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems import Lines
from reference.problems.enumeration import enumerate_dag, enumerate_rewards
from reference.solve import flows, forward_from_backward

SPARSE = Lines.sparse(25, 2)
DAG = enumerate_dag(SPARSE)
REWARDS = enumerate_rewards(SPARSE, DAG)
Rows = dict[str, list[list[Fraction]]]


def actions(length: int, step: int = 2) -> dict[Any, Any]:
    stop = {(f"p{i}", f"q{i}"): "stop" for i in range(length + 1)}
    move = {
        (f"p{i}", f"p{i + k}"): k
        for i, k in product(range(length), range(1, step + 1))
        if i + k <= length
    }
    return stop | move


def rows(lifted: LiftedDAG[str], forward: ForwardPolicy[Fraction]) -> Rows:
    """The laws of `stop, 1, 2` at each state, one per lift of it."""
    laws: Rows = {}
    for node, out in enumerate(lifted.dag.out_edges):
        if out:
            state = lifted.base.labels[lifted.projection[node]]
            laws.setdefault(state, []).append([forward.values[e] for e in out])
    return laws


def optimum(
    backward: BackwardPolicy[Fraction], dynamics: Dynamics[Any, Any] | None = None
) -> tuple[LiftedDAG[str], ForwardPolicy[Fraction]]:
    lifted = lift(backward.dag, dynamics or Forgetful())
    forward, _ = forward_from_backward(backward.on(lifted), REWARDS)
    return lifted, forward


@pytest.mark.catches(
    "Of two aliased states, the KL is measured from the first to the second.",
    "reference/expressivity/memory.py",
    "kl_divergence([q[a] for a in order], [p[a] for a in order])",
    "kl_divergence([p[a] for a in order], [q[a] for a in order])",
)
@pytest.mark.claim("eq:max_kl")
def test_optimal_actions_at_neighbours_of_sparse_lines_differ_for_the_uniform_p_b() -> None:
    lifted, p_f = optimum(BackwardPolicy.uniform(DAG, RATIONAL))
    (at_2,), (at_3,) = (rows(lifted, p_f)[s] for s in ("p2", "p3"))
    assert [*map(float, at_2)] == pytest.approx([0.5948, 0.2027, 0.2025], abs=6e-5)
    assert [*map(float, at_3)] == pytest.approx([0.0015, 0.4995, 0.4990], abs=6e-5)
    divergence = aliasing_kl(lifted, p_f, "p2", "p3", actions(25))
    assert divergence == pytest.approx(0.892, abs=5e-4)

    # The optimum is Markovian: a lift that counts steps has two histories of each, with equal laws.
    steps: Additive[str] = Additive(lambda state, latent: 1)
    lifted, p_f = optimum(BackwardPolicy.uniform(DAG, RATIONAL), steps)
    assert (rows(lifted, p_f)["p2"], rows(lifted, p_f)["p3"]) == ([at_2] * 2, [at_3] * 2)
    assert aliasing_kl(lifted, p_f, "p2", "p3", actions(25)) == divergence


@pytest.mark.claim("eq:max_kl")
def test_every_optimum_stops_at_a_state_with_at_least_its_share_of_the_target(scope: Any) -> None:
    rng, pi = random.Random(0), dict(zip(DAG.terminals, normalize(REWARDS), strict=True))
    for _ in range(10):
        weights = [10 ** rng.randint(0, 6) for _ in DAG.edges]
        lifted, p_f = optimum(BackwardPolicy.from_weights(DAG, RATIONAL, weights))
        for state, ((stop, *_),) in rows(lifted, p_f).items():
            assert stop >= pi[DAG.index["q" + state[1:]]]
        assert rows(lifted, p_f)["p2"][0][0] >= Fraction(494, 1000)
    scope("10 random p_B on the printed instance")


@pytest.mark.claim("eq:max_kl")
def test_the_maximum_is_over_all_pairs_of_histories(scope: Any) -> None:
    dag = enumerate_dag(Lines.sparse(5, 2, (2,)))
    lifted = lift(dag, History())
    rng = random.Random(1)
    for _ in range(20):
        weights = rng.choices(range(1, 10), k=len(lifted.dag.edges))
        p_f = ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights)
        at = rows(lifted, p_f)
        assert (len(at["p2"]), len(at["p3"])) == (2, 3)
        expected = max(
            sum(float(a) * math.log(a / b) for a, b in zip(q, p, strict=True))
            for p in at["p2"]
            for q in at["p3"]
        )
        divergence = aliasing_kl(lifted, p_f, "p2", "p3", actions(5))
        assert divergence == pytest.approx(expected, rel=1e-9)
    scope("20 random history-dependent p_F, N = 5")


@pytest.mark.control("eq:max_kl")
def test_between_laws_on_states_the_divergence_is_infinite() -> None:
    lifted, p_f = optimum(BackwardPolicy.uniform(DAG, RATIONAL))
    dag: PointedDAG[Any] = lifted.dag
    laws = [
        {dag.edges[e][1]: p_f.values[e] for e in dag.out_edges[lifted.projection.index(node)]}
        for node in (DAG.index["p2"], DAG.index["p3"])
    ]
    states = sorted({state for law in laws for state in law})
    p, q = ([law.get(state, Fraction(0)) for state in states] for law in laws)
    assert kl_divergence(q, p) == math.inf


@pytest.mark.control("eq:max_kl")
def test_for_another_p_b_the_optimal_actions_at_the_neighbours_are_equal() -> None:
    # p_3 is made as rare as q_3 against q_2: all that leaves it is a thousandth of what leaves p_2.
    uniform = BackwardPolicy.uniform(DAG, RATIONAL)
    ratio = a = Fraction(1, 1000)
    # Flows from p_2 to p_3 (a) and p_4 (b); beyond lies the mass b + ratio a + ratio b.
    b = (sum(SPARSE.rewards[4:]) - ratio * a) / (1 + ratio)
    at_3 = ratio * (1 + a + b)
    at_5 = flows(uniform, REWARDS)[DAG.index["p5"]]
    new = {
        ("p2", "p3"): a / at_3,
        ("p2", "p4"): b / (b + ratio * a),
        ("p3", "p5"): ratio * b / at_5,
    }
    new |= {("p1", "p3"): 1 - new["p2", "p3"], ("p3", "p4"): 1 - new["p2", "p4"]}
    new |= {("p4", "p5"): 1 - new["p3", "p5"]}
    values = [
        new.get((DAG.labels[u], DAG.labels[v]), value)
        for (u, v), value in zip(DAG.edges, uniform.values, strict=True)
    ]
    assert min(values) > 0
    lifted, p_f = optimum(BackwardPolicy(DAG, RATIONAL, values))
    assert marginal(p_f) == normalize(REWARDS)
    at = rows(lifted, p_f)
    expected = [Fraction(143, 289), Fraction(143, 289_000), Fraction(145_857, 289_000)]
    assert at["p2"] == at["p3"] == [expected]
    assert aliasing_kl(lifted, p_f, "p2", "p3", actions(25)) == 0


@pytest.mark.control("eq:max_kl")
def test_a_policy_that_treats_all_states_alike_has_no_divergence() -> None:
    lifted = lift(DAG, Forgetful())
    uniform = ForwardPolicy.uniform(lifted.dag, RATIONAL)
    assert aliasing_kl(lifted, uniform, "p2", "p3", actions(25)) == 0
