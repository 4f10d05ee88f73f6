"""What latent dynamics are: the map `phi` of the lift, learned."""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float

Latent = TypeVar("Latent")


class AbstractDynamics(eqx.Module, Generic[Latent]):
    """Latent dynamics `W_t = W_{t-1} + phi(s_t, W_{t-1})` and their read-out.

    Every method accepts leading batch axes. `unroll` is `read`, after `initial` and `advance`,
    along a known trajectory; it may be computed in any other way that gives the same numbers.

    Attributes:
        output: the length of the read-out.
        is_markovian: whether the read-out is a function of the state alone (the latent is `()`).
    """

    is_markovian: ClassVar[bool] = False
    output: eqx.AbstractVar[int]

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
        """What the policy's head sees of `(s_t, W_t)`."""

    @abstractmethod
    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        """The read-outs along `s_0, ..., s_{T-1}`."""
