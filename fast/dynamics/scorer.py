"""The scorer of a graph network: a logit of every action, from a graph."""

import math
from abc import abstractmethod

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features

Adjacency = Float[Array, "*batch nodes nodes"]
ByNode = Float[Array, "*batch nodes"]
ByAction = Float[Array, "*batch actions"]
NodeFeatures = Float[Array, "*batch nodes more"]


class AbstractScorer(eqx.Module):
    """A graph network without memory: a logit of every action, from a graph.

    Attributes:
        nodes: the number of nodes.
        readout: the last weights, which show the precision of all weights.
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
