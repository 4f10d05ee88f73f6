"""Normal distributions and mixtures on R^d: densities in nats, samples as functions of noise."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int, PRNGKeyArray

from reference.contract.errors import InputError

Floats = npt.NDArray[np.float64]


def log_normal(
    latent: Float[Array, "*batch d"],
    mean: Float[Array, "*batch d"],
    log_scale: Float[Array, "*batch d"],
) -> Float[Array, "*batch"]:
    """`log N(w | mean, diag(scale)^2)`.

    Args:
        latent: where the density is taken.
        mean: the mean.
        log_scale: the logarithm of each standard deviation.
    """
    standard = (latent - mean) * jnp.exp(-log_scale)
    return jnp.sum(-0.5 * standard**2 - log_scale - 0.5 * math.log(2 * math.pi), -1)


class Normal(eqx.Module):
    """`N(mu, Lambda)`, the target distribution of the latent at a terminal; it is not learned.

    `factor` is the lower triangular `L` with `L L^T = Lambda`.
    """

    mean: Float[Array, " d"]
    factor: Float[Array, "d d"]

    @classmethod
    def of(cls, mean: Sequence[float], covariance: Sequence[float], size: int) -> "Normal":
        """The distribution, by `mean_vector` and `covariance_factor`.

        Args:
            mean: as in `mean_vector`.
            covariance: as in `covariance_factor`.
            size: the size of the latent.
        """
        return cls(
            jnp.asarray(mean_vector(mean, size)), jnp.asarray(covariance_factor(covariance, size))
        )

    def log_density(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """`log N(w | mu, Lambda)`."""
        centred = (latent - self.mean).reshape(-1, len(self.mean)).T
        standard = jax.scipy.linalg.solve_triangular(self.factor, centred, lower=True)
        log_volume = jnp.sum(jnp.log(jnp.diagonal(self.factor)))
        log_scales = log_volume + 0.5 * math.log(2 * math.pi) * len(self.mean)
        return (-0.5 * jnp.sum(standard**2, 0) - log_scales).reshape(latent.shape[:-1])


class Mixture(eqx.Module):
    """`xi`: a learned mixture of diagonal normal distributions, weighted by logits."""

    logits: Float[Array, " k"]
    means: Float[Array, "k d"]
    log_scales: Float[Array, "k d"]

    def __init__(self, components: int, size: int, *, key: PRNGKeyArray):
        self.logits = jnp.zeros(components)
        # Equal components would stay equal. Together they are about N(0, I).
        self.means = 0.3 * jax.random.normal(key, (components, size))
        self.log_scales = jnp.zeros((components, size))

    def log_weights(self) -> Float[Array, " k"]:
        """The logarithms of the weights."""
        return jax.nn.log_softmax(self.logits)

    def place(
        self, component: Int[Array, "*batch"], noise: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """The latent of a component, as a function of standard normal noise."""
        return self.means[component] + jnp.exp(self.log_scales[component]) * noise

    def log_density(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """`log xi(w)`."""
        terms = log_normal(latent[..., None, :], self.means, self.log_scales)
        return jax.nn.logsumexp(terms + self.log_weights(), axis=-1)


def mean_vector(mean: Sequence[float], size: int) -> Floats:
    """`mu` as an array; zeros if it is empty.

    Raises InputError if it does not have that size, or is not finite.
    """
    if not mean:
        return np.zeros(size)
    if len(mean) != size or not all(map(math.isfinite, mean)):
        raise InputError(
            f"mu is {tuple(mean)}, but must be {size} finite numbers, one per latent coordinate"
        )
    return np.array(mean, np.float64)


def covariance_factor(entries: Sequence[float], size: int) -> Floats:
    """The lower triangular `L` with `L L^T = Lambda`; the identity if `entries` is empty.

    The entries are those of `Lambda`, which has `size` rows, row by row, or only its diagonal.
    Raises InputError if it has another number of entries, or is not symmetric positive definite.
    """
    if not entries:
        return np.eye(size)
    if len(entries) not in (size, size**2):
        raise InputError(
            f"Lambda has {len(entries)} entries, but must have {size} (its diagonal) or {size**2} "
            "(row by row), as the latent has that many coordinates"
        )
    values = np.array(entries, np.float64)
    matrix = np.diag(values) if len(entries) == size else values.reshape(size, size)
    if not np.isfinite(matrix).all() or not np.array_equal(matrix, matrix.T):
        raise InputError(f"Lambda is {matrix.tolist()}, but must be finite and symmetric")
    try:
        factor: Floats = np.linalg.cholesky(matrix).astype(np.float64)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"Lambda is not positive definite, its smallest eigenvalue being {smallest:.3g}, so "
            "that the latent would have no density: add a positive number to its diagonal"
        ) from None
    return factor
