"""Dynamics of one's own: `mingru`, which is built in, in its smallest form."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.recurrence import AbstractRecurrence, input_weights


class MinGRU(AbstractRecurrence[Float[Array, "*batch d"]]):
    """`W_t = W_{t-1} + z o (h - W_{t-1})`, `z = sigmoid(A_z psi)`, `h = A_h psi` (Feng, 2024)."""

    inputs: Float[Array, "rows features"]
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        self.inputs = input_weights(2, size, features, key=key)
        self.output = size

    def initial(self, batch: tuple[int, ...] = ()) -> Float[Array, "*batch d"]:
        """Zeros."""
        return jnp.zeros((*batch, self.output), self.inputs.dtype)

    def project(self, observation: Float[Array, "*batch features"]) -> Float[Array, "*batch rows"]:
        """The features that gate and candidate read."""
        return observation @ self.inputs.T

    def update(
        self, latent: Float[Array, "*batch d"], projected: Float[Array, "*batch rows"]
    ) -> Float[Array, "*batch d"]:
        """The next latent."""
        gate, candidate = jnp.split(projected, 2, axis=-1)
        return latent + jax.nn.sigmoid(gate) * (candidate - latent)

    def visible(self, latent: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """All of it."""
        return latent
