"""Graph networks that score edges, without and with path features (prop:temporal_gnns)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.arc_scorer import (
    AbstractScorer,
    Adjacency,
    ArcScorer,
    ByAction,
    ByNode,
    NodeFeatures,
)
from fast.dynamics.base import (
    AbstractDynamics,
    DynamicsOptions,
    Features,
    FeaturesAlong,
    ReadOut,
    ReadOutsAlong,
)
from fast.dynamics.head import Network
from fast.dynamics.markov import AbstractMarkovian
from fast.environments.base import AbstractEnvironment
from fast.environments.graphs import (
    AbstractDigraphEnvironment,
    Edge,
    GraphEnvironment,
    adjacency_matrix,
)
from reference.contract.errors import InputError

Layer = Literal["gcn", "graphconv"]
Gate = Literal["inverse-size", "constant"]
Update = Literal["proposition", "example"]
Marks = Literal["none", "identifiers", "laplacian"]
# The eigenvectors of the Laplacian that a node sees, those of the least eigenvalues.
EIGENVECTORS = 8


class EdgeScorer(AbstractScorer):
    """`zeta(f(x_m; G) concat f(x_n; G))` for the edge `{m, n}` of every action (eq:graphss).

    `f` is a graph network of two layers, and `zeta` a perceptron with one hidden layer:

        f(X) = agg(relu(agg(X) W_1 + b_1)) W_2 + b_2,    zeta(u) = w . relu(u U + c).

    Attributes:
        weights: `W_1` and `W_2`.
        biases: `b_1` and `b_2`.
        hidden: `U`, shape (2 width, width).
        hidden_bias: `c`.
        readout: `w`; a bias would cancel in the soft-max.
        features: the feature of each node, a category: `X` has one column for each that occurs.
        edges: the edge of each action.
        layer: how a node sees its neighbours in the graph with adjacency matrix `A`.
            "gcn": `agg(H) = D^{-1/2} (A + I) D^{-1/2} H`, `D` the diagonal matrix of the row sums
            of `A + I` (Kipf and Welling, 2017), as in the paper's experiment. It is coarser than
            1-WL: if all inputs are equal, the nodes of regular components of any degree look like
            isolated ones.
            "graphconv": `agg(H) = [H || A H]` (Morris et al., 2019), which for suitable weights
            distinguishes all that a round of 1-WL does.
        symmetric: true if `zeta` is averaged over the two orders of the pair. As printed, it sees
            the smaller node first, and so depends on the numbering of the nodes.
    """

    weights: tuple[Float[Array, "in width"], Float[Array, "in width"]]
    biases: tuple[Float[Array, " width"], Float[Array, " width"]]
    hidden: Float[Array, "pair width"]
    hidden_bias: Float[Array, " width"]
    readout: Float[Array, " width"]
    features: tuple[int, ...] = eqx.field(static=True)
    edges: tuple[Edge, ...] = eqx.field(static=True)
    layer: Layer = eqx.field(static=True)
    symmetric: bool = eqx.field(static=True)

    def __init__(
        self,
        environment: GraphEnvironment,
        width: int,
        *,
        path_features: int = 0,
        layer: Layer = "gcn",
        symmetric: bool = True,
        key: PRNGKeyArray,
    ):
        inputs = len(set(environment.features)) + path_features
        seen = 2 if layer == "graphconv" else 1
        keys = jax.random.split(key, 4)
        self.weights = (
            self._drawn(keys[0], seen * inputs, width),
            self._drawn(keys[1], seen * width, width),
        )
        self.biases = (jnp.zeros(width), jnp.zeros(width))
        self.hidden = self._drawn(keys[2], 2 * width, width)
        self.hidden_bias = jnp.zeros(width)
        # A small last layer makes the untrained policy nearly uniform.
        self.readout = 0.01 * self._drawn(keys[3], width, 1)[:, 0]
        self.features = environment.features
        self.edges = environment.edges
        self.layer = layer
        self.symmetric = symmetric
        self.nodes = environment.nodes

    def adjacency(self, observation: Features) -> Adjacency:
        """`A` of an observed state, in the precision of the weights."""
        matrix = observation.reshape(*observation.shape[:-1], self.nodes, self.nodes)
        return matrix.astype(self.readout.dtype)

    def degree(self, adjacency: Adjacency) -> ByNode:
        """The number of edges at each node."""
        return adjacency.sum(-1)

    def __call__(self, adjacency: Adjacency, path_features: NodeFeatures | None = None) -> ByAction:
        """The score of every edge, for nodes with the inputs `X` or `[X || path_features]`."""
        one_hot = np.equal.outer(self.features, sorted(set(self.features)))
        shape = (*adjacency.shape[:-1], one_hot.shape[1])
        states = jnp.broadcast_to(jnp.asarray(one_hot, adjacency.dtype), shape)
        if path_features is not None:
            states = jnp.concatenate([states, path_features], -1)
        inner = self._aggregate(states, adjacency) @ self.weights[0] + self.biases[0]
        f = self._aggregate(jax.nn.relu(inner), adjacency) @ self.weights[1] + self.biases[1]
        # Rows of the identity select nodes; the transpose of a gather would be a slow scatter.
        identity = np.eye(len(self.features))
        m, n = (
            jnp.asarray(identity[list(ends)], f.dtype) @ f for ends in zip(*self.edges, strict=True)
        )
        if not self.symmetric:
            return self._zeta(m, n)
        return (self._zeta(m, n) + self._zeta(n, m)) / 2

    def _aggregate(
        self, states: Float[Array, "*batch nodes inputs"], adjacency: Adjacency
    ) -> Float[Array, "*batch nodes seen"]:
        if self.layer == "graphconv":
            return jnp.concatenate([states, adjacency @ states], -1)
        looped = adjacency + jnp.eye(len(self.features), dtype=adjacency.dtype)
        scale = lax.rsqrt(looped.sum(-1, keepdims=True))
        return scale * (looped @ (scale * states))

    def _zeta(
        self,
        left: Float[Array, "*batch actions width"],
        right: Float[Array, "*batch actions width"],
    ) -> ByAction:
        pair = jnp.concatenate([left, right], -1)
        score: Array = jax.nn.relu(pair @ self.hidden + self.hidden_bias) @ self.readout
        return score


Graphs = GraphEnvironment | AbstractDigraphEnvironment[Any]


def scorer_of(
    environment: Graphs, width: int, *, path_features: int = 0, key: PRNGKeyArray, **options: Any
) -> AbstractScorer:
    """`EdgeScorer` with its options on graphs, or `ArcScorer`, which has none, on DAGs.

    Args:
        environment: an environment whose actions add edges.
        width: the width of hidden layers.
        path_features: how many features of paths an edge has.
        key: a random key of JAX.
        **options: fields of `EdgeScorer`.
    """
    if isinstance(environment, AbstractDigraphEnvironment):
        return ArcScorer(environment, width, path_features=path_features, key=key)
    return EdgeScorer(environment, width, path_features=path_features, key=key, **options)


class GCNNetwork(AbstractMarkovian):
    """The Markovian graph network (eq:graphss): edges scored by the graph alone.

    Attributes:
        scorer: `f` and `zeta`, on graphs with the options `layer` and `symmetric`.
        marks: what tells nodes apart, beside the graph. "identifiers": a column of `X` for each
            node. "laplacian": its entries in eigenvectors of the graph's Laplacian, `D - A`, of the
            least eigenvalues, as LAPACK gives them (Dwivedi et al., 2020).
    """

    needs_head: ClassVar[bool] = False
    scorer: AbstractScorer
    marks: Marks = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(
        self,
        environment: Graphs,
        width: int,
        *,
        marks: Marks = "none",
        key: PRNGKeyArray,
        **options: Any,
    ):
        nodes = environment.nodes
        count = {"none": 0, "identifiers": nodes, "laplacian": min(EIGENVECTORS, nodes)}[marks]
        self.scorer = scorer_of(environment, width, path_features=count, key=key, **options)
        self.marks = marks
        self.output = environment.actions

    def read(self, latent: tuple[()], observation: Features) -> ReadOut:
        """The logit of every edge at the graph."""
        adjacency = self.scorer.adjacency(observation)
        identity = jnp.eye(self.scorer.nodes, dtype=adjacency.dtype)
        if self.marks == "none":
            return self.scorer(adjacency)
        if self.marks == "identifiers":
            return self.scorer(adjacency, jnp.broadcast_to(identity, adjacency.shape))
        either = jnp.maximum(adjacency, jnp.swapaxes(adjacency, -1, -2))
        laplacian = identity * either.sum(-1, keepdims=True) - either
        vectors = jnp.linalg.eigh(lax.stop_gradient(laplacian))[1]
        return self.scorer(adjacency, vectors[..., :EIGENVECTORS])


class PathFeatures(NamedTuple):
    """The latent `W = (m, A)` (ex. Graphs); `m` has the path feature of each node."""

    m: ByNode
    adjacency: Adjacency


class TemporalGCNNetwork(AbstractDynamics[PathFeatures]):
    """The path-dependent graph network (eq:pdgraphss), on nodes with the inputs `V = [X || m]`.

    The path feature of a node is its number of new edges, each counted with a gate at the graph to
    which it was added: `m_{t+1} = m_t + alpha(G_t) (A_{t+1} - A_t) 1`, and `m_o = 0`.

    Attributes:
        scorer: `f_P` and `zeta_P`, on graphs with the options `layer` and `symmetric`.
        start: the edges of `s_o`.
        gate: `alpha`. "inverse-size": `1 / (1 + |E(G)|)`, different at every step. "constant": 1,
            with which the recursion gives `m_t = (A_t - A_o) 1`, a function of the state.
        update: "proposition", the recursion above, for which the latent holds `A = A_t`. "example",
            as ex. Graphs prints it, `m_{t+1} = m_t + alpha(G_{t+1}) (A_{t+1} - A_o) 1` with `A`
            never updated: another recursion, which counts an edge at every later step again. It is
            there to be checked, and no option has it.
    """

    needs_head: ClassVar[bool] = False
    scorer: AbstractScorer
    start: tuple[Edge, ...] = eqx.field(static=True)
    gate: Gate = eqx.field(static=True)
    update: Update = eqx.field(static=True)
    output: int = eqx.field(static=True)

    def __init__(
        self,
        environment: Graphs,
        width: int,
        *,
        gate: Gate = "inverse-size",
        update: Update = "proposition",
        key: PRNGKeyArray,
        **options: Any,
    ):
        self.scorer = scorer_of(environment, width, path_features=1, key=key, **options)
        self.start = environment.start if isinstance(environment, GraphEnvironment) else ()
        self.gate = gate
        self.update = update
        self.output = environment.actions

    def initial(self, batch: tuple[int, ...] = ()) -> PathFeatures:
        """`(0, A_{s_o})`."""
        nodes, dtype = self.scorer.nodes, self.scorer.readout.dtype
        adjacency = jnp.asarray(adjacency_matrix(self.start, nodes), dtype)
        return PathFeatures(
            jnp.zeros((*batch, nodes), dtype), jnp.broadcast_to(adjacency, (*batch, nodes, nodes))
        )

    def advance(self, latent: PathFeatures, observation: Features) -> PathFeatures:
        """The path features on arrival in a state, and its graph."""
        adjacency = self.scorer.adjacency(observation)
        new = self.scorer.degree(adjacency) - self.scorer.degree(latent.adjacency)
        if self.update == "example":
            return PathFeatures(latent.m + self._alpha(adjacency) * new, latent.adjacency)
        return PathFeatures(latent.m + self._alpha(latent.adjacency) * new, adjacency)

    def read(self, latent: PathFeatures, observation: Features) -> ReadOut:
        """The logit of every edge at the graph and the path features."""
        return self.scorer(self.scorer.adjacency(observation), latent.m[..., None])

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        """The logits along a trajectory, on which the path features are running sums."""
        adjacency = self.scorer.adjacency(observations)
        degree, alpha = self.scorer.degree(adjacency), self._alpha(adjacency)
        if self.update == "example":
            terms = alpha * (degree - degree[..., :1, :])
        else:
            terms = alpha[..., :-1, :] * jnp.diff(degree, axis=-2)
            terms = jnp.concatenate([jnp.zeros_like(degree[..., :1, :]), terms], -2)
        return self.scorer(adjacency, jnp.cumsum(terms, -2)[..., None])

    def _alpha(self, adjacency: Adjacency) -> Float[Array, "*batch 1"]:
        """The gate at a graph, the same for all nodes."""
        size = self.scorer.degree(adjacency).sum(-1, keepdims=True) / 2
        return jnp.ones_like(size) if self.gate == "constant" else 1 / (1 + size)


def graphs_of(environment: AbstractEnvironment) -> Graphs:
    """The environment, if its states are graphs; raises InputError if not."""
    if not isinstance(environment, GraphEnvironment | AbstractDigraphEnvironment):
        raise InputError(
            f"a graph network on {type(environment).__name__}, but it reads graphs, which "
            "GraphEnvironment and StructureEnvironment have: use --dynamics gru, lstm, rnn, srwm "
            "or markov"
        )
    return environment


@dataclass(frozen=True)
class GCNOptions(DynamicsOptions[Network]):
    """The Markovian network on graphs (eq:graphss); on DAGs with directions, and a stop."""

    name: ClassVar[str] = "gcn"
    reads_graphs: ClassVar[bool] = True

    is_markovian = True
    marks: Marks = "none"
    """Tells nodes apart that look alike: none does not; a feature for each node; or eigenvectors of
    the Laplacian."""

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> GCNNetwork:
        return GCNNetwork(graphs_of(environment), width, marks=self.marks, key=key)


@dataclass(frozen=True)
class TemporalGCNOptions(DynamicsOptions[Network]):
    """The path-dependent network on graphs (eq:pdgraphss); likewise on DAGs."""

    name: ClassVar[str] = "temporal-gcn"
    reads_graphs: ClassVar[bool] = True

    gate: Gate = "inverse-size"
    """The weight alpha of an edge that is added: 1 / (1 + number of edges before), or constant, 1:
    then the path feature is the gain in degree, a function of the state."""

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> TemporalGCNNetwork:
        return TemporalGCNNetwork(graphs_of(environment), width, gate=self.gate, key=key)
