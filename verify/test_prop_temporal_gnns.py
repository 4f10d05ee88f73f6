"""prop:temporal_gnns, prop:temporal_gnns.text: networks and gates on small graphs."""

import random
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import pytest

from reference import enumerate_dag
from reference.problems.graphs import EdgeAddition, Graph, graph
from verify.lib.forks import (
    EVERYTHING,
    FORCED,
    FORKS,
    HALF,
    TENTHS,
    constant,
    first,
    fork_nodes,
    memories,
    probability,
    random_weights,
    same_partition,
    state_graphs,
    steps,
    target_weights,
    with_features,
)
from verify.lib.gnn import (
    Gate,
    PrintedTemporalDegree,
    TemporalDegree,
    inverse_size,
    refine,
    relabel,
    wl_policies,
)
from verify.lib.scopes import Scope

FOUR_NODES = EdgeAddition.fork(
    4, (graph([]), graph([(0, 1)]), graph([(0, 1), (1, 2)])), (0, 3), (2, 3)
)

# Values between which all coincidences of sums of one and of two gates occur.
GATES = (Fraction(1, 3), Fraction(2, 3), Fraction(1))


def by_size(*values: Fraction) -> Gate:
    """The gate that depends on the number of edges."""
    return lambda state: values[len(state.edges)]


def by_state(problem: EdgeAddition, values: tuple[Fraction, ...]) -> Gate:
    """The gate with these values at the inner states, in the order of their list."""
    return dict(zip(problem.inner, values, strict=False)).__getitem__


# Some state graph, and the inclusion on all


@pytest.mark.catches(
    "The mass of a class of actions goes to each of them whole instead of in equal parts.",
    "verify/lib/attainable.py",
    "+ mass / among",
    "+ mass",
)
@pytest.mark.claim("prop:temporal_gnns")
def test_the_matching_by_hand() -> None:
    # e1 = 01 and e2 = 23 in either order, then e3 = 45. The gate is 1, 1/2, 1/3 at 0, 1, 2 edges:
    # node 4 always has 1/3, node 2 has 1 or 1/2.
    problem = EdgeAddition.matching()
    policies = with_features(problem)
    features = [(m[2], m[4]) for m in memories(policies, problem.inner[-1])]
    assert sorted(features) == [(HALF, Fraction(1, 3)), (Fraction(1), Fraction(1, 3))]
    assert all(policies.separates(u) for u in fork_nodes(policies, problem))
    assert first(wl_policies(problem), problem) == FORCED
    assert first(policies, problem) == EVERYTHING


@pytest.mark.claim("prop:temporal_gnns", "fig:graphssgb")
@pytest.mark.parametrize("name", ["matching", "paths", "marked", "paper"])
def test_with_path_features_the_target_is_attained_exactly(name: str) -> None:
    for t in TENTHS:
        problem = FORKS[name](t)
        policies = with_features(problem)
        assert first(policies, problem) == EVERYTHING
        weights = target_weights(policies, problem)
        assert probability(policies, weights, problem.terminals[0]) == t


@pytest.mark.claim("prop:temporal_gnns")
def test_every_markovian_law_is_attained_with_path_features() -> None:
    rng = random.Random(0)
    for fork, dynamics in product(FORKS.values(), (TemporalDegree, PrintedTemporalDegree)):
        problem = fork()
        markovian, policies = wl_policies(problem), wl_policies(problem, dynamics(problem))
        # The Markovian class of the actions in each path-dependent one: there is just one.
        below = dict(zip(steps(markovian), markovian.classes, strict=True))
        coarse: dict[int, int] = {}
        for step, c in zip(steps(policies), policies.classes, strict=True):
            assert coarse.setdefault(c, below[step]) == below[step]
        weights = random_weights(markovian, rng)
        fine = [weights[coarse[c]] for c in range(policies.count)]
        for x in problem.terminals:
            assert probability(policies, fine, x) == probability(markovian, weights, x)


# Every gate


@pytest.mark.claim("prop:temporal_gnns")
def test_the_six_cycle_gains_under_every_gate(scope: Any) -> None:
    # m_3 exceeds m_2 by the term of the edge 34, whatever the gate.
    problem = EdgeAddition.paper()
    gates = list(product(GATES, repeat=4))
    for values in gates:
        policies = with_features(problem, by_state(problem, values))
        assert all(policies.separates(u) for u in fork_nodes(policies, problem))
        for m in memories(policies, problem.inner[-1]):
            assert m[3] == m[2] + m[4]
        assert first(policies, problem) == EVERYTHING
    scope(f"{len(gates)} gates on the 6-cycle")


@pytest.mark.claim("prop:temporal_gnns")
def test_the_six_cycle_has_the_counts_of_the_proof_and_the_features_of_the_step() -> None:
    problem = EdgeAddition.paper()
    degrees = with_features(problem, constant)
    (m,) = memories(degrees, problem.inner[-1])
    assert list(m) == [1, 0, 1, 2, 1, 1]
    policies = with_features(problem)
    features = {(m[2], m[3]) for m in memories(policies, problem.inner[-1])}
    assert features == {(Fraction(1, 5), Fraction(11, 30)), (Fraction(1, 6), Fraction(11, 30))}


def disjoint_edges(count: int, first_edge: int, second_edge: int, other: int) -> EdgeAddition:
    """Disjoint edges added one after the other; then an end of one is joined to either of two."""
    edges = [(2 * i, 2 * i + 1) for i in range(count)]
    inner = [graph(edges[:k]) for k in range(count + 1)]
    q1, q2 = ((min(2 * i, 2 * other), max(2 * i, 2 * other)) for i in (first_edge, second_edge))
    return EdgeAddition.fork(2 * count, inner, q1, q2)


@pytest.mark.claim("prop:temporal_gnns.text")
def test_from_the_empty_graph_every_gate_by_size_gains_somewhere_unless_it_is_constant() -> None:
    for values in product((HALF, Fraction(1)), repeat=4):
        gains = set()
        for i, j in combinations(range(4), 2):
            problem = disjoint_edges(4, i, j, min({0, 1, 2} - {i, j}))
            interval = first(with_features(problem, by_size(*values, Fraction(1))), problem)
            assert interval == (EVERYTHING if values[i] != values[j] else FORCED)
            gains.add(interval == EVERYTHING)
        assert (True in gains) == (len(set(values)) > 1)


@pytest.mark.control("prop:temporal_gnns", "prop:temporal_gnns.text")
@pytest.mark.parametrize("name", ["matching", "paths", "mirrored"])
def test_a_constant_gate_gains_nothing_from_an_empty_start(name: str) -> None:
    problem = FORKS[name]()
    policies = with_features(problem, constant)
    # m is then the degree, which 1-WL computes: same lift, same classes.
    assert len(policies.dag.labels) == len(enumerate_dag(problem).labels)
    assert same_partition(policies.classes, wl_policies(problem).classes)
    assert first(policies, problem) == FORCED


@pytest.mark.claim("prop:temporal_gnns")
def test_a_constant_gate_gains_nothing_from_an_empty_start_on_three_nodes(scope: Any) -> None:
    problems = [p for p in state_graphs(3) if p.initial == graph([])]
    for problem, value in product(problems, GATES):
        policies = with_features(problem, by_size(*[value] * 4))
        assert same_partition(policies.classes, wl_policies(problem).classes)
    scope(f"constant gates on all {len(problems)} state graphs from the empty one on 3 nodes")


# What the gain is not


@pytest.mark.claim("prop:temporal_gnns.text")
@pytest.mark.parametrize(
    ("problem", "gate"),
    [
        (EdgeAddition.paths(), inverse_size),
        (FOUR_NODES, inverse_size),
        (EdgeAddition.marked(), constant),
        (EdgeAddition.paper(), constant),
    ],
)
def test_a_gain_needs_no_second_history_and_four_nodes_are_enough(
    problem: EdgeAddition, gate: Gate
) -> None:
    """On a tree the lift is trivial, and its policies Markovian; a start with edges is marked."""
    policies = with_features(problem, gate)
    assert len(policies.dag.labels) == len(enumerate_dag(problem).labels)
    assert first(wl_policies(problem), problem) == FORCED
    assert first(policies, problem) == EVERYTHING


@pytest.mark.claim("prop:temporal_gnns")
@pytest.mark.control("eq:graphss", "fig:graphssgb")
def test_features_that_tell_the_edges_apart_make_path_features_needless() -> None:
    t = Fraction(9, 10)
    fork = EdgeAddition.matching(t)
    marked = EdgeAddition((0, 0, 0, 0, 1, 1), fork.inner, fork.terminals, fork.rewards)
    policies = wl_policies(marked)
    assert not same_partition(policies.classes, wl_policies(fork).classes)
    assert first(policies, marked) == EVERYTHING
    # The printed distance is 2/5, and theirs is 0.
    assert probability(policies, target_weights(policies, marked), marked.terminals[0]) == t


# How small an example can be


def isomorphism_classes(nodes: int) -> dict[int, int]:
    """For each graph, as a bit mask over the pairs, the least mask isomorphic to it."""
    pairs = list(combinations(range(nodes), 2))
    bit = {frozenset(pair): 1 << i for i, pair in enumerate(pairs)}
    swap, turn = [1, 0, *range(2, nodes)], [*range(1, nodes), 0]  # these generate all relabellings
    moves = [[bit[frozenset((image[i], image[j]))] for i, j in pairs] for image in (swap, turn)]
    least: dict[int, int] = {}
    for mask in range(1 << len(pairs)):
        stack = [] if mask in least else [mask]
        while stack:
            member = stack.pop()
            if member not in least:
                least[member] = mask
                for move in moves:
                    stack.append(sum(b for i, b in enumerate(move) if member >> i & 1))
    return least


def aliased(nodes: int) -> dict[Graph, bool]:
    """The graphs, up to isomorphism, two of whose non-edges look alike without path features.

    The value says whether two such non-edges lead to non-isomorphic graphs.
    """
    pairs = list(combinations(range(nodes), 2))
    least = isomorphism_classes(nodes)
    alike = {}
    for mask in sorted(set(least.values())):
        g = graph(pair for i, pair in enumerate(pairs) if mask >> i & 1)
        (colour,) = refine([g], [(0,) * nodes])
        results: dict[tuple[int, ...], list[int]] = {}
        for i, (u, v) in enumerate(pairs):
            if not mask >> i & 1:
                results.setdefault(tuple(sorted((colour[u], colour[v]))), []).append(
                    least[mask | 1 << i]
                )
        if any(len(ends) > 1 for ends in results.values()):
            alike[g] = any(len(set(ends)) > 1 for ends in results.values())
    return alike


@pytest.mark.claim("prop:temporal_gnns")
def test_actions_look_alike_from_three_nodes_on_and_lead_apart_from_six() -> None:
    alike = {n: aliased(n) for n in range(2, 7)}
    assert alike[2] == {}
    assert alike[3] == {graph([]): False, graph([(0, 1)]): False}
    assert not any(apart for n in range(2, 6) for apart in alike[n].values())
    apart = [g for g, value in alike[6].items() if value]
    assert sorted(len(g.edges) for g in apart) == [4, 5, 5, 6, 6, 7]
    for problem in (EdgeAddition.paths(), EdgeAddition.paper()):
        images = {relabel(problem.inner[-1], image) for image in permutations(range(6))}
        assert len(images & set(apart)) == 1
    assert min(len(g.edges) for g in apart) == len(EdgeAddition.paths().inner[-1].edges)


@pytest.mark.claim("prop:temporal_gnns.text")
def test_on_three_nodes_no_gate_adds_anything(scope: Scope) -> None:
    """Every state graph, every choice of features: equal classes wherever there is a choice."""
    rng = random.Random(0)
    featured = product(state_graphs(3), ((0, 0, 0), (0, 0, 1), (0, 1, 2)))
    for plain, features in scope.over(featured, "all {} featured state graphs on 3 nodes"):
        problem = EdgeAddition(features, plain.inner, plain.terminals, plain.rewards)
        gate = by_state(problem, tuple(Fraction(1, rng.randint(1, 9)) for _ in plain.inner))
        markovian = wl_policies(problem)
        policies = with_features(problem, gate)
        below = dict(zip(steps(markovian), markovian.classes, strict=True))
        choices = {e for row in policies.dag.out_edges if len(row) > 1 for e in row}
        assert same_partition(
            [policies.classes[e] for e in choices],
            [below[step] for e, step in enumerate(steps(policies)) if e in choices],
        )
    assert scope.count == 3 * 102


# The attainable set


@pytest.mark.claim("prop:temporal_gnns")
def test_an_unseparated_history_of_forced_mass_beta_costs_half_of_it_at_each_end() -> None:
    """`(m_2, m_4)` is `(alpha(e1), alpha(e1e2))` or `(alpha(0), alpha(e1e2))`; e1, e2 are tied."""
    problem = EdgeAddition.matching()
    empty, e1, _, both, _ = problem.inner
    betas = set()
    for values in product(GATES, repeat=4):
        gate = by_state(problem, values)
        policies = with_features(problem, gate)
        separated = (gate(e1) != gate(both)) + (gate(empty) != gate(both))
        beta = 1 - Fraction(separated, 2)
        assert first(policies, problem) == (beta / 2, 1 - beta / 2)
        betas.add(beta)
    assert betas == {0, HALF, 1}


@pytest.mark.claim("prop:temporal_gnns")
@pytest.mark.control("prop:temporal_gnns")
@pytest.mark.parametrize(
    ("features", "attained", "missed"),
    [
        ((0, 0, 0, 0, 0, 0), (Fraction(1, 4), Fraction(3, 4)), Fraction(3, 20)),
        # The first two edges are told apart, so that the policy can avoid the history.
        ((0, 1, 0, 0, 0, 0), EVERYTHING, 0),
    ],
)
def test_an_unseparated_history_puts_targets_out_of_reach_unless_it_can_be_avoided(
    features: tuple[int, ...], attained: tuple[Fraction, Fraction], missed: Fraction
) -> None:
    fork = EdgeAddition.matching()
    problem = EdgeAddition(features, fork.inner, fork.terminals, fork.rewards)
    assert first(wl_policies(problem), problem) == FORCED
    policies = with_features(problem, by_size(Fraction(1), HALF, HALF))
    assert sorted(policies.separates(u) for u in fork_nodes(policies, problem)) == [False, True]
    assert first(policies, problem) == attained
    assert first(policies, problem).distance(Fraction(9, 10)) == missed


@pytest.mark.claim("prop:temporal_gnns")
@pytest.mark.parametrize("name", FORKS)
def test_policies_lie_strictly_inside_the_attainable_interval(name: str) -> None:
    rng = random.Random(0)
    problem = FORKS[name]()
    for dynamics in (None, TemporalDegree(problem)):
        policies = wl_policies(problem, dynamics)
        low, high = first(policies, problem)
        for _ in range(30):
            p = probability(policies, random_weights(policies, rng), problem.terminals[0])
            assert low < p < high or low == p == high


@pytest.mark.claim("prop:temporal_gnns")
@pytest.mark.parametrize("name", ["matching", "marked", "mirrored"])
@pytest.mark.parametrize("values", [(1, 2, 3), (1, 2, 2), (2, 1, 2), (1, 1, 2), (1, 1, 1)])
def test_extreme_weights_approach_the_ends_of_the_interval(
    name: str, values: tuple[int, ...]
) -> None:
    problem = FORKS[name]()
    gate = by_size(*(Fraction(1, value) for value in values))
    policies = with_features(problem, gate)
    reached = [
        probability(policies, [Fraction(1000) ** r for r in ranks], problem.terminals[0])
        for ranks in permutations(range(policies.count))
    ]
    low, high = first(policies, problem)
    # Two rows have a choice, between two actions of which one is 1000 times less likely.
    assert 0 <= min(reached) - low <= Fraction(2, 1000)
    assert 0 <= high - max(reached) <= Fraction(2, 1000)
