"""The residual block and the heads of a latent, as Irie et al. have them."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from fast.dynamics.base import (
    AbstractDynamics,
    Features,
    FeaturesAlong,
    Latent,
    ReadOut,
    ReadOutsAlong,
)
from fast.dynamics.head import HeadOptions, Network
from fast.dynamics.markov import Markov
from fast.dynamics.perceptron import Perceptron
from fast.dynamics.wrappers import CellOptions, Reset
from fast.environments import AbstractEnvironment, feature_count, feature_norm
from reference.contract.errors import InputError, require_counts

# The typical length of the features that a network reads.
Norm = Float[ArrayLike, ""]


class ResidualBlock(AbstractDynamics[Latent]):
    """A latent between two residual connections: its read-out is added to the state.

        h_t = E psi(s_t),   g_t = h_t + O y_t,   with y_t read by the inner dynamics, which see n(h)
        z_t = g_t + f(n(g_t))

    `n` subtracts the mean of a vector's entries and divides by their standard deviation (layer
    normalisation, Ba et al., 2016; gains and shifts would be absorbed by the next layer), and `f`
    is a perceptron with a hidden layer four times as wide. `z_t` goes to the head. (The blocks of
    Irie, Schlag, Csordas and Schmidhuber, A modern self-referential weight matrix, 2022; not in the
    paper.)

    Attributes:
        inner: the dynamics of the latent, on d features.
        embedding: `E`, shape (d, features).
        out: `O`, shape (d, d).
        feed_forward: `f`; its last layer is small, so that it begins near zero.
        output: d.
    """

    inner: AbstractDynamics[Latent]
    embedding: Float[Array, "d features"]
    out: Float[Array, "d d"]
    feed_forward: Perceptron
    output: int = eqx.field(static=True)

    def __init__(
        self, inner: AbstractDynamics[Latent], features: int, *, norm: Norm = 1.0, key: PRNGKeyArray
    ):
        """Draws the weights; the entries of `h` are of order one for features of that norm."""
        d = inner.output
        embedding_key, out_key, forward_key = jax.random.split(key, 3)
        self.inner = inner
        self.embedding = jax.random.normal(embedding_key, (d, features)) / norm
        self.out = jax.random.normal(out_key, (d, d)) / d**0.5
        self.feed_forward = Perceptron([d, 4 * d, d], key=forward_key)
        self.output = d

    def initial(self, batch: tuple[int, ...] = ()) -> Latent:
        return self.inner.initial(batch)

    def advance(self, latent: Latent, observation: Features) -> Latent:
        return self.inner.advance(latent, normalised(observation @ self.embedding.T))

    def read(self, latent: Latent, observation: Features) -> ReadOut:
        h = observation @ self.embedding.T
        return self._after(h, self.inner.read(latent, normalised(h)))

    def unroll(self, observations: FeaturesAlong) -> ReadOutsAlong:
        h = observations @ self.embedding.T
        return self._after(h, self.inner.unroll(normalised(h)))

    def _after(
        self, h: Float[Array, "*batch d"], y: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        g = h + y @ self.out.T
        return g + self.feed_forward(normalised(g))


def normalised(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """`(x - mean) / sqrt(variance + 1e-5)` over the last axis, so that zero stays zero."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5)


def split_heads(x: Float[Array, "*batch time n"], heads: int) -> Array:
    """Splits the last axis into heads, and puts them before the time.

    A single head has no axis, which is an eighth of the time of `SRWM.unroll`.
    """
    if heads == 1:
        return x
    return jnp.swapaxes(x.reshape(*x.shape[:-1], heads, -1), -2, -3)


def join_heads(x: Array, heads: int) -> Float[Array, "*batch time n"]:
    """The inverse of `split_heads`."""
    if heads == 1:
        return x
    x = jnp.swapaxes(x, -2, -3)
    return x.reshape(*x.shape[:-2], -1)


def check_heads(name: str, size: int, heads: int, unit: int = 1) -> None:
    """Refuses a size that does not divide into heads.

    Args:
        name: the name in the message.
        size: the size to divide.
        heads: the number of heads.
        unit: the size of a head is a multiple of it; 2 where a head rotates pairs of numbers.
    """
    if heads < 1 or size < heads * unit or size % (heads * unit):
        raise InputError(
            f"{name} has d = {size} and {heads} heads, but d must be a multiple of {heads * unit}: "
            f"each head has {unit} of the numbers, or a multiple"
        )


@dataclass(frozen=True)
class BlockOptions(CellOptions):
    """A latent with heads, alone or in a residual block."""

    heads: int = 1
    """h: each has d/h of the d numbers, and a matrix of d/h x d/h if the latent is one."""
    block: bool = False
    """Put the latent into a residual block with layer normalisation and a feed-forward layer, as
    in Irie et al. (2022); the paper's head reads it alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "heads")

    @abstractmethod
    def alone(self, features: int, norm: Norm, horizon: int, *, key: PRNGKeyArray) -> Network:
        """The latent dynamics without the block, on features whose typical length is `norm`.

        Args:
            features: the number of features of a state.
            norm: the typical length of the features.
            horizon: the largest number of steps.
            key: a random key of JAX.
        """

    def unit(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        """The latent dynamics, in their block if there is one."""
        features, norm = feature_count(environment), feature_norm(environment)
        horizon = 1 if self.reset else environment.horizon
        if not self.block:
            return self.alone(features, norm, horizon, key=key)
        inner_key, block_key = jax.random.split(key)
        # A normalised vector is as long as the root of the number of its entries.
        d = self.latent_size
        inner = self.alone(d, d**0.5, horizon, key=inner_key)
        return ResidualBlock(inner, features, norm=norm, key=block_key)


@dataclass(frozen=True)
class MarkovBlockOptions(HeadOptions):
    """No latent, but a residual, normalised block between the state and the head."""

    name: ClassVar[str] = "markov-block"
    is_markovian = True
    block_size: int = 32
    """d: the width of the block, the one that srwm has around a matrix with its `block`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_counts(self, "block_size")

    @property
    def layers(self) -> int:
        """One hidden layer, as after the block of a matrix."""
        return self.hidden_layers or 1

    def cell(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        """The block, which adds to the state what a linear map reads of it."""
        features, norm = feature_count(environment), feature_norm(environment)
        return Reset(ResidualBlock(Markov(self.block_size), features, norm=norm, key=key))
