"""The scorer of a graph network, and that of the edges of directed graphs."""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.environments.graphs import AbstractDigraphEnvironment

Adjacency = Float[Array, "*batch nodes nodes"]
ByNode = Float[Array, "*batch nodes"]
ByAction = Float[Array, "*batch actions"]
NodeFeatures = Float[Array, "*batch nodes more"]


class AbstractScorer(eqx.Module):
    """A graph network without memory: a logit of every action, from a graph.

    `readout` has its last weights, which show the precision of all.
    """

    nodes: int = eqx.field(static=True)
    readout: eqx.AbstractVar[Float[Array, " width"]]

    @abstractmethod
    def adjacency(self, observation: Features) -> Adjacency:
        """`A` of an observed state, in the precision of the weights."""

    @abstractmethod
    def degree(self, adjacency: Adjacency) -> ByNode:
        """The number of edges at each node, in either direction."""

    @abstractmethod
    def __call__(self, adjacency: Adjacency, path_features: NodeFeatures | None = None) -> ByAction:
        """The logit of every action, for nodes with the inputs `X` or `[X || path_features]`."""

    @staticmethod
    def _drawn(key: PRNGKeyArray, rows: int, columns: int) -> Float[Array, "rows columns"]:
        """A weight matrix that keeps the scale of its inputs through a ReLU (He et al., 2015)."""
        return jax.random.normal(key, (rows, columns)) * math.sqrt(2 / rows)


class ArcScorer(AbstractScorer):
    """`zeta(f(x_u; G), f(x_v; G))` for the edge from u to v of every action, and a logit to stop.

    `f` is a graph network of two layers with a weight matrix for each direction of edges (Morris et
    al., 2019):

        agg(H) = [H || A^T H || A H],    f(X) = agg(relu(agg(X) W_1 + b_1)) W_2 + b_2,
        zeta(a, b) = w . relu(a U + b V + c),    stop = w' . relu(mean_v f(x_v; G) U' + c').

    `X` is the identity: every variable has a row of `W_1` as its embedding.

    Attributes:
        weights: `W_1` and `W_2`.
        biases: `b_1` and `b_2`.
        ends: `U` and `V`.
        hidden_bias: `c`.
        readout: `w`.
        pooled: `U'`.
        pooled_bias: `c'`.
        stop: `w'`.
        nodes: the number of variables, n.
    """

    weights: tuple[Float[Array, "in width"], Float[Array, "in width"]]
    biases: tuple[Float[Array, " width"], Float[Array, " width"]]
    ends: tuple[Float[Array, "width width"], Float[Array, "width width"]]
    hidden_bias: Float[Array, " width"]
    readout: Float[Array, " width"]
    pooled: Float[Array, "width width"]
    pooled_bias: Float[Array, " width"]
    stop: Float[Array, " width"]

    def __init__(
        self,
        environment: AbstractDigraphEnvironment[Any],
        width: int,
        *,
        path_features: int = 0,
        key: PRNGKeyArray,
    ):
        self.nodes = environment.nodes
        keys = jax.random.split(key, 6)
        self.weights = (
            self._drawn(keys[0], 3 * (self.nodes + path_features), width),
            self._drawn(keys[1], 3 * width, width),
        )
        self.biases = (jnp.zeros(width), jnp.zeros(width))
        both = self._drawn(keys[2], 2 * width, width)
        self.ends = (both[:width], both[width:])
        self.hidden_bias = jnp.zeros(width)
        # Small last layers make the untrained policy nearly uniform.
        self.readout = 0.01 * self._drawn(keys[3], width, 1)[:, 0]
        self.pooled = self._drawn(keys[4], width, width)
        self.pooled_bias = jnp.zeros(width)
        self.stop = 0.01 * self._drawn(keys[5], width, 1)[:, 0]

    def adjacency(self, observation: Features) -> Adjacency:
        """`A` of an observed state: 1 in row u, column v for an edge from u to v."""
        n, batch = self.nodes, observation.shape[:-1]
        # Edges are in the order of the rows without the diagonal, whose entries lie n + 1 apart.
        rows = observation[..., : n * (n - 1)].reshape(*batch, n - 1, n)
        padded = jnp.concatenate([rows, jnp.zeros_like(rows[..., :1])], -1)
        flat = padded.reshape(*batch, n * n - 1)
        matrix = jnp.concatenate([jnp.zeros_like(flat[..., :1]), flat], -1)
        return matrix.reshape(*batch, n, n).astype(self.readout.dtype)

    def degree(self, adjacency: Adjacency) -> ByNode:
        """The number of edges at each node, in either direction."""
        return adjacency.sum(-1) + adjacency.sum(-2)

    def __call__(self, adjacency: Adjacency, path_features: NodeFeatures | None = None) -> ByAction:
        """The score of every edge, then that of stopping; inputs `X` or `[X || path_features]`."""
        n, batch = self.nodes, adjacency.shape[:-2]
        states = jnp.broadcast_to(jnp.eye(n, dtype=adjacency.dtype), adjacency.shape)
        if path_features is not None:
            states = jnp.concatenate([states, path_features], -1)
        inner = jax.nn.relu(_aggregate(states, adjacency) @ self.weights[0] + self.biases[0])
        f = _aggregate(inner, adjacency) @ self.weights[1] + self.biases[1]
        start, end = (f @ weight for weight in self.ends)
        pairs = jax.nn.relu(start[..., :, None, :] + end[..., None, :, :] + self.hidden_bias)
        scores = (pairs @ self.readout).reshape(*batch, n * n)
        # Without the diagonal, by slices: the transpose of a gather would be a slow scatter.
        edges = scores[..., 1:].reshape(*batch, n - 1, n + 1)[..., :-1].reshape(*batch, n * (n - 1))
        pooled = jax.nn.relu(f.mean(-2) @ self.pooled + self.pooled_bias)
        return jnp.concatenate([edges, (pooled @ self.stop)[..., None]], -1)


def _aggregate(
    states: Float[Array, "*batch nodes inputs"], adjacency: Adjacency
) -> Float[Array, "*batch nodes seen"]:
    transposed = jnp.swapaxes(adjacency, -1, -2)
    return jnp.concatenate([states, transposed @ states, adjacency @ states], -1)
