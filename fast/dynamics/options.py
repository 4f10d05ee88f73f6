"""Latent dynamics by name, as options. Imports no JAX before a network is built."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fast.tasks.options import check_options, require, require_counts
from reference.errors import InputError

if TYPE_CHECKING:
    from fast.dynamics.base import AbstractDynamics
    from fast.environments import AbstractEnvironment

# Each is compiled by itself.
MAX_LAYERS = 100


@dataclass(frozen=True)
class DynamicsOptions(ABC):
    """A network before its width is chosen and its parameters are drawn.

    Attributes:
        reads_graphs: whether it reads the graphs of the task `graphs`, and scores their edges.
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

        return Markov(features_of(environment))


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

        if self.skip:
            cell = Skip(cell, features_of(environment))
        return Reset(cell) if self.reset else cell


@dataclass(frozen=True)
class GRUOptions(CellOptions):
    """A gated recurrent unit."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The unit."""
        from fast.dynamics.gru import GRU

        return GRU(features_of(environment), self.latent_size, key=key)


@dataclass(frozen=True)
class LSTMOptions(CellOptions):
    """A long short-term memory."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The memory."""
        from fast.dynamics.lstm import LSTM

        return LSTM(features_of(environment), self.latent_size, key=key)


@dataclass(frozen=True)
class RNNOptions(CellOptions):
    """The plain recurrence."""

    activation: Literal["identity", "tanh"] = "identity"
    """The paper's, which is linear, or Elman's."""

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The recurrence."""
        from fast.dynamics.rnn import RNN

        features = features_of(environment)
        return RNN(features, self.latent_size, activation=self.activation, key=key)


@dataclass(frozen=True)
class SRWMOptions(CellOptions):
    """The self-referential weight matrix with a rotation (eq:ASRWM), the paper's."""

    heads: int = 1
    """h: the latent is h matrices of d/h x d/h."""
    rotation: Literal["planes", "haar", "none"] = "planes"
    """R: incommensurable rotations of d/2 planes, the same in a random basis, or the identity."""
    link: Literal["elu", "softmax", "identity"] = "elu"
    """zeta: the normalised ELU, the soft-max, or the identity."""
    write_key: Literal["q", "k"] = "q"
    """Write at q, as printed, or at k, as in the delta rule."""
    erase: Literal["before", "after"] = "before"
    """Erase before the rotation, as printed, or after it: stable with --write-key k."""
    normalize: bool = False
    """Divide y_t by its root mean square; not in the paper."""
    latent_scale: float = 1.0
    """Scale of W_o."""
    slow_scale: float = 1.0
    """Scale of the slow weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "heads")
        for name in ("latent_scale", "slow_scale"):
            require(self, name, 0 < getattr(self, name) < float("inf"), "be positive and finite")

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """The matrix."""
        from fast.dynamics.srwm import SRWM

        return SRWM(
            features_of(environment),
            self.latent_size,
            1 if self.reset else environment.horizon,
            heads=self.heads,
            rotation=self.rotation,
            link=self.link,
            write_key=self.write_key,
            erase=self.erase,
            normalize=self.normalize,
            latent_scale=self.latent_scale,
            slow_scale=self.slow_scale,
            key=key,
        )


@dataclass(frozen=True)
class LinearOptions(DynamicsOptions):
    """The linear recurrence of prop:lines (eq:linear_rec), whose read-outs are the logits."""

    has_width: ClassVar[bool] = False

    @property
    def layers(self) -> int:
        """Those of a learned backward policy: the network itself has none."""
        return self.hidden_layers or 1

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The recurrence; the width is not read."""
        import jax

        from fast.dynamics.linear import Linear

        return Linear(features_of(environment), outputs, key=jax.random.split(key)[0])


@dataclass(frozen=True)
class LinearMarkovOptions(LinearOptions):
    """The linear policy without its memory (prop:lines)."""

    @property
    def is_markovian(self) -> bool:
        """Always."""
        return True

    @property
    def layers(self) -> int:
        """Those of a learned backward policy: the network itself has none."""
        return self.hidden_layers or 3

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The linear map; the width is not read."""
        import jax

        from fast.dynamics.linear import LinearMarkov

        return LinearMarkov(features_of(environment), outputs, key=jax.random.split(key)[0])


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


@dataclass(frozen=True)
class OwnDynamics(CellOptions):
    """Dynamics of the user's own: a cell with a head, or a whole network.

    A cell is called with `(features, latent_size, key=key)`, a whole network, whose `needs_head` is
    False, with `(features, outputs, key=key)`. Either is also given what else its signature names
    of `horizon`, `width` and `environment`.
    """

    make: Callable[..., Any] = field(default=GRUOptions, repr=False)

    @property
    def has_width(self) -> bool:  # type: ignore[override]
        """Whether there is a head, or the network asks for a width."""
        return self._has_head or "width" in _named(self.make)

    @property
    def is_markovian(self) -> bool:
        """If the latent is reset, or the class has none, or says so without an instance."""
        from fast.dynamics.markov import AbstractMarkovian

        if isinstance(self.make, type) and issubclass(self.make, AbstractMarkovian):
            return True
        return self.reset or getattr(self.make, "is_markovian", False) is True

    @property
    def _has_head(self) -> bool:
        return bool(getattr(self.make, "needs_head", True))

    def _called(
        self, environment: "AbstractEnvironment[Any]", size: int, width: int, key: Any
    ) -> Any:
        from fast.dynamics.base import AbstractDynamics

        more = {"horizon": environment.horizon, "width": width, "environment": environment}
        asked = {name: value for name, value in more.items() if name in _named(self.make)}
        made = self.make(features_of(environment), size, key=key, **asked)
        if not isinstance(made, AbstractDynamics):
            raise InputError(
                f"dynamics {self.make!r} gives {made!r}, but must give an AbstractDynamics: derive "
                "from fast.dynamics.base.AbstractDynamics"
            )
        for name, value in vars(made).items():
            if isinstance(value, int | float | str):
                declared = type(made).__dataclass_fields__.get(name)
                if declared is None or not declared.metadata.get("static"):
                    raise InputError(
                        f"dynamics {self.make!r} has the field {name} = {value!r}, which is no "
                        f"array: declare it as {name}: {type(value).__name__} = "
                        "eqx.field(static=True), so that it is not traced"
                    )
        return made

    def cell(self, environment: "AbstractEnvironment[Any]", *, key: Any) -> "AbstractDynamics[Any]":
        """What the user's class gives."""
        made: AbstractDynamics[Any] = self._called(environment, self.latent_size, 0, key)
        return made

    def build(
        self, environment: "AbstractEnvironment[Any]", outputs: int, width: int, *, key: Any
    ) -> "AbstractDynamics[Any]":
        """The cell with its head, or the whole network."""
        if self._has_head:
            return super().build(environment, outputs, width, key=key)
        made: AbstractDynamics[Any] = self._called(environment, outputs, width, key)
        if made.output != outputs:
            raise InputError(
                f"dynamics {self.make!r} has {made.output} outputs, but the policy needs "
                f"{outputs}: make it with as many as its second argument says"
            )
        return made


def _named(factory: Callable[..., Any]) -> set[str]:
    """The parameters that a class or function names."""
    return set(inspect.signature(factory).parameters)


def features_of(environment: "AbstractEnvironment[Any]") -> int:
    """The number of features of a state."""
    import jax

    shape = jax.eval_shape(lambda: environment.observe(environment.initial())).shape
    return int(shape[0])


DYNAMICS: dict[str, type[DynamicsOptions]] = {
    "gru": GRUOptions,
    "lstm": LSTMOptions,
    "rnn": RNNOptions,
    "srwm": SRWMOptions,
    "linear": LinearOptions,
    "markov": MarkovOptions,
    "linear-markov": LinearMarkovOptions,
    "temporal-gcn": TemporalGCNOptions,
    "gcn": GCNOptions,
}
