"""Dynamics made of others: with the state beside the read-out, or with the latent reset."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from fast.dynamics.base import AbstractDynamics, Latent
from fast.dynamics.markov import AbstractMarkovian


class Skip(AbstractDynamics[Latent]):
    """The head sees the features of the state beside the read-out: `(y_t, psi(s_t))`.

    Not in the paper. With it a path-dependent policy can do what the Markovian one with the same
    head does, by not looking at `y_t`.

    Attributes:
        inner: the dynamics.
        output: the length of its read-out and of the features together.
    """

    inner: AbstractDynamics[Latent]
    output: int = eqx.field(static=True)

    def __init__(self, inner: AbstractDynamics[Latent], features: int):
        self.inner = inner
        self.output = inner.output + features

    @property
    def has_small_latent(self) -> bool:
        return self.inner.has_small_latent

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        return self.inner.initial(batch)

    def advance(self, latent: Latent, observation: Float[Array, "*batch features"]) -> Latent:
        return self.inner.advance(latent, observation)

    def read(
        self, latent: Latent, observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        return jnp.concatenate([self.inner.read(latent, observation), observation], -1)

    def unroll(
        self, observations: Float[Array, "*batch time features"]
    ) -> Float[Array, "*batch time output"]:
        return jnp.concatenate([self.inner.unroll(observations), observations], -1)


class Reset(AbstractMarkovian):
    """The same network without memory: every latent is made anew, by one step from `W_o`.

        y_t = read(advance(W_o, s_t), s_t)

    a function of the state alone. Against the dynamics themselves it shows what memory does, and
    not what else the layer brings.

    Attributes:
        inner: the dynamics.
        output: the length of its read-out.
    """

    inner: AbstractDynamics[Any]
    output: int = eqx.field(static=True)

    def __init__(self, inner: AbstractDynamics[Any]):
        self.inner = inner
        self.output = inner.output

    def read(
        self, latent: tuple[()], observation: Float[Array, "*batch features"]
    ) -> Float[Array, "*batch output"]:
        start = self.inner.initial(observation.shape[:-1])
        return self.inner.read(self.inner.advance(start, observation), observation)
