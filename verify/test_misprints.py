"""misprints: each formula as printed and as repaired, where they give different numbers."""

from fractions import Fraction
from typing import Any

import pytest

from reference.dag import pointed_dag
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems import Lines
from reference.problems.enumeration import enumerate_dag
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope, all_small_dags


@pytest.mark.claim("misprints")
def test_a_trajectory_of_t_steps_has_t_states_before_its_end(scope: Scope) -> None:
    for dag in scope.over(all_small_dags(), "{:,} DAGs"):
        for tau in dag.trajectories():
            nodes = [dag.edges[tau[0]][0], *(dag.edges[e][1] for e in tau)]
            T = len(tau)
            assert [node in dag.terminals for node in nodes] == [False] * T + [True]


@pytest.mark.control("misprints")
def test_with_one_state_less_a_single_step_would_have_no_start() -> None:
    dag = pointed_dag({"o": ["x"], "x": []})
    (tau,) = dag.trajectories()
    assert len(tau) == 1
    assert dag.edges[tau[0]] == (dag.index["o"], dag.index["x"])  # S^1 x X, not S^0 x X


@pytest.mark.claim("misprints")
def test_a_lifted_trajectory_of_t_steps_has_t_latents() -> None:
    lifted = lift(DIAMOND, History())
    for tau in lifted.dag.trajectories():
        nodes = [0, *(lifted.dag.edges[e][1] for e in tau)]
        pairs = [node for node in nodes if node not in lifted.dag.terminals]
        assert len(pairs) == len(tau) == 3
        assert all(isinstance(lifted.dag.labels[node], tuple) for node in pairs)
        assert not isinstance(lifted.dag.labels[nodes[-1]], tuple)


@pytest.mark.control("misprints")
def test_the_printed_range_of_actions_loses_the_probability_of_stopping() -> None:
    dag = enumerate_dag(Lines.laplaces(4, 2))
    uniform = ForwardPolicy.uniform(dag, RATIONAL)
    node = dag.index["p1"]
    forward = [
        uniform.values[e] for e in dag.out_edges[node] if dag.edges[e][1] not in dag.terminals
    ]
    assert sum(forward) == Fraction(2, 3)


@pytest.mark.catches(
    "p_B is normalised over the children of a state instead of its parents.",
    "reference/policies.py",
    "return ((v, row) for v, row in enumerate(dag.in_edges) if row)",
    "return ((v, row) for v, row in enumerate(dag.out_edges) if row)",
)
@pytest.mark.claim("misprints")
@pytest.mark.control("misprints")
def test_backward_probabilities_of_the_paths_to_a_state_sum_to_one(scope: Scope) -> None:
    for dag in scope.over(all_small_dags()):
        backward = BackwardPolicy.uniform(dag, RATIONAL)
        for x in dag.terminals:
            paths = [tau for tau in dag.trajectories() if dag.end(tau) == x]
            assert sum(backward.along(tau) for tau in paths) == 1
    scope("uniform p_B on the same")
    # Control: forward probabilities do not.
    forward = ForwardPolicy.uniform(DIAMOND, RATIONAL)
    x = DIAMOND.index["x"]
    paths = [tau for tau in DIAMOND.trajectories() if DIAMOND.end(tau) == x]
    assert sum(forward.along(tau) for tau in paths) == Fraction(1, 2)


def following_latents(arguments: str) -> set[int]:
    """The latents that follow, for each value of the arguments, in a fork with its history."""
    fork = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["x"], "x": []})
    dag = lift(fork, History()).dag
    seen: dict[Any, set[Any]] = {}
    for u, v in dag.edges:
        if v not in dag.terminals:
            (s, W), (following, W_next) = dag.labels[u], dag.labels[v]
            key = (s, W) if arguments == "s_t, W_t" else (following, W)
            seen.setdefault(key, set()).add(W_next)
    return {len(latents) for latents in seen.values()}


@pytest.mark.claim("misprints")
@pytest.mark.control("misprints")
def test_the_next_latent_is_a_function_of_the_next_state_and_the_latent_not_of_the_state() -> None:
    assert following_latents("s_t+1, W_t") == {1}
    assert following_latents("s_t, W_t") == {2}
