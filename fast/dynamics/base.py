"""Latent dynamics, the map `phi` of the lift (def:pointeddag), and their options."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from fast.environments import AbstractEnvironment
from reference.contract.errors import check_fields, require

Latent = TypeVar("Latent")
Built = TypeVar("Built")

# Features of states and read-outs, with any batch axes: at one step, and along trajectories.
Features = Float[Array, "*batch features"]
FeaturesAlong = Float[Array, "*batch time features"]
ReadOut = Float[Array, "*batch output"]
ReadOutsAlong = Float[Array, "*batch time output"]

# Matrix products of a network's layers, one array per layer.
Activations = tuple[Float[Array, "*batch out"], ...]

# Each layer is compiled by itself.
MAX_LAYERS = 100


class AbstractDynamics(eqx.Module, Generic[Latent]):
    """Latent dynamics `W_t = W_{t-1} + phi(s_t, W_{t-1})` and their read-out, a network.

    Every method accepts leading batch axes. `unroll` is `read`, after `initial` and `advance`,
    along a known trajectory; it may be computed in any other way that gives the same numbers.

    The gradient on trajectories just sampled needs the activations of `read`. A network may cache
    them by `record` and take them back by `recall`, which then computes derivatives alone.

    Attributes:
        output: the length of the read-out.
        needs_head: whether a perceptron stands between the read-out and the logits; without it
            the read-outs are the outputs of the policy, the logits of the actions first.
    """

    needs_head: ClassVar[bool] = True
    output: eqx.AbstractVar[int]

    @property
    def is_markovian(self) -> bool:
        """True if the read-out is a function of the state alone; the latent is then `()`."""
        return False

    @property
    def has_small_latent(self) -> bool:
        """True if rows of latents, all with the batch axes, are moved sooner than advanced."""
        return False

    @abstractmethod
    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        """`W_o` at the initial state, for a batch."""

    @abstractmethod
    def advance(self, latent: Latent, observation: Features) -> Latent:
        """`W_t` on arrival in `s_t`, `t >= 1`."""

    @abstractmethod
    def read(self, latent: Latent, observation: Features) -> ReadOut:
        """The read-out of `(s_t, W_t)`, for the policy or its head."""

    @abstractmethod
    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        """The read-outs along `s_0, ..., s_{T-1}`."""

    def record(self, latent: Latent, observation: Features) -> tuple[ReadOut, Activations]:
        """The read-out, and the activations that `recall` takes; by default none."""
        return self.read(latent, observation), ()

    def recall(self, observations: FeaturesAlong, activations: Activations) -> ReadOutsAlong:
        """`unroll`, with its derivatives, from the activations that `record` gave, if any."""
        return self.unroll(observations)


@dataclass(frozen=True)
class DynamicsOptions(ABC, Generic[Built]):
    """Dynamics before their width is chosen and their parameters are drawn.

    They build a network, or, with a random latent, a whole policy.

    Attributes:
        reads_graphs: whether states are read as graphs whose edges are scored.
        is_summable: whether the probability of a trajectory of states is a product over its steps;
            with a random latent it is an integral.
        method: the method of training: as a network on known histories, or with latents drawn.
    """

    reads_graphs: ClassVar[bool] = False
    is_summable: ClassVar[bool] = True
    method: ClassVar[Literal["networks", "latents"]] = "networks"

    parameters: int = 40_000
    """Parameter budget, but for a table of states; hidden layers are as wide as it allows, within
    5 %. 0 for 40,000, or those of hidden layers of 64, if that is more."""
    hidden_layers: int = 0
    """Hidden layers of the head; 0 for three, and for one where it reads a latent alone."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        require(self, "parameters", self.parameters >= 0, "be at least 0")
        layers = self.hidden_layers
        require(self, "hidden_layers", 0 <= layers <= MAX_LAYERS, f"lie from 0 to {MAX_LAYERS}")

    @property
    def has_width(self) -> bool:
        """True if the number of parameters grows with the width of hidden layers."""
        return True

    @property
    def is_markovian(self) -> bool:
        """True if the network sees the state alone."""
        return False

    @property
    def rows_by_state(self) -> int:
        """Rows of a table of logits by state, beside the network; 0 for none."""
        return 0

    @property
    def layers(self) -> int:
        """Hidden layers of the head, and of a learned backward policy."""
        return self.hidden_layers or (3 if self.is_markovian else 1)

    @abstractmethod
    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> Built:
        """The network, its hidden layers so wide; its first outputs are the actions' logits.

        Args:
            environment: the state graph as array code.
            outputs: the number of outputs, of which the first are the logits of the actions.
            width: the width of hidden layers.
            key: a random key of JAX.
        """
