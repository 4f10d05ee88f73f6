"""No latent: the Markovian policy."""

import equinox as eqx
from jaxtyping import Array, Float

from fast.dynamics.base import AbstractDynamics


class Markov(AbstractDynamics[tuple[()]]):
    """The trivial lift: the head sees the state alone."""

    output: int = eqx.field(static=True)

    def initial(self, batch: tuple[int, ...] = ()) -> tuple[()]:
        return ()

    def advance(self, latent: tuple[()], observation: Float[Array, "*batch features"]) -> tuple[()]:
        return ()

    def read(
        self, latent: tuple[()], observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        return observation

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        return observations
