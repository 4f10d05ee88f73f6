"""What 1-WL policies attain (prop:temporal_gnns): exact sets of laws, ties, and their limits."""

import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import pytest

from reference import (
    RATIONAL,
    ForwardPolicy,
    History,
    InputError,
    TooLargeError,
    enumerate_dag,
    lift,
    marginal,
    normalize,
    total_variation,
)
from reference.aliasing import Interval, TiedPolicies
from reference.gnn import (
    Gate,
    Memory,
    PrintedTemporalDegree,
    TemporalDegree,
    inverse_size,
    refine,
    relabel,
    symmetries,
    tied_terminals,
    wl_policies,
)
from reference.problems.graphs import EdgeAddition, Graph, graph

HALF = Fraction(1, 2)
FORCED = Interval(HALF, HALF)
EVERYTHING = Interval(Fraction(0), Fraction(1))

FORKS: dict[str, Callable[..., EdgeAddition]] = {
    "matching": EdgeAddition.matching,
    "paths": EdgeAddition.paths,
    "marked": EdgeAddition.marked,
    "mirrored": EdgeAddition.mirrored,
    "paper": EdgeAddition.paper,
}


def constant(state: Graph) -> Fraction:
    """The gate alpha = 1."""
    return Fraction(1)


def by_size(*values: Fraction) -> Gate:
    """The gate that depends on the number of edges."""
    return lambda state: values[len(state.edges)]


def first(policies: TiedPolicies, problem: EdgeAddition) -> Interval:
    """The attainable probabilities of `q_1`."""
    return policies.attainable(problem.terminals[0])


def memories(policies: TiedPolicies, state: Graph) -> list[tuple[Fraction, ...]]:
    """The path features with which a state is reached."""
    dag = policies.dag
    inner = [dag.labels[u] for u, row in enumerate(dag.children) if row]
    return [latent.m for label, latent in inner if label == state]


def probability(policies: TiedPolicies, weights: list[Fraction], terminal: Graph) -> Fraction:
    """`p_T(terminal)` of the policy with these weights."""
    dag = policies.dag
    law = marginal(policies.policy(weights))
    return dict(zip((dag.labels[x] for x in dag.terminals), law, strict=True))[terminal]


def random_weights(policies: TiedPolicies, rng: random.Random) -> list[Fraction]:
    return [Fraction(rng.randint(1, 99), rng.randint(1, 99)) for _ in range(policies.count)]


# Colour refinement


def unfolding(g: Graph, colours: tuple[int, ...], node: int, depth: int) -> tuple[object, ...]:
    """The tree of walks of length `depth` from a node, in a canonical order."""
    if depth == 0:
        return (colours[node],)
    near = [u + v - node for u, v in g.edges if node in (u, v)]
    below = sorted((unfolding(g, colours, w, depth - 1) for w in near), key=repr)
    return (colours[node], *below)


def same_partition(left: Iterable[object], right: Iterable[object]) -> bool:
    pairs = set(zip(left, right, strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_stable_colours_are_the_classes_of_unfolding_trees() -> None:
    # r rounds compare trees of depth r, and on 8 nodes in all at most 7 rounds split a class.
    rng = random.Random(0)
    pairs = list(combinations(range(4), 2))
    for _ in range(40):
        graphs = [graph(rng.sample(pairs, rng.randint(0, 5))) for _ in range(2)]
        colours = [tuple(rng.randint(0, 1) for _ in range(4)) for _ in range(2)]
        refined = [c for row in refine(graphs, colours) for c in row]
        trees = [
            unfolding(g, row, v, 7)
            for g, row in zip(graphs, colours, strict=True)
            for v in range(4)
        ]
        assert same_partition(refined, trees)


def test_refinement_sees_degrees_but_not_cycles() -> None:
    hexagon = graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
    triangles = graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    path = graph([(0, 1), (1, 2)])
    cycle, pair, chain = refine([hexagon, triangles, path], [(0,) * 6, (0,) * 6, (0,) * 3])
    assert len({*cycle, *pair}) == 1
    assert chain[0] == chain[2]
    assert len({*chain, *cycle}) == 3
    assert refine([graph([])], [(0, 0, 1)]) == ((0, 0, 1),)


def test_refinement_goes_on_where_degrees_are_equal() -> None:
    # The middle of a path of five nodes has the degree of its neighbours.
    ((a, b, c, d, e),) = refine([graph([(0, 1), (1, 2), (2, 3), (3, 4)])], [(0,) * 5])
    assert (a, b) == (e, d)
    assert len({a, b, c}) == 3


# prop:temporal_gnns


@pytest.mark.parametrize("name", FORKS)
def test_without_path_features_every_fork_is_forced_to_one_half(name: str) -> None:
    problem = FORKS[name]()
    markovian = wl_policies(problem)
    assert not markovian.separates(markovian.dag.index[problem.inner[-1], None])
    assert first(markovian, problem) == FORCED
    for tenth in range(1, 10):
        t = Fraction(tenth, 10)
        assert FORCED.distance(t) == abs(t - HALF)


@pytest.mark.parametrize("name", ["matching", "paths", "marked", "paper"])
def test_with_path_features_the_target_is_attained_exactly(name: str) -> None:
    for tenth in range(1, 10):
        problem = FORKS[name](Fraction(tenth, 10))
        policies = wl_policies(problem, TemporalDegree(problem))
        assert first(policies, problem) == EVERYTHING
        dag = policies.dag
        weights = [Fraction(1)] * policies.count
        for edge, (_, v) in enumerate(dag.edges):
            if dag.labels[v] in problem.terminals:
                weights[policies.classes[edge]] = problem.reward(dag.labels[v])
        law = marginal(policies.policy(weights))
        target = normalize([problem.reward(dag.labels[x]) for x in dag.terminals])
        assert total_variation(law, target) == 0


def test_control_the_same_weights_miss_the_target_without_path_features() -> None:
    problem = EdgeAddition.matching(Fraction(9, 10))
    markovian = wl_policies(problem)
    weights = random_weights(markovian, random.Random(0))
    law = {x: probability(markovian, weights, x) for x in problem.terminals}
    assert set(law.values()) == {HALF}
    assert total_variation(tuple(law.values()), problem.rewards) == Fraction(2, 5)


def test_the_matching_has_the_features_of_the_audit() -> None:
    problem = EdgeAddition.matching()
    policies = wl_policies(problem, TemporalDegree(problem))
    features = [(m[2], m[4]) for m in memories(policies, problem.inner[-1])]
    assert sorted(features) == [(HALF, Fraction(1, 3)), (Fraction(1), Fraction(1, 3))]
    assert all(policies.separates(u) for u in fork_nodes(policies, problem))


def fork_nodes(policies: TiedPolicies, problem: EdgeAddition) -> list[int]:
    """The lifts of `p`."""
    ends = {policies.dag.index[x] for x in problem.terminals}
    return [u for u, row in enumerate(policies.dag.children) if ends & set(row)]


GATES = [Fraction(1, 3), Fraction(1, 2), Fraction(1)]


def test_the_matching_gains_in_the_histories_whose_gates_differ() -> None:
    """`(m_2, m_4)` is `(alpha(e1), alpha(e1e2))` or `(alpha(0), alpha(e1e2))`; e1, e2 are tied."""
    problem = EdgeAddition.matching()
    empty, e1, _, both, _ = problem.inner
    for values in product(GATES, repeat=4):
        gate = dict(zip(problem.inner, values, strict=False)).__getitem__
        policies = wl_policies(problem, TemporalDegree(problem, gate))
        separated = (gate(e1) != gate(both)) + (gate(empty) != gate(both))
        beta = 1 - Fraction(separated, 2)
        assert first(policies, problem) == (beta / 2, 1 - beta / 2)


def test_an_unseparated_history_of_mass_one_half_costs_a_quarter_at_each_end() -> None:
    problem = EdgeAddition.matching()
    gate = by_size(Fraction(1), HALF, HALF)
    policies = wl_policies(problem, TemporalDegree(problem, gate))
    assert sorted(policies.separates(u) for u in fork_nodes(policies, problem)) == [False, True]
    assert first(policies, problem) == (Fraction(1, 4), Fraction(3, 4))
    assert first(policies, problem).distance(Fraction(9, 10)) == Fraction(3, 20)


@pytest.mark.parametrize("name", ["matching", "paths", "mirrored"])
def test_a_constant_gate_gains_nothing_from_an_empty_start(name: str) -> None:
    problem = FORKS[name]()
    policies = wl_policies(problem, TemporalDegree(problem, constant))
    # m is then the degree, which 1-WL computes: same lift, same classes.
    assert len(policies.dag.labels) == len(enumerate_dag(problem).labels)
    assert same_partition(policies.classes, wl_policies(problem).classes)
    assert first(policies, problem) == FORCED


@pytest.mark.parametrize("name", ["marked", "paper"])
def test_a_constant_gate_marks_a_start_with_edges_though_the_lift_is_trivial(name: str) -> None:
    problem = FORKS[name]()
    policies = wl_policies(problem, TemporalDegree(problem, constant))
    assert len(policies.dag.labels) == len(enumerate_dag(problem).labels)
    assert first(policies, problem) == EVERYTHING


def test_the_six_cycle_gains_under_every_gate() -> None:
    # m_2 has one term and m_3 has two, of which one is that of m_2 or both come after it.
    problem = EdgeAddition.paper()
    for values in product([Fraction(1, 2), Fraction(1)], repeat=4):
        gate = dict(zip(problem.inner, values, strict=False)).__getitem__
        policies = wl_policies(problem, TemporalDegree(problem, gate))
        assert first(policies, problem) == EVERYTHING


def test_the_six_cycle_has_the_counts_of_the_proof_and_the_features_of_the_step() -> None:
    problem = EdgeAddition.paper()
    degrees = wl_policies(problem, TemporalDegree(problem, constant))
    assert memories(degrees, problem.inner[-1]) == [(1, 0, 1, 2, 1, 1)]
    policies = wl_policies(problem, TemporalDegree(problem))
    features = {(m[2], m[3]) for m in memories(policies, problem.inner[-1])}
    assert features == {(Fraction(1, 5), Fraction(11, 30)), (Fraction(1, 6), Fraction(11, 30))}


def test_every_markovian_law_is_attained_with_path_features() -> None:
    rng = random.Random(0)
    for fork, dynamics in product(FORKS.values(), (TemporalDegree, PrintedTemporalDegree)):
        problem = fork()
        markovian, policies = wl_policies(problem), wl_policies(problem, dynamics(problem))
        below = dict(zip(labels(markovian), markovian.classes, strict=True))
        coarse: dict[int, int] = {}
        for label, c in zip(labels(policies), policies.classes, strict=True):
            assert coarse.setdefault(c, below[label]) == below[label]
        weights = random_weights(markovian, rng)
        fine = [weights[coarse[c]] for c in range(policies.count)]
        for x in problem.terminals:
            assert probability(policies, fine, x) == probability(markovian, weights, x)


def labels(policies: TiedPolicies) -> list[tuple[Graph, Graph]]:
    """The unlifted states of each edge."""
    dag = policies.dag
    base = [
        label if not row else label[0] for label, row in zip(dag.labels, dag.children, strict=True)
    ]
    return [(base[u], base[v]) for u, v in dag.edges]


def test_features_of_the_nodes_can_make_path_features_needless() -> None:
    problem = EdgeAddition.matching()
    told = EdgeAddition((0, 0, 0, 0, 1, 1), problem.inner, problem.terminals, problem.rewards)
    assert first(wl_policies(told), told) == EVERYTHING


# Example Graphs


def m_of_the_proposition(trajectory: tuple[Graph, ...], gate: Gate, nodes: int) -> list[Fraction]:
    """`m^(i+1) = m^(i) + alpha(G_i) (A_{i+1} - A_i) 1`, with matrices."""

    def adjacency(g: Graph) -> list[list[int]]:
        return [
            [int(graph([(i, j)]).edges[0] in g.edges) for j in range(nodes)] for i in range(nodes)
        ]

    m = [Fraction(0)] * nodes
    for old, new in pairwise(trajectory):
        before, after = adjacency(old), adjacency(new)
        for v in range(nodes):
            m[v] += gate(old) * (sum(after[v]) - sum(before[v]))
    return m


def features_along(
    dynamics: TemporalDegree | PrintedTemporalDegree, trajectory: tuple[Graph, ...]
) -> list[Fraction]:
    latent = dynamics.initial
    for state in trajectory[1:]:
        latent = dynamics.advance(state, latent)
    return list(latent.m)


def inner_trajectories(problem: EdgeAddition) -> list[tuple[Graph, ...]]:
    dag = enumerate_dag(problem)
    return [dag.states(trajectory)[:-1] for trajectory in dag.trajectories()]


@pytest.mark.parametrize("name", FORKS)
def test_the_repaired_dynamics_are_those_of_the_proposition(name: str) -> None:
    problem = FORKS[name]()
    for gate in (inverse_size, constant):
        for trajectory in inner_trajectories(problem):
            expected = m_of_the_proposition(trajectory, gate, len(problem.features))
            assert features_along(TemporalDegree(problem, gate), trajectory) == expected


@pytest.mark.parametrize("name", FORKS)
def test_control_the_printed_dynamics_are_not(name: str) -> None:
    problem = FORKS[name]()
    for gate in (inverse_size, constant):
        for trajectory in inner_trajectories(problem):
            expected = m_of_the_proposition(trajectory, gate, len(problem.features))
            assert features_along(PrintedTemporalDegree(problem, gate), trajectory) != expected


@pytest.mark.parametrize("name", FORKS)
def test_the_printed_dynamics_count_an_edge_at_every_later_step(name: str) -> None:
    problem = FORKS[name]()
    for trajectory in inner_trajectories(problem):
        expected = [
            sum(
                inverse_size(state) * (degree(state, v) - degree(problem.initial, v))
                for state in trajectory
            )
            for v in range(len(problem.features))
        ]
        assert features_along(PrintedTemporalDegree(problem), trajectory) == expected


def degree(g: Graph, node: int) -> int:
    return sum(node in edge for edge in g.edges)


def test_the_printed_dynamics_separate_the_matching_even_under_a_constant_gate() -> None:
    problem = EdgeAddition.matching()
    policies = wl_policies(problem, PrintedTemporalDegree(problem, constant))
    features = [(m[2], m[4]) for m in memories(policies, problem.inner[-1])]
    assert sorted(features) == [(2, 1), (3, 1)]
    assert first(policies, problem) == EVERYTHING


# N9, the symmetry obstruction


def test_the_mirrored_fork_is_forced_though_its_histories_are_separated() -> None:
    problem = EdgeAddition.mirrored()
    assert symmetries(problem) == ((0, 1, 2, 3, 4), (0, 3, 4, 1, 2))
    assert tied_terminals(problem) == (tuple(sorted(problem.terminals)),)
    for dynamics in (TemporalDegree(problem), PrintedTemporalDegree(problem)):
        policies = wl_policies(problem, dynamics)
        assert all(policies.separates(u) for u in fork_nodes(policies, problem))
        assert first(policies, problem) == FORCED


def equivariant_law(
    problem: EdgeAddition, group: tuple[tuple[int, ...], ...], rng: random.Random
) -> tuple[Fraction, ...]:
    """`p_T` of a random policy on full histories, one weight per orbit of history and action."""
    lifted = lift(enumerate_dag(problem), History()).dag
    drawn: dict[object, int] = {}
    weights = []
    for u, v in lifted.edges:
        state, history = lifted.labels[u]
        child = lifted.labels[v] if not lifted.children[v] else lifted.labels[v][0]
        orbit = min(tuple(relabel(g, image) for g in (*history, state, child)) for image in group)
        weights.append(drawn.setdefault(orbit, rng.randint(1, 1000)))
    return marginal(ForwardPolicy.from_weights(lifted, RATIONAL, weights))


def test_no_equivariant_policy_leaves_one_half_on_the_mirrored_fork() -> None:
    rng = random.Random(0)
    problem = EdgeAddition.mirrored()
    group = symmetries(problem)
    for _ in range(200):
        assert equivariant_law(problem, group, rng) == (HALF, HALF)


def test_control_the_matching_has_no_symmetry_and_its_policies_leave_one_half() -> None:
    rng = random.Random(0)
    problem = EdgeAddition.matching()
    group = symmetries(problem)
    assert group == ((0, 1, 2, 3, 4, 5),)
    assert all(equivariant_law(problem, group, rng) != (HALF, HALF) for _ in range(200))


def test_control_features_that_tell_the_edges_apart_break_the_obstruction() -> None:
    fork = EdgeAddition.mirrored()
    problem = EdgeAddition((0, 1, 1, 2, 2), fork.inner, fork.terminals, fork.rewards)
    assert symmetries(problem) == ((0, 1, 2, 3, 4),)
    assert tied_terminals(problem) == tuple((x,) for x in sorted(problem.terminals))
    assert first(wl_policies(problem), problem) == EVERYTHING


def test_control_a_gate_that_reads_labels_breaks_the_obstruction() -> None:
    problem = EdgeAddition.mirrored()
    gate = dict(
        zip(problem.inner, [Fraction(1), HALF, Fraction(1, 3), HALF], strict=True)
    ).__getitem__
    policies = wl_policies(problem, TemporalDegree(problem, gate))
    assert first(policies, problem) == EVERYTHING


def lattice(nodes: int, size: int) -> EdgeAddition:
    """All labelled graphs with at most `size` edges, the last of them terminal."""
    pairs = list(combinations(range(nodes), 2))
    layers = [tuple(graph(edges) for edges in combinations(pairs, k)) for k in range(size + 1)]
    inner = tuple(g for layer in layers[:-1] for g in layer)
    return EdgeAddition((0,) * nodes, inner, layers[-1], (Fraction(1),) * len(layers[-1]))


def test_isomorphic_graphs_are_tied_on_the_lattice_of_all_graphs() -> None:
    problem = lattice(4, 3)
    orbits = tied_terminals(problem)
    assert sorted(map(len, orbits)) == [4, 4, 12]  # stars, triangles, paths
    rng = random.Random(0)
    policies = wl_policies(problem, TemporalDegree(problem))
    for _ in range(20):
        law = marginal(policies.policy(random_weights(policies, rng)))
        p_t = {policies.dag.labels[x]: p for x, p in zip(policies.dag.terminals, law, strict=True)}
        values = [{p_t[x] for x in orbit} for orbit in orbits]
        assert all(len(value) == 1 for value in values)
        assert len(set().union(*values)) == 3


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
    found = {}
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
            found[g] = any(len(set(ends)) > 1 for ends in results.values())
    return found


def test_actions_look_alike_from_three_nodes_on_and_lead_apart_from_six() -> None:
    found = {n: aliased(n) for n in range(2, 7)}
    assert found[2] == {}
    assert found[3] == {graph([]): False, graph([(0, 1)]): False}
    assert not any(apart for n in range(2, 6) for apart in found[n].values())
    apart = [g for g, value in found[6].items() if value]
    assert sorted(len(g.edges) for g in apart) == [4, 5, 5, 6, 6, 7]
    for problem in (EdgeAddition.paths(), EdgeAddition.paper()):
        images = {relabel(problem.inner[-1], image) for image in permutations(range(6))}
        assert len(images & set(apart)) == 1
    assert min(len(g.edges) for g in apart) == len(EdgeAddition.paths().inner[-1].edges)


def test_on_three_nodes_path_features_widen_no_range() -> None:
    """Over every state graph on three nodes and every choice of features."""
    graphs = lattice(3, 3).inner + lattice(3, 3).terminals
    checked = 0
    for features in ((0, 0, 0), (0, 0, 1), (0, 1, 2)):
        for states in (c for k in range(2, 9) for c in combinations(graphs, k)):
            parents = {g for g in states for h in states if is_step(g, h)}
            ends = tuple(g for g in states if g not in parents)
            try:
                problem = EdgeAddition(
                    features,
                    tuple(g for g in states if g in parents),
                    ends,
                    (Fraction(1),) * len(ends),
                )
            except InputError:
                continue
            checked += 1
            markovian, policies = (
                wl_policies(problem),
                wl_policies(problem, TemporalDegree(problem)),
            )
            assert all(markovian.attainable(x) == policies.attainable(x) for x in ends)
    assert checked == 3 * 102


def is_step(g: Graph, h: Graph) -> bool:
    return set(g.edges) < set(h.edges) and len(h.edges) == len(g.edges) + 1


def test_on_four_nodes_they_do() -> None:
    inner = (graph([]), graph([(0, 1)]), graph([(0, 1), (1, 2)]))
    problem = EdgeAddition.fork(4, inner, (0, 3), (2, 3))
    assert first(wl_policies(problem), problem) == FORCED
    assert first(wl_policies(problem, TemporalDegree(problem)), problem) == EVERYTHING


# The attainable set


@pytest.mark.parametrize("name", FORKS)
def test_policies_lie_strictly_inside_the_attainable_interval(name: str) -> None:
    rng = random.Random(0)
    problem = FORKS[name]()
    for dynamics in (None, TemporalDegree(problem)):
        policies = wl_policies(problem, dynamics)
        low, high = first(policies, problem)
        for _ in range(50):
            p = probability(policies, random_weights(policies, rng), problem.terminals[0])
            assert low < p < high or low == p == high


@pytest.mark.parametrize("name", ["matching", "marked", "mirrored"])
@pytest.mark.parametrize("values", [(1, 2, 3), (1, 2, 2), (2, 1, 2), (1, 1, 2), (1, 1, 1)])
def test_extreme_weights_approach_the_ends_of_the_interval(
    name: str, values: tuple[int, ...]
) -> None:
    problem = FORKS[name]()
    gate = by_size(*(Fraction(1, value) for value in values))
    policies = wl_policies(problem, TemporalDegree(problem, gate))
    reached = [
        probability(policies, [Fraction(1000) ** r for r in ranks], problem.terminals[0])
        for ranks in permutations(range(policies.count))
    ]
    low, high = first(policies, problem)
    # Two rows have a choice, between two actions of which one is 1000 times less likely.
    assert 0 <= min(reached) - low <= Fraction(2, 1000)
    assert 0 <= high - max(reached) <= Fraction(2, 1000)


# Input


@pytest.mark.parametrize("value", [0.5, True, Fraction(0), Fraction(3, 2), float("nan")])
def test_a_gate_outside_the_unit_interval_or_inexact_is_refused(value: Fraction) -> None:
    problem = EdgeAddition.matching()
    for dynamics in (TemporalDegree, PrintedTemporalDegree):
        with pytest.raises(InputError, match=r"the gate at \[.*\] is .* must be a Fraction in"):
            wl_policies(problem, dynamics(problem, lambda _: value))


def test_dynamics_of_another_problem_are_refused() -> None:
    with pytest.raises(InputError, match="build the dynamics from the same problem"):
        wl_policies(EdgeAddition.matching(), TemporalDegree(EdgeAddition.paper()))
    assert TemporalDegree(EdgeAddition.minimal()).initial == Memory((Fraction(0),) * 6, graph([]))


def test_symmetries_of_many_nodes_are_refused() -> None:
    with pytest.raises(TooLargeError, match="all relabellings of at most 3"):
        symmetries(EdgeAddition.minimal(), max_nodes=3)
