"""The distinctions of 1-WL graph networks, with and without path features (prop:temporal_gnns).

The module computes an ideal: policies `p_F(G + {m, n}) proportional to exp zeta(f(x_m), f(x_n))`
where `f(x_v)` is the stable colour of node `v` under 1-WL and `zeta` an arbitrary function of the
unordered pair. A message-passing network of any depth and width computes a function of these
colours (Xu et al., 2019; Morris et al., 2019), so no such network does better; since the states
are finitely many, deep enough injective layers with a universal `zeta` do as well. Two repairs of
the text: a layer sees the multiset of neighbours and the node itself (a set does not count equal
neighbours), and `zeta` is symmetric, because the edge `{m, n}` is.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from reference.expressivity.aliasing import TiedPolicies
from reference.lifted import Dynamics, Forgetful, lift
from reference.problems.enumeration import enumerate_dag
from reference.problems.graphs import Edge, EdgeAddition, Graph, graph
from verify.lib.attainable import tied_by

Gate = Callable[[Graph], Fraction]


def added_edge(parent: Graph, child: Graph) -> Edge:
    """The edge that `child` has and `parent` lacks."""
    (edge,) = set(child.edges) - set(parent.edges)
    return edge


def inverse_size(state: Graph) -> Fraction:
    """The gate `alpha(G) = 1 / (1 + |E(G)|)`, different at every step and free of labels."""
    return Fraction(1, 1 + len(state.edges))


class Memory(NamedTuple):
    """The latent `W = (m, A)` (ex. Graphs): the path feature of each node, and the graph of `A`."""

    m: tuple[Fraction, ...]
    graph: Graph


@dataclass(frozen=True)
class TemporalDegree:
    """The dynamics of prop:temporal_gnns: a node's degree, each edge counted with a gate.

    `m_{t+1} = m_t + alpha(G_t) (A_{t+1} - A_t) 1` from `m_o = 0`: the gate, with values in (0, 1],
    is evaluated at the graph to which the edge is added. As a lift this is `phi(s, (m, A)) =
    (alpha(A) (A_s - A) 1, A_s - A)`, the repair of ex. Graphs.
    """

    problem: EdgeAddition
    gate: Gate = inverse_size

    @property
    def initial(self) -> Memory:
        """`(0, A_{s_o})`."""
        return _empty_memory(self.problem)

    def advance(self, state: Graph, latent: Memory) -> Memory:
        """The feature after one more edge, and the graph that has it."""
        return Memory(_gated_sum(latent, self.gate(latent.graph), state), state)


class PrintedTemporalDegree(TemporalDegree):
    """The dynamics that ex. Graphs prints, `phi(s, (m, A)) = (alpha(s) (A_s - A) 1, 0)`.

    `A` stays that of `s_o`, so `m_t = sum over i <= t of alpha(s_i) (deg_i - deg_o)`, which counts
    an edge once for every step since it was added, and is not the recursion of prop:temporal_gnns.
    """

    def advance(self, state: Graph, latent: Memory) -> Memory:
        """The feature with all edges since the start added again, and the same `A`."""
        return Memory(_gated_sum(latent, self.gate(state), state), latent.graph)


def _empty_memory(problem: EdgeAddition) -> Memory:
    return Memory((Fraction(0),) * len(problem.features), problem.initial)


def _gated_sum(latent: Memory, alpha: Fraction, state: Graph) -> tuple[Fraction, ...]:
    new = set(state.edges) - set(latent.graph.edges)
    return tuple(m + alpha * sum(v in edge for edge in new) for v, m in enumerate(latent.m))


def refine(
    graphs: Sequence[Graph], colours: Sequence[Sequence[Hashable]]
) -> tuple[tuple[int, ...], ...]:
    """The stable colours of 1-WL on graphs whose nodes have initial colours, refined jointly.

    Equal numbers mean equal colours, within one graph and between graphs: it is the refinement of
    the disjoint union. A round replaces the colour of a node by the pair of it and the multiset of
    its neighbours' colours; the last is the first that splits no class.
    """
    neighbours = [
        [[u + w - v for u, w in g.edges if v in (u, w)] for v in range(len(row))]
        for g, row in zip(graphs, colours, strict=True)
    ]
    current = _number(colours)
    while True:
        refined = _number(
            [
                [(row[v], tuple(sorted(row[w] for w in near))) for v, near in enumerate(lists)]
                for row, lists in zip(current, neighbours, strict=True)
            ]
        )
        # A round never merges classes, so an equal number of them is an equal partition.
        if _classes(refined) == _classes(current):
            return current
        current = refined


def _number(rows: Sequence[Sequence[Hashable]]) -> tuple[tuple[int, ...], ...]:
    numbers: dict[Hashable, int] = {}
    return tuple(tuple(numbers.setdefault(key, len(numbers)) for key in row) for row in rows)


def _classes(rows: Sequence[Sequence[int]]) -> int:
    return len({colour for row in rows for colour in row})


def wl_policies(
    problem: EdgeAddition, dynamics: Dynamics[Graph, Memory] | None = None
) -> TiedPolicies:
    """The policies of 1-WL networks (eq:graphss), path-dependent ones with `dynamics`.

    Without dynamics the nodes are coloured by their features (Markovian); with them by `V = [X ||
    m]`, on the lift (eq:pdgraphss). Two actions are of one class if their unordered pairs of stable
    colours are equal, refined jointly over all (lifted) states.

    The attainable laws of the Markovian family are contained in those of the path-dependent one:
    the stable colours of `[X || m]` determine those of `X`.
    """
    dag = lift(enumerate_dag(problem), Forgetful() if dynamics is None else dynamics).dag
    inner = [dag.labels[u] for u, row in enumerate(dag.children) if row]
    stable = refine(
        [state for state, _ in inner],
        [
            problem.features
            if latent is None
            else tuple(zip(problem.features, latent.m, strict=True))
            for _, latent in inner
        ],
    )
    colours = dict(zip(inner, stable, strict=True))
    pairs = []
    for u, v in dag.edges:
        label, child = dag.labels[u], dag.labels[v]
        m, n = added_edge(label[0], child[0] if dag.children[v] else child)
        pairs.append(tuple(sorted((colours[label][m], colours[label][n]))))
    return tied_by(dag, pairs)


def symmetries(problem: EdgeAddition) -> tuple[tuple[int, ...], ...]:
    """The relabellings of the nodes that keep the features and permute the listed states.

    Each has the images of the nodes `0, 1, ...`; all are tried. It is an automorphism of the state
    graph and fixes `s_o`, the only source. A policy is equivariant if its probabilities do not
    change when history and action are relabelled. Then, however much it remembers, terminals of one
    orbit are equally likely, because a relabelling maps trajectories to equally likely ones. Graph
    networks are equivariant, and so are those with path features if the gate is invariant,
    `alpha(relabelled G) = alpha(G)`.
    """
    n = len(problem.features)
    inner, terminals = set(problem.inner), set(problem.terminals)
    return tuple(
        image
        for image in permutations(range(n))
        if all(problem.features[image[v]] == problem.features[v] for v in range(n))
        and all(relabel(state, image) in inner for state in problem.inner)
        and all(relabel(state, image) in terminals for state in problem.terminals)
    )


def relabel(state: Graph, image: Sequence[int]) -> Graph:
    """The graph in which node `v` is called `image[v]`."""
    return graph((image[i], image[j]) for i, j in state.edges)


def tied_terminals(problem: EdgeAddition) -> tuple[tuple[Graph, ...], ...]:
    """The orbits of terminals under `symmetries`: equally likely under any equivariant policy."""
    group = symmetries(problem)
    orbits = {tuple(sorted({relabel(x, image) for image in group})) for x in problem.terminals}
    return tuple(sorted(orbits))
