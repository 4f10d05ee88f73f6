"""Normal laws and their mixtures on R^d: densities in nats, and samples as functions of noise."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.stochastic.moments import covariance_factor, mean_vector


def log_normal(
    latent: Float[Array, "*batch d"],
    mean: Float[Array, "*batch d"],
    log_scale: Float[Array, "*batch d"],
) -> Float[Array, "*batch"]:
    """`log N(w | mean, diag(scale)^2)`."""
    standard = (latent - mean) * jnp.exp(-log_scale)
    return jnp.sum(-0.5 * standard**2 - log_scale - 0.5 * math.log(2 * math.pi), -1)


class Normal(eqx.Module):
    """`N(mu, Lambda)`, which the target gives the latent at a terminal; nothing here is learned.

    Attributes:
        mean: `mu`.
        factor: the lower triangular `L` with `L L^T = Lambda`.
    """

    mean: Float[Array, " d"]
    factor: Float[Array, "d d"]

    @classmethod
    def of(cls, mean: Sequence[float], covariance: Sequence[float], size: int) -> "Normal":
        """From `mu` and `Lambda`, as `fast.stochastic.moments` reads and checks them."""
        return cls(
            jnp.asarray(mean_vector(mean, size), jnp.float32),
            jnp.asarray(covariance_factor(covariance, size), jnp.float32),
        )

    def log_density(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """`log N(w | mu, Lambda)`."""
        centred = (latent - self.mean).reshape(-1, len(self.mean)).T
        standard = jax.scipy.linalg.solve_triangular(self.factor, centred, lower=True)
        log_volume = jnp.sum(jnp.log(jnp.diagonal(self.factor)))
        log_scales = log_volume + 0.5 * math.log(2 * math.pi) * len(self.mean)
        return (-0.5 * jnp.sum(standard**2, 0) - log_scales).reshape(latent.shape[:-1])


class Mixture(eqx.Module):
    """`xi`: a learned mixture of normal laws with diagonal covariances.

    Attributes:
        logits: of the weights.
        means: one row per component.
        log_scales: likewise.
    """

    logits: Float[Array, " k"]
    means: Float[Array, "k d"]
    log_scales: Float[Array, "k d"]

    def __init__(self, components: int, size: int, *, key: PRNGKeyArray):
        self.logits = jnp.zeros(components)
        # Apart from each other, as equal components would stay equal; together about N(0, I).
        self.means = 0.3 * jax.random.normal(key, (components, size))
        self.log_scales = jnp.zeros((components, size))

    def log_weights(self) -> Float[Array, " k"]:
        """The logarithms of the weights."""
        return jax.nn.log_softmax(self.logits)

    def place(
        self, component: Int[Array, "*batch"], noise: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """The latent that standard normal noise stands for in a component."""
        return self.means[component] + jnp.exp(self.log_scales[component]) * noise

    def log_density(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """`log xi(w)`."""
        terms = log_normal(latent[..., None, :], self.means, self.log_scales)
        return jax.nn.logsumexp(terms + self.log_weights(), axis=-1)
