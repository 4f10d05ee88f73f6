"""No latent: the Markovian policy."""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from fast.dynamics.base import AbstractDynamics, Features, FeaturesAlong, ReadOut, ReadOutsAlong
from fast.dynamics.head import HeadOptions
from fast.environments import AbstractEnvironment, feature_count


class AbstractMarkovian(AbstractDynamics[tuple[()]]):
    """Dynamics without a latent: only the read-out of a state is left to define."""

    is_markovian = True
    has_small_latent = True

    def initial(self, batch: tuple[int, ...] = ()) -> tuple[()]:
        return ()

    def advance(self, latent: tuple[()], observation: Features) -> tuple[()]:
        return ()

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        return self.read((), observations)


class Markov(AbstractMarkovian):
    """The trivial lift: the head sees the state alone."""

    output: int = eqx.field(static=True)

    def read(self, latent: tuple[()], observation: Features) -> ReadOut:
        return observation


class Uniform(AbstractMarkovian):
    """All outputs zero: the policy that chooses uniformly among the legal actions."""

    needs_head: ClassVar[bool] = False
    output: int = eqx.field(static=True)

    def read(self, latent: tuple[()], observation: Features) -> ReadOut:
        return jnp.zeros((*observation.shape[:-1], self.output), observation.dtype)


@dataclass(frozen=True)
class MarkovOptions(HeadOptions):
    """No latent: the head sees the features of the state."""

    name: ClassVar[str] = "markov"

    is_markovian = True

    def cell(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Markov:
        return Markov(feature_count(environment))
