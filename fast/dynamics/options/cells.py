"""Options of cells with a latent that a head reads: gated and plain recurrences. Imports no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fast.dynamics.options.base import HeadOptions
from fast.tasks.options import require_counts

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class CellOptions(HeadOptions):
    """A latent of d numbers, or d x d, that a head reads."""

    latent_size: int = 32
    """d: the latent is a vector of d numbers, or a d x d matrix (srwm)."""
    skip: bool = False
    """Let the head see psi(s_t) beside y_t; the paper's does not."""
    reset: bool = False
    """Make the latent anew at every state, by one step from W_o: the same network without memory,
    which is Markovian."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "latent_size")

    @property
    def is_markovian(self) -> bool:
        """If the latent is reset."""
        return self.reset

    @property
    def layers(self) -> int:
        """Three hidden layers where the head sees the state, one where it reads a latent alone."""
        return self.hidden_layers or (3 if self.skip else 1)

    def wrapped(
        self, cell: "AbstractDynamics[Any]", environment: "AbstractEnvironment[Any]"
    ) -> "AbstractDynamics[Any]":
        """The cell, with the state beside it, or reset, as asked for."""
        from fast.dynamics.wrappers import Reset, Skip
        from fast.environments.features import feature_count

        if self.skip:
            cell = Skip(cell, feature_count(environment))
        return Reset(cell) if self.reset else cell


@dataclass(frozen=True)
class GRUOptions(CellOptions):
    """A gated recurrent unit."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The unit."""
        from fast.dynamics.gru import GRU
        from fast.environments.features import feature_count

        return GRU(feature_count(environment), self.latent_size, key=key)


@dataclass(frozen=True)
class MinGRUOptions(CellOptions):
    """A gated recurrent unit whose gates read the state alone."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The unit."""
        from fast.dynamics.min_gru import MinGRU
        from fast.environments.features import feature_count

        return MinGRU(feature_count(environment), self.latent_size, key=key)


@dataclass(frozen=True)
class LSTMOptions(CellOptions):
    """A long short-term memory."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The memory."""
        from fast.dynamics.lstm import LSTM
        from fast.environments.features import feature_count

        return LSTM(feature_count(environment), self.latent_size, key=key)


@dataclass(frozen=True)
class RNNOptions(CellOptions):
    """The plain recurrence."""

    activation: Literal["identity", "tanh"] = "identity"
    """The paper's, which is linear, or Elman's."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The recurrence."""
        from fast.dynamics.rnn import RNN
        from fast.environments.features import feature_count

        features = feature_count(environment)
        return RNN(features, self.latent_size, activation=self.activation, key=key)
