"""No latent: the Markovian policy."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from fast.dynamics.base import AbstractDynamics


class AbstractMarkovian(AbstractDynamics[tuple[()]]):
    """Dynamics without a latent: only the read-out of a state is left to define."""

    is_markovian: ClassVar[bool] = True

    def initial(self, batch: tuple[int, ...] = ()) -> tuple[()]:
        return ()

    def advance(self, latent: tuple[()], observation: Float[Array, "*batch features"]) -> tuple[()]:
        return ()

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        return self.read((), observations)


class Markov(AbstractMarkovian):
    """The trivial lift: the head sees the state alone."""

    output: int = eqx.field(static=True)

    def read(
        self, latent: tuple[()], observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        return observation
