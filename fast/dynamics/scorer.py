"""What graph networks share: a logit of every action, of a graph."""

import math
from abc import abstractmethod

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features


class AbstractScorer(eqx.Module):
    """What a graph network is but for its memory: a logit of every action, of a graph.

    Attributes:
        nodes: the number of nodes.
        readout: the last weights, whose precision is that of all.
    """

    nodes: eqx.AbstractVar[int]
    readout: eqx.AbstractVar[Float[Array, " width"]]

    @abstractmethod
    def adjacency(self, observation: Features) -> Float[Array, "*batch nodes nodes"]:
        """`A` of a state that is observed, in the precision of the weights."""

    @abstractmethod
    def degree(self, adjacency: Float[Array, "*batch nodes nodes"]) -> Float[Array, "*batch nodes"]:
        """The number of edges at each node, in either direction."""

    @abstractmethod
    def __call__(
        self,
        adjacency: Float[Array, "*batch nodes nodes"],
        path_features: Float[Array, "*batch nodes more"] | None = None,
    ) -> Float[Array, "*batch actions"]:
        """The logit of every action, of nodes with the inputs `X` or `[X || path_features]`."""

    @staticmethod
    def _drawn(key: PRNGKeyArray, rows: int, columns: int) -> Float[Array, "rows columns"]:
        """A weight matrix that keeps the scale of its inputs through a ReLU (He et al., 2015)."""
        return jax.random.normal(key, (rows, columns)) * math.sqrt(2 / rows)
