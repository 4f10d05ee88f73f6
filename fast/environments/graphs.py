"""Edge addition as array code."""

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment, State
from reference.problems import EdgeAddition, Graph

Edge = tuple[int, int]


class AbstractDigraphEnvironment(AbstractPairedEnvironment[State]):
    """Directed graphs, edge by edge.

    Action `u (n - 1) + w` adds the edge from u to the w-th of the other nodes; the last one stops.
    The observation begins with the edges, in the same order.
    """

    nodes: int = eqx.field(static=True)


class GraphState(NamedTuple):
    """A labelled graph: for each action, whether its edge has been added to `s_o`."""

    added: Bool[Array, " actions"]


class GraphEnvironment(AbstractPairedEnvironment[GraphState]):
    """Edge addition (ex. Graphs). Action i adds the edge `edges[i]`, backward action i removes it.

    An action is legal if the graph with its edge is listed, and a backward action if the graph
    without it is; the terminals are listed last. The observation is the adjacency matrix, row by
    row, which starts as `start_adjacency` and in which `edge_adjacency` has the entries that each
    action sets. The feature of each node, the paper's `X`, is not part of it.
    """

    listed: Bool[Array, "states actions"]
    log_rewards: Float[Array, " terminals"]
    start_adjacency: Bool[Array, " entries"]
    edge_adjacency: Bool[Array, "actions entries"]
    nodes: int = eqx.field(static=True)
    features: tuple[int, ...] = eqx.field(static=True)
    start: tuple[Edge, ...] = eqx.field(static=True)
    edges: tuple[Edge, ...] = eqx.field(static=True)

    @classmethod
    def from_problem(cls, problem: EdgeAddition) -> "GraphEnvironment":
        """The environment with the parameters of `problem`."""
        nodes, start = len(problem.features), problem.inner[0].edges
        graphs = [set(state.edges) for state in (*problem.inner, *problem.terminals)]
        edges = tuple(sorted(set().union(*graphs) - set(start)))
        listed = np.array([[edge in graph for edge in edges] for graph in graphs])
        rewards = np.array([float(reward) for reward in problem.rewards])
        return cls(
            listed=jnp.array(listed),
            log_rewards=jnp.array(np.log(rewards), jnp.float32),
            start_adjacency=jnp.array(adjacency_matrix(start, nodes).reshape(-1)),
            edge_adjacency=jnp.array([adjacency_matrix([e], nodes).reshape(-1) for e in edges]),
            nodes=nodes,
            features=problem.features,
            start=start,
            edges=edges,
            horizon=int(listed.sum(axis=1).max()),
            actions=len(edges),
            parents=len(edges),
        )

    def initial(self) -> GraphState:
        return GraphState(jnp.zeros(self.actions, bool))

    def step(self, state: GraphState, action: Int[Array, ""]) -> GraphState:
        new = (jnp.arange(self.actions) == action) & ~self.is_terminal(state)
        return GraphState(state.added | new)

    def backward_step(self, state: GraphState, parent: Int[Array, ""]) -> GraphState:
        return GraphState(state.added & (jnp.arange(self.parents) != parent))

    def mask(self, state: GraphState) -> Bool[Array, " actions"]:
        return self._addable(state) | self.is_terminal(state)

    def parent_mask(self, state: GraphState) -> Bool[Array, " parents"]:
        return _only_difference(state.added[None], self.listed)

    def is_terminal(self, state: GraphState) -> Bool[Array, ""]:
        # The problem has checked that exactly the terminals have no listed child.
        return ~jnp.any(self._addable(state))

    def random_terminal(self, key: PRNGKeyArray) -> GraphState:
        number = jax.random.randint(key, (), 0, len(self.log_rewards))
        return GraphState(self.listed[len(self.listed) - len(self.log_rewards) + number])

    def observe(self, state: GraphState) -> Float[Array, " features"]:
        added = jnp.any(state.added[:, None] & self.edge_adjacency, axis=0)
        return (self.start_adjacency | added).astype(jnp.float32)

    def log_reward(self, state: GraphState) -> Float[Array, ""]:
        here = jnp.all(self.listed[-self.log_rewards.size :] == state.added[None], axis=1)
        return jnp.sum(jnp.where(here, self.log_rewards, 0.0))

    def encode(self, label: Graph) -> GraphState:
        added = np.array([edge in label.edges for edge in self.edges])
        return GraphState(added)  # type: ignore[arg-type]

    def decode(self, state: GraphState) -> Graph:
        added = (edge for edge, here in zip(self.edges, state.added, strict=True) if here)
        return Graph(tuple(sorted((*self.start, *added))))

    def _addable(self, state: GraphState) -> Bool[Array, " actions"]:
        return _only_difference(self.listed, state.added[None])


ENVIRONMENTS[EdgeAddition] = GraphEnvironment


def _only_difference(
    larger: Bool[Array, "#states actions"], smaller: Bool[Array, "#states actions"]
) -> Bool[Array, " actions"]:
    """The edges that lead from some smaller graph to its larger one, which has one edge more."""
    more = larger & ~smaller
    one_more = (more.sum(axis=1) == 1) & ~jnp.any(smaller & ~larger, axis=1)
    return jnp.any(more & one_more[:, None], axis=0)


def adjacency_matrix(edges: Iterable[Edge], nodes: int) -> npt.NDArray[np.bool_]:
    """The symmetric adjacency matrix, shape (nodes, nodes)."""
    matrix = np.zeros((nodes, nodes), bool)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = True
    return matrix
