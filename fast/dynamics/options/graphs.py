"""Options of graph networks (prop:temporal_gnns). Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fast.dynamics.options.base import DynamicsOptions

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class TemporalGCNOptions(DynamicsOptions):
    """The path-dependent graph network (eq:pdgraphss), on graphs."""

    reads_graphs: ClassVar[bool] = True

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The network."""
        from fast.dynamics.graph_networks import TemporalGCNNetwork, graphs_of

        return TemporalGCNNetwork(graphs_of(environment), width, key=key)


@dataclass(frozen=True)
class GCNOptions(TemporalGCNOptions):
    """The Markovian graph network (eq:graphss), on graphs."""

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
