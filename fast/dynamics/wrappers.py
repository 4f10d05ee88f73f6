"""Dynamics made of other dynamics: with the state added to the read-out, or the latent reset."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from fast.dynamics.base import (
    AbstractDynamics,
    Features,
    FeaturesAlong,
    Latent,
    ReadOut,
    ReadOutsAlong,
)
from fast.dynamics.head import HeadOptions, Network
from fast.dynamics.markov import AbstractMarkovian
from fast.environments import AbstractEnvironment, feature_count
from reference.contract.errors import require_counts


class Skip(AbstractDynamics[Latent]):
    """The head sees the read-out and the features of the state: `(y_t, psi(s_t))`.

    Not in the paper. With it a path-dependent policy can be any Markovian one with the same head,
    by ignoring `y_t`.
    """

    inner: AbstractDynamics[Latent]
    output: int = eqx.field(static=True)

    def __init__(self, inner: AbstractDynamics[Latent], features: int):
        self.inner, self.output = inner, inner.output + features

    @property
    def has_small_latent(self) -> bool:
        return self.inner.has_small_latent

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        return self.inner.initial(batch)

    def advance(self, latent: Latent, observation: Features) -> Latent:
        return self.inner.advance(latent, observation)

    def read(self, latent: Latent, observation: Features) -> ReadOut:
        return jnp.concatenate([self.inner.read(latent, observation), observation], -1)

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        return jnp.concatenate([self.inner.unroll(observations), observations], -1)


class Reset(AbstractMarkovian):
    """A network without its memory: every latent is computed anew, by one step from `W_o`.

        y_t = read(advance(W_o, s_t), s_t)

    a function of the state alone. The comparison with the dynamics themselves shows the effect of
    memory alone.
    """

    inner: Network
    output: int = eqx.field(static=True)

    def __init__(self, inner: Network):
        self.inner, self.output = inner, inner.output

    def read(self, latent: tuple[()], observation: Features) -> ReadOut:
        start = self.inner.initial(observation.shape[:-1])
        return self.inner.read(self.inner.advance(start, observation), observation)


@dataclass(frozen=True)
class CellOptions(HeadOptions):
    """A latent of d numbers, or d x d, or two for each state, that a head reads.

    `network` is the class of the dynamics, made with `(features, latent_size, key=key)`.
    """

    network: ClassVar[type[Network]]

    latent_size: int = 32
    """d: the latent is a vector of d numbers, a d x d matrix (srwm), or two vectors for each state
    so far (attention)."""
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
        """True if the latent is reset."""
        return self.reset

    @property
    def layers(self) -> int:
        """Three hidden layers where the head sees the state, one where it reads a latent alone."""
        return self.hidden_layers or (3 if self.skip else 1)

    def unit(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        """The latent dynamics alone."""
        made: Any = self.network
        cell: Network = made(feature_count(environment), self.latent_size, key=key)
        return cell

    def cell(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        """The latent dynamics, with the state added to the read-out, or reset, by the options."""
        cell = self.unit(environment, key=key)
        if self.skip:
            cell = Skip(cell, feature_count(environment))
        return Reset(cell) if self.reset else cell
