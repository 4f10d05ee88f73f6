"""Options of graph networks (prop:temporal_gnns). Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fast.dynamics.options.base import DynamicsOptions

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment

Gate = Literal["inverse-size", "constant"]


@dataclass(frozen=True)
class GCNOptions(DynamicsOptions):
    """The Markovian graph network (eq:graphss), on graphs; on DAGs with directions, and a stop."""

    reads_graphs: ClassVar[bool] = True

    @property
    def is_markovian(self) -> bool:
        """Always."""
        return True

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The network."""
        from fast.dynamics.graph_networks import GCNNetwork, graphs_of

        return GCNNetwork(graphs_of(environment), width, key=key)


@dataclass(frozen=True)
class TemporalGCNOptions(DynamicsOptions):
    """The path-dependent graph network (eq:pdgraphss), on graphs; likewise on DAGs."""

    reads_graphs: ClassVar[bool] = True

    gate: Gate = "inverse-size"
    """The weight alpha of an edge that is added: 1 / (1 + number of edges before), or constant, 1:
    then the path feature is the gain in degree, a function of the state."""

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The network."""
        from fast.dynamics.graph_networks import TemporalGCNNetwork, graphs_of

        return TemporalGCNNetwork(graphs_of(environment), width, gate=self.gate, key=key)
