"""Equivariant policies and networks on graphs, and their laws on the orbits of terminals."""

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from reference.dag import PointedDAG
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.marginals import marginal
from reference.metrics import normalize
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems.enumeration import enumerate_dag
from reference.problems.graphs import EdgeAddition
from reference.solve import forward_from_backward
from verify.lib.forks import (
    EVERYTHING,
    FORCED,
    HALF,
    constant,
    first,
    fork_nodes,
    lattice,
    random_weights,
    steps,
)
from verify.lib.gnn import (
    PrintedTemporalDegree,
    TemporalDegree,
    relabel,
    symmetries,
    tied_terminals,
    wl_policies,
)
from verify.lib.laws import by_label
from verify.lib.scopes import Scope, all_small_dags

Image = tuple[int, ...]


def automorphisms(dag: PointedDAG[Any]) -> list[Image]:
    """The permutations of the nodes that keep the edges; they fix the only source."""
    edges, nodes = set(dag.edges), range(1, len(dag.labels))
    degrees = [
        (len(dag.children[v]), len(dag.in_edges[v]), dag.depths[v]) for v in range(len(dag.labels))
    ]
    return [
        (0, *image)
        for image in permutations(nodes)
        if all(degrees[v] == degrees[w] for v, w in zip(nodes, image, strict=True))
        and all(((0, *image)[u], (0, *image)[v]) in edges for u, v in dag.edges)
    ]


def orbits(items: Sequence[int], group: Sequence[Image]) -> set[frozenset[int]]:
    return {frozenset(image[x] for image in group) for x in items}


def equivariant_law(
    dag: PointedDAG[int], group: Sequence[Image], rng: random.Random
) -> dict[int, Fraction]:
    """`p_T` of a random policy on histories with one weight per orbit of history and action."""
    lifted = lift(dag, History())
    drawn: dict[Image, int] = {}
    weights = []
    for u, v in lifted.dag.edges:
        _, history = lifted.dag.labels[u]
        path = (0, *history, lifted.projection[v])
        orbit = min(tuple(image[node] for node in path) for image in group)
        weights.append(drawn.setdefault(orbit, rng.randint(1, 1000)))
    return by_label(ForwardPolicy.from_weights(lifted.dag, RATIONAL, weights))


@cache
def symmetric_dags() -> tuple[tuple[PointedDAG[int], list[Image]], ...]:
    pairs = ((dag, automorphisms(dag)) for dag in all_small_dags())
    return tuple((dag, group) for dag, group in pairs if len(group) > 1)


@pytest.mark.claim("symmetry-ties-terminals")
def test_two_symmetric_ways_by_hand() -> None:
    # o -> a -> x and o -> b -> y: the swap of both forces 1/2, though the histories differ.
    dag = PointedDAG((0, 1, 2, 3, 4), ((1, 2), (3,), (4,), (), ()))
    group = automorphisms(dag)
    assert group == [(0, 1, 2, 3, 4), (0, 2, 1, 4, 3)]
    assert {*equivariant_law(dag, group, random.Random(0)).values()} == {HALF}


@pytest.mark.claim("symmetry-ties-terminals")
def test_equivariant_laws_are_those_that_are_constant_on_orbits(scope: Scope) -> None:
    """Each is constant on orbits, and each such law has a policy without memory."""
    rng = random.Random(0)
    for dag, group in scope.over(
        symmetric_dags(), "all {:,} DAGs with a symmetry among the small ones"
    ):
        p_t = equivariant_law(dag, group, rng)
        tied = orbits(dag.terminals, group)
        assert all(len({p_t[x] for x in orbit}) == 1 for orbit in tied)
        reward = {x: Fraction(r) for orbit in tied for r in (rng.randint(1, 9),) for x in orbit}
        rewards = tuple(reward[x] for x in dag.terminals)
        # Parents are permuted with their children, so the uniform p_B is equivariant.
        forward, _ = forward_from_backward(BackwardPolicy.uniform(dag, RATIONAL), rewards)
        assert marginal(forward) == normalize(rewards)
        p_f = dict(zip(dag.edges, forward.values, strict=True))
        assert all(p_f[image[u], image[v]] == p_f[u, v] for u, v in dag.edges for image in group)


@pytest.mark.control("symmetry-ties-terminals")
def test_policies_that_are_not_equivariant_leave_the_orbits() -> None:
    rng = random.Random(0)
    left = kept = 0
    for dag, group in symmetric_dags():
        if len(orbits(dag.terminals, group)) == len(dag.terminals):
            continue
        p_t = equivariant_law(dag, [tuple(range(len(dag.labels)))], rng)
        same = all(len({p_t[x] for x in orbit}) == 1 for orbit in orbits(dag.terminals, group))
        left, kept = left + (not same), kept + same
    assert left > 20 * kept


# Graph networks with path features


@pytest.mark.claim("symmetry-ties-terminals")
@pytest.mark.control("prop:temporal_gnns.text")
def test_the_mirrored_fork_is_forced_though_its_histories_are_separated() -> None:
    problem = EdgeAddition.mirrored()
    assert first(wl_policies(problem), problem) == FORCED
    assert symmetries(problem) == ((0, 1, 2, 3, 4), (0, 3, 4, 1, 2))
    assert tied_terminals(problem) == (tuple(sorted(problem.terminals)),)
    for dynamics in (TemporalDegree(problem), PrintedTemporalDegree(problem)):
        policies = wl_policies(problem, dynamics)
        assert all(policies.separates(u) for u in fork_nodes(policies, problem))
        assert first(policies, problem) == FORCED


@pytest.mark.claim("symmetry-ties-terminals")
def test_networks_with_path_features_are_equivariant_if_the_gate_is_invariant() -> None:
    """A relabelled history has the classes of actions of the history."""
    for problem in (EdgeAddition.mirrored(), lattice(4, 3)):
        for gate in (constant, lambda state: Fraction(1, 1 + len(state.edges))):
            policies = wl_policies(problem, TemporalDegree(problem, gate))
            features = [policies.dag.labels[u][1].m for u, _ in policies.dag.edges]
            class_of = {
                (step, m): c
                for step, m, c in zip(steps(policies), features, policies.classes, strict=True)
            }
            for image in symmetries(problem):
                for ((g, h), m), c in class_of.items():
                    relabelled = relabel(g, image), relabel(h, image)
                    moved = tuple(m[image.index(v)] for v in range(len(m)))
                    assert class_of[relabelled, moved] == c


@pytest.mark.claim("symmetry-ties-terminals", "eq:graphss")
@pytest.mark.parametrize("remembers", [False, True])
def test_isomorphic_graphs_are_tied_on_the_lattice_of_all_graphs(remembers: bool) -> None:
    problem = lattice(4, 3)
    tied = tied_terminals(problem)
    assert sorted(map(len, tied)) == [4, 4, 12]  # stars, triangles, paths
    rng = random.Random(0)
    policies = wl_policies(problem, TemporalDegree(problem)) if remembers else wl_policies(problem)
    for _ in range(20):
        p_t = by_label(policies.policy(random_weights(policies, rng)))
        values = [{p_t[x] for x in orbit} for orbit in tied]
        assert all(len(value) == 1 for value in values)
        assert len(set().union(*values)) == 3


def law_on_histories(
    problem: EdgeAddition, group: tuple[Image, ...], rng: random.Random
) -> set[Fraction]:
    """The values of `p_T` of a random policy on histories that the relabellings leave as it is."""
    dag = enumerate_dag(problem)
    numbers = {state: v for v, state in enumerate(dag.labels)}
    moved = [tuple(numbers[relabel(state, image)] for state in dag.labels) for image in group]
    plain = PointedDAG(tuple(range(len(dag.labels))), dag.children)
    return {*equivariant_law(plain, moved, rng).values()}


@pytest.mark.claim("symmetry-ties-terminals")
def test_no_equivariant_policy_leaves_one_half_on_the_mirrored_fork(scope: Any) -> None:
    rng = random.Random(0)
    problem = EdgeAddition.mirrored()
    group = symmetries(problem)
    for _ in range(100):
        assert law_on_histories(problem, group, rng) == {HALF}
    scope("100 equivariant policies on the mirrored fork")


@pytest.mark.control("symmetry-ties-terminals")
def test_the_matching_has_no_symmetry_and_its_policies_leave_one_half() -> None:
    rng = random.Random(0)
    problem = EdgeAddition.matching()
    group = symmetries(problem)
    assert group == ((0, 1, 2, 3, 4, 5),)
    assert all(law_on_histories(problem, group, rng) != {HALF} for _ in range(100))


@pytest.mark.control("symmetry-ties-terminals")
def test_features_that_tell_the_edges_apart_break_the_obstruction() -> None:
    fork = EdgeAddition.mirrored()
    problem = EdgeAddition((0, 1, 1, 2, 2), fork.inner, fork.terminals, fork.rewards)
    assert symmetries(problem) == ((0, 1, 2, 3, 4),)
    assert tied_terminals(problem) == tuple((x,) for x in sorted(problem.terminals))
    assert first(wl_policies(problem), problem) == EVERYTHING


@pytest.mark.control("symmetry-ties-terminals")
def test_a_gate_that_reads_labels_breaks_the_obstruction() -> None:
    problem = EdgeAddition.mirrored()
    gate = dict(
        zip(problem.inner, [Fraction(1), HALF, Fraction(1, 3), HALF], strict=True)
    ).__getitem__
    policies = wl_policies(problem, TemporalDegree(problem, gate))
    assert first(policies, problem) == EVERYTHING
