"""State graphs on which the claims on graph networks are checked, and what is asked of them."""

import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, combinations

from reference import enumerate_dag
from reference.contract.errors import InputError
from reference.expressivity.aliasing import TiedPolicies
from reference.problems.graphs import EdgeAddition, Graph, graph
from verify.lib.attainable import Interval, attainable
from verify.lib.gnn import Gate, Memory, TemporalDegree, inverse_size, wl_policies
from verify.lib.laws import by_label

HALF = Fraction(1, 2)
FORCED = Interval(HALF, HALF)
EVERYTHING = Interval(Fraction(0), Fraction(1))
TENTHS = tuple(Fraction(n, 10) for n in range(1, 10))

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


def with_features(problem: EdgeAddition, gate: Gate = inverse_size) -> TiedPolicies:
    """The policies of 1-WL networks with path features."""
    return wl_policies(problem, TemporalDegree(problem, gate))


def first(policies: TiedPolicies, problem: EdgeAddition) -> Interval:
    """The attainable probabilities of `q_1`."""
    return attainable(policies, problem.terminals[0])


def fork_nodes(policies: TiedPolicies, problem: EdgeAddition) -> list[int]:
    """The lifts of `p`."""
    ends = {policies.dag.index[x] for x in problem.terminals}
    return [u for u, row in enumerate(policies.dag.children) if ends & set(row)]


def memories(policies: TiedPolicies, state: Graph) -> list[tuple[Fraction, ...]]:
    """The path features with which a state is reached."""
    dag = policies.dag
    inner: list[tuple[Graph, Memory]] = [dag.labels[u] for u, row in enumerate(dag.children) if row]
    return [latent.m for label, latent in inner if label == state]


def probability(policies: TiedPolicies, weights: list[Fraction], terminal: Graph) -> Fraction:
    """`p_T(terminal)` of the policy with these weights."""
    return by_label(policies.policy(weights))[terminal]


def random_weights(policies: TiedPolicies, rng: random.Random) -> list[Fraction]:
    """A positive weight for each class."""
    return [Fraction(rng.randint(1, 99), rng.randint(1, 99)) for _ in range(policies.count)]


def target_weights(policies: TiedPolicies, problem: EdgeAddition) -> list[Fraction]:
    """One, but `R(q)` for the classes of the actions that lead to the terminal `q`."""
    dag = policies.dag
    weights = [Fraction(1)] * policies.count
    for edge, (_, v) in enumerate(dag.edges):
        if dag.labels[v] in problem.terminals:
            weights[policies.classes[edge]] = problem.reward(dag.labels[v])
    return weights


def steps(policies: TiedPolicies) -> list[tuple[Graph, Graph]]:
    """The unlifted states of each edge."""
    dag = policies.dag
    base = [
        label if not row else label[0] for label, row in zip(dag.labels, dag.children, strict=True)
    ]
    return [(base[u], base[v]) for u, v in dag.edges]


def same_partition(left: Iterable[object], right: Iterable[object]) -> bool:
    """True if two colourings of the same things have the same classes."""
    pairs = set(zip(left, right, strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def inner_trajectories(problem: EdgeAddition) -> list[tuple[Graph, ...]]:
    """Each complete trajectory, without its end."""
    dag = enumerate_dag(problem)
    return [dag.states(trajectory)[:-1] for trajectory in dag.trajectories()]


def all_graphs(nodes: int) -> list[list[Graph]]:
    """All labelled graphs on that many nodes, by their number of edges."""
    pairs = list(combinations(range(nodes), 2))
    return [[graph(edges) for edges in combinations(pairs, k)] for k in range(len(pairs) + 1)]


def lattice(nodes: int, size: int) -> EdgeAddition:
    """All labelled graphs with at most `size` edges, the last of them terminal."""
    *inner, ends = all_graphs(nodes)[: size + 1]
    rewards = tuple(Fraction(1 + i % 5, 4) for i in range(len(ends)))
    return EdgeAddition((0,) * nodes, tuple(chain(*inner)), tuple(ends), rewards)


def state_graphs(nodes: int) -> Iterator[EdgeAddition]:
    """Every state graph on that many nodes of equal feature: 102 of them on three nodes."""
    graphs = list(chain(*all_graphs(nodes)))
    for states in (c for k in range(2, len(graphs) + 1) for c in combinations(graphs, k)):
        parents = {
            g
            for g in states
            for h in states
            if len(h.edges) == len(g.edges) + 1 and set(g.edges) < set(h.edges)
        }
        inner = tuple(g for g in states if g in parents)
        ends = tuple(g for g in states if g not in parents)
        try:
            yield EdgeAddition((0,) * nodes, inner, ends, (Fraction(1),) * len(ends))
        except InputError:
            continue
