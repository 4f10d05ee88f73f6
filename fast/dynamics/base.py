"""What latent dynamics are: the map `phi` of the lift, learned."""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float

Latent = TypeVar("Latent")

# Matrix products of a network's layers, one array per layer.
Activations = tuple[Float[Array, "*batch out"], ...]


class AbstractDynamics(eqx.Module, Generic[Latent]):
    """Latent dynamics `W_t = W_{t-1} + phi(s_t, W_{t-1})` and their read-out, a network.

    Every method accepts leading batch axes. `unroll` is `read`, after `initial` and `advance`,
    along a known trajectory; it may be computed in any other way that gives the same numbers.

    The gradient on trajectories just sampled needs what `read` went through. A network may cache
    it by `record` and take it back by `recall`, which then computes derivatives alone.

    Attributes:
        output: the length of the read-out.
        needs_head: whether a perceptron stands between the read-out and the logits; without it
            the read-outs are the outputs of the policy, the logits of the actions first.
    """

    needs_head: ClassVar[bool] = True
    output: eqx.AbstractVar[int]

    @property
    def is_markovian(self) -> bool:
        """Whether the read-out is a function of the state alone (the latent is then `()`)."""
        return False

    @property
    def has_small_latent(self) -> bool:
        """Whether rows of latents, all with the batch axes, are cheaper to move than to advance."""
        return False

    @abstractmethod
    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        """`W_o` at the initial state, for a batch."""

    @abstractmethod
    def advance(self, latent: Latent, observation: Float[Array, "*batch features"]) -> Latent:
        """`W_t` on arrival in `s_t`, `t >= 1`."""

    @abstractmethod
    def read(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        """What the policy, or its head, sees of `(s_t, W_t)`."""

    @abstractmethod
    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        """The read-outs along `s_0, ..., s_{T-1}`."""

    def record(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> tuple[Float[Array, "*batch output"], Activations]:
        """What `read` gives, and what `recall` asks for; by default nothing."""
        return self.read(latent, observation), ()

    def recall(
        self, observations: Float[Array, "*batch time features"], activations: Activations
    ) -> Float[Array, "*batch time output"]:
        """What `unroll` gives, with its derivatives, from the activations cached by `record`.

        Without activations it is `unroll`.
        """
        return self.unroll(observations)
