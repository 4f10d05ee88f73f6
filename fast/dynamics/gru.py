"""The gated recurrent unit as latent dynamics (fig:gatedsa)."""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fast.dynamics.base import Features
from fast.dynamics.head import Network
from fast.dynamics.recurrence import (
    Projected,
    Vector,
    VectorRecurrence,
    check_size,
    input_weights,
    recurrent_weights,
)
from fast.dynamics.wrappers import CellOptions


class GRU(VectorRecurrence):
    """A gated recurrent unit, the gate r applied after the product.

        r = sigmoid(A_r psi(s_t) + U_r W_{t-1} + b_r)
        z = sigmoid(A_z psi(s_t) + U_z W_{t-1} + b_z)
        n = tanh(A_n psi(s_t) + b_n + r o (U_n W_{t-1} + c))
        W_t = W_{t-1} + (1 - z) o (n - W_{t-1}),   y_t = W_t

    Cho et al. (Learning phrase representations, 2014) apply r before the product `U_n`, which then
    cannot be made with the others; this is the form of cuDNN and of `equinox.nn.GRUCell`, which
    takes one sample at a time and whose products with the input cannot be hoisted out of a scan.

    Attributes:
        inputs: `A psi` of r, z and n, shape (3d, features).
        recurrent: `U` of r, z and n, shape (3d, d).
        bias: `b` of r, z and n, shape (3d,).
        candidate_bias: `c`, shape (d,).
        start: `W_o`, shape (d,).
        output: d, which must be positive.
    """

    inputs: Float[Array, "rows features"]
    recurrent: Float[Array, "rows d"]
    bias: Float[Array, " rows"]
    candidate_bias: Float[Array, " d"]
    start: Float[Array, " d"]
    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: PRNGKeyArray):
        check_size("GRU", size)
        input_key, recurrent_key = jax.random.split(key)
        self.inputs = input_weights(3, size, features, key=input_key)
        self.recurrent = recurrent_weights(3, size, key=recurrent_key)
        self.bias = jnp.zeros(3 * size)
        self.candidate_bias = jnp.zeros(size)
        self.start = jnp.zeros(size)
        self.output = size

    def project(self, observation: Features) -> Projected:
        return observation @ self.inputs.T + self.bias

    def update(self, latent: Vector, projected: Projected) -> Vector:
        reset_in, keep_in, new_in = jnp.split(projected, 3, axis=-1)
        reset_of, keep_of, new_of = jnp.split(latent @ self.recurrent.T, 3, axis=-1)
        reset, keep = jax.nn.sigmoid(reset_in + reset_of), jax.nn.sigmoid(keep_in + keep_of)
        new = jnp.tanh(new_in + reset * (new_of + self.candidate_bias))
        return latent + (1 - keep) * (new - latent)


@dataclass(frozen=True)
class GRUOptions(CellOptions):
    """A gated recurrent unit."""

    name: ClassVar[str] = "gru"
    network: ClassVar[type[Network]] = GRU
