"""Posteriors as array code: graphs edge by edge, and sets of variables."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.encoding import GraphCode
from fast.environments.base import ENVIRONMENTS, AbstractPairedEnvironment
from fast.environments.graphs import AbstractDigraphEnvironment
from pdai.posteriors.uniform_dags import UniformDags
from reference.posterior import Network, Selection, StructureLearning, VariableSelection
from reference.problems import Order


class NetworkState(NamedTuple):
    """A directed acyclic graph, finished or not, and its transitive closure.

    Row u of `adjacency` holds the nodes that u points to, and row u of `reach` those to which a
    path leads from u, itself included.
    """

    adjacency: Bool[Array, "nodes nodes"]
    reach: Bool[Array, "nodes nodes"]
    stopped: Bool[Array, ""]


class StructureEnvironment(AbstractDigraphEnvironment[NetworkState]):
    """Directed acyclic graphs, edge by edge (`StructureLearning`).

    Action `u (n - 1) + w` adds the edge from u to the w-th of the other nodes, the last one stops;
    backward action a undoes action a. The transitive closure shows which edges close a cycle. A new
    edge from u to v adds the pairs of ancestors of u and descendants of v; after the removal of an
    edge the closure is computed anew.

    `log R` is a sum of n entries of a table, looked up once at the end. A sum along the trajectory
    would cost more, and its rounding would depend on the trajectory.

    Networks see the edges. With `graph_code` "ahead" they also see what bears on the edges to come:
    those that end at the node whose parents are being chosen, and the paths from it and from later
    nodes. In the fixed order the balanced `p_F` is a function of these two alone, as the weights of
    earlier nodes cancel; in any order there is no such node, and all paths are seen.

    Attributes:
        table: `log w_v(P)`, a row per node, by the bit mask of P; -inf for a weight of zero.
        sources: the node from which the edge of each action starts.
        targets: the node at which that edge ends.
        uniform: the uniform law on the graphs.
        order: the order in which edges are added.
        graph_code: what networks see of a graph.
        max_parents: the largest number of parents of a node.
    """

    table: Float[Array, "nodes masks"]
    sources: Int[Array, " edges"]
    targets: Int[Array, " edges"]
    uniform: UniformDags
    order: Order = eqx.field(static=True)
    graph_code: GraphCode = eqx.field(static=True)
    max_parents: int = eqx.field(static=True)

    @classmethod
    def from_problem(
        cls, problem: StructureLearning, graph_code: GraphCode = "edges"
    ) -> "StructureEnvironment":
        """The environment with the parameters of `problem`."""
        n, most = len(problem.names), problem.max_parents
        edges = np.array([(u, v) for u in range(n) for v in range(n) if u != v]).reshape(-1, 2)
        table = [
            [math.log(weight) - shift * math.log(2) if weight else -math.inf for weight in row]
            for row, shift in zip(problem.weights, problem.shifts, strict=True)
        ]
        return cls(
            table=jnp.asarray(np.array(table), jnp.float32),
            sources=jnp.asarray(edges[:, 0], jnp.int32),
            targets=jnp.asarray(edges[:, 1], jnp.int32),
            uniform=UniformDags.of(n, most),
            order=problem.order,
            graph_code=graph_code,
            max_parents=most,
            nodes=n,
            horizon=sum(min(i, most) for i in range(n)) + 1,
            actions=len(edges) + 1,
            parents=len(edges) + 1,
        )

    def initial(self) -> NetworkState:
        none = jnp.zeros((self.nodes, self.nodes), bool)
        return NetworkState(none, jnp.eye(self.nodes, dtype=bool), jnp.bool_(False))

    def step(self, state: NetworkState, action: Int[Array, ""]) -> NetworkState:
        edge = self._edge(action) & ~state.stopped
        adjacency = state.adjacency | edge
        reach = state.reach | _joined(_joined(state.reach, edge), state.reach)
        return NetworkState(adjacency, reach, state.stopped | (action == self.actions - 1))

    def backward_step(self, state: NetworkState, parent: Int[Array, ""]) -> NetworkState:
        adjacency = state.adjacency & ~self._edge(parent)
        return NetworkState(adjacency, self._closure(adjacency), jnp.bool_(False))

    def mask(self, state: NetworkState) -> Bool[Array, " actions"]:
        # `reach` contains each node itself, so an added edge is legal in neither direction.
        free = ~state.reach.T & ~state.adjacency
        free &= state.adjacency.sum(axis=0) < self.max_parents
        if self.order == "fixed":
            free &= self._places() > self._last(state)
        return jnp.append(free[self.sources, self.targets], True) | state.stopped

    def parent_mask(self, state: NetworkState) -> Bool[Array, " parents"]:
        last = state.adjacency
        if self.order == "fixed":
            last &= self._places() == self._last(state)
        return jnp.append(last[self.sources, self.targets] & ~state.stopped, state.stopped)

    def is_terminal(self, state: NetworkState) -> Bool[Array, ""]:
        return state.stopped

    def random_terminal(self, key: PRNGKeyArray) -> NetworkState:
        adjacency = self.uniform.draw(key)
        return NetworkState(adjacency, self._closure(adjacency), jnp.bool_(True))

    def observe(self, state: NetworkState) -> Float[Array, " features"]:
        edges = state.adjacency[self.sources, self.targets]
        seen = [edges] if self.graph_code == "edges" else [edges, *self._ahead(state, edges)]
        return jnp.append(jnp.concatenate(seen), state.stopped).astype(jnp.float32)

    def log_reward(self, state: NetworkState) -> Float[Array, ""]:
        powers = jnp.asarray(2 ** np.arange(self.nodes), jnp.int32)
        families = jnp.sum(state.adjacency * powers[:, None], axis=0)
        return jnp.sum(self.table[jnp.arange(self.nodes), families])

    def encode(self, label: Network) -> NetworkState:
        adjacency = (np.array(label.parents) >> np.arange(self.nodes)[:, None] & 1).astype(bool)
        reach = adjacency | np.eye(self.nodes, dtype=bool)
        for _ in range((self.nodes - 1).bit_length()):
            reach = reach @ reach
        return NetworkState(adjacency, reach, np.bool_(label.stopped))  # type: ignore[arg-type]

    def decode(self, state: NetworkState) -> Network:
        powers = 2 ** np.arange(self.nodes)
        masks = (np.asarray(state.adjacency) * powers[:, None]).sum(axis=0)
        return Network(tuple(masks.tolist()), bool(state.stopped))

    def _edge(self, action: Int[Array, ""]) -> Bool[Array, "nodes nodes"]:
        """The adjacency matrix with the edge of an action alone; zero for the action that stops."""
        node = jnp.arange(self.nodes)
        # A gather past the last edge would repeat that edge.
        u = jnp.where(action < self.actions - 1, self.sources[action], -1)
        v = jnp.where(action < self.actions - 1, self.targets[action], -1)
        return (node[:, None] == u) & (node == v)

    def _places(self) -> Int[Array, "nodes nodes"]:
        """The place of each edge in the fixed order: by its end, then by its start."""
        return jnp.arange(self.nodes**2).reshape(self.nodes, self.nodes).T

    def _last(self, state: NetworkState) -> Int[Array, ""]:
        """The place of the last edge of a graph; -1 without edges."""
        return jnp.max(jnp.where(state.adjacency, self._places(), -1))

    def _ahead(
        self, state: NetworkState, edges: Bool[Array, " edges"]
    ) -> list[Bool[Array, " edges"]]:
        """Edges to the node whose parents are chosen, and paths from it and from later nodes."""
        paths = state.reach[self.targets, self.sources]
        if self.order == "any":
            return [paths]
        node = self._last(state) // self.nodes
        return [edges & (self.targets == node), paths & (self.targets >= node)]

    def _closure(self, adjacency: Bool[Array, "nodes nodes"]) -> Bool[Array, "nodes nodes"]:
        reach = adjacency | jnp.eye(self.nodes, dtype=bool)
        for _ in range((self.nodes - 1).bit_length()):
            reach = _joined(reach, reach)
        return reach


ENVIRONMENTS[StructureLearning] = StructureEnvironment


def _joined(
    first: Bool[Array, "nodes nodes"], second: Bool[Array, "nodes nodes"]
) -> Bool[Array, "nodes nodes"]:
    """The composition of two relations: a pair of the first, then a pair of the second."""
    return jnp.any(first[:, :, None] & second[None], axis=1)


class SelectionState(NamedTuple):
    """A set of variables, as its indicator vector, and whether it is finished."""

    chosen: Bool[Array, " variables"]
    stopped: Bool[Array, ""]


class SelectionEnvironment(AbstractPairedEnvironment[SelectionState]):
    """Sets of variables. Action i adds variable i, the last one stops; backward actions undo them.

    The table has `log R` of every set, by its bit mask.
    """

    table: Float[Array, " masks"]

    @classmethod
    def from_problem(cls, problem: VariableSelection) -> "SelectionEnvironment":
        """The environment with the parameters of `problem`."""
        size = len(problem.names) + 1
        logs = np.log(np.array(problem.mantissas)) + math.log(2) * np.array(problem.exponents)
        return cls(table=jnp.asarray(logs, jnp.float32), horizon=size, actions=size, parents=size)

    def initial(self) -> SelectionState:
        return SelectionState(jnp.zeros(self.actions - 1, bool), jnp.bool_(False))

    def step(self, state: SelectionState, action: Int[Array, ""]) -> SelectionState:
        added = (jnp.arange(self.actions - 1) == action) & ~state.stopped
        return SelectionState(state.chosen | added, state.stopped | (action == self.actions - 1))

    def backward_step(self, state: SelectionState, parent: Int[Array, ""]) -> SelectionState:
        kept = jnp.arange(self.parents - 1) != parent
        return SelectionState(state.chosen & kept, jnp.bool_(False))

    def mask(self, state: SelectionState) -> Bool[Array, " actions"]:
        return jnp.append(~state.chosen, True) | state.stopped

    def parent_mask(self, state: SelectionState) -> Bool[Array, " parents"]:
        return jnp.append(state.chosen & ~state.stopped, state.stopped)

    def is_terminal(self, state: SelectionState) -> Bool[Array, ""]:
        return state.stopped

    def random_terminal(self, key: PRNGKeyArray) -> SelectionState:
        return SelectionState(jax.random.bernoulli(key, shape=(self.actions - 1,)), jnp.bool_(True))

    def observe(self, state: SelectionState) -> Float[Array, " features"]:
        return jnp.append(state.chosen, state.stopped).astype(jnp.float32)

    def log_reward(self, state: SelectionState) -> Float[Array, ""]:
        powers = jnp.asarray(2 ** np.arange(self.actions - 1), jnp.int32)
        return self.table[jnp.sum(state.chosen * powers)]

    def encode(self, label: Selection) -> SelectionState:
        return SelectionState(np.array(label.chosen), np.bool_(label.stopped))  # type: ignore[arg-type]

    def decode(self, state: SelectionState) -> Selection:
        return Selection(tuple(np.asarray(state.chosen).tolist()), bool(state.stopped))


ENVIRONMENTS[VariableSelection] = SelectionEnvironment
