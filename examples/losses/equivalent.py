"""Equivalent actions counted apart: graphs grown node by node, up to isomorphism."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, permutations
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from examples.losses.graphs import MEMORY, WAYS
from examples.losses.judging import Case, Judged
from fast.balance.loss import TrajectoryLoss
from fast.balance.losses import tb_residuals
from fast.balance.steps import Steps
from fast.checking.instances import make_instance
from reference import History


class Graph(NamedTuple):
    """A graph up to isomorphism: the number of nodes, and the least list of edges."""

    nodes: int
    edges: tuple[tuple[int, int], ...]
    stopped: bool = False

    def __str__(self) -> str:
        return f"{self.nodes}{self.edges}{'.' if self.stopped else ''}"


@cache
def canonical(nodes: int, edges: tuple[tuple[int, int], ...]) -> tuple[Graph, int]:
    """The class of a labelled graph, and the number of its automorphisms."""
    relabelled = [
        tuple(sorted((min(p[u], p[v]), max(p[u], p[v])) for u, v in edges))
        for p in permutations(range(nodes))
    ]
    return Graph(nodes, min(relabelled)), relabelled.count(tuple(sorted(edges)))


def automorphisms(graph: Graph) -> int:
    """`|Aut|` of a class."""
    return canonical(graph.nodes, graph.edges)[1]


@cache
def additions(graph: Graph) -> Counter[Graph]:
    """The classes after one more node, each with its number of sets of neighbours."""
    sets = chain.from_iterable(combinations(range(graph.nodes), k) for k in range(graph.nodes + 1))
    new = (graph.edges + tuple((u, graph.nodes) for u in chosen) for chosen in sets)
    return Counter(canonical(graph.nodes + 1, edges)[0] for edges in new)


@cache
def removals(graph: Graph) -> Counter[Graph]:
    """The classes after a node is removed, each with the number of nodes that lead there."""

    def without(node: int) -> Iterator[tuple[int, int]]:
        for u, v in graph.edges:
            if node not in (u, v):
                yield u - (u > node), v - (v > node)

    return Counter(canonical(graph.nodes - 1, tuple(without(v)))[0] for v in range(graph.nodes))


class Grown:
    """Graphs with up to `most` nodes: a node more with any neighbours, or stop; R is 1 and more."""

    initial = Graph(1, ())

    def __init__(self, most: int):
        self.most = most

    def children(self, state: Graph) -> list[Graph]:
        """The classes with a node more, and the stop."""
        if state.stopped:
            return []
        more = sorted(additions(state)) if state.nodes < self.most else []
        return [*more, state._replace(stopped=True)]

    def reward(self, terminal: Graph) -> Fraction:
        """One plus the number of edges."""
        return Fraction(1 + len(terminal.edges))


@dataclass(frozen=True)
class CountedApart(TrajectoryLoss):
    """Trajectory balance of actions: one of those that lead to a class, and one of those back.

    The policies of the table are of classes; equivalent actions share their probability evenly.
    """

    learns_log_z = True
    corrected: bool = False

    def context(self, environment: Any, trajectories: Any) -> Any:
        dag = environment.dag
        apart = np.zeros((len(dag.labels), len(dag.labels)))
        for u, v in dag.edges:
            before, after = dag.labels[u], dag.labels[v]
            if not after.stopped:
                count = Fraction(additions(before)[after], removals(after)[before])
                apart[u, v] = math.log(count)
            elif self.corrected:
                apart[u, v] = math.log(automorphisms(after))
        nodes = trajectories.states.node
        return jnp.asarray(apart)[nodes[:, :-1], nodes[:, 1:]]

    def value(self, steps: Steps, log_z: Any, key: Any) -> Any:
        apart = jnp.where(steps.active, steps.context, 0.0).sum(-1)
        return jnp.mean((tb_residuals(steps, log_z) - apart) ** 2)


GROWN = {
    WAYS: make_instance("graphs of up to 3 nodes", Grown(3)),
    MEMORY: make_instance("graphs of up to 3 nodes, history", Grown(3), History()),
}

JUDGED = (
    Judged(
        "equivalent actions counted apart",
        "Kim et al., Symmetry-aware GFlowNets, 2025; torchgfn, issue 251",
        "trajectory balance of the actions taken, one for each set of neighbours",
        "wrong",
        CountedApart(),
        "the law is in proportion to R(x) / |Aut(x)|; with R |Aut| it is right, with memory too",
        (
            Case(CountedApart(True), GROWN[WAYS], "right", "R |Aut|"),
            Case(CountedApart(True), GROWN[MEMORY], "right", "R |Aut|, memory"),
        ),
        outcomes={WAYS: "wrong", MEMORY: "wrong"},
        graphs=GROWN,
    ),
)
