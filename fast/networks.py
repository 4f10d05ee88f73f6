"""Networks: what maps `(s_t, W_t)` to the numbers of which a policy makes laws and flows."""

from abc import abstractmethod
from typing import Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float

Latent = TypeVar("Latent")


class AbstractNetwork(eqx.Module, Generic[Latent]):
    """A function of the lifted state `(s_t, W_t)`, together with the dynamics of `W_t`.

    Every method accepts leading batch axes. `unroll` is `evaluate`, after `initial` and `advance`,
    along a known trajectory; it may be computed in any other way that gives the same numbers.

    Attributes:
        outputs: how many numbers it gives; the first are the logits of the actions.
    """

    outputs: eqx.AbstractVar[int]

    @abstractmethod
    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        """`W_o` at the initial state, for a batch."""

    @abstractmethod
    def advance(self, latent: Latent, observation: Float[Array, "*batch features"]) -> Latent:
        """`W_t` on arrival in `s_t`, `t >= 1`."""

    @abstractmethod
    def evaluate(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch outputs"]:
        """The outputs at `(s_t, W_t)`."""

    @abstractmethod
    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time outputs"]:
        """The outputs along `s_0, ..., s_{T-1}`."""
