"""A network as options: before its width is chosen and its parameters are drawn. Imports no JAX."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fast.tasks.options import check_options, require

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment

# Each is compiled by itself.
MAX_LAYERS = 100


@dataclass(frozen=True)
class DynamicsOptions(ABC):
    """A network before its width is chosen and its parameters are drawn.

    Attributes:
        reads_graphs: whether it reads states that are graphs, and scores their edges.
        has_width: whether its number of parameters goes with the width of hidden layers.
    """

    reads_graphs: ClassVar[bool] = False
    has_width: ClassVar[bool] = True

    parameters: int = 40_000
    """Parameter budget; the hidden layers are made as wide as it allows, within 5 %. 0 for 40,000,
    or those of hidden layers of 64, if that is more."""
    hidden_layers: int = 0
    """Hidden layers of the head; 0 for three, and for one where it reads a latent alone."""

    def __post_init__(self) -> None:
        check_options(self)
        require(self, "parameters", self.parameters >= 0, "be at least 0")
        layers = self.hidden_layers
        require(self, "hidden_layers", 0 <= layers <= MAX_LAYERS, f"lie from 0 to {MAX_LAYERS}")

    @property
    def is_markovian(self) -> bool:
        """Whether the network sees the state alone."""
        return False

    @property
    def layers(self) -> int:
        """Hidden layers of the head, and of a learned backward policy."""
        return self.hidden_layers or (3 if self.is_markovian else 1)

    @abstractmethod
    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The network.

        Args:
            environment: the state graph.
            outputs: how many numbers it gives; the first are the logits of the actions.
            width: of the hidden layers.
            key: for its parameters.
        """


@dataclass(frozen=True)
class HeadOptions(DynamicsOptions):
    """A cell with a perceptron on what it reads out."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The latent dynamics without their head."""
        raise NotImplementedError

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The cell and its head."""
        import jax

        from fast.dynamics.head import WithHead
        from fast.dynamics.perceptron import Perceptron

        cell_key, head_key = jax.random.split(key)
        cell = self.wrapped(self.cell(environment, key=cell_key), environment)
        sizes = [cell.output, *[width] * self.layers, outputs]
        return WithHead(cell, Perceptron(sizes, key=head_key))

    def wrapped(
        self, cell: "AbstractDynamics[Any]", environment: "AbstractEnvironment[Any]"
    ) -> "AbstractDynamics[Any]":
        """What the head reads: by default the cell."""
        return cell


@dataclass(frozen=True)
class MarkovOptions(HeadOptions):
    """No latent: the head sees the features of the state."""

    @property
    def is_markovian(self) -> bool:
        """Always."""
        return True

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The features."""
        from fast.dynamics.markov import Markov
        from fast.environments.features import feature_count

        return Markov(feature_count(environment))
