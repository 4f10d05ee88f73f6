"""Balance conditions, combined samplers and the policies that balance forces, in rationals."""

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from reference import (
    RATIONAL,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    LiftedDAG,
    Sampler,
    TooLargeError,
    aggregated_residuals,
    db_residuals,
    flows,
    fm_residuals,
    forward_from_backward,
    forward_from_law,
    h_transform,
    lift,
    markov_projection,
    pointed_dag,
    streaming_residuals,
    subtb_residuals,
)
from verify.lib.named_dags import DIAMOND
from verify.lib.small_scope import lifts, pointed_dags


class Instance(NamedTuple):
    """A lift, a random lifted `p_B`, random rewards, and more randomness."""

    lifted: LiftedDAG[Any]
    backward: BackwardPolicy[Fraction]
    rewards: tuple[Fraction, ...]
    rng: random.Random


def weights(rng: random.Random, count: int) -> list[int]:
    return rng.choices(range(1, 10), k=count)


def instances(nodes: int = 5) -> Iterator[Instance]:
    rng = random.Random(nodes)
    for dag in pointed_dags(nodes):
        for lifted in lifts(dag):
            yield Instance(
                lifted,
                BackwardPolicy.from_weights(
                    lifted.dag, RATIONAL, weights(rng, len(lifted.dag.edges))
                ),
                tuple(Fraction(w) for w in weights(rng, len(dag.terminals))),
                rng,
            )


def nonzero(residuals: Iterator[tuple[Any, Fraction]]) -> list[Any]:
    return [where for where, residual in residuals if residual != 0]


@pytest.mark.catches(
    "Subtrajectory balance starts at the initial state only.",
    "reference/balance.py",
    "    for start in range(len(dag.labels)):\n",
    "    for start in range(1):\n",
)
def test_subtrajectory_balance_looks_at_every_path_between_two_states() -> None:
    p_b = BackwardPolicy.uniform(DIAMOND, RATIONAL)
    rewards = (Fraction(1), Fraction(2))
    p_f, _ = forward_from_backward(p_b, rewards)
    paths = [tau for tau, _ in subtb_residuals(p_f, p_b, flows(p_b, rewards), rewards)]
    # Of 1 edge: 6; of 2: o-a-c, o-b-c, a-c-x, a-c-y, b-c-x, b-c-y; of 3: the 4 trajectories.
    assert sorted(map(len, paths)) == [1] * 6 + [2] * 6 + [3] * 4
    assert len(set(paths)) == 16
    with pytest.raises(TooLargeError, match="16 paths"):
        next(subtb_residuals(p_f, p_b, flows(p_b, rewards), rewards, limit=15))


@pytest.mark.catches(
    "Where a law does not go, the row is uniform instead of the one given.",
    "reference/solve.py",
    "return _normalized(dag, field, through, policy_space.values)",
    "return _normalized(dag, field, through)",
)
def test_rows_that_a_law_does_not_visit_are_those_of_the_policy_given() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["x", "y"], "b": ["x", "y"], "x": [], "y": []})
    given = ForwardPolicy.from_weights(dag, RATIONAL, [1, 1, 1, 2, 3, 4])
    first, *_ = dag.trajectories()
    found = forward_from_law(given, lambda tau: Fraction(tau == first))
    assert found.values == [1, 0, 1, 0, Fraction(3, 7), Fraction(4, 7)]


@pytest.mark.catches(
    "Exactly as many trajectories as the limit are refused.",
    "reference/dag.py",
    "if self.trajectory_count > limit:",
    "if self.trajectory_count >= limit:",
)
def test_trajectories_are_listed_up_to_the_limit_and_not_beyond() -> None:
    def listed(limit: int) -> int:
        try:
            return len(list(DIAMOND.trajectories(limit)))
        except TooLargeError:
            return 0

    assert [listed(limit) for limit in (3, 4, 5)] == [0, 4, 4]


def test_policies_on_another_dag_are_refused() -> None:
    lifted = lift(DIAMOND, History())
    uniform = ForwardPolicy.uniform(DIAMOND, RATIONAL)
    p_b = BackwardPolicy.uniform(lifted.dag, RATIONAL)
    rewards = (Fraction(1), Fraction(2))
    with pytest.raises(InputError, match="not live on this lift"):
        markov_projection(lifted, uniform)
    with pytest.raises(InputError, match="base of this lift"):
        h_transform(lifted, p_b)
    with pytest.raises(InputError, match="not live on this lift"):
        Sampler(lifted, uniform, p_b)
    flow = [Fraction(1)] * len(DIAMOND.labels)
    with pytest.raises(InputError, match="different DAGs"):
        list(db_residuals(uniform, p_b, flow, rewards))
    with pytest.raises(InputError, match="5 flows for a DAG of 6 nodes"):
        list(fm_residuals(uniform, flow[1:], rewards))
    with pytest.raises(InputError, match="3 rewards for 2 terminal"):
        list(fm_residuals(uniform, flow, (*rewards, Fraction(1))))
    with pytest.raises(InputError, match="reward of 'x' is -1"):
        flows(BackwardPolicy.uniform(DIAMOND, RATIONAL), (Fraction(-1), Fraction(2)))


def balanced(lifted: LiftedDAG[Any], rewards: Any, rng: random.Random) -> Sampler[Fraction]:
    backward = BackwardPolicy.from_weights(
        lifted.dag, RATIONAL, weights(rng, len(lifted.dag.edges))
    )
    return Sampler(lifted, forward_from_backward(backward, rewards)[0], backward)


def test_samplers_over_different_base_dags_are_refused() -> None:
    rng = random.Random(0)
    one = (Fraction(1), Fraction(1))
    twin = pointed_dag({u: list(row) for u, row in enumerate(DIAMOND.children)})
    samplers = [balanced(lift(dag, History()), one, rng) for dag in (DIAMOND, twin)]
    with pytest.raises(InputError, match="another base DAG"):
        list(aggregated_residuals(samplers[0], samplers[1:]))
    with pytest.raises(InputError, match="another base DAG"):
        list(streaming_residuals(samplers[0], samplers[1], one))
    with pytest.raises(InputError, match="no client"):
        list(aggregated_residuals(samplers[0], []))


@pytest.mark.catches(
    "A base trajectory is lifted along the first child instead of the one that it takes.",
    "reference/lifted.py",
    "self.dag.out_edges[node][edge - row.start]",
    "self.dag.out_edges[node][0]",
)
def test_trajectories_lift_and_project_back() -> None:
    for lifted, *_ in instances(5):
        lifted_ones = {lifted.above(tau) for tau in lifted.base.trajectories()}
        assert lifted_ones == set(lifted.dag.trajectories())
        for tau in lifted.base.trajectories():
            assert tuple(lifted.base_edge[e] for e in lifted.above(tau)) == tau
    with pytest.raises(InputError, match="does not leave the state 'o'"):
        lift(DIAMOND, History()).above((5,))


@pytest.mark.catches(
    "A latent that is a set with a NaN in it passes.",
    "reference/lifted.py",
    "isinstance(latent, tuple | frozenset)",
    "isinstance(latent, tuple)",
)
@pytest.mark.parametrize("kind", [float, lambda nan: (0, nan), lambda nan: frozenset({nan})])
def test_latents_that_are_or_hold_nan_are_refused(kind: Any) -> None:
    class Broken:
        initial = 0.0

        def advance(self, state: str, latent: Any) -> Any:
            return kind(float("nan"))

    with pytest.raises(InputError, match=r"nan.*: a NaN equals nothing"):
        lift(DIAMOND, Broken())
