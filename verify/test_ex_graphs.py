"""ex_graphs: the dynamics in each reading, compared on edge-additive histories."""

from fractions import Fraction
from itertools import pairwise, product

import pytest

from reference import Dynamics, enumerate_dag, lift
from reference.problems.graphs import EdgeAddition, Graph
from verify.lib.forks import (
    EVERYTHING,
    FORCED,
    FORKS,
    constant,
    first,
    inner_trajectories,
    lattice,
    memories,
    same_partition,
    with_features,
)
from verify.lib.gnn import (
    Gate,
    Memory,
    PrintedTemporalDegree,
    TemporalDegree,
    inverse_size,
    wl_policies,
)
from verify.lib.scopes import Scope

Features = tuple[Fraction, ...]
PROBLEMS = [fork() for fork in FORKS.values()]
HISTORIES = [(problem, tau) for problem in PROBLEMS for tau in inner_trajectories(problem)]


def degrees(g: Graph, nodes: int) -> Features:
    """`A 1`."""
    return tuple(Fraction(sum(v in edge for edge in g.edges)) for v in range(nodes))


def gated(m: Features, gate: Fraction, new: Graph, old: Graph) -> Features:
    """`m + alpha (A' - A) 1`."""
    rows = zip(m, degrees(new, len(m)), degrees(old, len(m)), strict=True)
    return tuple(x + gate * (a - b) for x, a, b in rows)


def along_the_proposition(trajectory: tuple[Graph, ...], gate: Gate, nodes: int) -> list[Features]:
    """`m^(i+1) = m^(i) + alpha(G_i) (A_{i+1} - A_i) 1`, at each state."""
    features: list[Features] = [(Fraction(0),) * nodes]
    for old, new in pairwise(trajectory):
        features.append(gated(features[-1], gate(old), new, old))
    return features


def features_along(
    dynamics: Dynamics[Graph, Memory], trajectory: tuple[Graph, ...]
) -> list[Features]:
    """`m` at each state of the trajectory."""
    latents = [dynamics.initial]
    for state in trajectory[1:]:
        latents.append(dynamics.advance(state, latents[-1]))
    return [latent.m for latent in latents]


class Frozen(TemporalDegree):
    """The displayed update: `A_{t+1} = A_t` and `m_{t+1} = m_t + alpha_t (A_{t+1} - A_t) 1`."""

    def advance(self, state: Graph, latent: Memory) -> Memory:
        """The same latent, by the formula."""
        a = latent.graph
        return Memory(gated(latent.m, self.gate(state), a, a), a)


class Shifted(TemporalDegree):
    """`phi = (alpha(s) (A_s - A) 1, A_s - A)`: the gate at the graph that has the new edge."""

    def advance(self, state: Graph, latent: Memory) -> Memory:
        """The feature after one more edge, and the graph that has it."""
        return Memory(gated(latent.m, self.gate(state), state, latent.graph), state)


@pytest.mark.claim("ex_graphs")
def test_the_readings_on_the_matching_by_hand() -> None:
    # 01, then 23, then 45, with the gate 1, 1/2, 1/3, 1/4 at 0, 1, 2, 3 edges.
    problem = EdgeAddition.matching()
    empty, e1, _, both, p = problem.inner
    trajectory = (empty, e1, both, p)
    one, half, third, quarter = Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)

    def at_edges(dynamics: Dynamics[Graph, Memory]) -> Features:
        m = features_along(dynamics, trajectory)[-1]
        assert m[::2] == m[1::2]
        return m[::2]

    assert at_edges(TemporalDegree(problem)) == (one, half, third)
    assert at_edges(Shifted(problem)) == (half, third, quarter)
    assert at_edges(PrintedTemporalDegree(problem)) == (
        half + third + quarter,
        third + quarter,
        quarter,
    )
    assert at_edges(Frozen(problem)) == (0 * one,) * 3


@pytest.mark.catches(
    "The gate of the path feature is evaluated after the edge is added instead of before.",
    "verify/lib/gnn.py",
    "_gated_sum(latent, self.gate(latent.graph), state), state)",
    "_gated_sum(latent, self.gate(state), state), state)",
)
@pytest.mark.claim("ex_graphs")
def test_the_repaired_dynamics_are_those_of_the_proposition(scope: Scope) -> None:
    problems = (*(fork() for fork in FORKS.values()), lattice(4, 4))
    histories = ((problem, tau) for problem in problems for tau in inner_trajectories(problem))
    for (problem, trajectory), gate in scope.over(
        product(histories, (inverse_size, constant)), "{} histories with a gate, on 6 state graphs"
    ):
        expected = along_the_proposition(trajectory, gate, len(problem.features))
        assert features_along(TemporalDegree(problem, gate), trajectory) == expected


@pytest.mark.claim("ex_graphs")
def test_as_a_lift_they_merge_the_histories_with_equal_features() -> None:
    problem = EdgeAddition.matching()
    lifted = lift(enumerate_dag(problem), TemporalDegree(problem))
    # Seven states; e1e2 and p are there once for each order of e1 and e2.
    assert len(lifted.dag.labels) == 9
    tied = lift(enumerate_dag(problem), TemporalDegree(problem, constant))
    assert len(tied.dag.labels) == 7


@pytest.mark.claim("ex_graphs")
def test_the_printed_phi_counts_an_edge_at_every_later_step() -> None:
    for problem, trajectory in HISTORIES:
        expected: Features = (Fraction(0),) * len(problem.features)
        for state in trajectory:
            expected = gated(expected, inverse_size(state), state, problem.initial)
        assert features_along(PrintedTemporalDegree(problem), trajectory)[-1] == expected


@pytest.mark.control("ex_graphs")
@pytest.mark.parametrize("reading", [PrintedTemporalDegree, Shifted, Frozen])
def test_the_other_readings_are_not_the_recursion_of_the_proposition(
    reading: type[TemporalDegree],
) -> None:
    for problem, trajectory in HISTORIES:
        expected = along_the_proposition(trajectory, inverse_size, len(problem.features))
        assert features_along(reading(problem), trajectory)[-1] != expected[-1]


@pytest.mark.control("ex_graphs")
def test_the_displayed_update_remembers_nothing() -> None:
    for problem in PROBLEMS:
        policies = wl_policies(problem, Frozen(problem))
        assert same_partition(policies.classes, wl_policies(problem).classes)
        assert first(policies, problem) == FORCED


@pytest.mark.control("ex_graphs")
def test_the_printed_phi_separates_the_matching_even_under_a_constant_gate() -> None:
    problem = EdgeAddition.matching()
    policies = wl_policies(problem, PrintedTemporalDegree(problem, constant))
    features = [(int(m[2]), int(m[4])) for m in memories(policies, problem.inner[-1])]
    assert sorted(features) == [(2, 1), (3, 1)]
    assert first(policies, problem) == EVERYTHING
    assert first(with_features(problem, constant), problem) == FORCED
